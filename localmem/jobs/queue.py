"""A queue of background jobs: the most useful first, with pause, resume and stop.

A job is small enough to be stored at its end, so that stopping at any moment loses little. The
queue knows no model and no store; what a job does is handed in.
"""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from localmem.errors import GenerationError, PostponedError
from localmem.types import LayerCost, QueueState, QueueStatus

_log = logging.getLogger(__name__)
_PAUSE_POLL_S = 0.1
_MOST_FAILURES = 3
"""Jobs in a row for which the model gives nothing: it will not give anything to the next either."""

_RATE_WINDOW = 64
"""Jobs whose speed tells the time left: what is first in a queue may be unlike what is last."""


class Questions(Protocol):
    """Whether questions run now; background work waits for their end."""

    @property
    def is_wanted(self) -> bool: ...

    def wait_for_quiet(self, timeout_s: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of background work.

    A lower `priority` goes first, then the higher `utility`, then the lower `number`. `size`
    counts what it works through (turns). `run` gets the check to call between steps, and a
    callback for the part of `size` that is done; it raises PostponedError where the check did.
    """

    name: str
    size: int
    run: Callable[[Callable[[], None], Callable[[int], None]], LayerCost]
    priority: int = 0
    utility: float = 0.0
    number: int = 0


@dataclass(slots=True)
class _Tally:
    done: int = 0
    jobs_done: int = 0
    failed: int = 0
    failed_in_a_row: int = 0
    cost: LayerCost = field(default_factory=LayerCost)
    recent: list[tuple[int, float]] = field(default_factory=list)


class JobQueue:
    """Jobs by priority; `run` works through them in the caller's thread, the rest from any."""

    def __init__(
        self,
        jobs: Sequence[Job],
        questions: Questions,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        on_change: Callable[[QueueStatus], None] | None = None,
        stop_when: Callable[[], bool] | None = None,
    ) -> None:
        self._heap = [
            (job.priority, -job.utility, job.number, place) for place, job in enumerate(jobs)
        ]
        heapq.heapify(self._heap)
        self._jobs = tuple(jobs)
        self._total = sum(job.size for job in jobs)
        self._questions = questions
        self._monotonic = monotonic
        self._on_change = on_change
        self._stop_when = stop_when or (lambda: False)
        self._tally = _Tally()
        self._in_hand = 0
        self._deadline = float("inf")
        self._stopped = threading.Event()
        self._paused = threading.Event()
        self._state = QueueState.WAITING

    def run(self, *, seconds: float | None = None) -> QueueStatus:
        """Work until everything is done, time is over or somebody stops it.

        A job that a question interrupts starts again afterwards; one for which the model gives
        nothing usable is counted and left.

        Raises:
            GenerationError: three jobs in a row failed.
        """
        self._deadline = float("inf") if seconds is None else self._monotonic() + seconds
        self._state = QueueState.RUNNING
        try:
            while self._heap and not self._is_over():
                if self._must_wait():
                    self._wait()
                    continue
                self._run_next()
        finally:
            self._in_hand = 0
            self._state = QueueState.STOPPED if self._heap else QueueState.DONE
        self._tell()
        return self.status()

    def pause(self) -> None:
        """Stop at the next step and wait; the process keeps what is loaded."""
        self._paused.set()

    def resume(self) -> None:
        self._paused.clear()

    def stop(self) -> None:
        """End `run` at the next step. What is finished is stored."""
        self._stopped.set()

    def status(self) -> QueueStatus:
        """How far it is, and how long the rest will take at the speed of the last jobs."""
        tally = self._tally
        seconds = tally.cost.seconds
        state = self._state
        if state is QueueState.RUNNING and (self._paused.is_set() or self._questions.is_wanted):
            state = QueueState.PAUSED
        return QueueStatus(
            state=state,
            done=tally.done + self._in_hand,
            total=self._total,
            jobs_done=tally.jobs_done,
            jobs_total=len(self._jobs),
            failed=tally.failed,
            tokens_per_s=tally.cost.completion_tokens / seconds if seconds > 0 else None,
            seconds_left=self._seconds_left(),
            cost=tally.cost,
        )

    def check(self) -> None:
        """Raises PostponedError where the job in hand must stop."""
        if self._is_over() or self._must_wait():
            raise PostponedError("background work stopped for now")

    def _run_next(self) -> None:
        entry = heapq.heappop(self._heap)
        job = self._jobs[entry[-1]]
        self._in_hand = 0
        started = self._monotonic()
        try:
            cost = job.run(self.check, self._part_done)
        except PostponedError:
            heapq.heappush(self._heap, entry)
            self._in_hand = 0
            return
        except GenerationError as error:
            _log.warning("%s: %s", job.name, error.message)
            self._tally.failed += 1
            self._tally.failed_in_a_row += 1
            if self._tally.failed_in_a_row >= _MOST_FAILURES:
                raise
            return
        self._tally.failed_in_a_row = 0
        self._count(job, cost, self._monotonic() - started)

    def _part_done(self, size: int) -> None:
        self._in_hand = size
        self._tell()

    def _count(self, job: Job, cost: LayerCost, seconds: float) -> None:
        tally = self._tally
        tally.done += job.size
        tally.jobs_done += 1
        tally.cost = LayerCost(
            tally.cost.evaluated_tokens + cost.evaluated_tokens,
            tally.cost.completion_tokens + cost.completion_tokens,
            tally.cost.seconds + seconds,
        )
        tally.recent = [*tally.recent, (job.size, seconds)][-_RATE_WINDOW:]
        self._in_hand = 0
        self._tell()

    def _seconds_left(self) -> float | None:
        size = sum(one for one, _ in self._tally.recent)
        if not size:
            return None
        per_unit = sum(seconds for _, seconds in self._tally.recent) / size
        return per_unit * (self._total - self._tally.done - self._in_hand)

    def _is_over(self) -> bool:
        if self._stop_when():
            self._stopped.set()
        return self._stopped.is_set() or self._monotonic() >= self._deadline

    def _must_wait(self) -> bool:
        return self._paused.is_set() or self._questions.is_wanted

    def _wait(self) -> None:
        self._tell()
        if self._paused.is_set():
            self._stopped.wait(_PAUSE_POLL_S)
        else:
            self._questions.wait_for_quiet(_PAUSE_POLL_S)

    def _tell(self) -> None:
        if self._on_change is not None:
            self._on_change(self.status())
