"""Whether a question runs now: it always goes before background work.

Between processes the file lock sees to that; here it is the threads of one process. Background
work is told to stop between two steps and tries again later, so that a question waits for one step
and not for a whole job.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Turns:
    """The questions that run now in this process, and how long ago the last one ended."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._questions = 0
        self._last_question = -float("inf")

    @contextmanager
    def question(self) -> Iterator[None]:
        """A question runs: background work stops at its next step."""
        with self._changed:
            self._questions += 1
        try:
            yield
        finally:
            with self._changed:
                self._questions -= 1
                self._last_question = self._monotonic()
                self._changed.notify_all()

    @property
    def is_wanted(self) -> bool:
        """Whether a question runs."""
        return self._questions > 0

    def quiet_s(self) -> float:
        """Seconds since the last question ended; 0 while one runs, infinite before the first."""
        with self._changed:
            return 0.0 if self._questions else self._monotonic() - self._last_question

    def wait_for_quiet(self, timeout_s: float) -> None:
        """Wait until no question runs, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._questions == 0, timeout=timeout_s)

    def after(self, idle_s: float) -> Quiet:
        """Whether nothing was asked for so long, as a queue of background work wants to know it."""
        return Quiet(self, idle_s)


class Quiet:
    """Questions as background work sees them that waits for some idle time after each."""

    def __init__(self, turns: Turns, idle_s: float) -> None:
        self._turns = turns
        self._idle_s = idle_s

    @property
    def is_wanted(self) -> bool:
        """Whether a question runs, or ran a moment ago."""
        return self._turns.is_wanted or self._turns.quiet_s() < self._idle_s

    def wait_for_quiet(self, timeout_s: float) -> None:
        """Wait until it is quiet, at most so long; may return early."""
        if self._turns.is_wanted:
            self._turns.wait_for_quiet(timeout_s)
        else:
            time.sleep(min(timeout_s, max(self._idle_s - self._turns.quiet_s(), 0.0)))
