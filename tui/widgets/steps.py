"""What an answer takes: its steps as a tree while they happen, and what of the budget is spent."""

from __future__ import annotations

from collections.abc import Callable

from localmem_tui import wording
from localmem_tui.inks import Inks, inks_of
from rich.text import Text
from textual.widgets import Static, Tree
from textual.widgets.tree import TreeNode

from localmem.types import Budget, Trace, TraceStep
from localmem.wording import counted

_BAR_CELLS = 12


class StepTree(Tree[None]):
    """Decisions with their steps: tool, layer, tokens, time, and what came of it."""

    DEFAULT_CSS = """
    StepTree { height: 1fr; background: transparent; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # Textual's own name
        super().__init__("steps", id=id)
        self.show_root = False
        self.guide_depth = 2
        self._decisions: dict[int, TreeNode[None]] = {}
        self.steps = 0
        self.tokens = 0

    def begin(self) -> None:
        """Show nothing yet."""
        self.clear()
        self._decisions.clear()
        self.steps = 0
        self.tokens = 0

    def add_step(self, step: TraceStep) -> None:
        """One more step, under its decision."""
        self.steps = max(self.steps, step.decision)
        self.tokens += step.tokens
        place = self.root
        if step.decision:
            place = self._decision(step.decision)
        inks = inks_of(self.app)
        node = place.add(step_line(step, inks), expand=True, allow_expand=False)
        if step.outcome:
            node.allow_expand = True
            node.add_leaf(Text(wording.flat(step.outcome), inks.plain))
            node.expand()
        self.scroll_end(animate=False)

    def show_trace(self, trace: Trace) -> None:
        """All steps of an answer that is done."""
        self.begin()
        for step in trace.steps:
            self.add_step(step)
        self.scroll_home(animate=False)

    def _decision(self, number: int) -> TreeNode[None]:
        if number not in self._decisions:
            inks = inks_of(self.app)
            label = Text(f"step {number}", inks.head)
            self._decisions[number] = self.root.add(label, expand=True)
        return self._decisions[number]


def step_line(step: TraceStep, inks: Inks) -> Text:
    """A step on one line: "search L0  bib number  0.02 s · 438 tokens"."""
    layer = f" L{int(step.layer)}" if step.layer is not None else ""
    spent = wording.duration(step.seconds)
    if step.tokens:
        spent += f" · {counted(step.tokens, 'token')}"
    return Text.assemble(
        (f"{step.tool}{layer} ", inks.accent),
        (f"{wording.flat(step.arguments)[:80]} ", inks.plain),
        (spent, inks.dim),
    )


class BudgetBar(Static):
    """Steps, tokens and seconds spent, each of what may be spent."""

    DEFAULT_CSS = "BudgetBar { height: auto; padding: 0 1; }"

    def show(self, budget: Budget, *, steps: int, tokens: int, seconds: float) -> None:
        """What is spent now."""
        inks = inks_of(self.app)
        lines = [
            _gauge("time", seconds, budget.seconds, wording.duration, inks),
            _gauge("steps", steps, budget.steps, lambda n: f"{n:.0f}", inks),
            _gauge("tokens", tokens, budget.tokens, lambda n: f"{n:,.0f}", inks),
        ]
        self.update(Text("\n").join(lines))


def _gauge(
    name: str, spent: float, limit: float | None, told: Callable[[float], str], inks: Inks
) -> Text:
    share = min(1.0, spent / limit) if limit else 0.0
    full = round(share * _BAR_CELLS)
    of_all = f" of {told(limit)}" if limit else ", no limit"
    return Text.assemble(
        (f"{name:7}", inks.dim),
        ("━" * full, inks.warn if share > 0.8 else inks.accent),
        ("╌" * (_BAR_CELLS - full), inks.dim),
        (f" {told(spent)}{of_all}", inks.plain),
    )
