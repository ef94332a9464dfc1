"""Small windows over a screen: one that asks for lines of text, one that shows a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from localmem_tui.inks import inks_of
from localmem_tui.work import in_thread
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Footer, Input, Label, Static

from localmem.errors import LocalMemError

_Result = TypeVar("_Result")
_Found = TypeVar("_Found")


class WorkingDialog(ModalScreen[_Result]):
    """A window that does something in a thread before it closes."""

    def do(self, action: Callable[[], _Found], done: Callable[[_Found], None]) -> None:
        """Do something in a thread; then `done`, or `failed`, in the app's."""

        def if_here(then: Callable[[], None]) -> None:
            if self.is_attached:
                then()

        self._in_worker(
            lambda: in_thread(
                self.app,
                action,
                done=lambda result: if_here(lambda: done(result)),
                failed=lambda error: if_here(lambda: self.failed(error)),
            )
        )

    @work(thread=True)
    def _in_worker(self, what: Callable[[], None]) -> None:
        what()

    def failed(self, error: LocalMemError) -> None:
        """Show what went wrong, and what to do about it."""
        self.say(failure_text(error, self))

    def say(self, text: Text) -> None:
        """Show a text in the window."""
        self.query_one("#words", Static).update(text)


def failure_text(error: LocalMemError, dialog: ModalScreen[_Result]) -> Text:
    """A failure with its hint."""
    inks = inks_of(dialog.app)
    text = Text(error.message, inks.bad)
    if error.hint:
        text.append(f"\n{error.hint}", inks.plain)
    return text


@dataclass(frozen=True, slots=True)
class Field:
    """One line to fill in."""

    name: str
    label: str
    value: str = ""
    placeholder: str = ""
    suggestions: tuple[str, ...] = ()


class FormDialog(WorkingDialog[str]):
    """Lines to fill in; Enter in the last one does `action`, whose words are the result."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave it")]
    DEFAULT_CSS = """
    FormDialog { align: center middle; }
    FormDialog #form { width: 90%; max-width: 76; height: auto; max-height: 90%;
        background: $surface; border: round $primary; padding: 0 1; }
    FormDialog Label { color: $text-muted; }
    FormDialog Input { margin: 0 0 1 0; }
    FormDialog #words { height: auto; margin: 0 0 1 0; }
    """

    def __init__(
        self,
        title: str,
        fields: Sequence[Field],
        action: Callable[[dict[str, str]], str],
        *,
        explanation: str = "",
    ) -> None:
        super().__init__()
        self._title = title
        self._fields = tuple(fields)
        self._action = action
        self._explanation = explanation
        self.is_busy = False

    def compose(self) -> ComposeResult:
        with Vertical(id="form"):
            yield Static(Text(self._explanation), id="words")
            for field in self._fields:
                yield Label(Text(field.label))
                yield Input(
                    field.value,
                    placeholder=field.placeholder,
                    id=field.name,
                    compact=True,
                    suggester=SuggestFromList(field.suggestions, case_sensitive=False)
                    if field.suggestions
                    else None,
                )
            yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#form").border_title = Text(self._title)  # a name is no markup
        self.query(Input).first().focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """To the next line; from the last one on, do it."""
        inputs = list(self.query(Input))
        if event.input is not inputs[-1]:
            self.focus_next(Input)
        elif not self.is_busy:
            self.is_busy = True
            values = {one.id or "": one.value.strip() for one in inputs}
            self.do(lambda: self._action(values), self._close_with)

    def _close_with(self, words: str) -> None:
        self.dismiss(words)

    def failed(self, error: LocalMemError) -> None:
        self.is_busy = False
        super().failed(error)

    def action_leave(self) -> None:
        if not self.is_busy:
            self.dismiss(None)


class TextDialog(ModalScreen[None]):
    """A text to read; any of the usual keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q", "dismiss", "Close")]
    DEFAULT_CSS = """
    TextDialog { align: center middle; }
    TextDialog #text { width: 90%; max-width: 90; height: auto; max-height: 90%;
        background: $surface; border: round $primary; padding: 0 1; }
    TextDialog VerticalScroll { height: auto; max-height: 20; }
    """

    def __init__(self, title: str, text: Text) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(id="text"):
            with VerticalScroll():
                yield Static(self._text)
            yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#text").border_title = Text(self._title)  # a name is no markup
        self.query_one(VerticalScroll).focus()
