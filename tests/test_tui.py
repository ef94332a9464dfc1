"""The terminal app on a real memory with fake models, driven by keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC
from pathlib import Path

from localmem_tui import LocalMemApp
from textual.pilot import Pilot
from textual.widgets import Input, ListView, Static

from localmem.memory import ImportOptions
from localmem.sample import sample_export
from localmem.testing import build_memory

_Flow = Callable[[LocalMemApp, Pilot[None]], Coroutine[None, None, None]]


def _drive(path: Path, flow: _Flow, *, filled: bool = True) -> None:
    async def run() -> None:
        with build_memory(path / "memory.duckdb") as memory:
            if filled:
                memory.import_(sample_export(), ImportOptions(tz=UTC, later=True))
            app = LocalMemApp(memory)
            async with app.run_test(size=(120, 40)) as pilot:
                await _settled(app, pilot)
                await flow(app, pilot)

    asyncio.run(run())


async def _settled(app: LocalMemApp, pilot: Pilot[None]) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()


def _text(app: LocalMemApp, place: str) -> str:
    return str(app.query_one(place, Static).render())


def test_the_app_begins_with_the_sessions(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert len(app.query_one("#list", ListView)) > 40

    _drive(tmp_path, flow)


def test_an_empty_memory_says_how_to_fill_it(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert "localmem import" in _text(app, "#answer")

    _drive(tmp_path, flow, filled=False)


def test_typing_searches_and_choosing_a_line_opens_its_session(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await pilot.press(*"Valencia")
        await _settled(app, pilot)
        assert 0 < len(app.query_one("#list", ListView)) <= 10
        await pilot.press("tab", "down", "enter")
        await _settled(app, pilot)
        assert "Valencia" in _text(app, "#reader")

    _drive(tmp_path, flow)


def test_enter_answers_with_the_messages_it_rests_on(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        app.query_one("#query", Input).value = "When did I pick Tofu up from the shelter?"
        await pilot.press("enter")
        await _settled(app, pilot)
        assert "[1]" in _text(app, "#answer")

    _drive(tmp_path, flow)
