"""Forgetting: first what would go, then the receipt of what went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.inks import Inks, inks_of
from localmem_tui.screens.dialogs import WorkingDialog
from localmem_tui.widgets.rows import Row, Rows
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Footer, Input, Static

from localmem.errors import LocalMemError
from localmem.memory import Memory
from localmem.types import (
    ErasureReceipt,
    ForgetPlan,
    ForgetTarget,
    ImportId,
    MessageId,
    ParticipantId,
    Session,
)
from localmem.wording import counted, erased_rows


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that could be forgotten, in words."""

    words: str
    target: ForgetTarget


def choices_of(
    *,
    message: MessageId | None = None,
    session: Session | None = None,
    person: tuple[ParticipantId, str] | None = None,
    import_id: ImportId | None = None,
) -> tuple[Choice, ...]:
    """What can be forgotten where this is selected, the smallest first; `person`: id and name."""
    found = []
    if message is not None:
        found.append(Choice(f"message {message}", ForgetTarget(messages=(message,))))
    if session is not None:
        words = f"session {session.id}, {wording.titled(session.title)}"
        found.append(Choice(words, ForgetTarget(sessions=(session.id,))))
    if person is not None:
        number, name = person  # a person and an assistant may have one name
        found.append(Choice(f"all of {wording.flat(name)}", ForgetTarget(person=str(number))))
    if import_id is not None:
        found.append(Choice(f"all of import {import_id}", ForgetTarget(import_id=import_id)))
    return tuple(found)


class ForgetDialog(WorkingDialog[bool]):
    """Dry run, then receipt. The result says whether something was forgotten."""

    HELP = """\
Forgetting takes messages, and all that was made from them, out of the file for good. An import
of the same export leaves them out.

- First you see what would go; nothing has changed yet.
- **↑ ↓** choose how much, where there is a choice.
- **y** does it. To forget yourself you must type your name, then Enter.
- **Esc** leaves everything as it is.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave it"),
        Binding("y", "forget", "Forget it"),
        Binding("f1", "app.help", "Help", key_display="F1"),
    ]
    DEFAULT_CSS = """
    ForgetDialog { align: center middle; }
    ForgetDialog #forget { width: 90%; max-width: 90; height: auto; max-height: 90%;
        background: $surface; border: round $error; padding: 0 1; }
    ForgetDialog Rows { height: auto; max-height: 4; }
    ForgetDialog #plan { height: auto; max-height: 14; margin: 1 0; }
    ForgetDialog #confirm { display: none; }
    ForgetDialog #confirm.-wanted { display: block; }
    """

    def __init__(self, memory: Memory, choices: Sequence[Choice]) -> None:
        super().__init__()
        self.memory = memory
        self._choices = tuple(choices)
        self._plan: ForgetPlan | None = None
        self._planned: Choice | None = None
        self._is_done = False
        self._is_busy = False

    def compose(self) -> ComposeResult:
        with Vertical(id="forget"):
            yield Rows(self._draw, id="what")
            with VerticalScroll(id="plan", can_focus=False):
                yield Static(id="words")
            yield Input(id="confirm")
            yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#forget").border_title = "Forget"
        rows = self.query_one("#what", Rows)
        rows.styles.height = max(1, len(self._choices))
        rows.set_rows([Row(choice) for choice in self._choices])
        rows.focus()

    def on_rows_highlighted(self, event: Rows.Highlighted) -> None:
        """Say what would go with this choice."""
        choice = event.value
        if isinstance(choice, Choice) and not (self._is_done or self._is_busy):
            self._plan, self._planned = None, choice
            self.say(Text("counting what would go …"))
            self.do(
                lambda: self.memory.plan_forget(choice.target),
                lambda plan: self._show_plan(choice, plan),
            )

    def _show_plan(self, choice: Choice, plan: ForgetPlan) -> None:
        if choice is not self._planned:
            return
        self._plan = plan
        self.say(plan_text(plan, inks_of(self.app)))
        confirm = self.query_one("#confirm", Input)
        confirm.placeholder = f"type {plan.confirm} to forget the owner of this memory"
        confirm.set_class(bool(plan.confirm), "-wanted")

    def action_forget(self) -> None:
        """Do it, where the plan was seen."""
        if self._plan is None or self._planned is None or self._is_done or self._is_busy:
            return
        confirm = self.query_one("#confirm", Input)
        if self._plan.confirm and confirm.value.strip() != self._plan.confirm:
            confirm.focus()
            if confirm.value.strip():
                self.notify("that is not the name", severity="warning")
            return
        target, said = self._planned.target, confirm.value.strip()
        self._is_busy = True
        self.say(Text("forgetting, and writing the file anew …"))
        self.do(lambda: self.memory.forget(target, confirm=said), self._show_receipt)

    def on_input_submitted(self) -> None:
        self.action_forget()

    def _show_receipt(self, receipt: ErasureReceipt) -> None:
        self._is_done, self._is_busy = True, False
        self.query_one("#confirm").remove_class("-wanted")
        self.say(receipt_text(receipt, inks_of(self.app)))

    def action_leave(self) -> None:
        if not self._is_busy:
            self.dismiss(self._is_done)

    def failed(self, error: LocalMemError) -> None:
        self._is_busy = False
        super().failed(error)

    def _draw(self, value: object, width: int) -> Sequence[Text]:
        return [Text(value.words)] if isinstance(value, Choice) else ()


def plan_text(plan: ForgetPlan, inks: Inks) -> Text:
    """What would go, and what would stay."""
    text = Text.assemble(("would go: ", inks.bad), (erased_rows(plan.receipt), inks.plain))
    for losing in plan.sessions:
        session = losing.session
        text.append(
            f"\n  {wording.day(session.started_at)} {wording.titled(session.title)[:48]}: "
            f"{losing.messages_going:,} of {counted(session.message_count, 'message')}",
            inks.dim,
        )
    if plan.sessions_total > len(plan.sessions):
        more = plan.sessions_total - len(plan.sessions)
        text.append(f"\n  and {counted(more, 'more session')}", inks.dim)
    for line in plan.stays:
        text.append(f"\n{wording.flat(line)}", inks.warn)
    text.append("\n\nNothing has changed yet. ", inks.plain)
    text.append("y" if not plan.confirm else "Type the name, then Enter", inks.head)
    text.append(" forgets it for good.", inks.plain)
    return text


def receipt_text(receipt: ErasureReceipt, inks: Inks) -> Text:
    """What went."""
    text = Text.assemble(("forgotten: ", inks.good), (erased_rows(receipt), inks.plain))
    text.append(
        f"\nThe file was written anew: {wording.size(receipt.bytes_before)} before, "
        f"{wording.size(receipt.bytes_after)} after.",
        inks.dim,
    )
    if receipt.kept_out:
        kept = counted(receipt.kept_out, "message")
        text.append(f"\nImporting the same export again leaves {kept} out.", inks.dim)
    return text
