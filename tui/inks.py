"""The colours that text is written in, taken from the theme, so that they suit light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from textual.app import App
from textual.theme import Theme

DARK = Theme(
    name="localmem-dark",
    primary="#7aa2f7",
    secondary="#9ece6a",
    accent="#e0af68",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#d5d9ea",
    background="#16171f",
    surface="#1d1f2b",
    panel="#2a2d3d",
    dark=True,
    variables={"dim-ink": "#8d93ad", "match-ink": "#16171f on #e0af68"},
)
LIGHT = Theme(
    name="localmem-light",
    primary="#2c56a8",
    secondary="#3d6b1e",
    accent="#8a5300",
    warning="#8a5300",
    error="#b3203c",
    success="#3d6b1e",
    foreground="#22252f",
    background="#fbfaf7",
    surface="#f1efe9",
    panel="#e2dfd6",
    dark=False,
    variables={"dim-ink": "#666b7a", "match-ink": "#22252f on #ffd98a"},
)


@dataclass(frozen=True, slots=True)
class Inks:
    """Styles for rich text, each as rich writes it ("bold #7aa2f7")."""

    plain: str
    dim: str
    accent: str
    good: str
    warn: str
    bad: str
    match: str
    head: str


def inks_of(app: App[Any]) -> Inks:
    """The inks of the theme in use; built-in themes lack ours and get near ones."""
    theme = app.current_theme
    variables = app.theme_variables
    text = theme.foreground or ("#e0e0e0" if theme.dark else "#202020")
    ground = theme.background or ("#121212" if theme.dark else "#f0f0f0")
    accent = theme.accent or theme.primary
    return Inks(
        plain=text,
        dim=variables.get("dim-ink", "#999999" if theme.dark else "#5a5a5a"),
        accent=theme.primary,
        good=theme.success or theme.primary,
        warn=theme.warning or accent,
        bad=theme.error or accent,
        match=variables.get("match-ink", f"{ground} on {accent}"),
        head=f"bold {theme.primary}",
    )


def drawing_console() -> Console:
    """A console for wrapping text; nothing is printed on it."""
    return Console(width=200, color_system="truecolor", force_terminal=True, legacy_windows=False)
