"""What each screen looks like: its text and colours, against what is kept in tests/frames.

After a change that is meant: LOCALMEM_NEW_FRAMES=1 python -m pytest tests/test_tui_frames.py
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.inks import DARK, LIGHT
from localmem_tui.screens.base import PLACES
from textual.color import Color
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui_driver import drive, frame, make_small, press, settled, shown, until

_FRAMES = Path(__file__).parent / "frames"
_NEW = "LOCALMEM_NEW_FRAMES"
_VARIES = [
    (re.compile(r"\bin \d+ ms"), "in N ms"),
    (re.compile(r"\d+\.\d s\b"), "N.N s"),
    (re.compile(r"\d+(\.\d)? [kMG]B(?= unused|$| *│|, | of memory$| *$)"), "N MB"),
]
"""What is not the same on two machines."""


def _words_of(app: LocalMemApp) -> str:
    """The screen as it is kept: its lines, then the colours of each line."""
    lines, colours = [], []
    for number, (line, inks) in enumerate(frame(app), start=1):
        steady = line
        for varies, stands in _VARIES:
            steady = varies.sub(stands, steady)
        lines.append(line if steady == line else re.sub(r" +│", " │", steady).rstrip())
        if inks:
            colours.append(f"{number}: {' | '.join(inks)}")
    return "\n".join([*lines, "", *colours]) + "\n"


def _check(app: LocalMemApp, name: str) -> None:
    kept, now = _FRAMES / f"{name}.txt", _words_of(app)
    if os.environ.get(_NEW):
        _FRAMES.mkdir(exist_ok=True)
        kept.write_text(now, encoding="utf-8")
    assert now == kept.read_text(encoding="utf-8"), f"{name} looks different; see {_NEW}"


async def _hold_still(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """No cursor blinks."""
    for field in app.screen.query(Input):
        field.cursor_blink = False
    await pilot.pause()


async def _fill(app: LocalMemApp, pilot: Pilot[None], place: str) -> None:
    """Bring a screen to a state worth keeping."""
    if place == "Search":
        app.screen.query_one("#query", Input).value = "Bergen"
        await settled(app, pilot)
        await press(app, pilot, "down")
    elif place == "Ask":
        app.screen.query_one("#question", Input).value = "Where do I live?"
        await press(app, pilot, "enter")
    elif place == "Stats":
        app.latencies.clear()  # how fast this machine searches
        await press(app, pilot, "v")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_the_screens_look_as_they_did(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("LOCALMEM_HOME", str(home))
    monkeypatch.setenv("HOME", str(home))

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        for place, key in PLACES.items():
            await press(app, pilot, f"alt+{key}")
            await _fill(app, pilot, place)
            await _hold_still(app, pilot)
            _check(app, f"{place.lower()}-{size[0]}x{size[1]}")

    drive(home, flow, sample=make_small(home), size=size)


def test_help_and_forgetting_look_as_they_did(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "f1")
        _check(app, "help-80x24")
        await press(app, pilot, "escape", "escape", "down", "x")
        await until(pilot, lambda: "would go:" in shown(app))
        _check(app, "forget-80x24")

    home = tmp_path / "home"
    home.mkdir()
    drive(tmp_path, flow, sample=make_small(home), size=(80, 24))


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_the_inks_can_be_read_on_their_ground(theme: object) -> None:
    assert theme in (DARK, LIGHT)
    chosen = DARK if theme is DARK else LIGHT
    assert chosen.background is not None
    ground = Color.parse(chosen.background)
    inks = [chosen.foreground, chosen.primary, chosen.accent, chosen.success, chosen.warning]
    inks += [chosen.error, chosen.variables["dim-ink"]]
    for ink in inks:
        assert ink is not None
        assert _contrast(Color.parse(ink), ground) >= 4.5, (chosen.name, ink)


def _contrast(one: Color, other: Color) -> float:
    """WCAG 2.1, contrast ratio (1 to 21); 4.5 is wanted of text."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    """WCAG 2.1, relative luminance."""
    parts = [value / 255 for value in colour.rgb]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
