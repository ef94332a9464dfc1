"""Who is who: an overview of the participants, and making two of them one, or one of them two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from localmem.errors import UsageError
from localmem.store import item_erasing, items, meta, personas, renewal, rulings, voices
from localmem.store.batches import id_set
from localmem.store.cells import moment_of
from localmem.store.participants import (
    add_alias,
    add_participant,
    find,
    names_of,
    participants,
)
from localmem.store.reads import sessions_of
from localmem.types import (
    Item,
    ItemKind,
    ItemState,
    Participant,
    ParticipantId,
    PeopleChange,
    PersonOverview,
    PersonView,
    SessionId,
    SplitChoice,
)

_TOPICS = 8
_SESSIONS = 5
_KNOWN = 12

_NUMBERS = """
SELECT participant_id, count(*), count(DISTINCT session_id), epoch_us(min(said_at)),
    min_by(utc_offset_min, said_at), epoch_us(max(said_at)), max_by(utc_offset_min, said_at)
FROM message WHERE on_path GROUP BY participant_id
"""

_KEYWORDS = """
SELECT keyword, count(*) AS turns FROM (
    SELECT DISTINCT s.turn_id, unnest(string_split(s.keywords, chr(31))) AS keyword
    FROM turn_summary s
    WHERE s.turn_id IN (SELECT turn_id FROM message WHERE on_path AND participant_id = ?))
WHERE keyword <> '' GROUP BY keyword ORDER BY turns DESC, keyword
"""

_CORRECTED = """
SELECT c.message_id, c.quote FROM claim c JOIN message m ON m.id = c.message_id
JOIN conversation v ON v.id = m.conversation_id WHERE c.participant_id = ? AND v.source = ?
"""

_FIRST_WORD = re.compile(r"[^\W\d_][\w-]*")

_VOICE_OF = """
SELECT m.id, m.conversation_id, coalesce(a.voice_id, m.participant_id)
FROM message m LEFT JOIN absorbed_message a ON a.message_id = m.id
WHERE m.participant_id = ? ORDER BY m.id
"""


def overview(connection: Connection) -> tuple[PersonOverview, ...]:
    """All participants, those who said the most first; the owner before them."""
    numbers = {int(row[0]): row[1:] for row in connection.execute(_NUMBERS).fetchall()}
    absorbed = _absorbed_names(connection)
    found = [
        _overview(person, numbers.get(int(person.id)), absorbed.get(int(person.id), ()))
        for person in participants(connection)
    ]
    return tuple(sorted(found, key=lambda o: (not o.person.is_owner, -o.messages, o.person.id)))


def view(connection: Connection, name: str) -> PersonView:
    """Who somebody is.

    Raises:
        RecordNotFoundError, UsageError: nobody has the name, or several have.
    """
    person = find(connection, name)
    (found,) = (one for one in overview(connection) if one.person.id == person.id)
    names = {name.casefold() for other in participants(connection) for name in names_of(other)}
    rows = connection.execute(_KEYWORDS, [int(person.id)]).fetchall()
    topics = [(str(word), int(count)) for word, count in rows if word.casefold() not in names]
    latest = connection.execute(
        "SELECT session_id FROM message WHERE on_path AND participant_id = ? GROUP BY session_id "
        "ORDER BY max(said_at) DESC NULLS LAST, session_id DESC LIMIT ?",
        [int(person.id), _SESSIONS],
    ).fetchall()
    known = items.items_where(connection, participants=[person.id])
    holding = sorted((one for one in known if one.holds and one.supported), key=_first_known)
    return PersonView(
        overview=found,
        topics=tuple(topics[:_TOPICS]),
        sessions=sessions_of(connection, [SessionId(int(number)) for (number,) in latest]),
        known=tuple(holding[:_KNOWN]),
        known_total=len(holding),
    )


def alias(connection: Connection, name: str, other: str) -> Participant:
    """Give somebody one more name.

    Raises:
        RecordNotFoundError, UsageError: nobody or several are called `name`; or `other` is empty,
            or it is the shown name of somebody else.
    """
    person, shown = find(connection, name), other.strip()
    if not shown:
        raise UsageError("the new name is empty", hint="localmem people alias NAME ALIAS")
    namesake = _with_shown_name(connection, shown, is_assistant=person.is_assistant)
    if namesake is not None and namesake.id != person.id:
        raise UsageError(
            f"{namesake.name} is somebody already (id {namesake.id})",
            hint=f"to make them one: localmem people merge {person.id} {namesake.id}",
        )
    if shown.casefold() not in {known.casefold() for known in names_of(person)}:
        add_alias(connection, int(person.id), shown)
        meta.bump_generation(connection)
    return find(connection, str(person.name))


def merge(connection: Connection, kept_name: str, gone_name: str) -> PeopleChange:
    """Make two participants one, who has the name of the first.

    Raises:
        RecordNotFoundError, UsageError: a name is nobody's or several people's; they are one
            already; one is an assistant and the other a person.
    """
    kept, gone = find(connection, kept_name), find(connection, gone_name)
    if kept.id == gone.id:
        raise UsageError(
            f"{kept_name!r} and {gone_name!r} are one already", hint="localmem people list"
        )
    if kept.is_assistant != gone.is_assistant:
        assistant, person = (kept, gone) if kept.is_assistant else (gone, kept)
        raise UsageError(
            f"{assistant.name} is an assistant and {person.name} a person",
            hint="people are merged with people, assistants with assistants",
        )
    moved = _ids_of(connection, gone.id)
    item_erasing.drop(
        connection, f"(SELECT message_id FROM claim WHERE participant_id = {gone.id})"
    )
    personas.clear(connection, int(gone.id))
    voices.absorb(connection, int(gone.id), int(kept.id))
    if gone.is_owner:
        connection.execute("UPDATE participant SET is_owner = (id = ?)", [int(kept.id)])
    return _changed(connection, kept.id, moved)


def split(connection: Connection, name: str, choice: SplitChoice, new_name: str) -> PeopleChange:
    """Give a part of somebody's messages to somebody else, who is made where needed.

    With an empty choice, take back the merge of the one who had that name.

    Raises:
        RecordNotFoundError, UsageError: nobody or several are called so; the choice holds none of
            their messages, or all.
    """
    person, shown = find(connection, name), new_name.strip()
    if not shown:
        raise UsageError("the new name is empty", hint="--as NEW says who the other one is")
    if choice == SplitChoice():
        return _take_back(connection, person, shown)
    if shown.casefold() in {known.casefold() for known in names_of(person)}:
        raise UsageError(
            f"{shown!r} is a name of {person.name} already",
            hint="choose another; to take a merge back, leave the choice of messages out",
        )
    mine = connection.execute(_VOICE_OF, [int(person.id)]).fetchall()
    chosen = _chosen(connection, person, choice)
    moved = [row for row in mine if int(row[0]) in chosen]
    if not moved:
        raise UsageError(
            f"{person.name} says nothing there", hint=f"localmem people show {person.id}"
        )
    if len(moved) == len(mine):
        raise UsageError(
            f"that is all that {person.name} says: nobody would be left",
            hint=f"for another name: localmem people alias {person.id} '{shown}'",
        )
    other = _person_for(connection, shown, is_assistant=person.is_assistant)
    rulings.share_rulings(connection, int(person.id), other, chosen)
    _move(connection, moved, other)
    _reassign(connection, moved, kept=[row for row in mine if int(row[0]) not in chosen], to=other)
    _read_corrections_again(connection, int(person.id), other)
    return _changed(connection, ParticipantId(other), [int(row[0]) for row in moved])


def _first_known(item: Item) -> tuple[bool, bool, bool, int, float, int]:
    """Order of what is known: the owner's word, attributes, what was repeated, the newest."""
    said_at = item.last_said_at.timestamp() if item.last_said_at else 0.0
    return (
        item.state is not ItemState.PINNED,
        not item.by_owner,
        item.kind is not ItemKind.ATTRIBUTE,
        -item.confirmations,
        -said_at,
        int(item.id),
    )


def _take_back(connection: Connection, person: Participant, shown: str) -> PeopleChange:
    rows = connection.execute("SELECT voice_id, name FROM absorbed ORDER BY voice_id").fetchall()
    book = voices.Voices(connection)
    parts = {
        str(name): int(voice) for voice, name in rows if book.participant(voice) == int(person.id)
    }
    found = next((v for n, v in parts.items() if n.casefold() == shown.casefold()), None)
    if found is None:
        known = f"; merged into them were: {', '.join(parts)}" if parts else ""
        raise UsageError(
            f"nobody called {shown!r} was merged into {person.name}",
            hint=f"say which messages are theirs: --session N{known}",
        )
    was_owner = connection.execute(
        "SELECT is_owner FROM absorbed WHERE voice_id = ?", [found]
    ).fetchall() == [(True,)]
    moved = voices.release(connection, found)
    rulings.share_rulings(connection, int(person.id), found, moved)
    if was_owner and person.is_owner:
        connection.execute("UPDATE participant SET is_owner = (id = ?)", [found])
    _read_corrections_again(connection, int(person.id), found)
    return _changed(connection, ParticipantId(found), moved)


def _read_corrections_again(connection: Connection, before: int, now: int) -> None:
    """Drop what corrections say of the one under a name that is the other's now.

    They are messages of the owner, so they do not move; who they are about is read from them.
    """
    everybody = [one for one in participants(connection) if not one.is_assistant]
    theirs = [one for one in everybody if int(one.id) == now]
    others = [one for one in everybody if int(one.id) != now]
    told = connection.execute(_CORRECTED, [before, items.CORRECTIONS]).fetchall()
    ids = {
        int(number)
        for number, quote in told
        for one in theirs
        if _begins_with_name(str(quote), one, others)
    }
    with id_set(connection, sorted(ids)) as wanted:
        item_erasing.drop(connection, wanted)


def _begins_with_name(said: str, person: Participant, others: Sequence[Participant]) -> bool:
    """Whether a sentence begins with a name, or a first name, that none of the others has."""
    whole = {name for name in names_of(person) if re.match(rf"{re.escape(name)}\b", said)}
    if whole:
        return all(whole.isdisjoint(names_of(other)) for other in others)
    opening = _FIRST_WORD.match(said)
    if opening is None or opening.group() not in _first_names(person):
        return False
    return all(opening.group() not in _first_names(other) for other in others)


def _first_names(person: Participant) -> set[str]:
    return {first for name in names_of(person) for first in name.split()[:1]}


def _chosen(connection: Connection, person: Participant, choice: SplitChoice) -> frozenset[int]:
    chosen: set[int] = set()
    for column, ids in (
        ("session_id", choice.sessions),
        ("conversation_id", choice.conversations),
        ("import_id", choice.imports),
    ):
        with id_set(connection, map(int, ids)) as wanted:
            rows = connection.execute(
                f"SELECT id FROM message WHERE participant_id = ? AND {column} IN {wanted}",
                [int(person.id)],
            ).fetchall()
        chosen.update(int(number) for (number,) in rows)
    return frozenset(chosen)


def _person_for(connection: Connection, shown: str, *, is_assistant: bool) -> int:
    """Who has that name, else somebody new.

    Raises:
        UsageError: several people share it.
    """
    folded = shown.casefold()
    if any(
        folded in {name.casefold() for name in names_of(one)}
        for one in participants(connection)
        if one.is_assistant == is_assistant
    ):
        return int(find(connection, shown).id)
    counters = meta.Counters(connection)
    number = add_participant(connection, counters, shown, is_assistant=is_assistant)
    counters.save()
    return number


def _move(connection: Connection, moved: Sequence[Any], other: int) -> None:
    with id_set(connection, [int(row[0]) for row in moved]) as wanted:
        connection.execute(f"UPDATE message SET participant_id = {other} WHERE id IN {wanted}")
        connection.execute(f"DELETE FROM absorbed_message WHERE message_id IN {wanted}")


def _reassign(
    connection: Connection, moved: Sequence[Any], *, kept: Sequence[Any], to: int
) -> None:
    """Where a voice has left a conversation wholly, what it says there later is the other's."""
    left = {(int(c), int(v)) for _, c, v in moved} - {(int(c), int(v)) for _, c, v in kept}
    for conversation, voice in sorted(left):
        connection.execute(
            "DELETE FROM reassigned WHERE conversation_id = ? AND voice_id IN (?, ?)",
            [conversation, voice, to],
        )
        connection.execute("INSERT INTO reassigned VALUES (?, ?, ?)", [conversation, voice, to])


def _changed(
    connection: Connection, participant: ParticipantId, moved: Sequence[int]
) -> PeopleChange:
    sessions = renewal.drop_lines_with(connection, moved)
    renewal.demand_reload(connection)
    (person,) = (p for p in participants(connection) if p.id == participant)
    return PeopleChange(person=person, messages=len(moved), sessions=sessions)


def _ids_of(connection: Connection, participant: ParticipantId) -> list[int]:
    rows = connection.execute(
        "SELECT id FROM message WHERE participant_id = ?", [int(participant)]
    ).fetchall()
    return [int(number) for (number,) in rows]


def _with_shown_name(
    connection: Connection, name: str, *, is_assistant: bool
) -> Participant | None:
    folded = name.casefold()
    return next(
        (
            person
            for person in participants(connection)
            if person.name.casefold() == folded and person.is_assistant == is_assistant
        ),
        None,
    )


def _absorbed_names(connection: Connection) -> dict[int, tuple[str, ...]]:
    book = voices.Voices(connection)
    names: dict[int, tuple[str, ...]] = {}
    rows = connection.execute("SELECT voice_id, name FROM absorbed ORDER BY voice_id").fetchall()
    for voice, name in rows:
        participant = book.participant(int(voice))
        names[participant] = (*names.get(participant, ()), str(name))
    return names


def _overview(
    person: Participant, numbers: tuple[Any, ...] | None, absorbed: tuple[str, ...]
) -> PersonOverview:
    messages, sessions, first, first_offset, last, last_offset = numbers or (0, 0, None, 0, None, 0)
    return PersonOverview(
        person=person,
        messages=int(messages),
        sessions=int(sessions),
        first_said_at=moment_of(first, first_offset),
        last_said_at=moment_of(last, last_offset),
        absorbed=absorbed,
    )
