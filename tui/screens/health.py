"""Health: what doctor finds, the key that repairs it, sizes, and the work in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.background import Background
from localmem_tui.inks import Inks, drawing_console, inks_of
from localmem_tui.screens.base import MemoryScreen
from localmem_tui.widgets.progress import bar
from localmem_tui.widgets.rows import Row, Rows
from localmem_tui.work import Job
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from localmem.errors import LocalMemError
from localmem.memory import Memory
from localmem.types import Finding, MemoryStats, QueueState, QueueStatus, Verdict, WorkReport
from localmem.wording import counted

_POLL_S = 0.5
_MARKS = {Verdict.OK: "✓", Verdict.NOTICE: "!", Verdict.PROBLEM: "✗"}


@dataclass(frozen=True, slots=True)
class Line:
    """A finding with its text wrapped."""

    finding: Finding
    lines: tuple[Text, ...]


class HealthScreen(MemoryScreen):
    """Findings above; sizes and the background's work below."""

    NAME = "Health"
    HELP = """\
What `localmem doctor` finds. ✓ is well, ! is worth knowing, ✗ needs you.

- **Enter** or **f** repairs the finding under the cursor, where the app can: it makes what is
  missing, makes vectors anew, or leads to the screen where it is done. Else the line says how.
- **w** lets the language model work ahead in the background (better lines, facts); it gives way
  to every question. **p** pauses it and lets it go on, **o** ends it. What is finished is stored.
- **v** looks again. **Esc** stops a repair.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "repair", "Repair"),
        Binding("w", "warm", "Work ahead"),
        Binding("p", "pause", "Pause / go on"),
        Binding("o", "end", "End it"),
        Binding("v", "look", "Look again"),
        Binding("escape", "leave", "Stop", show=False),
    ]

    def __init__(self, memory: Memory, background: Background) -> None:
        super().__init__(memory)
        self._background = background
        self._findings: tuple[Finding, ...] = ()
        self._is_outdated = False

    def body(self) -> ComposeResult:
        yield Rows(self._draw, id="findings")
        with Horizontal(id="below"):
            with Vertical(id="queue"):
                yield Static(id="working")
            with Vertical(id="sizes"):
                yield Static(id="numbers")

    def on_mount(self) -> None:
        self.query_one("#queue").border_title = "In the background"
        self.query_one("#sizes").border_title = "Sizes"
        self.query_one("#findings", Rows).focus()
        self.set_interval(_POLL_S, self._draw_queue)
        self._draw_queue()
        self.refresh_content()

    def memory_changed(self) -> None:
        """Look again; where a look or a repair runs, once that has ended."""
        if self.runs("doctor") or self.runs("repair"):
            self._is_outdated = True
        else:
            super().memory_changed()

    def refresh_content(self) -> None:
        self._is_outdated = False
        self.say("looking …")
        self.run_job(
            "doctor",
            lambda job: (self.memory.doctor(), self.memory.stats()),
            self._show_findings,
            failed=self._not_looked,
        )

    def _not_looked(self, error: LocalMemError) -> None:
        self.fail(error)
        self._look_if_outdated()

    def _look_if_outdated(self) -> None:
        if self._is_outdated:
            self._is_outdated = False
            self.memory_changed()

    def _show_findings(self, found: tuple[tuple[Finding, ...], MemoryStats]) -> None:
        self._findings, stats = found
        self._fill()
        self.query_one("#numbers", Static).update(sizes_text(stats, inks_of(self.app)))
        problems = sum(one.verdict is Verdict.PROBLEM for one in self._findings)
        told = counted(problems, "problem") if problems else "no problem was found"
        self.say(told, tone="bad" if problems else "good")
        self._look_if_outdated()

    def _fill(self) -> None:
        rows = self.query_one("#findings", Rows)
        width = max(20, rows.size.width - 1) if rows.size.width else 76
        inks = inks_of(self.app)
        lines = [Line(one, finding_lines(one, inks, width)) for one in self._findings]
        rows.set_rows([Row(line, len(line.lines)) for line in lines], at=_same_finding(rows.value))

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill)

    # --- Repairing --------------------------------------------------------------------------

    async def on_rows_chosen(self) -> None:
        await self.action_repair()

    async def action_repair(self) -> None:
        """Do what the finding under the cursor asks for."""
        line = self.query_one("#findings", Rows).value
        if not isinstance(line, Line) or self.runs("repair"):
            return
        finding = line.finding
        place = place_of(finding)
        if place:
            await self.run_action(f"app.go('{place}')")
            return
        repair = repair_of(self.memory, finding)
        if repair is None:
            told = f"in a terminal: {finding.cure}" if finding.cure else "nothing to repair"
            self.say(told)
            return
        self.run_job(
            "repair",
            repair,
            self._repaired,
            words=f"repairing: {finding.subject}",
            failed=self._not_repaired,
        )

    def _repaired(self, report: WorkReport) -> None:
        lines = counted(report.summaries_made, "summary", "summaries")
        vectors = counted(report.vectors_made, "vector")
        seconds = wording.duration(report.seconds)
        self.app.notify(f"made {lines} and {vectors} in {seconds}", markup=False)
        self.refresh_content()

    def _not_repaired(self, error: LocalMemError) -> None:
        """Say why; what was made before that is looked at."""
        self.app.notify(f"{error.message}\n{error.hint}".strip(), severity="warning", markup=False)
        self.refresh_content()

    def action_look(self) -> None:
        self.refresh_content()

    # --- The background ---------------------------------------------------------------------

    def action_warm(self) -> None:
        """Let the language model work ahead."""
        try:
            self._background.start()
        except LocalMemError as error:
            self.fail(error)
        self._draw_queue()

    def action_pause(self) -> None:
        """Pause the background's work, or let it go on."""
        self._background.pause_or_resume()
        self._draw_queue()

    def action_end(self) -> None:
        """End the background's work at its next step."""
        self._background.end()
        self._draw_queue()

    def _draw_queue(self) -> None:
        if self.is_active:
            text = queue_text(self._background, inks_of(self.app))
            self.query_one("#working", Static).update(text)

    def _draw(self, value: object, width: int) -> Sequence[Text]:
        return value.lines if isinstance(value, Line) else ()


def repair_of(memory: Memory, finding: Finding) -> Callable[[Job], WorkReport] | None:
    """What mends a finding; None where the app can't."""
    if finding.cure.startswith("localmem work"):
        return lambda job: memory.work(on_progress=job.tell)
    if finding.cure.startswith("localmem reindex"):
        return lambda job: memory.reindex(on_progress=job.tell)
    return None


def place_of(finding: Finding) -> str:
    """The screen where a finding is mended; "" where that is none."""
    if "localmem models" in finding.cure:
        return "Models"
    if "localmem import" in finding.cure:
        return "Import"
    return "People" if "localmem history" in finding.cure else ""


def finding_lines(finding: Finding, inks: Inks, width: int) -> tuple[Text, ...]:
    """A finding, wrapped: mark and subject, what was found, the cure."""
    ink = {Verdict.OK: inks.good, Verdict.NOTICE: inks.warn, Verdict.PROBLEM: inks.bad}
    text = Text.assemble(
        (f"{_MARKS[finding.verdict]} {finding.subject}: ", ink[finding.verdict]),
        (wording.flat(finding.detail), inks.plain),
    )
    lines = list(text.wrap(drawing_console(), width))
    if finding.cure:
        key = "  f: " if _is_mended_here(finding) else "  "
        cure = Text.assemble((key, inks.head), (finding.cure, inks.dim))
        lines += cure.wrap(drawing_console(), width)
    return tuple(lines)


def _same_finding(kept: object) -> Callable[[object], bool]:
    def is_same(other: object) -> bool:
        return (
            isinstance(kept, Line)
            and isinstance(other, Line)
            and (kept.finding.subject, kept.finding.cure)
            == (other.finding.subject, other.finding.cure)
        )

    return is_same


def _is_mended_here(finding: Finding) -> bool:
    cures = ("localmem work", "localmem reindex")
    return finding.cure.startswith(cures) or bool(place_of(finding))


def sizes_text(stats: MemoryStats, inks: Inks) -> Text:
    """The memory in numbers."""
    lines = (
        ("file", f"{wording.size(stats.file_bytes)}, {wording.size(stats.unused_bytes)} unused"),
        ("holds", f"{counted(stats.messages, 'message')}, {counted(stats.sessions, 'session')}"),
        ("people", f"{stats.participants:,}"),
        ("from", f"{wording.day(stats.first_said_at)} to {wording.day(stats.last_said_at)}"),
        ("vectors by", stats.embedder or "none yet"),
    )
    text = Text()
    for name, told in lines:
        text.append(f"{name:11}", inks.dim)
        text.append(f"{told}\n", inks.plain)
    return text


def queue_text(background: Background, inks: Inks) -> Text:
    """What the background does, and how far it is."""
    status, error = background.status(), background.error
    if error is not None:
        text = Text(error.message, inks.bad)
        return text.append(f"\n{error.hint}", inks.plain)
    if status is None:
        return Text("nothing · w lets the language model work ahead", inks.dim)
    text = Text(f"{status.state}", inks.accent)
    if status.total:
        text.append(f"  {status.done:,} of {status.total:,} turns\n", inks.plain)
        text.append(f"{_bar(status)}\n", inks.accent)
    elif status.state is QueueState.WAITING:
        text.append(" for a quiet moment", inks.dim)
    notes = []
    if status.tokens_per_s is not None:
        notes.append(f"{status.tokens_per_s:.0f} tokens/s")
    if status.seconds_left is not None:
        notes.append(f"{wording.duration(status.seconds_left)} left")
    if status.failed:
        notes.append(f"{status.failed:,} failed")
    return text.append(" · ".join(notes), inks.dim)


def _bar(status: QueueStatus) -> str:
    from localmem.types import Progress

    return bar(Progress("", status.done, status.total, "turns"))
