"""How far a download is, how fast, and how long it will still take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PullProgress:
    """`total` 0 means: not known. `seconds_left` None means: no telling yet."""

    file: str
    source: str
    done: int
    total: int
    bytes_per_second: float
    seconds_left: float | None


OnProgress = Callable[[PullProgress], None]


class ProgressMeter:
    """Turns byte counts of one file into reports. The rate leaves out bytes resumed from before."""

    def __init__(
        self,
        file: str,
        source: str,
        on_progress: OnProgress | None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file, self._source = file, source
        self._report, self._monotonic = on_progress, monotonic
        self._started = monotonic()
        self._first: int | None = None

    def at(self, done: int, total: int) -> None:
        """Report that `done` of `total` bytes are there."""
        if self._report is None:
            return
        if self._first is None:
            self._first = done
        elapsed = self._monotonic() - self._started
        rate = (done - self._first) / elapsed if elapsed > 0 else 0.0
        left = (total - done) / rate if rate > 0 and total >= done else None
        self._report(PullProgress(self._file, self._source, done, total, rate, left))
