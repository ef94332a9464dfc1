"""Facts lead to the messages that they rest on, where searching them is switched on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from localmem.errors import StaleIndexError, UsageError
from localmem.jobs.embedding_facts import derive_fact_vectors
from localmem.recall.corpus import Corpus, CorpusRow
from localmem.recall.facts_index import FactIndex
from localmem.recall.finder import Finder
from localmem.store import FactText, FactTexts, FactVectors, Store
from localmem.testing import HashEmbedder
from localmem.types import (
    ConversationKind,
    ForgetTarget,
    ImportedConversation,
    ImportedMessage,
    KeyFact,
    MadeFacts,
    MessageId,
    ParticipantId,
    Provenance,
    Role,
    SearchFilter,
    SearchResult,
    SessionId,
    StoredVectors,
)

NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
BY = Provenance("model@1", "prompt", "source")
LINES = (
    "Did you go in the end?",
    "Yes, it was over by noon, thank goodness.",
    "The ferry was late again.",
    "My brother paints boats for a living.",
)
FACT = "Ada, 4 May 2026: Ada had her wisdom tooth taken out at the dentist."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "memory.duckdb", idle_s=5.0) as opened:
        number = opened.begin_import("x", "test", NOW)
        opened.add_conversation(number, conversation("a", *LINES))
        yield opened


def conversation(
    name: str, *texts: str, kind: ConversationKind = ConversationKind.PEOPLE
) -> ImportedConversation:
    messages = tuple(
        ImportedMessage(f"{n}", Role.USER, "Ada", text, NOW + timedelta(minutes=n))
        for n, text in enumerate(texts)
    )
    return ImportedConversation("test", name, name, kind, messages)


def tell(store: Store, text: str, *message_ids: int, session: int = 1) -> None:
    number = SessionId(session)
    fact = KeyFact(number, 0, text, tuple(MessageId(n) for n in message_ids), (), BY)
    store.put_facts(MadeFacts(number, (fact,), BY))


def embed_all(store: Store) -> None:
    embedder = HashEmbedder()
    ids = tuple(message.id for message in store.shown_messages())
    rows = embedder.embed_passages([m.whole_text for m in store.shown_messages()])
    store.put_vectors(
        StoredVectors(embedder.model_id, embedder.dimension, ids, (0,) * len(ids), rows.tobytes())
    )
    store.set_active_embedder(embedder.model_id)


def finder(store: Store, facts: str = "on") -> Finder:
    return Finder(store, lambda model_id: HashEmbedder(), facts=facts)


def search(found_by: Finder, query: str, mode: str = "learned") -> SearchResult:
    return found_by.search(query, k=4, mode=mode, limits=SearchFilter(), asked_at=NOW)


def texts(result: SearchResult) -> list[str]:
    return [found.message.text for found in result.found]


def test_a_message_is_found_by_the_words_of_its_fact(store: Store) -> None:
    tell(store, FACT, 2)
    result = search(finder(store), "wisdom tooth dentist")
    assert texts(result)[0] == LINES[1]
    assert result.found[0].hit.signals["fact_keyword"] > 0


def test_where_it_is_off_facts_are_not_searched(store: Store) -> None:
    tell(store, FACT, 2)
    assert texts(search(finder(store, "off"), "wisdom tooth dentist")) == []


def test_other_modes_rank_as_they_say(store: Store) -> None:
    tell(store, FACT, 2)
    assert texts(search(finder(store), "wisdom tooth dentist", "bm25")) == []


def test_facts_change_nothing_in_chats_with_an_assistant(tmp_path: Path) -> None:
    with Store(tmp_path / "chats.duckdb", idle_s=5.0) as store:
        number = store.begin_import("x", "test", NOW)
        store.add_conversation(number, conversation("a", *LINES, kind=ConversationKind.ASSISTANT))
        tell(store, FACT, 2)
        assert texts(search(finder(store), "wisdom tooth dentist")) == []


def test_a_setting_that_is_none_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match=r"search\.facts"):
        finder(store, "perhaps")


def test_a_running_search_sees_facts_as_they_come_and_change(store: Store) -> None:
    running = finder(store)
    assert texts(search(running, "wisdom tooth")) == []
    tell(store, FACT, 2)
    assert texts(search(running, "wisdom tooth"))[0] == LINES[1]
    tell(store, "Ada, 4 May 2026: Ada adopted a parrot.", 1)
    assert texts(search(running, "wisdom tooth")) == []
    assert texts(search(running, "parrot"))[0] == LINES[0]


def test_what_is_forgotten_is_not_found_by_its_fact(store: Store) -> None:
    tell(store, FACT, 2)
    running = finder(store)
    assert texts(search(running, "wisdom tooth"))[0] == LINES[1]
    running.save_snapshots()
    store.forget(ForgetTarget(messages=(MessageId(2),)))
    for searching in (running, finder(store)):
        searching.forget()
        assert texts(search(searching, "wisdom tooth")) == []


def test_the_next_start_takes_the_stored_index_and_what_came_since(store: Store) -> None:
    number = store.begin_import("y", "test", NOW)
    store.add_conversation(number, conversation("b", "It is done.", "Really?"))
    tell(store, FACT, 2)
    finder(store).save_snapshots()
    assert store.get_snapshot("facts") is not None
    tell(store, "Ada, 4 May 2026: Ada sold the greenhouse.", 5, session=2)
    again = finder(store)
    assert texts(search(again, "wisdom tooth"))[0] == LINES[1]
    assert texts(search(again, "greenhouse"))[0] == "It is done."


def test_vectors_of_facts_lead_to_messages_too(store: Store) -> None:
    embed_all(store)
    number = store.begin_import("y", "test", NOW)
    store.add_conversation(number, conversation("b", "It is done.", "Really?"))
    tell(store, FACT, 2)
    tell(store, "Ada, 4 May 2026: Ada sold the old greenhouse.", 5, session=2)
    running = finder(store)
    before = search(running, "wisdom tooth dentist")
    assert any("facts of 2 sessions have no vector" in notice for notice in before.notices)
    assert derive_fact_vectors(store, HashEmbedder()) == 2
    assert derive_fact_vectors(store, HashEmbedder()) == 0
    after = search(running, "wisdom tooth dentist")
    assert after.found[0].message.text == LINES[1]
    assert after.found[0].hit.signals["fact_vector"] > 0
    assert not any("facts" in notice for notice in after.notices)


# --- The index alone ----------------------------------------------------------------------


def corpus(count: int) -> Corpus:
    return Corpus(
        CorpusRow(
            message_id=MessageId(n),
            turn_id=n,
            session_id=1,
            ordinal=n,
            participant_id=ParticipantId(1),
            speaker="Ada",
            role=Role.USER,
            source="test",
            kind=ConversationKind.PEOPLE,
            day=None,
            length=10,
            asks=False,
        )
        for n in range(1, count + 1)
    )


def told(session: int, *facts: tuple[str, tuple[int, ...]], mark: int = 1) -> FactTexts:
    return FactTexts(
        SessionId(session),
        mark,
        tuple(
            FactText(place, text, tuple(MessageId(n) for n in ids))
            for place, (text, ids) in enumerate(facts)
        ),
    )


def test_a_row_takes_its_best_fact_and_a_fact_serves_all_its_rows() -> None:
    index = FactIndex()
    index.put([told(1, ("bees and honey", (1, 3)), ("honey", (3,)), ("a boat", (2, 99)))])
    keyword = index.scores(corpus(4), "honey", None).keyword
    assert keyword[0] > 0
    assert keyword[2] > keyword[0]
    assert keyword[1] == keyword[3] == 0


def test_nearness_counts_deviations_above_the_mean_of_the_facts() -> None:
    index = FactIndex()
    index.put([told(1, *((f"fact {n}", (n,)) for n in range(1, 5)))])
    rows = np.eye(4, dtype=np.float32)
    index.put_vectors(FactVectors(SessionId(1), 1, "e", np.arange(4, dtype=np.int32), rows))
    near = index.scores(corpus(4), "nothing", rows[2]).nearness
    cosines = rows @ rows[2]
    assert near[2] == pytest.approx((1 - cosines.mean()) / cosines.std())
    assert near[[0, 1, 3]].tolist() == [0, 0, 0]


def test_vectors_for_another_making_of_the_facts_are_passed_over() -> None:
    index = FactIndex()
    index.put([told(1, ("one", (1,)), ("two", (2,)), mark=2)])
    rows = np.eye(2, dtype=np.float32)
    index.put_vectors(FactVectors(SessionId(1), 1, "e", np.arange(2, dtype=np.int32), rows))
    assert index.scores(corpus(2), "", rows[0]).nearness.tolist() == [0, 0]


def test_a_snapshot_gives_the_same_index_and_goes_on_from_there() -> None:
    index = FactIndex()
    index.put([told(1, ("bees", (1,)), ("honey", (2, 3))), told(2, mark=7)])
    again = FactIndex.from_bytes(index.to_bytes())
    assert dict(again.marks) == {1: 1, 2: 7}
    assert again.to_bytes() == index.to_bytes()
    again.put([told(3, ("a hive", (1,)))])
    again.drop([SessionId(1)])
    assert again.scores(corpus(3), "bees honey", None).keyword.tolist() == [0, 0, 0]
    assert again.scores(corpus(3), "hive", None).keyword[0] > 0


def test_snapshots_of_two_times_are_refused() -> None:
    index = FactIndex()
    index.put([told(1, ("bees", (1,)))])
    old = index.to_bytes()
    index.put([told(2, ("honey", (1,)))])
    with pytest.raises(StaleIndexError, match="another time"):
        FactIndex.from_bytes({**index.to_bytes(), "facts_keywords": old["facts_keywords"]})
