"""One line that tells how far a long action is: stage, bar, rate, time left."""

from __future__ import annotations

import time
from collections.abc import Callable

from localmem_tui import wording
from localmem_tui.inks import inks_of
from rich.text import Text
from textual.widgets import Static

from localmem.types import Progress

_BAR_CELLS = 24
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class ProgressLine(Static):
    """Hidden until `begin`; `show` takes what an action tells, `end` hides it again."""

    DEFAULT_CSS = """
    ProgressLine { height: 1; padding: 0 1; display: none; }
    ProgressLine.-busy { display: block; }
    """

    def __init__(
        self,
        *,
        id: str | None = None,  # Textual's own name
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(id=id)
        self._monotonic = monotonic
        self._words = ""
        self._began = 0.0
        self._progress: Progress | None = None
        self._stage_began = 0.0

    def on_mount(self) -> None:
        self._timer = self.set_interval(0.12, self._draw, pause=True)

    @property
    def is_busy(self) -> bool:
        return self.has_class("-busy")

    def begin(self, words: str) -> None:
        """Show that something is being done."""
        self._words, self._progress = words, None
        self._began = self._stage_began = self._monotonic()
        self.add_class("-busy")
        self._timer.resume()
        self._draw()

    def show(self, progress: Progress) -> None:
        """How far it is now."""
        if self._progress is None or self._progress.stage != progress.stage:
            self._stage_began = self._monotonic()
        self._progress = progress
        self._draw()

    def end(self) -> None:
        """Nothing is being done any more."""
        self.remove_class("-busy")
        self._timer.pause()

    def _draw(self) -> None:
        now = self._monotonic()
        inks = inks_of(self.app)
        spin = _SPINNER[int((now - self._began) * 8) % len(_SPINNER)]
        line = Text.assemble((f"{spin} ", inks.accent), (self._words, inks.plain), no_wrap=True)
        if self._progress is None:
            line.append(f"  {now - self._began:.0f} s", inks.dim)
        else:
            line.append(f"  {bar(self._progress)}", inks.accent)
            line.append(f"  {told(self._progress, now - self._stage_began)}", inks.dim)
        self.update(line)


def bar(progress: Progress) -> str:
    """A bar of the share that is done; "" where the whole is not known."""
    if not progress.total:
        return ""
    full = round(_BAR_CELLS * min(1.0, progress.done / progress.total))
    return "━" * full + "╌" * (_BAR_CELLS - full)


def told(progress: Progress, seconds: float) -> str:
    """Stage, counts, rate and time left in words; `seconds` since the stage began."""
    is_bytes = progress.unit == "bytes"
    count = wording.size if is_bytes else "{:,.0f}".format
    parts = [progress.stage, count(progress.done)]
    if progress.total:
        parts[-1] += f" of {count(progress.total)}"
    if not is_bytes:
        parts[-1] += f" {progress.unit}"
    rate = progress.done / seconds if seconds > 1 else 0.0
    if rate > 0:
        parts.append(f"{count(rate)}/s")
        if progress.total and progress.total > progress.done:
            parts.append(f"{wording.duration((progress.total - progress.done) / rate)} left")
    return " · ".join(parts)
