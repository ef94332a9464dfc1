"""Routes on a real memory: what a route brings up, and that it brings up no false evidence."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localmem.config import Config
from localmem.errors import UsageError
from localmem.jobs.deriving import derive_vectors
from localmem.memory import Memory
from localmem.recall.finder import Finder
from localmem.recall.route_terms import without_names
from localmem.recall.routing import Routes, routes_named
from localmem.store import Store
from localmem.testing import HashEmbedder, build_memory
from localmem.types import (
    ConversationKind,
    Depth,
    ImportedConversation,
    ImportedMessage,
    MessageId,
    Role,
    SearchFilter,
)

_NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
Said = tuple[str, str]

_SESSIONS: list[tuple[str, list[Said]]] = [
    (
        "2025-03-01T10:00:00+00:00",
        [
            ("Mira", "The hills near my parents' farm were green again this spring."),
            ("Jonas", "Lovely! I spent the whole weekend at the office."),
            ("Mira", "I used to go horseback riding with my dad there as a girl."),
            ("Jonas", "That sounds wonderful. My own childhood was all about books."),
        ],
    ),
    (
        "2025-06-10T10:00:00+00:00",
        [
            ("Jonas", "Work is quiet these days, so I bake bread."),
            ("Mira", "Good for you. I read a great novel last year, a friend had lent it to me."),
            ("Jonas", "My dad never had time for novels."),
            ("Mira", "Mine neither."),
        ],
    ),
]


def _conversations() -> list[ImportedConversation]:
    conversations = []
    for place, (began, said) in enumerate(_SESSIONS):
        start = datetime.fromisoformat(began)
        messages = tuple(
            ImportedMessage(f"{n}", Role.USER, who, text, start + timedelta(minutes=n))
            for n, (who, text) in enumerate(said)
        )
        conversations.append(
            ImportedConversation("test", f"c{place}", "chat", ConversationKind.PEOPLE, messages)
        )
    return conversations


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    path = tmp_path / "memory.duckdb"
    with Store(path) as store:
        number = store.begin_import("x", "test", _NOW)
        for conversation in _conversations():
            store.add_conversation(number, conversation)
    config = Config()
    memory = build_memory(path, config=replace(config, search=replace(config.search, routes="on")))
    memory.work()
    return memory


def test_what_somebody_did_with_her_dad_is_found_and_asked_of_another_it_is_not(
    memory: Memory,
) -> None:
    with memory:
        asked = "What activity did {} use to do with {} dad?"
        hers = memory.ask(asked.format("Mira", "her"), depth=Depth.INSTANT)
        assert hers.found and "horseback riding" in hers.text
        assert {one.speaker for one in hers.citations} == {"Mira"}
        his = memory.ask(asked.format("Jonas", "his"), depth=Depth.INSTANT)
        assert not his.found and not his.citations


def test_a_year_told_as_last_year_is_found(memory: Memory) -> None:
    with memory:
        answer = memory.ask("When did Mira read a great novel?", depth=Depth.INSTANT)
        assert answer.found and "2024" in answer.text


def test_a_question_for_a_time_brings_up_what_names_one(memory: Memory) -> None:
    with memory:
        found = memory.search("When did Mira read a novel?", k=3).found
        assert "last year" in found[0].message.text
        assert found[0].hit.signals["route_dated"] > 0


def test_without_routes_and_in_other_modes_nothing_is_changed(
    tmp_path: Path, memory: Memory
) -> None:
    with memory:
        plain = memory.search("When did Mira read a novel?", k=3, mode="bm25").found
        assert all("route_dated" not in one.hit.signals for one in plain)
    with build_memory(tmp_path / "memory.duckdb") as again:
        found = again.search("When did Mira read a novel?", k=3).found
        assert all("route_dated" not in one.hit.signals for one in found)


def test_a_plain_question_is_not_touched(memory: Memory) -> None:
    with memory:
        found = memory.search("What does Jonas bake?", k=3).found
        assert not any(name.startswith("route_") for one in found for name in one.hit.signals)


def test_every_way_of_measuring_finds_something(memory: Memory) -> None:
    with memory:
        for routes in Routes:
            doors = memory.doors(asked_at=_NOW, routes=routes)
            assert doors.search("When did Mira read a novel?", 3)
            has_graph = routes not in (Routes.OFF, Routes.NO_GRAPH)
            assert (doors.neighbours is not None) == has_graph


def test_unknown_routes_are_told_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no search routes are called 'fast'") as raised:
        routes_named("fast")
    assert "adamem" in str(raised.value.hint)


def test_the_graph_is_in_step_with_what_is_written_and_taken_back(tmp_path: Path) -> None:
    first, second = _conversations()
    with Store(tmp_path / "memory.duckdb") as store:
        finder = Finder(store, lambda model_id: HashEmbedder())
        store.add_conversation(store.begin_import("x", "test", _NOW), first)
        start = [store.shown_messages()[2].id]
        before = finder.neighbours("What did Mira do?", start, most=50)
        assert before and all(one.message.speaker == "Mira" for one in before)
        number = store.begin_import("y", "test", _NOW)
        store.add_conversation(number, second)
        grown = finder.neighbours("What did Mira do?", start, most=50)
        assert len(grown) > len(before)
        store.undo_import(number)
        finder.forget()
        again = finder.neighbours("What did Mira do?", start, most=50)
        assert [one.message.id for one in again] == [one.message.id for one in before]


def test_neighbours_of_nothing_are_none(tmp_path: Path) -> None:
    with Store(tmp_path / "memory.duckdb") as store:
        finder = Finder(store, lambda model_id: HashEmbedder())
        assert finder.neighbours("What did Mira do?", [MessageId(1)], most=5) == ()
        found = finder.search(
            "When did it happen?", k=3, mode="learned", limits=SearchFilter(), asked_at=_NOW
        )
        assert found.found == ()


def test_what_a_question_is_about_is_what_is_left_without_its_people() -> None:
    names = ["Mira", "Jonas Berg"]
    assert without_names("What sports has Mira done?", names) == "What sports has done?"
    assert without_names("What are Jonas's plans?", names) == "What are plans?"
    assert without_names("What sports has anybody done?", names) == ""


class _Counting(HashEmbedder):
    """Remembers what it embedded as questions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.asked.append(text)
        return super().embed_query(text)


def test_a_question_on_a_route_is_embedded_again_without_the_names_in_it(
    tmp_path: Path,
) -> None:
    embedder = _Counting()
    with Store(tmp_path / "memory.duckdb") as store:
        number = store.begin_import("x", "test", _NOW)
        for conversation in _conversations():
            store.add_conversation(number, conversation)
        store.set_active_embedder(embedder.model_id)
        derive_vectors(store, embedder)
        finder = Finder(store, lambda model_id: embedder, routes=Routes.ON)

        def search(question: str) -> list[str]:
            embedder.asked.clear()
            finder.search(question, k=3, mode="learned", limits=SearchFilter(), asked_at=_NOW)
            return list(embedder.asked)

        search("warm-up")
        when = "When did Mira read a novel?"
        assert search(when) == [when, "When did read a novel?"]
        assert search("When did the snow melt?") == ["When did the snow melt?"]
        several = "What activities has Mira done?"
        assert search(several) == [several, "What activities has done?"]
