"""The Browse screen: sessions by month and source, the four layers, jumps between them."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

from localmem_tui import LocalMemApp
from localmem_tui.screens.browse import BrowseScreen
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.screens.reading import ReadingScreen
from localmem_tui.widgets.rows import Rows
from localmem_tui.widgets.session_pane import SessionPane, Told
from textual.pilot import Pilot

from localmem.memory import ImportOptions
from localmem.testing import build_memory
from localmem.types import KeyFact, Layer, Message, Session, TurnNote, TurnSummary
from tests.tui_driver import drive, press, settled, shown, until, write


def pane(app: LocalMemApp) -> SessionPane:
    assert isinstance(app.screen, ReadingScreen)
    return app.screen.pane


def chosen(app: LocalMemApp) -> object:
    value = pane(app).rows.value
    return value.value if isinstance(value, Told) else None


async def opened(app: LocalMemApp, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: pane(app).view is not None, "no session is shown")
    await settled(app, pilot)


def test_sessions_stand_under_their_months_or_sources_and_are_narrowed_by_words(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        rows = app.screen.query_one("#sessions", Rows)
        headings = [row.value for row in rows.rows if row.is_heading]
        assert headings[:2] == ["October 2026", "September 2026"]
        assert headings[-1] == "October 2025"
        assert len(rows.values) == 54
        await press(app, pilot, "f3")
        assert [row.value for row in rows.rows if row.is_heading] == ["chatgpt"]
        await press(app, pilot, "f2")
        await write(app, pilot, "valencia")
        titles = [one.title for one in rows.values if isinstance(one, Session)]
        assert titles == ["Back from Valencia", "Valencia has to wait", "A week in Valencia"]

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+3",))


def test_each_layer_is_made_when_it_is_first_looked_at_and_each_row_leads_deeper(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot)
        await press(app, pilot, "enter")
        assert isinstance(chosen(app), Message)
        for layer, kind in ((Layer.NOTES, TurnNote), (Layer.FACTS, KeyFact)):
            await press(app, pilot, "left")
            assert pane(app).shown_layer is layer
            assert isinstance(chosen(app), kind)
        await press(app, pilot, "down", "down")
        fact = chosen(app)
        assert isinstance(fact, KeyFact)
        await press(app, pilot, "enter")
        note = chosen(app)
        assert isinstance(note, TurnNote)
        assert note.message_id == fact.message_ids[0]
        await press(app, pilot, "enter")
        message = chosen(app)
        assert isinstance(message, Message)
        assert message.id == note.message_id
        await press(app, pilot, "b")
        assert chosen(app) == note
        await press(app, pilot, "b")
        assert isinstance(chosen(app), KeyFact)
        await press(app, pilot, "left")
        assert isinstance(chosen(app), TurnSummary)
        await press(app, pilot, "left", "home", "down", "down")
        assert pane(app).shown_layer is Layer.SUMMARY
        line = chosen(app)
        assert isinstance(line, TurnSummary)
        await press(app, pilot, "enter")
        message = chosen(app)
        assert isinstance(message, Message)
        assert message.turn_id == line.turn_id
        await pilot.click("#l0")
        await settled(app, pilot)
        assert pane(app).shown_layer is Layer.SUMMARY

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+3",))


def test_text_is_wrapped_anew_in_a_window_of_another_width(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot)
        await press(app, pilot, "enter", "down")
        before = chosen(app)
        for columns in (100, 160):
            was = _longest(app)
            await pilot.resize_terminal(columns, 40)
            await pilot.pause()
            await settled(app, pilot)
            assert _longest(app) != was
            assert _longest(app) <= pane(app).text_width
            assert chosen(app) == before

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+3",))


def _longest(app: LocalMemApp) -> int:
    rows = [one for one in pane(app).rows.values if isinstance(one, Told)]
    return max(line.cell_len for row in rows for line in row.lines)


def test_nothing_of_the_last_session_stays_once_it_is_forgotten(tmp_path: Path) -> None:
    export = tmp_path / "chat.jsonl"
    said = {"role": "user", "content": "The telescope in Bergen shows Saturn."}
    export.write_text(json.dumps({"conversation_id": "c", "messages": [said]}), encoding="utf-8")
    with build_memory(tmp_path / "memory.duckdb") as memory:
        memory.import_(export, ImportOptions(tz=UTC))

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot)
        assert "shows Saturn" in shown(app)
        await press(app, pilot, "x")
        await until(pilot, lambda: "would go:" in shown(app))
        await pilot.press("y")
        await until(pilot, lambda: "forgotten:" in shown(app))
        await press(app, pilot, "escape")
        assert "this memory is empty" in shown(app)
        assert "Saturn" not in shown(app)
        assert pane(app).session is None

    drive(tmp_path, flow, keys=("alt+3",))


def test_in_a_narrow_window_a_session_takes_the_whole_screen(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert isinstance(app.screen, BrowseScreen)
        await press(app, pilot, "enter")
        assert isinstance(app.screen, ReaderScreen)
        await opened(app, pilot)
        assert "L0 Lines" in shown(app)
        await press(app, pilot, "escape")
        assert isinstance(app.screen, BrowseScreen)

    drive(tmp_path, flow, sample=tui_sample, size=(80, 24), keys=("alt+3",))
