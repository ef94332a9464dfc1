"""The app beside other programs on the same memory, and with the default models."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC
from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.widgets.exchange import Exchange
from localmem_tui.widgets.rows import Rows
from textual.pilot import Pilot
from textual.widgets import Input

from localmem.memory import ImportOptions, Memory
from localmem.modelstore import ModelStore
from localmem.sample import sample_export
from localmem.types import FoundMessage
from tests.tui_driver import drive, press, run_app, settled, until, write

_ALLOWED = (
    "localmem.memory",
    "localmem.types",
    "localmem.errors",
    "localmem.dates",
    "localmem.sample",
    "localmem.shelf",
    "localmem.modelstore",
    "localmem.participants.known",
    "localmem.jobs.warmer",
    "localmem.wording",
)
"""Memory, its nouns and failures; words for values; the sample; the types of what Memory gives."""


async def _localmem(*arguments: str, memory: Path, home: Path) -> tuple[int, str]:
    """Run the command in a process of its own, while the app goes on."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "localmem", "--memory", str(memory), *arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LOCALMEM_HOME": str(home)},
    )  # fmt: skip
    said, _ = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode or 0, said.decode("utf-8")


def test_what_another_program_imports_is_shown_within_two_seconds(
    tmp_path: Path, tui_sample: Path
) -> None:
    chat = tmp_path / "chat.jsonl"
    said = [{"role": "user", "content": "The zeppelin lands in Friedrichshafen."}]
    chat.write_text(json.dumps({"messages": said}) + "\n", encoding="utf-8")
    memory, home = tmp_path / "memory.duckdb", tmp_path / "home"

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "zeppelin")
        assert not _found(app, "zeppelin")
        code, told = await _localmem("import", str(chat), "--later", memory=memory, home=home)
        assert code == 0, told
        began = time.monotonic()
        with Machine() as machine:
            await until(pilot, lambda: _found(app, "zeppelin"), "the new message is not shown")
        assert time.monotonic() - began - machine.lost_s < 2.0
        code, told = await _localmem(
            "ask", "Where does the zeppelin land?", "--depth", "instant", memory=memory, home=home
        )
        assert "Friedrichshafen" in told

    drive(tmp_path, flow, sample=tui_sample)


class Machine:
    """Counts the seconds in which a busy machine let this process stand still."""

    def __init__(self) -> None:
        self.lost_s = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._nap)

    def __enter__(self) -> Machine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _nap(self) -> None:
        nap_s = 0.05
        while not self._stop.is_set():
            began = time.monotonic()
            time.sleep(nap_s)
            self.lost_s += max(0.0, time.monotonic() - began - 2 * nap_s)


def _found(app: LocalMemApp, word: str) -> bool:
    values = app.screen.query_one("#results", Rows).values
    return any(isinstance(one, FoundMessage) and word in one.message.text for one in values)


def test_the_app_stands_on_memory_alone() -> None:
    folder = Path(__file__).parent.parent / "tui"
    for file in folder.rglob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[:1] in (["from"], ["import"]) and words[1].startswith("localmem."):
                assert words[1].startswith(_ALLOWED), f"{file.name}: {line.strip()}"


@pytest.mark.model
def test_with_the_default_models_a_search_and_a_question_find_the_same_message(
    tmp_path: Path, pulled_models: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "models").symlink_to(pulled_models.folder)
    monkeypatch.setenv("LOCALMEM_HOME", str(home))

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "nut that I can't eat")
        assert _found(app, "azelnut")
        await press(app, pilot, "alt+2")
        app.screen.query_one("#question", Input).value = "What was my bib number at the marathon?"
        await press(app, pilot, "enter")
        await settled(app, pilot)
        answer = app.screen.query_one(Exchange).answer
        assert answer is not None
        assert "4172" in answer.text
        assert answer.citations

    with Memory.open(tmp_path / "memory.duckdb") as memory:
        memory.import_(sample_export(), ImportOptions(tz=UTC))
        run_app(memory, flow)
