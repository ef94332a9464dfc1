"""What goes into a memory comes out of it as it was."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from localmem.errors import RecordNotFoundError
from localmem.store import Store
from localmem.types import (
    ConversationDelta,
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    ImportId,
    ImportProblem,
    ImportReport,
    MessageId,
    Role,
    SessionId,
)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=2))
START = datetime(2026, 6, 1, 0, 30, tzinfo=BERLIN)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "memory.duckdb", idle_s=5.0) as opened:
        yield opened


def said(
    source_id: str,
    text: str,
    *,
    role: Role = Role.USER,
    speaker: str = "user",
    minutes: float = 0,
    on_path: bool = True,
    parent: str | None = None,
) -> ImportedMessage:
    said_at = START + timedelta(minutes=minutes)
    return ImportedMessage(source_id, role, speaker, text, said_at, parent, on_path)


def chat(
    *messages: ImportedMessage,
    source_id: str = "c1",
    title: str = "Boat",
    source: str = "chatgpt",
    kind: ConversationKind = ConversationKind.ASSISTANT,
) -> ImportedConversation:
    return ImportedConversation(source, source_id, title, kind, messages)


QUESTION = said("u1", "Which varnish for the boat?")
REPLY = said("a1", "Use tung oil.", role=Role.ASSISTANT, speaker="assistant", minutes=1)
LATER = said("u2", "And for the mast?", minutes=2)


def put(store: Store, *conversations: ImportedConversation) -> tuple[ConversationDelta, ...]:
    import_id = store.begin_import("export.json", "chatgpt", NOW)
    return store.add_conversations(import_id, conversations)


def texts(store: Store, session: int = 1, *, all_branches: bool = False) -> list[str]:
    messages = store.session_messages(SessionId(session), all_branches=all_branches)
    return [m.text for m in messages]


def test_messages_keep_text_role_order_and_local_time(store: Store) -> None:
    (delta,) = put(store, chat(QUESTION, REPLY))
    question, reply = store.messages(delta.message_ids)
    assert (question.text, question.role, question.ordinal) == (QUESTION.text, Role.USER, 0)
    assert (reply.text, reply.role, reply.ordinal) == (REPLY.text, Role.ASSISTANT, 1)
    assert question.said_at == START
    assert question.said_at is not None
    assert question.said_at.date() == date(2026, 6, 1)
    assert question.turn_id == reply.turn_id
    assert (delta.is_new, delta.turns_added, delta.sessions_added) == (True, 1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "naïve 日本語 🛶",
        "a\x00b",
        "line\nline\r\n\t",
        "\x1e",
        "'; DROP TABLE message; --",
        "x" * 99999,
    ],
)
def test_any_text_survives(store: Store, text: str) -> None:
    (delta,) = put(store, chat(said("m", text), said("n", "next"), said("o", "")))
    assert [m.text for m in store.messages(delta.message_ids)] == [text, "next", ""]


def test_half_a_surrogate_pair_is_replaced_because_it_is_no_character(store: Store) -> None:
    (delta,) = put(store, chat(said("m", "a\ud83db")))
    assert store.messages(delta.message_ids)[0].text == "a\ufffdb"


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 2, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 3, 29, 1, 30, 0, 123457, tzinfo=timezone(timedelta(hours=-11, minutes=-30))),
        datetime(9999, 12, 30, tzinfo=UTC),
    ],
)
def test_any_time_survives_to_the_microsecond(store: Store, moment: datetime) -> None:
    (delta,) = put(store, chat(replace(QUESTION, said_at=moment)))
    (stored,) = store.messages(delta.message_ids)
    assert stored.said_at == moment
    assert stored.said_at is not None
    assert stored.said_at.utcoffset() == moment.utcoffset()


def test_importing_the_same_conversation_again_adds_nothing(store: Store) -> None:
    put(store, chat(QUESTION, REPLY))
    generation = store.generation()
    (delta,) = put(store, chat(QUESTION, REPLY))
    assert (delta.message_ids, delta.messages_known, delta.is_new) == ((), 2, False)
    assert store.generation() == generation
    assert store.stats().messages == 2


def test_a_conversation_that_grew_gets_only_what_is_new(store: Store) -> None:
    put(store, chat(QUESTION))
    (delta,) = put(store, chat(QUESTION, REPLY, LATER))
    assert delta.has_grown
    assert len(delta.message_ids) == 2
    assert texts(store) == [QUESTION.text, REPLY.text, LATER.text]
    assert store.session(SessionId(1)).turn_count == 2


def test_a_conversation_that_goes_on_after_a_long_silence_gets_a_new_session(store: Store) -> None:
    put(store, chat(QUESTION, REPLY))
    (delta,) = put(store, chat(QUESTION, REPLY, said("u9", "I am back", minutes=60 * 24)))
    assert delta.sessions_added == 1
    assert texts(store, 2) == ["I am back"]
    assert [s.message_count for s in store.sessions()] == [2, 1]


def test_one_conversation_twice_in_a_batch_is_stored_once(store: Store) -> None:
    first, second = put(store, chat(QUESTION), chat(QUESTION, REPLY))
    assert (len(first.message_ids), len(second.message_ids)) == (1, 1)
    assert second.has_grown
    assert texts(store) == [QUESTION.text, REPLY.text]


def test_a_known_message_is_never_altered(store: Store) -> None:
    put(store, chat(QUESTION))
    put(store, chat(replace(QUESTION, text="something else")))
    assert texts(store) == [QUESTION.text]


def test_hidden_branches_are_stored_but_neither_shown_nor_indexed(store: Store) -> None:
    hidden = said("a0", "Use paint.", role=Role.ASSISTANT, parent="u1", on_path=False)
    put(store, chat(QUESTION, hidden, REPLY))
    assert texts(store) == [QUESTION.text, REPLY.text]
    assert texts(store, all_branches=True) == [QUESTION.text, hidden.text, REPLY.text]
    assert [m.text for m in store.shown_messages()] == [QUESTION.text, REPLY.text]
    assert store.stats().hidden_messages == 1


def test_a_newer_export_can_show_another_branch(store: Store) -> None:
    put(store, chat(QUESTION, REPLY))
    other = said("a2", "Use paint.", role=Role.ASSISTANT, parent="u1", minutes=3)
    generation = store.generation()
    (delta,) = put(store, chat(QUESTION, replace(REPLY, on_path=False), other, title="Hull"))
    assert delta.shows_other_branch
    assert texts(store) == [QUESTION.text, other.text]
    assert store.changes_since(generation).reload
    assert store.sessions()[0].title == "Hull"


def test_an_older_export_hides_and_renames_nothing(store: Store) -> None:
    put(store, chat(QUESTION, REPLY, LATER, title="New name"))
    (delta,) = put(store, chat(QUESTION, replace(REPLY, on_path=False), title="Old name"))
    assert not delta.shows_other_branch
    assert texts(store) == [QUESTION.text, REPLY.text, LATER.text]
    assert store.sessions()[0].title == "New name"


def test_the_user_of_an_assistant_is_the_owner_and_the_assistant_has_its_name(
    store: Store,
) -> None:
    put(store, chat(QUESTION, REPLY), chat(QUESTION, REPLY, source="claude"))
    owner = store.owner()
    assert owner is not None
    people = {p.name: p for p in store.participants()}
    assert set(people) == {owner.name, "chatgpt", "claude"}
    assert people["chatgpt"].is_assistant
    assert store.set_owner("Anna").id == owner.id
    assert store.messages([MessageId(1)])[0].speaker == "Anna"


def test_the_owner_of_an_assistant_chat_is_one_with_the_person_of_that_name(store: Store) -> None:
    people = chat(
        said("1", "hi", speaker="Anna"),
        said("2", "hello", speaker="Ben"),
        source="whatsapp",
        kind=ConversationKind.PEOPLE,
    )
    put(store, people, chat(QUESTION, REPLY))
    anna = store.set_owner("ANNA")
    assert store.find_participant("anna") == anna
    assert [p.name for p in store.participants()] == ["Anna", "Ben", "chatgpt"]
    speakers = [m.speaker for m in store.shown_messages()]
    assert speakers == ["Anna", "Ben", "Anna", "chatgpt"]
    assert store.set_owner("Ben").is_owner
    assert [m.speaker for m in store.shown_messages()] == ["Anna", "Ben", "Ben", "chatgpt"]


def test_unknown_records_are_named(store: Store) -> None:
    put(store, chat(QUESTION))
    with pytest.raises(RecordNotFoundError, match="message 7"):
        store.messages([MessageId(1), MessageId(7)])
    with pytest.raises(RecordNotFoundError, match="session 7"):
        store.session(SessionId(7))
    with pytest.raises(RecordNotFoundError, match="session 7"):
        store.session_messages(SessionId(7))
    with pytest.raises(RecordNotFoundError, match="'Zoe'") as caught:
        store.find_participant("Zoe")
    assert "Me" in caught.value.hint
    with pytest.raises(RecordNotFoundError, match="import 7"):
        store.undo_import(ImportId(7))


def test_columns_hold_what_search_needs(store: Store) -> None:
    put(store, chat(QUESTION, replace(REPLY, said_at=None)))
    columns = store.changes_since(0).messages
    assert columns.message_ids.tolist() == [1, 2]
    assert columns.from_user.tolist() == [True, False]
    assert columns.in_assistant_chat.tolist() == [True, True]
    assert columns.local_days[0] == np.datetime64("2026-06-01")
    assert columns.said_at[0] == np.datetime64("2026-05-31T22:30:00")
    assert np.isnat(columns.said_at[1])
    assert np.isnat(columns.local_days[1])
    assert columns.sources == ["chatgpt", "chatgpt"]


def test_an_empty_memory_answers_every_reading_call(store: Store) -> None:
    assert store.shown_messages() == ()
    assert store.sessions() == ()
    assert store.turns_without_summary(10) == ()
    assert store.messages_without_vectors("m", 10) == ()
    assert store.vectors("m").rows.shape == (0, 0)
    assert store.generation() == 0
    assert store.owner() is None
    assert store.stats().first_said_at is None
    assert not store.changes_since(0).reload


def test_an_import_is_listed_with_what_it_did(store: Store) -> None:
    import_id = store.begin_import("a.zip", "chatgpt", NOW)
    store.add_conversation(import_id, chat(QUESTION, REPLY))
    (cut_short,) = store.list_imports()
    assert (cut_short.complete, cut_short.messages_added) == (False, 2)
    problem = ImportProblem("a.zip", "conversation 3", "no mapping")
    store.finish_import(
        ImportReport(import_id, "a.zip", "chatgpt", conversations_seen=2, problems=(problem,))
    )
    (report,) = store.list_imports()
    assert (report.complete, report.conversations_seen, report.problems) == (True, 2, (problem,))
    assert (report.started_at, report.messages_added, report.turns_added) == (NOW, 2, 1)


def test_a_failing_batch_stores_nothing_of_itself(store: Store) -> None:
    put(store, chat(QUESTION))
    broken = chat(LATER, replace(REPLY, text=None), source_id="c2")  # type: ignore[arg-type]  # what a faulty importer might hand over
    with pytest.raises(AttributeError):
        put(store, chat(said("x", "fine"), source_id="c3"), broken)
    assert store.stats().messages == 1
