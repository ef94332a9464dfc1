"""Facts as search reads them: their words and vectors by session, and gone with their messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pytest

from localmem.store import FactVectors, Store, migrations
from localmem.types import (
    ConversationKind,
    ForgetTarget,
    ImportedConversation,
    ImportedMessage,
    KeyFact,
    MadeFacts,
    MessageId,
    Provenance,
    Role,
    SessionId,
)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BY = Provenance("model@1", "prompt", "source")
FIRST, SECOND = SessionId(1), SessionId(2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "memory.duckdb", idle_s=5.0) as opened:
        number = opened.begin_import("x", "test", NOW)
        for name in ("a", "b"):
            messages = tuple(
                ImportedMessage(f"{name}{n}", Role.USER, "Zoe", f"line {n} of {name}", NOW)
                for n in range(2)
            )
            opened.add_conversation(
                number,
                ImportedConversation("test", name, name, ConversationKind.PEOPLE, messages),
            )
        yield opened


def put(store: Store, session: SessionId, *texts: str, missing: tuple[str, ...] = ()) -> None:
    message = store.session_messages(session)[0].id
    facts = tuple(
        KeyFact(session, place, text, (message,), missing, BY) for place, text in enumerate(texts)
    )
    store.put_facts(MadeFacts(session, facts, BY))


def vectors(store: Store, session: SessionId, *places: int, by: str = "e") -> FactVectors:
    rows = np.eye(4, dtype=np.float32)[list(places)]
    mark = store.fact_marks()[session]
    return FactVectors(session, mark, by, np.array(places, np.int32), rows)


def test_facts_are_read_with_their_words_and_sources(store: Store) -> None:
    put(store, FIRST, "Zoe keeps bees.", "Zoe lives in Graz.")
    (found,) = store.fact_texts([FIRST, SECOND])
    assert found.session_id == FIRST
    assert [fact.text for fact in found.facts] == ["Zoe keeps bees.", "Zoe lives in Graz."]
    assert found.facts[1].position == 1
    assert found.facts[0].message_ids == (MessageId(1),)


def test_facts_that_the_source_check_marked_are_left_out(store: Store) -> None:
    put(store, FIRST, "Zoe moved to Bern.", missing=("Bern",))
    (found,) = store.fact_texts([FIRST])
    assert found.facts == ()


def test_vectors_come_back_as_they_were_stored(store: Store) -> None:
    put(store, FIRST, "one", "two")
    store.put_fact_vectors([vectors(store, FIRST, 0, 1, 1)])
    (page,) = store.fact_vectors([FIRST, SECOND], "e")
    assert page.positions.tolist() == [0, 1, 1]
    assert np.array_equal(page.rows, np.eye(4, dtype=np.float32)[[0, 1, 1]])
    assert store.fact_vectors([FIRST], "another") == ()


def test_sessions_are_pending_until_they_have_vectors_of_the_embedder(store: Store) -> None:
    put(store, FIRST, "one")
    put(store, SECOND)
    assert [one.session_id for one in store.facts_without_vectors("e", 9)] == [FIRST, SECOND]
    store.put_fact_vectors([vectors(store, FIRST, 0), vectors(store, SECOND)])
    assert store.facts_without_vectors("e", 9) == ()
    assert len(store.facts_without_vectors("another", 1)) == 1


def test_facts_made_anew_have_another_mark_and_no_vectors(store: Store) -> None:
    put(store, FIRST, "one")
    old = vectors(store, FIRST, 0)
    store.put_fact_vectors([old])
    before = store.facts_mark()
    put(store, FIRST, "one, told better")
    assert store.facts_mark() > before
    assert store.fact_marks()[FIRST] != old.mark
    assert store.fact_vectors([FIRST], "e") == ()
    store.put_fact_vectors([old])
    assert store.fact_vectors([FIRST], "e") == ()


def test_what_is_forgotten_leaves_no_fact_and_no_vector(store: Store) -> None:
    put(store, FIRST, "one")
    put(store, SECOND, "two")
    store.put_fact_vectors([vectors(store, FIRST, 0), vectors(store, SECOND, 0)])
    before = store.facts_mark()
    store.forget(ForgetTarget(messages=(MessageId(2),)))
    assert store.facts_mark() > before
    assert list(store.fact_marks()) == [SECOND]
    assert store.fact_texts([FIRST]) == ()
    assert [page.session_id for page in store.fact_vectors([FIRST, SECOND], "e")] == [SECOND]
    assert store.orphans() == {}


def test_vectors_of_an_embedder_that_is_dropped_are_gone(store: Store) -> None:
    put(store, FIRST, "one")
    store.put_fact_vectors([vectors(store, FIRST, 0), vectors(store, FIRST, 0, by="f")])
    store.drop_vectors("e")
    assert store.fact_vectors([FIRST], "e") == ()
    assert len(store.fact_vectors([FIRST], "f")) == 1


def test_an_older_memory_keeps_its_facts_for_search(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as old:
        migrations.migrate(old, migrations.MIGRATIONS[:5])
        old.execute("INSERT INTO session VALUES (7, 1)")
        old.execute("INSERT INTO layer_unit VALUES (1, 7, 7, 'm', 'p', 's')")
        old.execute("INSERT INTO layer_unit VALUES (2, 9, 7, 'm', 'p', 's')")
        old.execute("INSERT INTO key_fact VALUES (7, 0, 'Zoe keeps bees.', '', '')")
    with Store(path) as store:
        assert list(store.fact_marks()) == [SessionId(7)]
        assert store.fact_texts([SessionId(7)])[0].facts[0].text == "Zoe keeps bees."
