"""Searching facts in a whole memory: made by a model, embedded at once, found, and measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.facts_in_search import RULES, FactMaker
from localmem.config import Config
from localmem.jobs.embedding_facts import derive_fact_vectors
from localmem.memory import Memory
from localmem.testing import FixedModels, HashEmbedder, ScriptedLlm, build_memory
from localmem.types import KeyFact, Layer, MadeFacts, MessageId, Provenance, SessionId
from tests.test_layers_materialise import TALK, echo, put

FACT = "Miso is a kitten from an animal shelter."
ADOPTED = TALK[1][1]
BY = Provenance("m", "p", "s")


def memory_at(folder: Path, facts: str, llm: ScriptedLlm | None = None) -> Memory:
    config = replace(Config(), search=replace(Config().search, facts=facts))
    memory = build_memory(folder / "memory.duckdb", models=FixedModels(the_llm=llm), config=config)
    put(memory.store, *TALK)
    memory.work()
    return memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memory_at(tmp_path, "on") as opened:
        yield opened


def lines(memory: Memory, query: str) -> list[str]:
    return [found.message.text for found in memory.search(query).found]


def tell_of_kitten(memory: Memory) -> None:
    fact = KeyFact(SessionId(1), 0, "Ana keeps a kitten.", (MessageId(2),), (), BY)
    memory.store.put_facts(MadeFacts(SessionId(1), (fact,), BY))


def test_facts_get_their_vectors_when_they_are_made(tmp_path: Path) -> None:
    for setting, pending in (("on", 0), ("off", 1)):
        folder = tmp_path / setting
        folder.mkdir()
        with memory_at(folder, setting, ScriptedLlm(replies=[echo] * 99)) as memory:
            memory.show(SessionId(1), layer=Layer.FACTS)
            assert len(memory.store.fact_marks()) == 1
            left = memory.store.facts_without_vectors(HashEmbedder().model_id, 9)
            assert len(left) == pending


def test_work_makes_the_vectors_of_facts_from_before_they_were_searched(memory: Memory) -> None:
    tell_of_kitten(memory)
    assert any("facts of 1 session" in notice for notice in memory.search("kitten").notices)
    memory.work()
    assert lines(memory, "kitten")[0] == ADOPTED
    assert not memory.search("kitten").notices


def test_another_embedder_gets_its_own_vectors_of_facts(memory: Memory) -> None:
    tell_of_kitten(memory)
    memory.work()
    memory.reindex()
    assert lines(memory, "kitten")[0] == ADOPTED
    assert not memory.search("kitten").notices


# --- The benchmark --------------------------------------------------------------------------


def test_rows_of_the_facts_benchmark_are_put_into_a_memory(tmp_path: Path, memory: Memory) -> None:
    rows = tmp_path / "rows.jsonl"
    told = [
        {"text": FACT, "sources": ["D1:2", "D9:9"], "missing": []},
        {"text": "Of nobody.", "sources": ["D9:9"], "missing": []},
    ]
    lines_of_rows = [{"key": "tale/1", "seconds": 2.5, "facts": told}, {"key": "other/1"}]
    rows.write_text("\n".join(map(json.dumps, lines_of_rows)), encoding="utf-8")
    keys = {MessageId(n): ("c", f"D1:{n}") for n in range(1, 6)}
    with ExitStack() as stack:
        maker = FactMaker(str(rows), stack)
        stored = maker.put(memory, "tale", keys)
        assert (stored.sessions, stored.facts, stored.seconds) == (1, 1, 2.5)
        assert maker.put(memory, "unknown", keys).sessions == 0
    derive_fact_vectors(memory.store, HashEmbedder())
    assert lines(memory, "kitten")[0] == ADOPTED


def test_facts_by_rule_can_be_searched_in_the_benchmark_alone(memory: Memory) -> None:
    with ExitStack() as stack:
        stored = FactMaker(RULES, stack).put(memory, "tale", {})
    assert stored.sessions == 1
    assert stored.facts > 0
    assert len(memory.store.fact_texts([SessionId(1)])[0].facts) == stored.facts
