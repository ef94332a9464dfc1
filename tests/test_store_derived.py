"""Derived rows: L0, dates, vectors, snapshots, and how a searcher keeps up with them."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

from localmem.errors import StaleIndexError, StoreError
from localmem.store import Store
from localmem.types import (
    ConversationKind,
    Granularity,
    ImportedConversation,
    ImportedMessage,
    IndexSnapshot,
    Message,
    MessageId,
    Provenance,
    ResolvedDate,
    Role,
    SessionId,
    StoredVectors,
    TurnId,
    TurnSummary,
)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "memory.duckdb", idle_s=5.0) as opened:
        yield opened


def put(store: Store, *texts: str, first: int = 0) -> None:
    """A chat with an assistant: user and assistant in turn."""
    messages = tuple(
        ImportedMessage(str(n), (Role.USER, Role.ASSISTANT)[n % 2], "", text, NOW)
        for n, text in enumerate(texts)
    )
    kind = ConversationKind.ASSISTANT
    conversation = ImportedConversation("chatgpt", "c", "t", kind, messages[first:])
    store.add_conversation(store.begin_import("f", "chatgpt", NOW), conversation)


def summary(turn_id: int, sentence: str = "They spoke of boats.") -> TurnSummary:
    provenance = Provenance("rule-1", "prompt", "source")
    return TurnSummary(TurnId(turn_id), sentence, ("boat", "oil, linseed"), (), provenance)


def a_date(words: str, begin: int) -> ResolvedDate:
    return ResolvedDate(
        words,
        begin,
        begin + len(words),
        date(2016, 1, 1),
        date(2026, 11, 30),
        Granularity.RANGE,
        True,
    )


def batch(
    model_id: str, ids: list[int], rows: np.ndarray[tuple[int, int], np.dtype[np.float32]]
) -> StoredVectors:
    chunks = tuple(ids[:n].count(number) for n, number in enumerate(ids))
    numbers = tuple(MessageId(number) for number in ids)
    return StoredVectors(model_id, rows.shape[1], numbers, chunks, rows.tobytes())


def unit_rows(
    count: int, dimension: int = 8, seed: int = 7
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def ids_of(messages: tuple[Message, ...]) -> list[int]:
    return [int(m.id) for m in messages]


def test_a_turn_is_pending_until_it_has_its_summary(store: Store) -> None:
    put(store, "u1", "a1", "u2", "a2")
    pending = store.turns_without_summary(10)
    assert [[m.text for m in turn] for turn in pending] == [["u1", "a1"], ["u2", "a2"]]
    assert len(store.turns_without_summary(1)) == 1
    store.put_layer0([summary(1)], {})
    assert [[m.text for m in turn] for turn in store.turns_without_summary(10)] == [["u2", "a2"]]
    assert store.stats().turns_without_summary == 1


def test_summaries_come_back_as_they_were(store: Store) -> None:
    put(store, "u1", "a1", "u2")
    store.put_layer0([summary(2, "b"), summary(1, "a")], {})
    assert store.summaries([TurnId(1)]) == (summary(1, "a"),)
    assert store.session_summaries(SessionId(1)) == (summary(1, "a"), summary(2, "b"))
    store.put_summaries([summary(1, "better")])
    assert [s.sentence for s in store.all_summaries()] == ["better", "b"]


def test_a_turn_that_grows_is_pending_again(store: Store) -> None:
    put(store, "u1")
    store.put_layer0([summary(1)], {})
    put(store, "u1", "a1")
    assert store.all_summaries() == ()
    assert [ids_of(turn) for turn in store.turns_without_summary(10)] == [[1, 2]]


def test_a_summary_of_a_turn_that_is_gone_is_not_stored(store: Store) -> None:
    put(store, "u1")
    store.put_layer0([summary(1), summary(99)], {MessageId(99): [a_date("since 2016", 0)]})
    assert len(store.all_summaries()) == 1
    assert store.stats().dates == 0


def test_dates_are_found_by_message_and_replaced(store: Store) -> None:
    put(store, "since 2016 and since 2016", "none", "u2")
    first, second = a_date("since 2016", 0), a_date("since 2016", 15)
    store.put_layer0([], {MessageId(1): [second, first], MessageId(2): []})
    assert store.dates_of([MessageId(1), MessageId(2)]) == {MessageId(1): (first, second)}
    store.put_layer0([], {MessageId(1): [second]})
    assert store.dates_of([MessageId(1)]) == {MessageId(1): (second,)}


def test_vectors_come_back_bit_by_bit_in_one_matrix(store: Store) -> None:
    put(store, "u1", "a1", "u2")
    rows = unit_rows(4)
    store.put_vectors(batch("e", [1, 1, 2], rows[:3]))
    store.put_vectors(batch("e", [3], rows[3:]))
    stored = store.vectors("e")
    assert np.array_equal(stored.rows, rows)
    assert stored.rows.dtype == np.float32
    assert stored.message_ids.tolist() == [1, 1, 2, 3]
    assert stored.chunk_numbers.tolist() == [0, 1, 0, 0]


def test_vectors_of_a_message_are_replaced_not_doubled(store: Store) -> None:
    put(store, "u1", "a1")
    store.put_vectors(batch("e", [1, 2], unit_rows(2)))
    newer = unit_rows(1, seed=8)
    store.put_vectors(batch("e", [1], newer))
    stored = store.vectors("e")
    assert stored.message_ids.tolist() == [2, 1]
    assert np.array_equal(stored.rows[1:], newer)


def test_messages_wait_for_vectors_by_model(store: Store) -> None:
    put(store, "u1", " ", "u2")
    assert ids_of(store.messages_without_vectors("e", 10)) == [1, 3]
    store.put_vectors(batch("e", [1], unit_rows(1)))
    assert ids_of(store.messages_without_vectors("e", 10)) == [3]
    assert ids_of(store.messages_without_vectors("other", 1)) == [1]
    store.put_vectors(batch("e", [], unit_rows(0)), blank=[MessageId(3)])
    assert store.count_without_vectors("e") == 0


def test_vectors_that_do_not_fit_are_refused(store: Store) -> None:
    put(store, "u1", "a1")
    store.put_vectors(batch("e", [1], unit_rows(1)))
    with pytest.raises(StoreError, match="dimension 8, got 4"):
        store.put_vectors(batch("e", [2], unit_rows(1, dimension=4)))
    with pytest.raises(StoreError, match="take 64 bytes"):
        store.put_vectors(StoredVectors("e", 8, (MessageId(1), MessageId(2)), (0, 0), b"1234"))
    assert len(store.vectors("e")) == 1


def test_vectors_of_a_message_that_is_gone_are_not_stored(store: Store) -> None:
    put(store, "u1")
    store.put_vectors(batch("e", [1, 99], unit_rows(2)))
    assert store.vectors("e").message_ids.tolist() == [1]


def test_another_embedder_is_built_beside_the_old_one_and_taken_at_once(store: Store) -> None:
    put(store, "u1")
    store.put_vectors(batch("old", [1], unit_rows(1)))
    store.set_active_embedder("old")
    store.put_vectors(batch("new", [1], unit_rows(1, dimension=4)))
    assert store.active_embedder() == "old"
    assert store.vector_models() == {"old": 8, "new": 4}
    generation = store.generation()
    store.set_active_embedder("new")
    assert store.changes_since(generation).reload
    store.drop_vectors("old")
    assert store.vector_models() == {"new": 4}
    assert store.active_embedder() == "new"


def test_a_searcher_replays_what_came_since_its_generation(store: Store) -> None:
    put(store, "u1", "a1")
    store.set_active_embedder("e")
    generation = store.generation()
    put(store, "u1", "a1", "u2")
    store.put_layer0([summary(2)], {})
    store.put_vectors(batch("e", [3], unit_rows(1)))
    changes = store.changes_since(generation)
    assert not changes.reload
    assert changes.messages.texts == ["u2"]
    assert changes.vectors.message_ids.tolist() == [3]
    assert [s.turn_id for s in changes.summaries] == [2]
    nothing = store.changes_since(changes.generation)
    assert (len(nothing.messages), len(nothing.vectors), nothing.summaries) == (0, 0, ())


def test_dropping_the_embedder_in_use_leaves_none(store: Store) -> None:
    put(store, "u1")
    store.put_vectors(batch("e", [1], unit_rows(1)))
    store.set_active_embedder("e")
    store.put_snapshot(IndexSnapshot("vectors", 1, "e", 8, b"1"))
    store.drop_vectors("e")
    assert store.active_embedder() is None
    assert store.get_snapshot("vectors", model_id="e") is None


def test_a_snapshot_is_kept_by_name_and_model(store: Store) -> None:
    keyword = IndexSnapshot("keyword", 3, "", 0, b"\x00index")
    store.put_snapshot(IndexSnapshot("keyword", 2, "", 0, b"old"))
    store.put_snapshot(keyword)
    store.put_snapshot(IndexSnapshot("vectors", 3, "e", 8, b"v"))
    assert store.get_snapshot("keyword") == keyword
    assert store.get_snapshot("vectors", model_id="other") is None


def test_a_damaged_snapshot_is_not_used(store: Store) -> None:
    store.put_snapshot(IndexSnapshot("keyword", 3, "", 0, b"index"))
    store.close()
    damage_snapshot(store.path)
    with Store(store.path) as again, pytest.raises(StaleIndexError, match="keyword"):
        again.get_snapshot("keyword")


def damage_snapshot(path: Path) -> None:
    from localmem.store import database

    connection = database.open_for_writing(path)
    connection.execute("UPDATE index_snapshot SET content = 'x'::BLOB")
    database.close(connection)
