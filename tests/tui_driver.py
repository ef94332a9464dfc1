"""Drives the terminal app in tests: a memory of the sample history, keys, and what is on screen."""

from __future__ import annotations

import asyncio
import html
import json
import re
import shutil
from collections.abc import Callable, Coroutine
from datetime import UTC
from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.screens.base import MemoryScreen
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from localmem.memory import ImportOptions, Memory
from localmem.testing import FixedModels, build_memory

Flow = Callable[[LocalMemApp, Pilot[None]], Coroutine[None, None, None]]

_PATIENCE_S = 240.0
_KEYS = {" ": "space", "?": "question_mark", ".": "full_stop"}
_CELL = 12.2
_TEXT = re.compile(r'<text class="([^"]*)" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', re.DOTALL)


def make_small(folder: Path, *, later: bool = False) -> Path:
    """A memory of two short chats, in which somebody moves from one town to another.

    `later` leaves vectors and what is known to `Memory.work`.
    """
    said = [
        ("2026-01-05T10:00:00Z", "I live in Leipzig. My sister is called Ana."),
        ("2026-03-05T10:00:00Z", "I moved to Bergen last week, so I live in Bergen now."),
    ]
    chats = [
        {
            "conversation_id": f"c{number}",
            "messages": [
                {"role": "user", "content": text, "timestamp": when},
                {"role": "assistant", "content": "Noted.", "timestamp": when},
            ],
        }
        for number, (when, text) in enumerate(said)
    ]
    export = folder / "chat.jsonl"
    export.write_text("".join(json.dumps(chat) + "\n" for chat in chats), encoding="utf-8")
    path = folder / "small.duckdb"
    with build_memory(path) as memory:
        memory.import_(export, ImportOptions(tz=UTC, later=later))
    return path


def drive(
    path: Path,
    flow: Flow,
    *,
    sample: Path | None = None,
    size: tuple[int, int] = (120, 40),
    models: FixedModels | None = None,
    keys: tuple[str, ...] = (),
) -> None:
    """Run a flow in the app, on a copy of the sample memory or on an empty one.

    `keys` are pressed before, each after the one before has had its effect.
    """
    file = path / "memory.duckdb"
    if sample is not None:
        shutil.copy(sample, file)
    with build_memory(file, models=models) as memory:
        run_app(memory, flow, size=size, keys=keys)


def run_app(
    memory: Memory, flow: Flow, *, size: tuple[int, int] = (120, 40), keys: tuple[str, ...] = ()
) -> None:
    """Run a flow in the app on this memory."""

    async def run() -> None:
        app = LocalMemApp(memory)
        app.animation_level = "none"
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            for key in keys:
                await pilot.press(key)
                await settled(app, pilot)
            await flow(app, pilot)

    asyncio.run(run())


async def until(pilot: Pilot[None], is_so: Callable[[], bool], what: str = "") -> None:
    """Wait until something is so; fails when it does not come to be."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE_S
    while not is_so():
        if asyncio.get_running_loop().time() > deadline:
            pytest.fail(f"{what or 'waited in vain'}; on screen:\n{pictured(pilot.app)}")
        await pilot.pause(0.01)


async def settled(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """Wait until nothing runs that the screen began, and what came of it is shown."""
    await pilot.pause()
    for _ in range(2):  # what a job shows may begin another
        await until(pilot, lambda: not is_busy(app), "the screen stays busy")
        await pilot.pause()


def is_busy(app: LocalMemApp) -> bool:
    """Whether the screen that is shown has work in hand."""
    screens = [one for one in app.screen_stack if isinstance(one, MemoryScreen)]
    return any(one.is_busy for one in screens)


async def press(app: LocalMemApp, pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and wait for what they do."""
    await pilot.press(*keys)
    await settled(app, pilot)


async def write(app: LocalMemApp, pilot: Pilot[None], text: str) -> None:
    """Write a text into the line that has the focus, the last letter by its key; wait for it."""
    line = app.focused
    assert isinstance(line, Input)
    line.value += text[:-1]
    line.cursor_position = len(line.value)
    await press(app, pilot, _KEYS.get(text[-1], text[-1]))


def lines(app: LocalMemApp) -> list[str]:
    """What is on screen, line by line."""
    return [line for line, _ in frame(app)]


def shown(app: LocalMemApp) -> str:
    """What is on screen as one text."""
    return "\n".join(lines(app))


def pictured(app: App[None]) -> str:
    """The same for a failure's message."""
    return shown(app) if isinstance(app, LocalMemApp) else ""


def frame(app: LocalMemApp) -> list[tuple[str, list[str]]]:
    """The lines on screen, each with the styles that its letters are written in.

    Read from the picture that the app makes of itself, so that what is compared is what is drawn.
    """
    picture = app.export_screenshot(simplify=True)
    inks = dict(re.findall(r"\.terminal-\d+-(r\d+) \{ ([^}]*)\}", picture))
    rows: dict[float, list[tuple[int, str, str]]] = {}
    for name, x, y, text in _TEXT.findall(picture):
        ink = inks.get(name.rsplit("-", 1)[-1], "").strip()
        letters = html.unescape(text).replace("\xa0", " ")
        rows.setdefault(float(y), []).append((round(float(x) / _CELL), letters, ink))
    drawn = []
    for y in sorted(rows):
        line, used = "", []
        for column, letters, ink in sorted(rows[y]):
            line = line.ljust(column) + letters
            if letters.strip() and ink not in used:
                used.append(ink)
        drawn.append((line.rstrip(), used))
    return drawn
