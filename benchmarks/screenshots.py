"""python -m benchmarks screenshots: the pictures of the docs, drawn by the app itself.

The memory is the shipped sample history; the clock stands at the moment of its questions, so that
the same version draws the same pictures. They name no font from outside.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from localmem_tui import LocalMemApp
from localmem_tui.inks import LIGHT
from localmem_tui.screens.base import MemoryScreen
from textual.pilot import Pilot
from textual.widgets import Input

from localmem.memory import ImportOptions, Memory
from localmem.sample import asked_at, questions, sample_export
from localmem.testing import FixedClock

_SIZE = (120, 34)
_PATIENCE_S = 120.0
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"

Scene = Callable[[LocalMemApp, Pilot[None]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Picture:
    """One file of the docs, and how to get to what it shows."""

    name: str
    scene: Scene
    is_light: bool = False


async def search(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """Results for a few words."""
    app.screen.query_one("#query", Input).value = "hazelnut allergy in Spanish"
    await settled(app, pilot)
    await pilot.press("down", "down")


async def ask(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """Two questions, the second leaning on the first."""
    await pilot.press("alt+2")
    await settled(app, pilot)
    for question in (questions()[1], "How long did she hide?"):
        app.screen.query_one("#question", Input).value = question
        await pilot.press("enter")
        await settled(app, pilot)


async def browse(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """The facts of a session."""
    await pilot.press("alt+3")
    await settled(app, pilot)
    await pilot.press("down", "down", "down")
    await pilot.pause(0.5)
    await pilot.press("enter", "left", "left")
    await settled(app, pilot)


async def people(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """What is known of a thing, with what no longer holds."""
    await pilot.press("alt+4")
    await settled(app, pilot)
    app.screen.query_one("#topic", Input).value = "job"
    app.screen.query_one("#topic", Input).focus()
    await pilot.press("enter")
    await settled(app, pilot)


async def graph(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """A message with its ties, one of them unfolded."""
    await pilot.press("alt+5", "f2")
    await settled(app, pilot)
    app.screen.query_one("#node", Input).value = "marathon"
    await pilot.press("enter")
    await settled(app, pilot)
    await pilot.press("down", "down", "right")
    await settled(app, pilot)


async def tiers(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """An episode with its pages."""
    await pilot.press("alt+6")
    await settled(app, pilot)
    await pilot.press("down", "enter")
    await settled(app, pilot)


async def stats(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """The four plots."""
    await pilot.press("alt+0")
    await settled(app, pilot)


PICTURES = (
    Picture("tui-search", search),
    Picture("tui-ask", ask),
    Picture("tui-browse", browse, is_light=True),
    Picture("tui-people", people),
    Picture("tui-graph", graph),
    Picture("tui-tiers", tiers, is_light=True),
    Picture("tui-stats", stats),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--folder", type=Path, default=Path("docs"))


def run(args: argparse.Namespace) -> int:
    """Draw every picture."""
    with tempfile.TemporaryDirectory() as folder:
        clock = FixedClock(asked_at())
        with Memory.open(Path(folder) / "memory.duckdb", clock=clock, idle_s=60.0) as memory:
            memory.import_(sample_export(), ImportOptions(tz=UTC))
            memory.consolidate()
            for picture in PICTURES:
                drawn = asyncio.run(draw(memory, picture))
                target = args.folder / f"{picture.name}.svg"
                target.write_text(drawn, encoding="utf-8")
                print(f"{target}  {len(drawn):,} bytes")
    return 0


async def draw(memory: Memory, picture: Picture) -> str:
    """One picture as SVG."""
    app = LocalMemApp(memory)
    app.animation_level = "none"
    async with app.run_test(size=_SIZE) as pilot:
        await settled(app, pilot)
        if picture.is_light:
            app.theme = LIGHT.name
        await picture.scene(app, pilot)
        await settled(app, pilot)
        return without_outside_fonts(app.export_screenshot(title="localmem", simplify=True))


async def settled(app: LocalMemApp, pilot: Pilot[None]) -> None:
    """Wait until nothing runs that the screen began."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _PATIENCE_S
    for _ in range(3):
        await pilot.pause(0.2)
        while any(one.is_busy for one in app.screen_stack if isinstance(one, MemoryScreen)):
            if loop.time() > deadline:
                raise TimeoutError("the app stays busy")
            await pilot.pause(0.05)


def without_outside_fonts(picture: str) -> str:
    """The picture with the viewer's own monospace font in place of one from the network."""
    own = _FONT_FACE.sub("", picture)
    return re.sub(r"font-family: Fira Code, monospace", f"font-family: {_FONT}", own)
