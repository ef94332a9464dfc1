"""The source check: what an item says must stand in the message that it names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from localmem.jobs.freshness import session_sources
from localmem.jobs.known_quality import known_quality
from localmem.jobs.remembering import derive_items
from localmem.memory import Memory
from localmem.recall.corpus import Corpus, CorpusRow
from localmem.recall.routing import graph_of
from localmem.testing import build_memory
from localmem.types import (
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    Item,
    NodeKind,
    Role,
)

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    texts = ("I live in Porto since 2021.", "My rent is 640 euros.", "I adopted a dog from Braga.")
    messages = tuple(
        ImportedMessage(f"m{n}", Role.USER, "Ben", text, _START) for n, text in enumerate(texts)
    )
    made = build_memory(tmp_path / "memory.duckdb")
    number = made.store.begin_import("x", "chat", _START)
    made.store.add_conversation(
        number, ImportedConversation("chat", "c", "", ConversationKind.PEOPLE, messages)
    )
    made.work(vectors=False, items=False)
    derive_items(made.store)
    return made


def item(memory: Memory, word: str) -> Item:
    (found,) = (one for one in memory.store.items() if word in one.quote)
    return found


def reasons(memory: Memory, *items: Item) -> list[str]:
    with memory.store.reading():
        found = known_quality(session_sources(memory.store), items)
    assert found.checked == len(items)
    assert found.share == len(found.unsupported) / len(items)
    return [one.reason for one in found.unsupported]


def test_what_rules_make_is_borne_out(memory: Memory) -> None:
    with memory:
        items = memory.store.items()
        assert len(items) == 3
        assert reasons(memory, *items) == []


def test_another_value_sentence_or_day_is_not(memory: Memory) -> None:
    with memory:
        home, dog = item(memory, "Porto"), item(memory, "dog")
        found = reasons(
            memory,
            replace(home, value="Lisbon"),
            replace(home, quote="I live in Lisbon."),
            replace(home, valid_from=date(2019, 5, 1)),
            replace(dog, value="bought seventeen parrots"),
            replace(dog, missing=("Faro",)),
            replace(dog, message_ids=()),
            home,
        )
    assert found == [
        "names Lisbon",
        "sentence not in the message",
        "day not in the message",
        "words of the value not in the message",
        "names Faro",
        "no message",
    ]


def test_of_a_large_memory_a_part_is_looked_at(memory: Memory) -> None:
    with memory:
        items = memory.store.items()
        with memory.store.reading():
            found = known_quality(session_sources(memory.store), items, most=2)
    assert found.checked == 2


def test_snapshots_are_nodes_of_the_graph_beside_the_items(memory: Memory) -> None:
    with memory:
        memory.persona("Ben")
        store = memory.store
        with store.reading():
            sessions = {one.id: one for one in store.sessions()}
            rows = [CorpusRow.of(m, sessions[m.session_id]) for m in store.shown_messages()]
            nodes = store.persona_nodes()
            graph = graph_of(Corpus(rows), sessions, {}, store.items(), nodes).graph
    assert nodes
    kinds = [node.kind for node in graph.nodes()]
    assert kinds.count(NodeKind.PERSONA) == len(nodes)
    for node in graph.nodes():
        if node.kind is NodeKind.PERSONA:
            assert graph.neighbours(node)
            assert set(graph.sources(node)) <= {row.message_id for row in rows}
