"""The Search screen on a real memory: results as one types, filters, the way to the raw turn."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.calm import loading
from localmem_tui.screens.ask import AskScreen
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.screens.search import SearchScreen
from localmem_tui.widgets.rows import Rows
from textual.pilot import Pilot
from textual.widgets import Input

from localmem.types import FoundMessage, Session
from tests.tui_driver import drive, press, settled, shown, write


def results(app: LocalMemApp) -> list[object]:
    return app.screen.query_one("#results", Rows).values


def found(app: LocalMemApp) -> list[FoundMessage]:
    return [one for one in results(app) if isinstance(one, FoundMessage)]


def test_the_newest_sessions_stand_there_until_results_come_as_one_types_with_the_words_lit(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        sessions = [one for one in results(app) if isinstance(one, Session)]
        assert len(sessions) == 54
        assert sessions[0].title == "Tax return: what can I deduct?"
        await write(app, pilot, "hazelnut")
        assert any("hazelnut" in one.message.text.lower() for one in found(app))
        rows = app.screen.query_one("#results", Rows)
        strips = [rows.render_line(y) for y in range(rows.size.height)]
        lit = [part for strip in strips for part in strip if "azelnut" in part.text]
        assert lit
        assert all(part.style is not None and part.style.bgcolor is not None for part in lit)

    drive(tmp_path, flow, sample=tui_sample)


def test_enter_opens_the_message_in_its_session_escape_comes_back_and_f3_asks(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "bib number 4172")
        await press(app, pilot, "down", "enter")
        screen = app.screen
        assert isinstance(screen, ReaderScreen)
        assert screen.pane.chosen_message is not None
        assert "4172" in shown(app)
        assert "▶" in shown(app)
        await press(app, pilot, "escape")
        assert isinstance(app.screen, SearchScreen)
        assert found(app)
        await press(app, pilot, "f3")
        assert isinstance(app.screen, AskScreen)
        assert app.screen.query_one("#question", Input).value == "bib number 4172"

    drive(tmp_path, flow, sample=tui_sample)


def test_filters_narrow_what_is_found_and_one_that_names_nobody_says_so(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "Valencia")
        everything = len(found(app))
        await press(app, pilot, "f2")
        await write(app, pilot, "ChatGPT")
        assert {one.message.speaker for one in found(app)} == {"ChatGPT"}
        assert len(found(app)) < everything
        days = sorted(f"{one.message.said_at:%Y-%m-%d}" for one in found(app))
        app.screen.query_one("#since", Input).value = days[-1]
        await settled(app, pilot)
        assert {f"{one.message.said_at:%Y-%m-%d}" for one in found(app)} == {days[-1]}
        assert days[0] < days[-1]
        who = app.screen.query_one("#who", Input)
        who.value = "Nobody"
        await settled(app, pilot)
        assert not found(app)
        assert "Nobody" in shown(app)
        who.value = ""
        await settled(app, pilot)
        assert found(app)

    drive(tmp_path, flow, sample=tui_sample)


def test_typing_fast_ends_with_the_results_of_the_last_word(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        line = app.screen.query_one("#query", Input)
        for text in ("rent", "rent incre", "marathon", "Kanelbullar"):
            line.value = text
            await pilot.pause()
        await settled(app, pilot)
        assert "kanelbullar" in found(app)[0].message.text.lower()

    drive(tmp_path, flow, sample=tui_sample)


def test_a_message_with_control_characters_cannot_drive_the_terminal(tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    evil = "hello \x1b[2Jwiped \x1b]52;c;Zm9v\x07 [red]not markup[/red]"
    message = {"role": "user", "content": evil}
    chat.write_text(json.dumps({"messages": [message]}) + "\n", encoding="utf-8")

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        app.memory.import_(chat)
        await write(app, pilot, "markup")
        await press(app, pilot, "down", "enter")
        assert "[red]not markup[/red]" in shown(app)
        assert "\x1b" not in app.export_screenshot()
        assert "␛" in shown(app)

    drive(tmp_path, flow)


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
def test_it_is_usable_at_every_size(
    tmp_path: Path, tui_sample: Path, size: tuple[int, int]
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "Kalmar")
        assert "Kalmar" in shown(app)
        assert app.screen.query_one("#preview").display is (size[0] >= 120)

    drive(tmp_path, flow, sample=tui_sample, size=size)


def test_what_a_large_memory_loads_stays_out_of_garbage_collection() -> None:
    frozen, thresholds = gc.get_freeze_count(), gc.get_threshold()
    try:
        with loading(100):
            assert gc.isenabled()
        assert gc.get_freeze_count() == frozen
        with loading(200_000):
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold() > thresholds
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
