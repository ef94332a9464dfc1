"""Telling a caller how far a long operation is."""

from __future__ import annotations

from collections.abc import Callable

from localmem.types import Progress

OnProgress = Callable[[Progress], None]


class Teller:
    """Tells a caller how far the stages of a long operation are."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress

    def __call__(self, stage: str, done: int, total: int | None, unit: str) -> None:
        if self._on_progress is not None:
            self._on_progress(Progress(stage, done, total, unit))

    def of(self, stage: str, total: int, unit: str) -> Callable[[int], None]:
        """A callback that takes the number done."""
        return lambda done: self(stage, done, max(total, done), unit)
