"""Warming in a thread of its own, for programs that stay open: it works while nobody asks."""

from __future__ import annotations

import threading
from collections.abc import Callable

from localmem.errors import LocalMemError
from localmem.jobs.queue import JobQueue, Questions
from localmem.jobs.warming import Warming
from localmem.types import QueueState, QueueStatus, WarmReport

_POLL_S = 0.2


class Warmer:
    """A thread that warms a memory while it is quiet, and gives way to every question.

    It ends when nothing is left, or when it is stopped; it is started once.
    """

    def __init__(self, prepare: Callable[[], Warming], quiet: Questions) -> None:
        """`prepare` is called in the thread, once it is quiet; `quiet` tells when that is."""
        self._prepare = prepare
        self._quiet = quiet
        self._queue: JobQueue | None = None
        self._stopped = threading.Event()
        self._paused = threading.Event()
        self._report: WarmReport | None = None
        self._error: LocalMemError | None = None
        self._thread = threading.Thread(target=self._work, name="localmem-warmer", daemon=True)

    def start(self) -> Warmer:
        """Begin."""
        self._thread.start()
        return self

    def pause(self) -> None:
        """Stop at the next step; what is loaded stays loaded."""
        self._paused.set()
        if self._queue is not None:
            self._queue.pause()

    def resume(self) -> None:
        """Go on."""
        self._paused.clear()
        if self._queue is not None:
            self._queue.resume()

    def stop(self, *, timeout_s: float | None = None) -> None:
        """End at the next step, and wait for that. What is finished is stored."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end; whether it has ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def status(self) -> QueueStatus:
        """How far it is."""
        if self._queue is not None:
            return self._queue.status()
        state = QueueState.STOPPED if self._stopped.is_set() else QueueState.WAITING
        return QueueStatus(state, 0, 0, 0, 0)

    @property
    def report(self) -> WarmReport | None:
        """What it made; None before its end, and where an error ended it."""
        return self._report

    @property
    def error(self) -> LocalMemError | None:
        """What ended it before its time."""
        return self._error

    def _work(self) -> None:
        while self._quiet.is_wanted or self._paused.is_set():
            if self._stopped.wait(_POLL_S):
                return
        try:
            warming = self._prepare()
            self._queue = warming.prepare(self._quiet, stop_when=self._stopped.is_set)
            if self._paused.is_set():
                self._queue.pause()
            self._report = warming.run(self._queue)
        except LocalMemError as error:
            self._error = error
