"""python -m benchmarks tui: the terminal app on a large memory that was imported keyword-only.

Measured are the first picture (from the start of the app, and of a whole process), the time from
the last key of a query to its results on screen, and the frames while one scrolls: how long each
step keeps the app from drawing the next. Nothing is drawn into a real terminal, so what is
measured is the app's own work.

Beside each time on the clock stands the processor time (`_cpu`), which other programs on the
machine don't lengthen: of a frame that of the thread that draws, else that of the whole process.
The load of the machine is written down too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import localmem_tui
from localmem_tui import LocalMemApp
from localmem_tui.screens.base import MemoryScreen
from localmem_tui.widgets.rows import Rows
from rich.console import RenderableType
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from localmem.importers import open_export
from localmem.memory import ImportOptions, Memory
from localmem.sample import sample_export
from localmem.types import ImportedConversation

_TURNS_A_CONVERSATION = 20
_WORDS_A_TURN = (8, 45)
_START = datetime(2015, 1, 5, 9, 0, tzinfo=UTC)
_SIZE = (120, 40)
_PATIENCE_S = 300.0
_KEY_EVERY_S = 1 / 30
_REST_EVERY = 10
"""Keys after which one rests, so that the session under the cursor is read and shown."""
_REST_S = 0.4
_LOOK_S = 0.001
"""What is measured works in threads, so that who waits for it must not spin."""
_FIRST_PICTURE = """
import asyncio, sys, time
from pathlib import Path
from localmem.memory import Memory
from localmem_tui import LocalMemApp

async def run():
    with Memory.open(Path(sys.argv[1]), create=False) as memory:
        app = LocalMemApp(memory)
        async with app.run_test(size=(120, 40)) as pilot:
            while app.screen.id == "_default" or "Search" not in app.export_screenshot():
                await pilot.pause(0.005)
            print(time.process_time(), flush=True)

asyncio.run(run())
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--steps", type=int, default=200, help="keys pressed while scrolling")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--memory", type=Path, help="keep the memory here, and use it again")
    parser.add_argument("--json", type=Path, required=True, metavar="OUT")


def run(args: argparse.Namespace) -> int:
    """Measure, print and write the figures."""
    if min(args.turns, args.queries, args.steps) < 1:
        raise SystemExit("--turns, --queries and --steps want a number from 1 on")
    chance = random.Random(args.seed)  # noqa: S311  # the same turns each time, no secret
    sentences = _sentences()
    with tempfile.TemporaryDirectory() as folder:
        kept: Path = args.memory or Path(folder) / "kept.duckdb"
        if not kept.exists():
            _fill(kept, Path(folder), sentences, args.turns, chance)
        file = Path(folder) / "memory.duckdb"
        shutil.copy(kept, file)
        figures: dict[str, float] = {"turns": args.turns, "load": round(os.getloadavg()[0], 1)}
        figures |= _process_picture(file)
        queries = [_query(sentences, chance) for _ in range(args.queries)]
        with Memory.open(file, create=False) as memory:
            figures |= asyncio.run(_measured(memory, queries, args.steps))
    args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:36} {value:,}")
    return 0


class _Watched(LocalMemApp):
    """The app, counting its frames."""

    CSS_PATH = str(Path(localmem_tui.__file__).with_name("app.tcss"))
    frames = 0

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        self.frames += 1


async def _measured(memory: Memory, queries: Sequence[str], steps: int) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    app = _Watched(memory)
    app.animation_level = "none"
    async with app.run_test(size=_SIZE) as pilot:
        await _until(app, lambda: _is_painted(app), "no first picture", every_s=0.005)
        figures = {
            "first_picture_s": round(time.perf_counter() - began, 3),
            "first_picture_cpu_s": round(time.process_time() - cpu, 3),
        }
        await _settled(app, pilot)
        figures["sessions_listed_s"] = round(time.perf_counter() - began, 3)
        figures |= await _keys_to_results(app, pilot, queries)
        await pilot.press("escape", "3")
        await _settled(app, pilot)
        figures["sessions"] = len(app.screen.query_one("#sessions", Rows).values)
        figures |= await _scrolling(app, steps)
        return figures


def _is_painted(app: LocalMemApp) -> bool:
    return app.screen.id != "_default" and "Search" in app.export_screenshot()


async def _keys_to_results(
    app: _Watched, pilot: Pilot[None], queries: Sequence[str]
) -> dict[str, float]:
    """From the last key to the frame with its results, in milliseconds."""
    line = app.screen.query_one("#query", Input)
    took: list[float] = []
    worked: list[float] = []
    for query in queries:
        line.value = query[:-1]
        await _settled(app, pilot)
        done, began, cpu = len(app.latencies), time.perf_counter(), time.process_time()
        line.value = query
        seen = partial(lambda before: len(app.latencies) > before, done)
        await _until(app, seen, f"no results of {query!r}")  # noted when the list has them
        frame = app.frames
        await _until(app, partial(lambda before: app.frames > before, frame), "no frame comes")
        took.append((time.perf_counter() - began) * 1000)
        worked.append((time.process_time() - cpu) * 1000)
    return {
        "key_to_results_p50_ms": _percentile(took, 50),
        "key_to_results_p95_ms": _percentile(took, 95),
        "key_to_results_cpu_p50_ms": _percentile(worked, 50),
        "key_to_results_cpu_p95_ms": _percentile(worked, 95),
    }


async def _scrolling(app: LocalMemApp, steps: int) -> dict[str, float]:
    """How long the loop is kept busy at a stretch while keys scroll through the sessions.

    Keys come as from one that is held down. A pilot's `press` would wait until the process is idle,
    which the watching here never lets it be.
    """
    app.screen.query_one("#sessions", Rows).focus()
    stretches: list[float] = []
    worked: list[float] = []
    stop = asyncio.Event()

    async def watch() -> None:
        last, cpu = time.perf_counter(), time.thread_time()
        while not stop.is_set():
            await asyncio.sleep(_LOOK_S)
            now, cpu_now = time.perf_counter(), time.thread_time()
            stretches.append((now - last - _LOOK_S) * 1000)
            worked.append((cpu_now - cpu) * 1000)
            last, cpu = now, cpu_now

    watching = asyncio.create_task(watch())
    for step in range(steps):
        app.simulate_key("pagedown" if step % 3 else "down")
        await asyncio.sleep(_REST_S if step % _REST_EVERY == _REST_EVERY - 1 else _KEY_EVERY_S)
    for key in ("end", "home"):
        app.simulate_key(key)
        await asyncio.sleep(_REST_S)
    stop.set()
    await watching
    busy = [one for one in stretches if one > 1.0]
    return {
        "frame_p95_ms": _percentile(busy or [0.0], 95),
        "frame_max_ms": round(max(stretches), 1),
        "frame_cpu_max_ms": round(max(worked), 1),
    }


async def _settled(app: LocalMemApp, pilot: Pilot[None]) -> None:
    await pilot.pause(0.05)
    await _quiet(app)
    await pilot.pause(0.05)


async def _quiet(app: LocalMemApp) -> None:
    """Wait until the screen has nothing in hand."""
    await _until(
        app,
        lambda: not any(one.is_busy for one in app.screen_stack if isinstance(one, MemoryScreen)),
        "the app stays busy",
    )


async def _until(
    app: LocalMemApp, holds: Callable[[], bool], otherwise: str, *, every_s: float = _LOOK_S
) -> None:
    """Wait for something.

    Raises:
        RuntimeError: the app has ended.
        TimeoutError: it takes too long.
    """
    deadline = time.perf_counter() + _PATIENCE_S
    while not holds():
        if not app.is_running:
            raise RuntimeError(f"the app has ended: {otherwise}")
        if time.perf_counter() > deadline:
            raise TimeoutError(otherwise)
        await asyncio.sleep(every_s)


def _process_picture(file: Path) -> dict[str, float]:
    """Seconds from the start of a new process to the first picture of the app in it."""
    began = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", _FIRST_PICTURE, str(file)],
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "TEXTUAL_ANIMATIONS": "none"},
    )
    return {
        "first_picture_of_a_process_s": round(time.perf_counter() - began, 3),
        "first_picture_of_a_process_cpu_s": round(float(ran.stdout.split()[0]), 3),
    }


# --- The memory ---------------------------------------------------------------------------


def _fill(
    file: Path, folder: Path, sentences: Sequence[str], turns: int, chance: random.Random
) -> None:
    """A memory of so many turns, imported keyword-only."""
    export = folder / "chats.jsonl"
    with export.open("w", encoding="utf-8") as lines:
        for number in range(0, turns, _TURNS_A_CONVERSATION):
            size = min(_TURNS_A_CONVERSATION, turns - number)
            conversation = _conversation(number, size, sentences, chance)
            lines.write(json.dumps(conversation) + "\n")
    with Memory.open(file) as memory:
        memory.import_(export, ImportOptions(tz=UTC, later=True))


def _conversation(
    number: int, turns: int, sentences: Sequence[str], chance: random.Random
) -> dict[str, object]:
    start = _START + timedelta(hours=number)
    messages = []
    for turn in range(turns):
        said_at = (start + timedelta(minutes=2 * turn)).isoformat()
        for role in ("user", "assistant"):
            text = _text(sentences, chance)
            messages.append({"role": role, "content": text, "timestamp": said_at})
    return {"conversation_id": f"c{number}", "messages": messages}


def _text(sentences: Sequence[str], chance: random.Random) -> str:
    wanted = chance.randint(*_WORDS_A_TURN)
    words: list[str] = []
    while len(words) < wanted:
        words += chance.choice(sentences).split()
    return " ".join(words[:wanted])


def _query(sentences: Sequence[str], chance: random.Random) -> str:
    words = [word for word in chance.choice(sentences).split() if len(word) > 3]
    return " ".join(words[:3]) or "Kalmar"


def _sentences() -> list[str]:
    found: list[str] = []
    for one in open_export(sample_export(), tz=UTC):
        if isinstance(one, ImportedConversation):
            for message in one.messages:
                found += [line for line in message.text.split(". ") if len(line.split()) > 4]
    return found


def _percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))], 1)
