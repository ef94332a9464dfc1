"""The line on top: the screens with the keys that lead there, and what the memory holds."""

from __future__ import annotations

from collections.abc import Sequence

from localmem_tui.inks import inks_of
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static


class NavBar(Horizontal):
    """Names of screens; a click goes there."""

    DEFAULT_CSS = """
    NavBar { height: 1; background: $panel; }
    NavBar #places { width: 1fr; link-style: none; link-color: $foreground; }
    NavBar #holds { width: auto; padding: 0 1; color: $text-muted; display: none; }
    """

    def __init__(self, places: Sequence[str], current: str) -> None:
        super().__init__()
        self._places = tuple(places)
        self._current = current

    def compose(self) -> ComposeResult:
        yield Static(id="places")
        yield Static(id="holds")

    def on_mount(self) -> None:
        self.draw()
        self.app.theme_changed_signal.subscribe(self, lambda theme: self.draw())

    def say(self, text: str) -> None:
        """What the memory holds, in a few words."""
        self.query_one("#holds", Static).update(Text(text))

    def draw(self) -> None:
        """The names in the theme's colours."""
        inks = inks_of(self.app)
        line = Text(no_wrap=True)
        for number, name in enumerate(self._places, start=1):
            is_here = name == self._current
            style = f"reverse {inks.accent}" if is_here else inks.plain
            part = Text.assemble(
                (f" {number}", style if is_here else inks.accent), (f" {name} ", style)
            )
            part.apply_meta({"@click": f"app.go('{name}')"})
            line.append_text(part)
        self.query_one("#places", Static).update(line)
