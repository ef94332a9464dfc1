"""The line on top: the screens with the keys that lead there, and what the memory holds."""

from __future__ import annotations

from collections.abc import Mapping

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

    def __init__(self, places: Mapping[str, str], current: str) -> None:
        """`places` are the names with their keys."""
        super().__init__()
        self._places = dict(places)
        self._current = current
        self._holds = ""

    def compose(self) -> ComposeResult:
        yield Static(id="places")
        yield Static(id="holds")

    def on_mount(self) -> None:
        self.draw()
        self.app.theme_changed_signal.subscribe(self, lambda theme: self.draw())

    def say(self, text: str) -> None:
        """What the memory holds, in a few words."""
        self._holds = text
        self.query_one("#holds", Static).update(Text(text))
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        """The names in the theme's colours."""
        inks = inks_of(self.app)
        line = Text(no_wrap=True)
        before, between = self._gaps()
        for name, key in self._places.items():
            is_here = name == self._current
            style = f"reverse {inks.accent}" if is_here else inks.plain
            line.append(f"{before}{key}", style if is_here else inks.accent)
            # A link has one colour: the key is none.
            part = Text(f"{between}{name} ", style)
            part.apply_meta({"@click": f"app.visit('{name}')"})
            line.append_text(part)
        self.query_one("#places", Static).update(line)

    def _gaps(self) -> tuple[str, str]:
        """What stands before a key and between it and its name; less where there is less room."""
        holds = self.query_one("#holds", Static)
        room = self.size.width - (len(self._holds) + 2 if holds.display else 0)
        least = sum(len(f"{key}{name} ") for name, key in self._places.items())
        if room >= least + 2 * len(self._places):
            return " ", " "
        return ("", " ") if room >= least + len(self._places) else ("", "")
