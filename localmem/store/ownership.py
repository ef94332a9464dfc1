"""Who the owner of a memory is: the user of all chats with assistants."""

from __future__ import annotations

from duckdb import DuckDBPyConnection as Connection

from localmem.errors import RecordNotFoundError
from localmem.store import meta, personas, renewal, rulings
from localmem.store.batches import id_set
from localmem.store.participants import ParticipantBook, add_alias, names_of, owner
from localmem.types import ConversationKind, Participant, ParticipantId, Role


def set_owner(connection: Connection, name: str) -> Participant:
    """Make the person with this name the owner.

    What users said in chats with assistants goes over to them, and so does everything of an
    owner who had no name yet.
    """
    counters = meta.Counters(connection)
    book = ParticipantBook(connection, counters)
    before = owner(connection)
    if before is not None and name.casefold() in {a.casefold() for a in names_of(before)}:
        _mark_named(connection, before.id)
        meta.bump_generation(connection)
        return before
    if before is None:
        _mark_owner(connection, book.named(name, is_assistant=False))
    elif _is_placeholder(connection, before.id):
        renewal.drop_lines_of(connection, before.id)
        _name(connection, before.id, name)
    else:
        _hand_over(connection, before.id, book.named(name, is_assistant=False))
    counters.save()
    renewal.demand_reload(connection)
    found = owner(connection)
    if found is None:
        raise RecordNotFoundError(f"no participant is called {name!r}")
    return found


def _find_person(connection: Connection, name: str) -> int | None:
    row = connection.execute(
        "SELECT p.id FROM participant p JOIN alias a ON a.participant_id = p.id "
        "WHERE a.folded = ? AND NOT p.is_assistant AND NOT p.is_owner ORDER BY p.id",
        [name.casefold()],
    ).fetchone()
    return None if row is None else int(row[0])


def _is_placeholder(connection: Connection, participant: int) -> bool:
    row = connection.execute(
        "SELECT is_placeholder FROM participant WHERE id = ?", [participant]
    ).fetchone()
    return row is not None and bool(row[0])


def _name(connection: Connection, placeholder: int, name: str) -> None:
    """Give the owner who had no name yet one, or let them become who has it."""
    known = _find_person(connection, name)
    if known is None:
        _rename(connection, placeholder, name)
    else:
        _dissolve(connection, placeholder, known)
        _mark_owner(connection, known)


def _hand_over(connection: Connection, before: ParticipantId, now: int) -> None:
    """Let somebody else be the owner, whose chats with assistants are theirs, with all orders."""
    moved = _chats_of(connection, before)
    rulings.share_rulings(connection, int(before), now, moved)
    renewal.drop_lines_of(connection, before)
    connection.execute("UPDATE participant SET is_owner = false WHERE is_owner")
    with id_set(connection, moved) as those:
        connection.execute(f"DELETE FROM absorbed_message WHERE message_id IN {those}")
        connection.execute(f"UPDATE message SET participant_id = {now} WHERE id IN {those}")
    _mark_owner(connection, now)


def _rename(connection: Connection, participant: int, name: str) -> None:
    connection.execute(
        "DELETE FROM alias a USING participant p WHERE p.id = a.participant_id AND p.id = ? "
        "AND a.name = p.name",
        [participant],
    )
    connection.execute(
        "UPDATE participant SET name = ?, is_placeholder = false WHERE id = ?", [name, participant]
    )
    add_alias(connection, participant, name)


def _dissolve(connection: Connection, gone: int, kept: int) -> None:
    """Let the owner who had no name yet become somebody; nothing of that name is kept."""
    for table, column in (
        ("message", "participant_id"),
        ("ruling", "participant_id"),
        ("absorbed", "into_voice_id"),
        ("reassigned", "voice_id"),
        ("reassigned", "instead_voice_id"),
    ):
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", [kept, gone])
    personas.clear(connection, gone)
    connection.execute("DELETE FROM alias WHERE participant_id = ?", [gone])
    connection.execute("DELETE FROM participant WHERE id = ?", [gone])


def _chats_of(connection: Connection, participant: int) -> list[int]:
    """The messages that a participant sent to assistants: they go over to a new owner."""
    rows = connection.execute(
        "SELECT id FROM message WHERE participant_id = ? AND role = ? "
        "AND conversation_id IN (SELECT id FROM conversation WHERE kind = ?)",
        [int(participant), Role.USER.value, ConversationKind.ASSISTANT.value],
    ).fetchall()
    return [int(number) for (number,) in rows]


def _mark_owner(connection: Connection, participant: int) -> None:
    connection.execute(
        "UPDATE participant SET is_owner = true, is_placeholder = false WHERE id = ?",
        [participant],
    )


def _mark_named(connection: Connection, participant: int) -> None:
    connection.execute("UPDATE participant SET is_placeholder = false WHERE id = ?", [participant])
