"""Who speaks: people, the owner and assistants, found by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from duckdb import DuckDBPyConnection as Connection

from localmem.errors import RecordNotFoundError, UsageError
from localmem.store import meta, voices
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


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who said a message. The voice is another than the participant where people were merged."""

    participant: int
    voice: int


class ParticipantBook:
    """The participants during one transaction: finds them by name, makes those that lack."""

    def __init__(self, connection: Connection, counters: meta.Counters) -> None:
        self._connection = connection
        self._counters = counters
        self._voices = voices.Voices(connection)
        self._shown: dict[tuple[bool, str], int] = {}
        self._aliases: dict[tuple[bool, str], list[int]] = {}
        self._owner: int | None = None
        rows = connection.execute(
            "SELECT p.id, p.name, p.is_owner, p.is_assistant, a.folded "
            "FROM participant p JOIN alias a ON a.participant_id = p.id ORDER BY p.id"
        ).fetchall()
        for number, name, is_owner, is_assistant, folded in rows:
            key = bool(is_assistant), str(folded)
            if str(name).casefold() == folded:
                self._shown.setdefault(key, int(number))
            self._aliases.setdefault(key, []).append(int(number))
            if is_owner:
                self._owner = int(number)

    def speaker(
        self, number: int, conversation: ImportedConversation, message: ImportedMessage
    ) -> Speaker:
        """Who said `message` of the conversation that is stored under `number`.

        In a chat with an assistant the user is the owner, and everything else the assistant, who
        has the name of its source where the export gives none.
        """
        voice = self._voice(number, conversation, message)
        voice = self._voices.in_conversation(number, voice)
        return Speaker(self._voices.participant(voice), voice)

    def named(self, name: str, *, is_assistant: bool, conversation: int | None = None) -> int:
        """The participant with a name. Where several share it, the one who speaks there already;
        where none or several of them do, somebody new."""
        key = (is_assistant, name.casefold())
        sharing = self._aliases.get(key, [])
        found = self._shown.get(key) or (sharing[0] if len(sharing) == 1 else None)
        if found is None and sharing:
            found = self._only_one_in(conversation, sharing)
        return found or self._add(name, is_assistant=is_assistant)

    def owner(self) -> int:
        """Id of the owner; an unnamed one is made where there is none."""
        if self._owner is None:
            self._owner = self._add(UNNAMED_OWNER, is_owner=True)
        return self._owner

    def _voice(
        self, number: int, conversation: ImportedConversation, message: ImportedMessage
    ) -> int:
        name = message.speaker.strip()
        is_assistant = conversation.kind is ConversationKind.ASSISTANT
        if is_assistant and message.role is Role.USER:
            return self.owner()
        if not is_assistant:
            name = name or "unknown"
        elif name.casefold() in _NAMELESS_ASSISTANTS:
            name = conversation.source
        found = self.named(name, is_assistant=is_assistant, conversation=number)
        return self._voices.by_name(found, name.casefold())

    def _only_one_in(self, conversation: int | None, sharing: Sequence[int]) -> int | None:
        rows = self._connection.execute(
            "SELECT DISTINCT participant_id FROM message WHERE conversation_id = ?", [conversation]
        ).fetchall()
        there = [number for (number,) in rows if number in sharing]
        return int(there[0]) if len(there) == 1 else None

    def _add(self, name: str, *, is_assistant: bool = False, is_owner: bool = False) -> int:
        number = add_participant(
            self._connection,
            self._counters,
            name,
            is_assistant=is_assistant,
            is_owner=is_owner,
        )
        key = (is_assistant, name.casefold())
        self._shown.setdefault(key, number)
        self._aliases.setdefault(key, []).append(number)
        return number


def add_participant(
    connection: Connection,
    counters: meta.Counters,
    name: str,
    *,
    is_assistant: bool = False,
    is_owner: bool = False,
) -> int:
    """A new participant; an owner made here has no name yet."""
    number = counters.next("participant")
    connection.execute(
        "INSERT INTO participant VALUES (?, ?, ?, ?, ?)",
        [number, name, is_owner, is_assistant, is_owner],
    )
    add_alias(connection, number, name)
    return number


def add_alias(connection: Connection, participant: int, name: str) -> None:
    connection.execute("INSERT INTO alias VALUES (?, ?, ?)", [participant, name.casefold(), name])


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
    """The participant with this name, else alias, else id. Case does not matter; people go before
    assistants, and a shown name before an alias.

    Raises:
        RecordNotFoundError: nobody has it; the hint lists near names.
        UsageError: several people share it; the hint lists them with their ids.
    """
    everybody = sorted(participants(connection), key=lambda p: p.is_assistant)
    folded = name.strip().casefold()
    for person in everybody:
        if folded == person.name.casefold():
            return person
    sharing = [p for p in everybody if folded in {a.casefold() for a in p.aliases}]
    people = [p for p in sharing if not p.is_assistant] or sharing
    if len(people) > 1:
        raise UsageError(
            f"{name!r} is a name of several people", hint=f"give the id: {_listed(people)}"
        )
    if people:
        return people[0]
    by_id = [p for p in everybody if folded == str(p.id)]
    if by_id:
        return by_id[0]
    raise RecordNotFoundError(f"no participant is called {name!r}", hint=_near(everybody, folded))


def _near(everybody: Sequence[Participant], folded: str) -> str:
    """Who may be meant by a name that nobody has."""
    if not everybody:
        return "nothing is imported yet"
    of_name = {name.casefold(): p for p in everybody for name in names_of(p)}
    words = [p for p in everybody if any(folded in n.casefold().split() for n in names_of(p))]
    close = [of_name[n] for n in get_close_matches(folded, of_name, n=5)]
    meant = list({p.id: p for p in (*words, *close)}.values())
    if meant:
        return f"perhaps you mean: {_listed(meant)}"
    return "known are: " + ", ".join(p.name for p in everybody[:10])


def _listed(people: Sequence[Participant]) -> str:
    return ", ".join(f"{p.name} (id {p.id})" for p in people[:10])


def names_of(person: Participant) -> Sequence[str]:
    """The name to show, then the others."""
    return (person.name, *person.aliases)
