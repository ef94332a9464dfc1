"""The Search screen on a real memory: results as one types, filters, the way to the raw turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
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


def test_with_nothing_typed_the_newest_sessions_are_there(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        sessions = [one for one in results(app) if isinstance(one, Session)]
        assert len(sessions) == 54
        assert sessions[0].title == "Tax return: what can I deduct?"

    drive(tmp_path, flow, sample=tui_sample)


def test_results_come_as_one_types_with_the_words_lit(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "hazelnut")
        assert any("hazelnut" in one.message.text.lower() for one in found(app))
        rows = app.screen.query_one("#results", Rows)
        strips = [rows.render_line(y) for y in range(rows.size.height)]
        lit = [part for strip in strips for part in strip if "azelnut" in part.text]
        assert lit
        assert all(part.style is not None and part.style.bgcolor is not None for part in lit)

    drive(tmp_path, flow, sample=tui_sample)


def test_enter_opens_the_message_in_its_session_and_escape_comes_back(
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

    drive(tmp_path, flow, sample=tui_sample)


def test_filters_narrow_what_is_found(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "Valencia")
        everything = len(found(app))
        await press(app, pilot, "f2")
        await write(app, pilot, "ChatGPT")
        assert {one.message.speaker for one in found(app)} == {"ChatGPT"}
        assert len(found(app)) < everything
        app.screen.query_one("#since", Input).value = "2026-09-01"
        await settled(app, pilot)
        assert all(f"{one.message.said_at:%Y-%m-%d}" >= "2026-09-01" for one in found(app))

    drive(tmp_path, flow, sample=tui_sample)


def test_a_filter_that_names_nobody_says_so_and_keeps_the_app_alive(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "Valencia")
        await press(app, pilot, "f2")
        await write(app, pilot, "Nobody")
        assert not found(app)
        assert "Nobody" in shown(app)
        await press(app, pilot, *(["backspace"] * len("Nobody")))
        assert found(app)

    drive(tmp_path, flow, sample=tui_sample)


def test_the_line_is_taken_over_to_ask(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "What's my bib number?")
        await press(app, pilot, "f3")
        assert isinstance(app.screen, AskScreen)
        assert app.screen.query_one("#question", Input).value == "What's my bib number?"

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
