"""The Import screen: a preview that stores nothing, the import, its report, taking it back."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.screens.forget import ForgetDialog
from localmem_tui.screens.importing import ImportScreen
from textual.pilot import Pilot
from textual.widgets import Input

from localmem.memory import Memory
from localmem.ports import FloatMatrix
from localmem.testing import FixedModels, HashEmbedder
from localmem.types import ImportReport, Progress
from tests.tui_driver import drive, press, settled, shown, until, write


def _broken_export(folder: Path) -> Path:
    good = {
        "conversation_id": "good",
        "messages": [
            {"role": "user", "content": "The telescope in Bergen shows Saturn."},
            {"role": "assistant", "content": "Its rings too?"},
        ],
    }
    path = folder / "chats.jsonl"
    path.write_text(json.dumps(good) + "\n" + '{"messages": [{"role"\n', encoding="utf-8")
    return path


async def look_into(app: LocalMemApp, pilot: Pilot[None], line: str) -> None:
    await write(app, pilot, line)
    await press(app, pilot, "enter")


def test_a_preview_stores_nothing_and_what_is_no_export_is_said_with_a_hint(tmp_path: Path) -> None:
    wrong = tmp_path / "shopping.json"
    wrong.write_text('{"milk": 2}', encoding="utf-8")

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await look_into(app, pilot, "sample")
        assert "359 messages would be added" in shown(app)
        app.screen.query_one("#path", Input).value = ""
        await look_into(app, pilot, str(wrong))
        assert "format" in shown(app)
        assert "Traceback" not in shown(app)
        await press(app, pilot, "f2")
        assert app.memory.stats().messages == 0

    drive(tmp_path, flow, keys=("alt+7",))


def test_an_import_reports_and_the_screens_show_it(tmp_path: Path) -> None:
    export = _broken_export(tmp_path)

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await look_into(app, pilot, str(export))
        await press(app, pilot, "f2")
        assert "2 messages were added" in shown(app)
        assert "1 skipped" in shown(app)
        assert app.memory.stats().messages == 2
        await press(app, pilot, "escape", "1")
        await write(app, pilot, "Saturn")
        assert "telescope" in shown(app)

    drive(tmp_path, flow, keys=("alt+7",))


class HeldEmbedder(HashEmbedder):
    """Waits in the middle of its work until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.started, self.may_go_on = threading.Event(), threading.Event()

    def embed_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> FloatMatrix:
        self.started.set()
        assert self.may_go_on.wait(60)
        return super().embed_passages(texts, on_progress=on_progress)


def test_an_import_tells_its_progress_escape_stops_it_and_the_same_one_goes_on_there(
    tmp_path: Path,
) -> None:
    export, embedder = _broken_export(tmp_path), HeldEmbedder()

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        line = app.screen.query_one("#path", Input)
        line.value = str(export)
        await pilot.press("f2")
        await until(pilot, embedder.started.is_set)
        assert "importing chats.jsonl" in shown(app)
        assert isinstance(app.screen, ImportScreen)
        app.screen.progress.show(Progress("vectors", 40, 100, "messages"))
        assert "vectors · 40 of 100 messages" in shown(app)
        await pilot.press("escape")
        assert "stopping" in shown(app)
        embedder.may_go_on.set()
        await settled(app, pilot)
        assert "Stopped. What was stored is whole" in shown(app)
        assert app.memory.stats().messages == 2
        await press(app, pilot, "f2")
        assert "2 messages known already" in shown(app)
        assert app.memory.stats().messages_without_vectors == 0

    drive(tmp_path, flow, models=FixedModels(the_embedder=embedder), keys=("alt+7",))


def test_enter_while_an_import_runs_does_not_end_it(tmp_path: Path) -> None:
    export, embedder = _broken_export(tmp_path), HeldEmbedder()

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        app.screen.query_one("#path", Input).value = str(export)
        await pilot.press("f2")
        await until(pilot, embedder.started.is_set)
        await pilot.press("enter")
        assert "an import runs: Esc stops it" in shown(app)
        await pilot.press("f2")
        assert "an import runs: Esc stops it" in shown(app)
        embedder.may_go_on.set()
        await settled(app, pilot)
        assert "2 messages were added" in shown(app)
        assert app.memory.stats().messages_without_vectors == 0
        await press(app, pilot, "enter")
        assert "2 messages known already" in shown(app)

    drive(tmp_path, flow, models=FixedModels(the_embedder=embedder), keys=("alt+7",))


def test_f2_during_a_look_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export, may_end = _broken_export(tmp_path), threading.Event()
    plan = Memory.plan_import

    def slow_plan(memory: Memory, path: Path, **options: Any) -> ImportReport:
        assert may_end.wait(60)
        return plan(memory, path, **options)

    monkeypatch.setattr(Memory, "plan_import", slow_plan)

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        app.screen.query_one("#path", Input).value = str(export)
        await pilot.press("enter", "f2")
        await settled(app, pilot)
        may_end.set()
        assert "2 messages were added" in shown(app)

    drive(tmp_path, flow, keys=("alt+7",))


def test_an_import_is_taken_back_after_a_dry_run(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "f4")
        await press(app, pilot, "x")
        dialog = app.screen
        assert isinstance(dialog, ForgetDialog)
        await until(pilot, lambda: "would go:" in shown(app))
        assert app.memory.stats().messages == 354
        await pilot.press("y")
        await until(pilot, lambda: "forgotten:" in shown(app))
        await press(app, pilot, "escape")
        assert app.memory.stats().messages == 0

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+7",))
