"""How a deep question looks from outside: the drawn trace, the JSON, the options."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from localmem.cli.render import answer_view
from localmem.cli.shared import plain
from localmem.types import Answer, Depth, Layer, SessionId, Trace, TraceStep

STEPS = (
    TraceStep("interpret_dates", "", None, 0, 0.0, 0, "the question names no time"),
    TraceStep("search", "“red [bold]boat[/bold]”", Layer.SUMMARY, 30, 0.1, 1, "40 messages"),
    TraceStep("read_facts", "session 3", Layer.FACTS, 1200, 0.2, 1, "12 lines, 1 telling"),
    TraceStep("read_raw", "session 3", Layer.RAW, 90, 0.0, 2, "2 lines\x1b[31m"),
)
ANSWER = Answer(
    question="Which boat?",
    asked_at=datetime(2026, 1, 1, tzinfo=UTC),
    text="a canoe",
    found=True,
    citations=(),
    trace=Trace(
        depth=Depth.DEEP,
        steps=STEPS,
        sessions_opened=1,
        sessions_total=9,
        tokens_by_layer={"L0": 30, "L1": 1200, "L3": 90},
        prompt_tokens=812,
        completion_tokens=7,
        seconds=3.2,
        model_id="some-model",
        model_calls=4,
        opened_share=0.084,
        deepest=Layer.RAW,
        opened={SessionId(3): Layer.RAW},
    ),
    complete=False,
    notices=("stopped early: the seconds were used up",),
)


def drawn() -> str:
    console = Console(file=io.StringIO(), width=120, highlight=False)
    answer_view(console, ANSWER, trace=True, streamed=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_trace_is_a_tree_of_decisions_with_their_calls() -> None:
    lines = [line.strip() for line in drawn().splitlines()]
    names = ("interpret_dates", "step 1", "search", "read_facts", "step 2", "read_raw")
    places = [next(i for i, line in enumerate(lines) if name in line) for name in names]
    assert places == sorted(places)


def test_the_totals_say_how_much_was_opened() -> None:
    text = drawn()
    assert "1 of 9 sessions, down to L3" in text
    assert "L1 1,200" in text and "(8.4% of all)" in text and "4 model calls" in text


def test_a_trace_obeys_neither_markup_nor_control_characters() -> None:
    text = drawn()
    assert "[bold]boat[/bold]" in text and "\x1b" not in text


def test_an_answer_that_the_budget_stopped_says_so() -> None:
    assert "stopped by the budget" in drawn() and "the seconds were used up" in drawn()


def test_json_holds_the_whole_trace() -> None:
    trace = json.loads(json.dumps(plain(ANSWER)))["trace"]
    assert [step["tool"] for step in trace["steps"]] == [step.tool for step in STEPS]
    assert trace["steps"][2]["layer"] == 1 and trace["steps"][2]["decision"] == 1
    assert trace["opened_share"] == 0.084 and trace["opened"] == {"3": 3}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(["--depth", "deeper"], "instant, direct, deep or auto"), (["--steps", "0"], "--steps")],
)
def test_wrong_options_are_told(arguments: list[str], reason: str, tmp_path: Path) -> None:
    environment = {**os.environ, "LOCALMEM_HOME": str(tmp_path)}
    memory = ["--memory", str(tmp_path / "m.duckdb")]
    subprocess.run(
        [sys.executable, "-m", "localmem", *memory, "import", "sample", "--later"],
        check=True, capture_output=True, env=environment, timeout=120,
    )  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-m", "localmem", *memory, "ask", "Which boat?", *arguments],
        check=False, capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    assert run.returncode == 2
    assert reason in run.stderr
