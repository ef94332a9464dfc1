"""The screens Models, Health and Stats, and what the app does for every screen."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.background import Background
from localmem_tui.inks import DARK, LIGHT
from localmem_tui.pulling import pull
from localmem_tui.screens.base import PLACES
from localmem_tui.screens.health import HealthScreen, Line
from localmem_tui.screens.help import HelpScreen
from localmem_tui.screens.models import ModelsScreen
from localmem_tui.screens.stats import by_layer, by_month, by_source, by_speed
from localmem_tui.widgets.rows import Rows
from localmem_tui.work import Job, StoppedError
from textual.pilot import Pilot
from textual.widgets import Input

from localmem.config import Config, TuiConfig, load_config
from localmem.errors import ConfigError, LocalMemError, StoreError
from localmem.shelf import ShelfEntry
from localmem.testing import FixedModels, LlmCall, ScriptedLlm, build_memory
from localmem.types import Finding, QueueState
from tests.tui_driver import drive, make_small, press, run_app, settled, shown, until, write


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No configuration and no models but those of the test."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("LOCALMEM_HOME", str(home))
    yield home


# --- Models -------------------------------------------------------------------------------


def test_the_models_screen_lists_what_fits_and_says_how_to_get_what_is_not_here(
    tmp_path: Path,
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        values = app.screen.query_one("#catalog", Rows).values
        entries = [one for one in values if isinstance(one, ShelfEntry)]
        assert {one.name for one in entries} >= {"smollm2-135m", "minilm"}
        assert "in use, not here" in shown(app)
        assert "GB of memory" in shown(app)
        assert isinstance(app.screen, ModelsScreen)
        await press(app, pilot, "u")
        assert "localmem models pull" in shown(app)

    drive(tmp_path, flow, keys=("alt+8",))


def test_a_pull_runs_in_a_process_of_its_own_and_tells_what_went_wrong() -> None:
    with pytest.raises(LocalMemError) as told:
        pull("no-such-model", Job())
    assert "no-such-model" in told.value.message
    assert told.value.hint


def test_a_pull_that_is_stopped_ends_its_process() -> None:
    job = Job()
    job.stop()
    line = json.dumps({"stage": "m", "done": 1, "total": 2, "unit": "bytes"})
    script = f"import time; print('{line}', flush=True); time.sleep(60)"
    with pytest.raises(StoppedError):
        pull("minilm", job, command=[sys.executable, "-c", script])


def test_a_pull_that_hangs_ends_when_it_is_stopped() -> None:
    job = Job()
    timer = threading.Timer(0.5, job.stop)
    timer.start()
    began = time.monotonic()
    with pytest.raises(StoppedError):
        pull("minilm", job, command=[sys.executable, "-c", "import time; time.sleep(30)"])
    assert time.monotonic() - began < 20


def test_a_pull_that_cannot_be_stored_says_why(own_home: Path) -> None:
    (own_home / "models").write_text("this is no folder", encoding="utf-8")
    with pytest.raises(LocalMemError, match="models"):
        pull("minilm", Job())


def test_the_pull_process_says_what_it_did_as_json(own_home: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "localmem_tui.pulling", "no-such-model"],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["error"]


# --- Health -------------------------------------------------------------------------------


def test_a_finding_is_repaired_by_its_key(tmp_path: Path, own_home: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert "have no vector" in shown(app)
        rows = app.screen.query_one("#findings", Rows)
        rows.move_to(lambda line: isinstance(line, Line) and line.finding.subject == "vectors")
        await press(app, pilot, "f")
        assert app.memory.stats().messages_without_vectors == 0
        await until(pilot, lambda: "have no vector" not in shown(app))

    drive(tmp_path, flow, sample=make_small(own_home, later=True), keys=("alt+9",))


def test_the_cursor_stays_on_its_finding_when_the_memory_or_the_window_changes(
    tmp_path: Path, own_home: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        rows = app.screen.query_one("#findings", Rows)
        rows.move_to(lambda line: isinstance(line, Line) and line.finding.subject == "vectors")
        await press(app, pilot, "v")
        assert _subject(rows) == "vectors"
        await pilot.resize_terminal(80, 24)
        await settled(app, pilot)
        assert _subject(rows) == "vectors"

    drive(tmp_path, flow, sample=make_small(own_home, later=True), keys=("alt+9",))


def _subject(rows: Rows) -> str:
    return rows.value.finding.subject if isinstance(rows.value, Line) else ""


def test_changes_during_a_look_make_one_more_look_after_it(tmp_path: Path, own_home: Path) -> None:
    may_end, looks = threading.Event(), list[int]()

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, HealthScreen)
        doctor = app.memory.doctor

        def slow_doctor() -> tuple[Finding, ...]:
            looks.append(len(looks))
            assert may_end.wait(20)
            return doctor()

        app.memory.doctor = slow_doctor  # type: ignore[method-assign]  # holds the real one
        for _ in range(3):
            screen.memory_changed()
        await until(pilot, lambda: bool(looks))
        may_end.set()
        await settled(app, pilot)
        assert len(looks) == 2

    drive(tmp_path, flow, sample=make_small(own_home), keys=("alt+9",))


def test_a_finding_that_only_a_terminal_mends_says_so(tmp_path: Path) -> None:
    chat = tmp_path / "chat.txt"
    chat.write_text("[2026-03-01 10:00] Ana: ok\n[2026-03-01 10:01] Ben: ok\n", encoding="utf-8")
    with build_memory(tmp_path / "memory.duckdb") as memory:
        memory.import_(chat)

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        rows = app.screen.query_one("#findings", Rows)
        assert rows.move_to(lambda line: isinstance(line, Line) and line.finding.subject == "owner")
        await press(app, pilot, "f")
        assert "in a terminal: import again with --me NAME" in shown(app)
        assert isinstance(app.screen, HealthScreen)

    drive(tmp_path, flow, keys=("alt+9",))


def test_background_work_is_begun_paused_and_ended_by_keys(
    tmp_path: Path, tui_sample: Path
) -> None:
    models = FixedModels(the_llm=ScriptedLlm(fallback_reply="none"), abilities=())

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert isinstance(app.screen, HealthScreen)
        app.background.quiet_s = 0.0
        assert "w lets the language model work ahead" in shown(app)
        await press(app, pilot, "w")
        await until(pilot, lambda: app.background.status() is not None)
        await press(app, pilot, "p")
        await press(app, pilot, "o")
        await until(pilot, lambda: _has_ended(app.background), "it does not end")
        await until(pilot, lambda: "stopped" in shown(app) or "done" in shown(app))

    drive(tmp_path, flow, sample=tui_sample, models=models, keys=("alt+9",))


def _has_ended(background: Background) -> bool:
    status = background.status()
    return status is not None and status.state in (QueueState.STOPPED, QueueState.DONE)


def test_background_work_that_is_ending_is_begun_anew(own_home: Path) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def held(call: LlmCall) -> str:
        begun.set()
        assert may_go_on.wait(20)
        return "none"

    llm = ScriptedLlm([held] * 2, fallback_reply="none")
    models = FixedModels(the_llm=llm, abilities=())
    with build_memory(make_small(own_home), models=models) as memory:
        background = Background(memory, quiet_s=0.0)
        background.start()
        assert begun.wait(20)
        background.end()
        background.start()
        may_go_on.set()
        deadline = time.monotonic() + 20
        while not _has_ended(background) and time.monotonic() < deadline:
            time.sleep(0.05)
        status = background.status()
        assert status is not None and status.state is QueueState.DONE


def test_background_work_without_a_model_says_why(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        app.background.quiet_s = 0.0
        await press(app, pilot, "w")
        await until(pilot, lambda: app.background.error is not None)
        await until(pilot, lambda: "no language model" in shown(app))

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+9",))


# --- Stats --------------------------------------------------------------------------------


def test_the_plots_tell_the_memory_in_numbers(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        for title in ("messages by month", "sessions by source", "made of each layer"):
            assert title in shown(app)
        assert "1 search in ms" in shown(app)
        assert "354 messages" in shown(app)
        months, counts = by_month(app.memory.sessions())
        assert sum(counts) == 354
        assert months == sorted(months)
        assert by_source(app.memory.sessions())[0][0] == "chatgpt"
        assert by_layer(app.memory.stats())[1] == [100.0, 0.0, 0.0, 100.0, 100.0]

    drive(tmp_path, flow, sample=tui_sample, keys=("K", "escape", "0"))


def test_the_keys_that_turn_plots_are_offered_where_they_do_something(
    tmp_path: Path, own_home: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        for columns, is_offered in ((120, False), (90, True), (130, False)):
            await pilot.resize_terminal(columns, 30)
            await settled(app, pilot)
            await until(pilot, lambda so=is_offered: ("→ Plot" in shown(app)) is so)  # type: ignore[misc]  # mypy and defaults of lambdas

    drive(tmp_path, flow, sample=make_small(own_home), keys=("alt+0",))


def test_in_a_small_window_the_plots_take_turns(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert "messages by month" in shown(app)
        await press(app, pilot, "right")
        assert "sessions by source" in shown(app)
        assert "messages by month" not in shown(app)

    drive(tmp_path, flow, sample=tui_sample, size=(80, 24), keys=("alt+0",))


def test_latencies_fall_into_their_bins() -> None:
    labels, counts = by_speed([0.001, 0.006, 0.06, 2.0])
    assert dict(zip(labels, counts, strict=True)) == {
        "<5": 1, "<10": 1, "<20": 0, "<50": 0, "<100": 1, "<200": 0, "<500": 0, "≥500": 1,
    }  # fmt: skip


# --- Every screen -------------------------------------------------------------------------


def test_every_screen_opens_on_an_empty_memory_and_has_help(tmp_path: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        for name, key in PLACES.items():
            await press(app, pilot, f"alt+{key}")
            assert getattr(app.screen, "NAME", "") == name
            await press(app, pilot, "f1")
            assert isinstance(app.screen, HelpScreen)
            assert f"Help: {name}" in shown(app)
            await press(app, pilot, "escape")
            assert "Traceback" not in shown(app)

    drive(tmp_path, flow, size=(80, 24))


def test_the_palette_finds_screens_and_keys(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await pilot.pause(0.2)
        await pilot.press(*"Gotobro")
        await until(pilot, lambda: "Go to Browse" in shown(app))
        await pilot.pause(0.3)
        await pilot.press("enter")
        await until(pilot, lambda: getattr(app.screen, "NAME", "") == "Browse")
        await settled(app, pilot)

    drive(tmp_path, flow, sample=tui_sample)


def test_one_key_changes_between_dark_and_light_and_the_next_start_remembers(
    tmp_path: Path, own_home: Path
) -> None:
    config_file = own_home / "config.toml"
    config_file.write_text('[ask]\ndepth = "direct"\n', encoding="utf-8")

    async def change(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert app.theme == DARK.name
        await press(app, pilot, "escape", "t")
        assert app.theme == LIGHT.name

    async def begin_light(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert app.theme == LIGHT.name
        config_file.unlink()
        config_file.mkdir()
        await press(app, pilot, "escape", "t")
        assert app.theme == DARK.name
        assert any('theme = "dark" yourself' in one.message for one in app._notifications)

    drive(tmp_path, change)
    config = load_config(config_file)
    assert (config.tui.theme, config.ask.depth) == ("light", "direct")
    with build_memory(tmp_path / "memory.duckdb", config=config) as memory:
        run_app(memory, begin_light)


def test_a_theme_that_is_none_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    config = Config(tui=TuiConfig(theme="neon"))
    memory = build_memory(tmp_path / "memory.duckdb", config=config)
    with memory, pytest.raises(ConfigError, match="neon"):
        LocalMemApp(memory)


def test_digits_are_text_where_one_types_and_keys_elsewhere(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "4", "1")
        assert app.screen.query_one("#query", Input).value == "41"
        await press(app, pilot, "escape", "4")
        assert getattr(app.screen, "NAME", "") == "People"

    drive(tmp_path, flow, sample=tui_sample)


def test_an_unforeseen_failure_is_told_in_words_and_keys_work_while_a_long_action_runs(
    tmp_path: Path, tui_sample: Path
) -> None:
    may_end = threading.Event()

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, HealthScreen)
        screen.run_job("doctor", lambda job: 1 // 0, lambda result: None)
        await settled(app, pilot)
        assert "ZeroDivisionError" in shown(app)
        assert "localmem doctor" in shown(app)
        assert "Traceback" not in shown(app)
        screen.run_job("slow", lambda job: may_end.wait(20), lambda result: None, words="slow")
        await pilot.pause(0.3)
        assert "slow" in shown(app)
        await press(app, pilot, "alt+1")
        await write(app, pilot, "Kalmar")
        assert "Kalmar" in shown(app)
        may_end.set()

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+9",))


def test_a_memory_that_cannot_be_read_is_said_not_thrown(tmp_path: Path) -> None:
    broken = tmp_path / "broken.duckdb"
    broken.write_bytes(b"this is no memory" * 1000)

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert "broken.duckdb" in shown(app)
        assert "Traceback" not in shown(app)

    with build_memory(broken) as memory:
        with pytest.raises(StoreError):
            memory.stats()
        run_app(memory, flow)
