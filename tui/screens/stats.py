"""Stats: activity by month, where it comes from, which layers are made, how fast search is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.screens.base import MemoryScreen
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual_plotext import PlotextPlot

from localmem.memory import Memory
from localmem.types import MemoryStats, Session
from localmem.wording import counted

_MOST_MONTHS = 24
_FEWEST_BARS = 4
"""One bar alone would fill its whole plot."""
_BOUNDS_MS = (5, 10, 20, 50, 100, 200, 500)


class StatsScreen(MemoryScreen):
    """Four plots; in a small window one at a time."""

    NAME = "Stats"
    HELP = """\
The memory in four plots: messages by month, sessions by source, how much of it has each layer,
and how long the searches of this run of the app took.

- **← →** change the plot where the window is too small for all four. **v** draws them anew.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "Plot", key_display="←"),
        Binding("right", "turn(1)", "Plot", key_display="→"),
        Binding("v", "look", "Draw anew"),
    ]

    def __init__(self, memory: Memory, latencies: Callable[[], Sequence[float]]) -> None:
        """`latencies` gives the seconds of this run's searches."""
        super().__init__(memory)
        self._latencies = latencies
        self._shown = 0

    def body(self) -> ComposeResult:
        with Grid(id="plots"):
            for name in ("months", "sources", "layers", "speed"):
                yield PlotextPlot(id=name)

    def on_mount(self) -> None:
        self._mark()
        self.refresh_content()

    def refresh_content(self) -> None:
        self.run_job("stats", lambda job: (self.memory.sessions(), self.memory.stats()), self._show)

    def _show(self, found: tuple[tuple[Session, ...], MemoryStats]) -> None:
        sessions, stats = found
        self._plot("months", "messages by month", *by_month(sessions))
        self._plot("sources", "sessions by source", *by_source(sessions))
        self._plot("layers", "made of each layer, in percent", *by_layer(stats))
        speeds = self._latencies()
        title = f"{counted(len(speeds), 'search', 'searches')} in ms"
        self._plot("speed", title, *by_speed(speeds))
        self.say(
            f"{counted(stats.messages, 'message')} · {counted(stats.sessions, 'session')} · "
            f"{counted(stats.participants, 'person', 'people')} · {wording.size(stats.file_bytes)}"
        )

    def _plot(self, name: str, title: str, labels: Sequence[str], counts: Sequence[float]) -> None:
        plot = self.query_one(f"#{name}", PlotextPlot)
        plt = plot.plt
        plt.clear_data()
        plt.title(title)
        if any(counts):
            plt.bar(
                list(labels),
                list(counts),
                orientation="horizontal" if name == "sources" else "vertical",
                color=self._colour(),
                width=0.6,
            )
        plot.refresh()

    def _colour(self) -> tuple[int, int, int]:
        from textual.color import Color

        return Color.parse(self.app.current_theme.primary).rgb

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Where there is room, all plots stand side by side anyway."""
        return action != "turn" or not self.has_class("-wide")

    def on_resize(self) -> None:
        self.call_after_refresh(self.refresh_bindings)

    def action_turn(self, step: int) -> None:
        """The next plot, where they don't all fit."""
        self._shown = (self._shown + step) % len(self.query(PlotextPlot))
        self._mark()

    def _mark(self) -> None:
        for number, plot in enumerate(self.query(PlotextPlot)):
            plot.set_class(number == self._shown, "-shown")

    def action_look(self) -> None:
        self.refresh_content()


def by_month(sessions: Sequence[Session]) -> tuple[list[str], list[float]]:
    """Messages of the latest months that have any, oldest first."""
    counts: Counter[str] = Counter()
    for session in sessions:
        if session.started_at is not None:
            counts[f"{session.started_at:%Y-%m}"] += session.message_count
    months = sorted(counts)[-_MOST_MONTHS:]
    return months, [float(counts[month]) for month in months]


def by_source(sessions: Sequence[Session]) -> tuple[list[str], list[float]]:
    """Sessions of each source, the most first."""
    counts = Counter(session.source for session in sessions).most_common()
    rows = [*counts, *((" " * n, 0) for n in range(1, _FEWEST_BARS - len(counts) + 1))]
    return [name for name, _ in rows], [float(count) for _, count in rows]


def by_layer(stats: MemoryStats) -> tuple[list[str], list[float]]:
    """Percent of turns, sessions or messages that have each layer, and their vectors."""
    lines = _percent(stats.turns - stats.turns_without_summary, stats.turns)
    vectors = _percent(stats.messages - stats.messages_without_vectors, stats.messages)
    facts = _percent(stats.sessions_with_facts, stats.sessions)
    notes = _percent(stats.messages_with_notes, stats.messages)
    raw = 100.0 if stats.messages else 0.0
    return ["L0", "L1", "L2", "L3", "vectors"], [lines, facts, notes, raw, vectors]


def by_speed(seconds: Sequence[float]) -> tuple[list[str], list[float]]:
    """How many searches took how long, in milliseconds."""
    labels = [f"<{bound}" for bound in _BOUNDS_MS] + [f"≥{_BOUNDS_MS[-1]}"]
    counts = [0.0] * len(labels)
    for one in seconds:
        counts[sum(one * 1000 >= bound for bound in _BOUNDS_MS)] += 1
    return labels, counts


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
