"""Help: what the screen is for, and all keys that do something on it now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from localmem_tui.inks import inks_of
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

EVERYWHERE = """\
**1** to **9** and **0** go to the screens (**Esc** first, where you are typing; **Alt** with the
number goes at once). **Ctrl+P** opens the palette: every command by name. **t** changes between
dark and light. **F1** or **?** is this help. **Ctrl+Q** leaves.
"""


class HelpScreen(ModalScreen[None]):
    """The help of the screen below it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,question_mark,q", "dismiss", "Close", key_display="Esc")
    ]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen #help { width: 92%; max-width: 96; height: auto; max-height: 92%;
        background: $surface; border: round $primary; padding: 0 1; }
    HelpScreen VerticalScroll { height: auto; max-height: 100%; }
    """

    def __init__(self, title: str, text: str, bindings: Iterable[ActiveBinding]) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._active = tuple(bindings)

    def compose(self) -> ComposeResult:
        from rich.markdown import Markdown  # with its parser it is a fifth of the app's start

        with Vertical(id="help"):
            with VerticalScroll():
                yield Static(Markdown(f"{self._text}\n{EVERYWHERE}"))
                yield Static(id="keys")
            yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#help").border_title = f"Help: {self._title}"
        inks = inks_of(self.app)
        table = Table.grid(padding=(0, 3, 0, 0))
        for key, words in keys_of(self._active, self.app.get_key_display):
            table.add_row(Text(key, inks.head), Text(words, inks.plain))
        self.query_one("#keys", Static).update(table)
        self.query_one(VerticalScroll).focus()


def keys_of(
    bindings: Iterable[ActiveBinding], display: Callable[[Binding], str]
) -> list[tuple[str, str]]:
    """Keys with what they do, those of one action together."""
    found: dict[str, list[str]] = {}
    for active in bindings:
        binding = active.binding
        if binding.description and binding.show:
            shown = display(binding)
            keys = found.setdefault(binding.description, [])
            if shown not in keys:
                keys.append(shown)
    return [(" ".join(keys), words) for words, keys in found.items()]
