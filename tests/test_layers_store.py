"""Facts, notes and unread replies in the file: whole by unit, and gone with their messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from localmem.store import Store, database, meta, migrations
from localmem.types import (
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    ImportId,
    KeyFact,
    Layer,
    MadeFacts,
    MadeNotes,
    MessageId,
    Provenance,
    Role,
    SessionId,
    TurnNote,
    UnreadReply,
)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BY = Provenance("model@1", "prompt", "source")
ERASED = "quokka-vermilion-7731"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "memory.duckdb", idle_s=5.0) as opened:
        yield opened


def said(source_id: str, text: str, *, on_path: bool = True) -> ImportedMessage:
    return ImportedMessage(source_id, Role.USER, "Zoe", text, NOW, on_path=on_path)


def put(store: Store, source_id: str, *messages: ImportedMessage) -> ImportId:
    import_id = store.begin_import("chat.txt", "whatsapp", NOW)
    talk = ImportedConversation("whatsapp", source_id, "t", ConversationKind.PEOPLE, messages)
    store.add_conversations(import_id, [talk])
    return import_id


def derive(store: Store, session: int, messages: tuple[int, ...], word: str) -> None:
    number, ids = SessionId(session), tuple(MessageId(m) for m in messages)
    store.put_facts(MadeFacts(number, (KeyFact(number, 0, word, ids, ("Bob",), BY),), BY))
    store.put_notes(number, [MadeNotes(m, (TurnNote(m, 0, word, (), BY),), BY) for m in ids])
    store.put_unread([UnreadReply(Layer.SUMMARY, session, number, "turn", "no JSON", word, BY)])


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def test_facts_and_notes_come_back_as_they_were_stored(store: Store) -> None:
    put(store, "a", said("1", "one"), said("2", "two"))
    derive(store, 1, (1, 2), "told")
    made = store.facts_of(SessionId(1))
    assert made is not None
    assert made.facts[0].message_ids == (MessageId(1), MessageId(2))
    assert made.facts[0].missing == ("Bob",) and not made.facts[0].supported
    notes = store.notes_of([MessageId(2), MessageId(1)])
    assert {number: one.notes[0].text for number, one in notes.items()} == {1: "told", 2: "told"}
    assert store.sessions_with_facts() == {SessionId(1): BY}


def test_a_unit_without_facts_is_known_as_made(store: Store) -> None:
    put(store, "a", said("1", "hello"))
    store.put_notes(SessionId(1), [MadeNotes(MessageId(1), (), BY)])
    store.put_facts(MadeFacts(SessionId(1), (), BY))
    assert store.notes_of([MessageId(1)])[MessageId(1)].notes == ()
    assert store.facts_of(SessionId(1)) == MadeFacts(SessionId(1), (), BY)
    assert store.facts_of(SessionId(2)) is None


def test_what_is_made_again_replaces_what_was_there(store: Store) -> None:
    put(store, "a", said("1", "one"))
    derive(store, 1, (1,), "first")
    derive(store, 1, (1,), "second")
    made = store.facts_of(SessionId(1))
    assert made is not None and [fact.text for fact in made.facts] == ["second"]
    assert [note.text for note in store.notes_of([MessageId(1)])[MessageId(1)].notes] == ["second"]


def test_a_note_that_succeeds_takes_the_unread_reply_of_its_message_away(store: Store) -> None:
    put(store, "a", said("1", "one"))
    store.put_unread([UnreadReply(Layer.NOTES, 1, SessionId(1), "message 1", "?", "xx", BY)])
    assert [reply.reply for reply in store.unread_replies(SessionId(1))] == ["xx"]
    store.put_notes(SessionId(1), [MadeNotes(MessageId(1), (), BY)])
    assert store.unread_replies() == ()


def test_nothing_is_stored_for_messages_and_sessions_that_are_gone(store: Store) -> None:
    store.put_facts(MadeFacts(SessionId(9), (KeyFact(SessionId(9), 0, "x", (), (), BY),), BY))
    store.put_notes(SessionId(9), [MadeNotes(MessageId(9), (), BY)])
    assert store.facts_of(SessionId(9)) is None
    assert store.notes_of([MessageId(9)]) == {}


def test_an_undone_import_takes_facts_notes_and_replies_of_its_sessions_along(
    store: Store, tmp_path: Path
) -> None:
    put(store, "a", said("1", "kept"))
    erased = put(store, "b", said("2", "gone"))
    derive(store, 1, (1,), "kept")
    derive(store, 2, (2,), ERASED)
    receipt = store.undo_import(erased)
    assert (receipt.facts, receipt.notes, receipt.replies) == (1, 1, 1)
    assert store.facts_of(SessionId(2)) is None
    assert store.facts_of(SessionId(1)) is not None
    store.close()
    assert ERASED.encode() not in bytes_of(tmp_path)


def test_a_session_that_loses_a_part_loses_its_facts_and_notes(store: Store) -> None:
    put(store, "a", said("1", "one"))
    later = put(store, "a", said("1", "one"), said("2", "two"))
    derive(store, 1, (1, 2), "both")
    store.undo_import(later)
    assert store.facts_of(SessionId(1)) is None
    assert store.notes_of([MessageId(1)]) == {}


def test_another_branch_takes_the_facts_of_the_hidden_one_away(store: Store) -> None:
    put(store, "a", said("1", "one"), said("2", "two"))
    derive(store, 1, (1, 2), "old branch")
    put(store, "a", said("1", "one"), said("2", "two", on_path=False), said("3", "three"))
    assert store.facts_of(SessionId(1)) is None
    assert store.notes_of([MessageId(1), MessageId(2)]) == {}


def test_a_memory_of_the_first_schema_gets_the_new_tables_and_keeps_its_rows(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.duckdb"
    connection = duckdb.connect(str(path))
    migrations.migrate(connection, migrations.MIGRATIONS[:1])
    meta.put(connection, meta.GENERATION, 0)
    connection.execute("INSERT INTO session VALUES (1, 1)")
    connection.close()
    assert database.open_for_reading(path) is None
    with Store(path) as store:
        store.put_facts(MadeFacts(SessionId(1), (), BY))
        assert store.facts_of(SessionId(1)) == MadeFacts(SessionId(1), (), BY)


def test_a_thread_inside_its_own_block_does_not_queue_behind_who_waits_for_it(
    tmp_path: Path,
) -> None:
    found: list[int] = []
    with Store(tmp_path / "memory.duckdb", patience_s=2.0) as store:
        other = threading.Thread(target=lambda: found.append(len(store.sessions())))
        with store.reading():
            other.start()
            time.sleep(0.2)
            found.append(len(store.sessions()))
        other.join()
    assert found == [0, 0]
