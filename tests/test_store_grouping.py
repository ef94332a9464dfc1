"""How conversations fall into sessions and turns."""

from datetime import UTC, datetime, timedelta

from localmem.store import split_sessions
from localmem.types import ConversationKind, ImportedConversation, ImportedMessage, Role

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def message(
    source_id: str, role: Role = Role.USER, *, hours: float | None = 0, parent: str | None = None
) -> ImportedMessage:
    said_at = None if hours is None else START + timedelta(hours=hours)
    return ImportedMessage(source_id, role, role.value, source_id, said_at, parent)


def shape(
    *messages: ImportedMessage,
    kind: ConversationKind = ConversationKind.ASSISTANT,
    starts: frozenset[str] = frozenset(),
) -> list[list[list[str]]]:
    conversation = ImportedConversation("chatgpt", "c", "t", kind, messages, starts)
    return [
        [[m.source_id for m in turn] for turn in session]
        for session in split_sessions(conversation)
    ]


def test_a_turn_is_a_user_message_with_the_replies_to_it() -> None:
    assert shape(
        message("u1"),
        message("tool", Role.TOOL),
        message("a1", Role.ASSISTANT),
        message("u2"),
        message("a2", Role.ASSISTANT),
    ) == [[["u1", "tool", "a1"], ["u2", "a2"]]]


def test_among_people_each_message_is_a_turn() -> None:
    assert shape(message("x"), message("y"), kind=ConversationKind.PEOPLE) == [[["x"], ["y"]]]


def test_a_silence_of_more_than_eight_hours_begins_a_session() -> None:
    assert shape(message("u1"), message("u2", hours=8), message("u3", hours=16.1)) == [
        [["u1"], ["u2"]],
        [["u3"]],
    ]


def test_a_late_reply_stays_with_its_question() -> None:
    assert shape(message("u1"), message("a1", Role.ASSISTANT, hours=30)) == [[["u1", "a1"]]]


def test_messages_without_a_time_stay_in_the_session() -> None:
    assert shape(message("u1"), message("u2", hours=None), message("u3", hours=20)) == [
        [["u1"], ["u2"]],
        [["u3"]],
    ]


def test_the_source_can_begin_a_session() -> None:
    assert shape(message("u1"), message("u2"), starts=frozenset({"u2"})) == [[["u1"]], [["u2"]]]


def test_another_reply_to_an_earlier_message_joins_that_turn() -> None:
    assert shape(
        message("u1"),
        message("a1", Role.ASSISTANT, parent="u1"),
        message("u2", parent="a1"),
        message("a1-again", Role.ASSISTANT, parent="u1"),
    ) == [[["u1", "a1", "a1-again"], ["u2"]]]


def test_a_conversation_that_begins_with_a_reply_has_a_turn_for_it() -> None:
    assert shape(message("a0", Role.ASSISTANT), message("u1")) == [[["a0"], ["u1"]]]


def test_a_message_that_occurs_twice_counts_once() -> None:
    assert shape(message("u1"), message("u1")) == [[["u1"]]]


def test_an_empty_conversation_has_no_session() -> None:
    assert shape() == []
