"""Taking an import back leaves nothing of it: no row, no derived row, no byte."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from localmem.store import Store
from localmem.types import (
    ConversationKind,
    Granularity,
    ImportedConversation,
    ImportedMessage,
    ImportId,
    IndexSnapshot,
    Provenance,
    ResolvedDate,
    Role,
    SessionId,
    StoredVectors,
    TurnSummary,
)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ERASED = "quokka-vermilion-7731"
KEPT = "marmot-cerulean-2219"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "memory.duckdb", idle_s=5.0) as opened:
        yield opened


def person(source_id: str, speaker: str, text: str) -> ImportedMessage:
    return ImportedMessage(source_id, Role.USER, speaker, text, NOW)


def talk(source_id: str, *messages: ImportedMessage, title: str = "") -> ImportedConversation:
    return ImportedConversation("whatsapp", source_id, title, ConversationKind.PEOPLE, messages)


def put(store: Store, *conversations: ImportedConversation) -> ImportId:
    import_id = store.begin_import("export.txt", "whatsapp", NOW)
    store.add_conversations(import_id, conversations)
    return import_id


def derive(store: Store, word: str) -> None:
    """Give every message all kinds of derived rows."""
    summaries, dates = [], {}
    for (message,) in store.turns_without_summary(100):
        provenance = Provenance("rule", "p", "s")
        summaries.append(TurnSummary(message.turn_id, f"about {word}", (word,), ("t",), provenance))
        dates[message.id] = [
            ResolvedDate(word, 0, 4, date(2026, 1, 1), date(2026, 1, 1), Granularity.DAY)
        ]
    store.put_layer0(summaries, dates)
    ids = tuple(m.id for m in store.messages_without_vectors("e", 100))
    rows = np.eye(len(ids), 4, dtype=np.float32)
    store.put_vectors(StoredVectors("e", 4, ids, (0,) * len(ids), rows.tobytes()))
    store.put_snapshot(IndexSnapshot("keyword", store.generation(), "", 0, word.encode()))


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def test_an_undone_import_is_gone_with_all_that_was_derived_from_it(store: Store) -> None:
    put(store, talk("a", person("1", "Ben", "hello"), title="kept"))
    erased = put(store, talk("b", person("2", "Zoe", ERASED), title=f"title {ERASED}"))
    derive(store, ERASED)
    receipt = store.undo_import(erased)
    assert (receipt.messages, receipt.turns, receipt.sessions, receipt.conversations) == (
        1,
        1,
        1,
        1,
    )
    assert (receipt.participants, receipt.summaries, receipt.dates) == (1, 1, 1)
    assert (receipt.vectors, receipt.snapshots) == (1, 1)
    stats = store.stats()
    assert (stats.messages, stats.dates, stats.participants) == (1, 1, 1)
    assert store.vectors("e").message_ids.tolist() == [1]
    assert [p.name for p in store.participants()] == ["Ben"]
    assert len(store.all_summaries()) == 1
    assert store.get_snapshot("keyword") is None
    assert [i.undone for i in store.list_imports()] == [True, False]


def test_the_erased_words_are_not_in_the_file(store: Store) -> None:
    put(store, talk("a", person("1", "Ben", KEPT)))
    erased = put(store, talk("b", person("2", ERASED, ERASED), title=ERASED))
    derive(store, "plain")
    store.close()
    assert ERASED.encode() in bytes_of(store.path.parent)
    with Store(store.path) as again:
        again.undo_import(erased)
    assert ERASED.encode() not in bytes_of(store.path.parent)
    assert KEPT.encode() in bytes_of(store.path.parent)
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_the_bytes_go_even_where_the_program_died_before_it_erased_them(store: Store) -> None:
    put(store, talk("a", person("1", "Ben", KEPT)))
    erased = put(store, talk("b", person("2", "Zoe", ERASED)))
    store.close()
    mark_as_erased_but_not_rewritten(store.path, erased)
    assert ERASED.encode() in bytes_of(store.path.parent)
    with Store(store.path) as again, again.writing():
        pass
    assert ERASED.encode() not in bytes_of(store.path.parent)


def mark_as_erased_but_not_rewritten(path: Path, import_id: ImportId) -> None:
    from localmem.store import database, imports
    from localmem.store.transactions import transaction

    connection = database.open_for_writing(path)
    with transaction(connection):
        imports.erase(connection, import_id)
    database.close(connection)


def test_undoing_the_export_that_showed_another_branch_shows_the_first_again(store: Store) -> None:
    first = person("1", "Ben", "first")
    second = person("2", "Ben", "second")
    put(store, talk("a", first, title="one"))
    newer = put(store, talk("a", replace(first, on_path=False), second, title="two"))
    assert [m.text for m in store.shown_messages()] == ["second"]
    store.undo_import(newer)
    assert [m.text for m in store.shown_messages()] == ["first"]
    assert store.sessions()[0].title == "one"


def test_messages_that_another_import_added_stay(store: Store) -> None:
    older = put(store, talk("a", person("1", "Ben", "one")))
    put(store, talk("a", person("1", "Ben", "one"), person("2", "Ben", "two")))
    store.undo_import(older)
    assert [m.text for m in store.session_messages(SessionId(1))] == ["two"]


def test_an_undone_import_can_be_imported_again(store: Store) -> None:
    conversation = talk("a", person("1", "Ben", "one"), person("2", "Zoe", "two"))
    store.undo_import(put(store, conversation))
    put(store, conversation)
    assert [m.text for m in store.shown_messages()] == ["one", "two"]
    assert [m.id for m in store.shown_messages()] == [3, 4]


def test_compacting_keeps_every_row(store: Store) -> None:
    put(store, talk("a", *(person(str(n), "Ben", f"text {n}") for n in range(50))))
    derive(store, "plain")
    before = store.shown_messages(), store.vectors("e").rows.tolist(), store.generation()
    store.compact()
    assert (store.shown_messages(), store.vectors("e").rows.tolist(), store.generation()) == before
    assert store.messages([store.shown_messages()[0].id])[0].said_at == NOW
    later = put(store, talk("b", person("x", "Ben", "new")))
    assert store.undo_import(later).messages == 1


def test_a_gap_in_time_is_measured_from_what_is_stored(store: Store) -> None:
    put(store, talk("a", person("1", "Ben", "one")))
    after = replace(person("2", "Ben", "two"), said_at=NOW + timedelta(hours=9))
    put(store, talk("a", person("1", "Ben", "one"), after))
    assert len(store.sessions()) == 2
