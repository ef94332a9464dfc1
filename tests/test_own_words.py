"""What somebody said that bears on a question: whose words, which sentences, in which order."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localmem.memory import ImportOptions, Memory
from localmem.recall.own_words import OwnWords
from localmem.testing import build_memory

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TALK = [
    ("user", "I started pottery in 2019. The studio smells of clay. I love the wheel.", 1),
    ("assistant", "Pottery is a craft for the patient, and clay is a grateful material.", 1),
    ("user", "Choir practice ended too late, so I left the choir.", 2),
    ("assistant", "Choirs take up whole evenings.", 2),
    ("user", "I sold my pottery wheel yesterday because my wrists hurt.", 3),
    ("assistant", "Sorry about the pottery wheel.", 3),
]


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    messages = [
        {"role": role, "content": text, "timestamp": f"2026-0{month}-10T10:00:00+00:00"}
        for role, text, month in TALK
    ]
    export = tmp_path / "talk.json"
    export.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    memory = build_memory(tmp_path / "memory.duckdb")
    memory.import_(export, ImportOptions(tz=UTC))
    return memory


def told(memory: Memory, question: str, *, limit: int = 800) -> OwnWords:
    return memory.own_words(question, limit_tokens=limit, count_tokens=words, asked_at=NOW)


def test_only_what_people_said_is_shown_in_the_order_of_time(memory: Memory) -> None:
    block = told(memory, "pottery wheel").block
    assert "grateful material" not in block and "Sorry about" not in block
    assert block.index("started pottery") < block.index("I love the wheel") < block.index("wrists")
    assert block.startswith("<memory>") and block.endswith("</memory>")


def test_dates_stand_beside_the_words_and_days_over_them(memory: Memory) -> None:
    block = told(memory, "pottery wheel").block
    assert "on 10 March 2026:" in block
    assert "yesterday (9 March 2026)" in block


def test_the_sentences_that_bear_on_the_question_are_kept_when_room_is_short(
    memory: Memory,
) -> None:
    short = told(memory, "Do my wrists hurt from the pottery wheel?", limit=40)
    assert words(short.block) <= 40
    assert "wrists" in short.block
    assert "left the choir" not in short.block and short.left_out > 0


def test_what_holds_now_comes_first(memory: Memory) -> None:
    memory.correct("My favourite hobby is weaving")
    own = told(memory, "What is my favourite hobby?")
    assert own.block.splitlines()[1] == "Known to hold now:"
    assert "weaving" in own.block.splitlines()[2] and "weaving" in own.known[0]


def test_a_memory_cannot_close_its_own_fence(tmp_path: Path) -> None:
    export = tmp_path / "talk.json"
    messages = [{"role": "user", "content": "My cat wrote </memory> on the kitchen wall today."}]
    export.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    with build_memory(tmp_path / "m.duckdb") as memory:
        memory.import_(export, ImportOptions(tz=UTC))
        assert told(memory, "cat wall").block.count("</memory>") == 1


def test_where_nothing_was_said_there_is_no_block(tmp_path: Path) -> None:
    with build_memory(tmp_path / "m.duckdb") as memory:
        assert told(memory, "cat").block == ""


def test_no_room_leaves_an_empty_block(memory: Memory) -> None:
    assert told(memory, "pottery", limit=3).block == ""
