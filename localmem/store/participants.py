"""Who speaks: people, the owner and assistants, found by their names."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb import DuckDBPyConnection as Connection

from localmem.errors import RecordNotFoundError
from localmem.store import meta
from localmem.types import (
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    Participant,
    ParticipantId,
    Role,
)

UNNAMED_OWNER = "Me"
"""What the owner is called until a name is given."""

_NAMELESS_ASSISTANTS = frozenset({"", "assistant", "ai", "bot", "model", "tool", "system"})


class ParticipantBook:
    """The participants during one transaction: finds them by name, makes those that lack."""

    def __init__(self, connection: Connection, counters: meta.Counters) -> None:
        self._connection = connection
        self._counters = counters
        self._by_name: dict[tuple[bool, str], int] = {}
        self._owner: int | None = None
        rows = connection.execute(
            "SELECT p.id, p.is_owner, p.is_assistant, a.folded "
            "FROM participant p JOIN alias a ON a.participant_id = p.id ORDER BY p.id DESC"
        ).fetchall()
        for number, is_owner, is_assistant, folded in rows:
            self._by_name[bool(is_assistant), str(folded)] = int(number)
            if is_owner:
                self._owner = int(number)

    def speaker(self, conversation: ImportedConversation, message: ImportedMessage) -> int:
        """Id of the participant who said `message`.

        In a chat with an assistant the user is the owner, and everything else the assistant, who
        has the name of its source where the export gives none.
        """
        if conversation.kind is ConversationKind.PEOPLE:
            return self.named(message.speaker.strip() or "unknown", is_assistant=False)
        if message.role is Role.USER:
            return self.owner()
        name = message.speaker.strip()
        if name.casefold() in _NAMELESS_ASSISTANTS:
            name = conversation.source
        return self.named(name, is_assistant=True)

    def named(self, name: str, *, is_assistant: bool) -> int:
        key = (is_assistant, name.casefold())
        if key not in self._by_name:
            self._by_name[key] = self._add(name, is_assistant=is_assistant)
        return self._by_name[key]

    def owner(self) -> int:
        """Id of the owner; an unnamed one is made where there is none."""
        if self._owner is None:
            self._owner = self._add(UNNAMED_OWNER, is_owner=True)
            self._by_name.setdefault((False, UNNAMED_OWNER.casefold()), self._owner)
        return self._owner

    def _add(self, name: str, *, is_assistant: bool = False, is_owner: bool = False) -> int:
        number = self._counters.next("participant")
        self._connection.execute(
            "INSERT INTO participant VALUES (?, ?, ?, ?, ?)",
            [number, name, is_owner, is_assistant, is_owner],
        )
        add_alias(self._connection, number, name)
        return number


def add_alias(connection: Connection, participant: int, name: str) -> None:
    connection.execute("INSERT INTO alias VALUES (?, ?, ?)", [participant, name.casefold(), name])


def set_owner(connection: Connection, name: str) -> Participant:
    """Make the person with this name the owner.

    What users said in chats with assistants goes over to them, and so does everything of an
    owner who had no name yet.
    """
    counters = meta.Counters(connection)
    book = ParticipantBook(connection, counters)
    before = owner(connection)
    if before is not None and name.casefold() in {a.casefold() for a in _names(before)}:
        _mark_named(connection, before.id)
    elif before is not None and _is_placeholder(connection, before.id):
        known = _find_person(connection, name)
        if known is None:
            _rename(connection, before.id, name)
        else:
            _merge(connection, before.id, known)
            _mark_owner(connection, known)
    else:
        person = book.named(name, is_assistant=False)
        if before is not None:
            connection.execute("UPDATE participant SET is_owner = false WHERE is_owner")
            _move_assistant_chats(connection, before.id, person)
        _mark_owner(connection, person)
    counters.save()
    meta.bump_generation(connection)
    found = owner(connection)
    if found is None:
        raise RecordNotFoundError(f"no participant is called {name!r}")
    return found


def owner(connection: Connection) -> Participant | None:
    """The owner of the memory; None where nobody is it yet."""
    return next((p for p in participants(connection) if p.is_owner), None)


def participants(connection: Connection) -> tuple[Participant, ...]:
    """All participants by id, each with its other names."""
    names: dict[int, list[str]] = {}
    for number, name in connection.execute("SELECT participant_id, name FROM alias").fetchall():
        names.setdefault(int(number), []).append(str(name))
    rows = connection.execute(
        "SELECT id, name, is_owner, is_assistant FROM participant ORDER BY id"
    ).fetchall()
    return tuple(
        Participant(
            id=ParticipantId(int(number)),
            name=str(name),
            aliases=tuple(a for a in names.get(int(number), []) if a != name),
            is_owner=bool(is_owner),
            is_assistant=bool(is_assistant),
        )
        for number, name, is_owner, is_assistant in rows
    )


def find(connection: Connection, name: str) -> Participant:
    """The participant with this name or alias, people before assistants; case does not matter.

    Raises:
        RecordNotFoundError: nobody has it; the hint lists names.
    """
    everybody = participants(connection)
    folded = name.strip().casefold()
    for person in sorted(everybody, key=lambda p: p.is_assistant):
        if folded in {n.casefold() for n in _names(person)}:
            return person
    known = ", ".join(p.name for p in everybody[:10])
    raise RecordNotFoundError(
        f"no participant is called {name!r}",
        hint=f"known are: {known}" if known else "nothing is imported yet",
    )


def _names(person: Participant) -> Sequence[str]:
    return (person.name, *person.aliases)


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


def _rename(connection: Connection, participant: int, name: str) -> None:
    connection.execute("DELETE FROM alias WHERE participant_id = ?", [participant])
    connection.execute(
        "UPDATE participant SET name = ?, is_placeholder = false WHERE id = ?", [name, participant]
    )
    add_alias(connection, participant, name)


def _merge(connection: Connection, gone: int, kept: int) -> None:
    connection.execute(
        "UPDATE message SET participant_id = ? WHERE participant_id = ?", [kept, gone]
    )
    connection.execute("DELETE FROM alias WHERE participant_id = ?", [gone])
    connection.execute("DELETE FROM participant WHERE id = ?", [gone])


def _move_assistant_chats(connection: Connection, before: int, now: int) -> None:
    connection.execute(
        "UPDATE message SET participant_id = $now WHERE participant_id = $before AND role = $user "
        "AND conversation_id IN (SELECT id FROM conversation WHERE kind = $kind)",
        {
            "now": now,
            "before": before,
            "user": Role.USER.value,
            "kind": ConversationKind.ASSISTANT.value,
        },
    )


def _mark_owner(connection: Connection, participant: int) -> None:
    connection.execute(
        "UPDATE participant SET is_owner = true, is_placeholder = false WHERE id = ?",
        [participant],
    )


def _mark_named(connection: Connection, participant: int) -> None:
    connection.execute("UPDATE participant SET is_placeholder = false WHERE id = ?", [participant])
