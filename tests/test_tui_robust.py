"""What must not freeze, end or mislead the app: odd clicks, odd names, odd themes."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC
from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.inks import DARK
from localmem_tui.screens.browse import BrowseScreen
from localmem_tui.screens.dialogs import Field, FormDialog
from localmem_tui.screens.forget import ForgetDialog
from localmem_tui.screens.importing import export_path
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.widgets.rows import Rows
from rich.text import Text
from textual.pilot import Pilot

from localmem.memory import ImportOptions
from localmem.testing import build_memory
from tests.tui_driver import drive, frame, make_small, press, settled, until, write


def test_a_click_on_the_top_line_leads_away_from_an_open_session(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "Bergen")
        await press(app, pilot, "down", "enter")
        assert isinstance(app.screen, ReaderScreen)
        assert await asyncio.wait_for(pilot.click("#places", offset=(25, 0)), timeout=60)
        await until(pilot, lambda: not isinstance(app.screen, ReaderScreen))
        await settled(app, pilot)
        assert isinstance(app.screen, BrowseScreen)

    drive(tmp_path, flow, sample=_small(tmp_path))


def test_a_click_chooses_the_row_that_was_clicked_below_a_border(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        known = app.screen.query_one("#known", Rows)
        assert len(known.values) > 1
        await press(app, pilot, "enter", "down")
        assert known.value == known.values[1]
        await pilot.click("#known", offset=(4, 1))  # line 0 is the border
        await settled(app, pilot)
        assert known.value == known.values[0]

    drive(tmp_path, flow, sample=_small(tmp_path), keys=("alt+4",))


def test_a_name_with_brackets_is_shown_as_it_is(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        dialog = FormDialog("Merge into Ana [/] [Work]", [Field("a", "name")], lambda said: "")
        await app.push_screen(dialog)
        await pilot.pause()
        assert "Merge into Ana [/] [Work]" in "\n".join(line for line, _ in frame(app))

    drive(tmp_path, flow)


def test_an_assistant_is_forgotten_and_not_the_person_of_the_same_name(tmp_path: Path) -> None:
    rows = [
        {
            "conversation_id": "c",
            "messages": [
                {"role": "user", "name": "Claude", "content": "Hello.", "timestamp": 1767225600},
                {"role": "assistant", "name": "Claude", "content": "Hi.", "timestamp": 1767225660},
            ],
        }
    ]
    export = tmp_path / "two.jsonl"
    export.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    path = tmp_path / "two.duckdb"
    with build_memory(path) as memory:
        memory.import_(export, ImportOptions(tz=UTC))
        people = {one.person.id: one.person for one in memory.people()}

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        everybody = app.screen.query_one("#everybody", Rows)
        for _ in everybody.values:
            await press(app, pilot, "x")
            dialog = app.screen
            assert isinstance(dialog, ForgetDialog)
            (choice,) = dialog._choices
            shown = everybody.value
            assert people[shown.person.id] == shown.person  # type: ignore[attr-defined]
            assert choice.target.person == str(shown.person.id)  # type: ignore[attr-defined]
            await press(app, pilot, "escape", "down")

    drive(tmp_path, flow, sample=path, keys=("alt+4",))


def test_a_home_that_nobody_has_is_a_path_without_a_file() -> None:
    assert not export_path("~nobody-is-called-this/x.zip").exists()


def test_no_theme_without_colours_of_its_own_can_be_chosen(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        for name in app.available_themes:
            app.theme = name
            await settled(app, pilot)

    drive(tmp_path, flow, sample=_small(tmp_path), keys=("alt+4",))


@pytest.mark.parametrize("place", ["3", "4", "9"])
def test_another_theme_leaves_nothing_in_the_inks_of_the_one_before(
    tmp_path: Path, place: str
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        def inks() -> str:
            return " ".join(ink for _, styles in frame(app) for ink in styles).lower()

        assert DARK.foreground is not None
        before = DARK.foreground.lower()
        assert before in inks()
        await press(app, pilot, "t")
        await until(pilot, lambda: before not in inks(), "something keeps the dark theme's ink")

    drive(tmp_path, flow, sample=_small(tmp_path), keys=(f"alt+{place}",))


def test_a_line_that_was_cut_is_whole_again_where_there_is_room() -> None:
    line = Text("a long line that does not fit")
    rows = Rows(lambda value, width: [line])
    assert rows._strip(line, 8).text != line.plain
    assert rows._strip(line, 80).text == line.plain


def test_ctrl_q_leaves_from_a_window(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await app.push_screen(FormDialog("Title", [Field("a", "name")], lambda said: ""))
        await pilot.pause()
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)

    drive(tmp_path, flow)


def _small(folder: Path) -> Path:
    home = folder / "home"
    home.mkdir()
    return make_small(home)
