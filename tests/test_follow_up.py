"""Questions that lean on the one before them."""

from __future__ import annotations

import json
import shutil
from datetime import UTC
from pathlib import Path

import pytest
from typer.testing import CliRunner

from localmem.backends.cpu import machine_memory_mb
from localmem.cli.app import app
from localmem.errors import UsageError
from localmem.memory import ImportOptions
from localmem.recall.follow_up import standalone
from localmem.sample import questions, sample_export
from localmem.testing import build_memory
from localmem.types import SearchResult

_TOFU = "When did I pick Tofu up from the shelter?"


@pytest.mark.parametrize(
    ("question", "stands"),
    [
        ("And how old was he?", "And how old was he? (about: pick Tofu shelter)"),
        ("What did that cost?", "What did that cost? (about: pick Tofu shelter)"),
        ("Why?", "Why? (about: pick Tofu shelter)"),
        ("Und wie alt war er da?", "Und wie alt war er da? (about: pick Tofu shelter)"),
        ("And Miso?", f"{_TOFU} And Miso?"),
        ("Who is Jonas?", "Who is Jonas?"),
        ("When was the bike stolen that I bought in Kalmar?",) * 2,
    ],
)
def test_a_question_takes_over_only_what_it_leans_on(question: str, stands: str) -> None:
    assert standalone(question, [_TOFU]) == stands


def test_what_a_conversation_is_about_is_handed_on() -> None:
    second = standalone("And how old was he?", [_TOFU])
    third = standalone("And what did that cost?", [_TOFU, second])
    assert third == "And what did that cost? (about: pick Tofu shelter)"


def copy(sample: Path, folder: Path) -> Path:
    return Path(shutil.copy(sample, folder / "memory.duckdb"))


def test_a_first_question_stays_as_it_is() -> None:
    assert standalone("And then?", []) == "And then?"


def test_an_answer_says_how_a_leaning_question_was_understood(
    tmp_path: Path, tui_sample: Path
) -> None:
    with build_memory(copy(tui_sample, tmp_path)) as memory:
        first = memory.ask(_TOFU)
        second = memory.ask("And how old was he?", earlier=[first.question])
    assert second.question == "And how old was he? (about: pick Tofu shelter)"
    assert any("about: pick Tofu shelter" in notice for notice in second.notices)


def test_what_was_found_is_told_before_the_answer(tmp_path: Path, tui_sample: Path) -> None:
    heard: list[str] = []

    def found(result: SearchResult) -> None:
        heard.append(f"found {len(result.found)}")

    with build_memory(copy(tui_sample, tmp_path)) as memory:
        memory.ask(_TOFU, on_found=found, on_step=lambda step: heard.append(step.tool))
    assert heard[0].startswith("found ")


def test_what_hears_the_evidence_may_end_the_question(tmp_path: Path, tui_sample: Path) -> None:
    def end(result: SearchResult) -> None:
        raise UsageError("enough")

    with build_memory(copy(tui_sample, tmp_path)) as memory:
        with pytest.raises(UsageError, match="enough"):
            memory.ask(_TOFU, on_found=end)
        assert memory.ask(_TOFU).found


def test_a_memory_suggests_what_to_ask_it(tmp_path: Path, tui_sample: Path) -> None:
    with build_memory(tmp_path / "empty.duckdb") as memory:
        assert memory.suggestions() == ()
    with build_memory(copy(tui_sample, tmp_path)) as memory:
        assert memory.suggestions() == questions()
        assert len(memory.suggestions(most=2)) == 2


def test_a_memory_of_ones_own_suggests_its_topics(tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    said = [("user", "The telescope in Bergen shows Saturn."), ("assistant", "Good to know.")]
    messages = [{"role": role, "content": text} for role, text in said]
    chat.write_text(json.dumps({"messages": messages}) + "\n", encoding="utf-8")
    with build_memory(tmp_path / "memory.duckdb") as memory:
        memory.import_(chat)
        asked = memory.suggestions()
    assert asked
    assert all(one.startswith("What did I say about ") for one in asked)


def test_the_generation_tells_of_every_change(tmp_path: Path) -> None:
    with build_memory(tmp_path / "memory.duckdb") as memory:
        before = memory.generation()
        memory.import_(sample_export(), ImportOptions(tz=UTC, later=True))
        assert memory.generation() > before


def test_a_containers_limit_counts_where_it_is_less_than_the_machine_has(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    assert (machine_memory_mb(limit) or 0) > 64
    limit.write_text(f"{64 * 2**20}\n", encoding="ascii")
    assert machine_memory_mb(limit) == 64
    limit.write_text("max\n", encoding="ascii")
    assert (machine_memory_mb(limit) or 0) > 64


def test_ask_without_a_question_prints_what_one_could_ask(tmp_path: Path, tui_sample: Path) -> None:
    memory = copy(tui_sample, tmp_path)
    asked = CliRunner().invoke(app, ["--memory", str(memory), "ask", "--json"])
    assert asked.exit_code == 0
    assert json.loads(asked.stdout) == list(questions())
