"""How much of the turns is in their summaries, as `doctor` tells it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from localmem.jobs.coverage import MOST_TURNS, summary_quality
from localmem.jobs.freshness import session_sources
from localmem.layers.specifics import known_words, share_known, specifics
from localmem.memory import ImportOptions, Memory
from localmem.testing import FixedModels, ScriptedLlm, build_memory
from localmem.types import Layer, Provenance, TurnSummary, UnreadReply, Verdict

_MANY_NAMES = (
    "Ada",
    "Bela",
    "Cora",
    "Dora",
    "Edda",
    "Finja",
    "Gitte",
    "Heda",
    "Imke",
    "Jette",
    "Kaja",
)
_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def _memory(tmp_path: Path, *texts: str, sessions: int = 1) -> Memory:
    rows = [
        {
            "id": f"c{number}",
            "messages": [
                {
                    "role": ("user", "assistant")[place % 2],
                    "content": text,
                    "timestamp": (_START + timedelta(days=number, minutes=place)).isoformat(),
                }
                for place, text in enumerate(texts)
            ],
        }
        for number in range(sessions)
    ]
    export = tmp_path / "chats.jsonl"
    export.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    models = FixedModels(the_llm=ScriptedLlm(fallback_reply=" none"))
    memory = build_memory(tmp_path / "memory.duckdb", models=models)
    memory.import_(export, ImportOptions(tz=UTC, later=True))
    return memory


def _quality(memory: Memory, sentence: str, *keywords: str) -> tuple[float | None, float | None]:
    """(coverage, faithfulness) where every turn had this line."""
    lines = [
        TurnSummary(one.turn_id, sentence, keywords, (), Provenance("m", "p", "s"))
        for one in memory.store.all_summaries()
    ]
    found = summary_quality(list(session_sources(memory.store).values()), lines)
    return found.coverage, found.faithfulness


_TURN = "Yesterday Greta and I walked 12 km along the Isar to Wolfratshausen."


@pytest.mark.parametrize(
    ("sentence", "keywords", "coverage", "faithfulness"),
    [
        ("User: Greta walked 12 km to Wolfratshausen on 1 March 2026.", ("Isar",), 1.0, 1.0),
        ("User: a walk to Wolfratshausen.", ("12 km",), 0.4, 1.0),
        ("User: a walk yesterday with Greta.", (), 0.4, 1.0),
        ("User: a walk.", (), 0.0, None),
        ("User: walked 15 km with Bruno to Wolfratshausen.", (), 0.2, 1 / 3),
    ],
)
def test_names_numbers_and_dates_are_counted_in_both_directions(
    tmp_path: Path,
    sentence: str,
    keywords: tuple[str, ...],
    coverage: float,
    faithfulness: float | None,
) -> None:
    memory = _memory(tmp_path, _TURN, "How lovely.")
    covered, faithful = _quality(memory, sentence, *keywords)
    assert covered == pytest.approx(coverage)
    if faithfulness is None:
        assert faithful is None
    else:
        assert faithful == pytest.approx(faithfulness)


def test_a_memory_that_names_nothing_has_no_share(tmp_path: Path) -> None:
    memory = _memory(tmp_path, "hello there", "hello")
    assert _quality(memory, "User: hello there") == (None, None)


def test_a_number_word_is_the_number_and_a_possessive_the_name() -> None:
    known = known_words("Greta's three cats")
    assert share_known(specifics("so Greta has 3", ()), known) == (2, 2)


def test_the_extractive_lines_are_faithful(tmp_path: Path) -> None:
    memory = _memory(tmp_path, _TURN, "How lovely.", "In May 2019 we moved to Graz.", "I see.")
    found = summary_quality(
        list(session_sources(memory.store).values()), memory.store.all_summaries()
    )
    assert found.faithfulness == 1.0
    assert (found.turns, found.turns_total) == (2, 2)


def test_of_a_large_memory_whole_sessions_are_sampled(tmp_path: Path) -> None:
    memory = _memory(tmp_path, _TURN, "How lovely.", sessions=9)
    sources = list(session_sources(memory.store).values())
    found = summary_quality(sources, memory.store.all_summaries(), most=3)
    assert (found.turns, found.turns_total) == (3, 9)


def test_doctor_names_the_worst_sessions_at_most_ten(tmp_path: Path) -> None:
    names = " ".join(f"Then I met {name} in {name}ville." for name in _MANY_NAMES)
    memory = _memory(tmp_path, names, "How lovely.", sessions=12)
    (line,) = [one for one in memory.doctor() if one.subject == "summary quality"]
    assert "12 of 12 turns" in line.detail
    assert line.detail.partition("; least in sessions ")[2].count("%") == 10


def test_doctor_names_no_session_whose_summaries_have_everything(tmp_path: Path) -> None:
    memory = _memory(tmp_path, _TURN, "How lovely.", sessions=2)
    (line,) = [one for one in memory.doctor() if one.subject == "summary quality"]
    assert line.verdict is Verdict.OK
    assert line.detail.endswith("(means over 2 of 2 turns)")


def test_doctor_counts_stale_facts_and_unread_replies(tmp_path: Path) -> None:
    memory = _memory(tmp_path, _TURN, "How lovely.")
    assert {"layers", "replies"}.isdisjoint(one.subject for one in memory.doctor())
    session = memory.sessions()[0].id
    memory.layers.facts(session)
    reply = UnreadReply(
        Layer.NOTES, 1, session, "message 1", "no line", "…", Provenance("m", "p", "s")
    )
    memory.store.put_unread([reply])
    rows = json.loads((tmp_path / "chats.jsonl").read_text(encoding="utf-8"))
    later = (_START + timedelta(minutes=9)).isoformat()
    rows["messages"].append({"role": "user", "content": "And today?", "timestamp": later})
    (tmp_path / "chats.jsonl").write_text(json.dumps(rows), encoding="utf-8")
    memory.import_(tmp_path / "chats.jsonl", ImportOptions(tz=UTC, later=True))
    found = {one.subject: one.detail for one in memory.doctor()}
    assert "facts of 1 session" in found["layers"]
    assert "1 reply" in found["replies"]


def test_as_many_turns_as_are_looked_at_take_little_time(tmp_path: Path) -> None:
    memory = _memory(tmp_path, *[_TURN, "How lovely."] * 100, sessions=MOST_TURNS // 100)
    sources = list(session_sources(memory.store).values())
    summaries = memory.store.all_summaries()
    began = time.process_time()
    assert summary_quality(sources, summaries).turns == MOST_TURNS
    assert time.process_time() - began < 2.0
