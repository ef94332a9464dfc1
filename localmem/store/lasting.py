"""Entries of the long term as rows, with the messages they rest on. At most a hundred or so.

Derived from messages: an entry whose last source goes, goes too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from duckdb import DuckDBPyConnection as Connection

from localmem.errors import RecordNotFoundError
from localmem.store.batches import load
from localmem.store.cells import changed
from localmem.types import EntryId, LastingEntry, LastingKind, MessageId

_SCHEMA = """
CREATE TABLE lasting (id BIGINT, kind VARCHAR, text VARCHAR, slot VARCHAR, value VARCHAR,
    rest VARCHAR);
CREATE TABLE lasting_source (lasting_id BIGINT, message_id BIGINT, place INTEGER);
"""
_TIMES = ("said_at", "last_said_at")
_NUMBERS = ("supporting", "used", "confirmations", "contradictions", "pinned", "superseded_by")


def create_tables(connection: Connection) -> None:
    """The step of the schema that brings the long term."""
    connection.execute(_SCHEMA)


def entries(connection: Connection) -> tuple[LastingEntry, ...]:
    """All entries, by id."""
    sources: dict[int, list[MessageId]] = {}
    for entry, message in connection.execute(
        "SELECT lasting_id, message_id FROM lasting_source ORDER BY lasting_id, place"
    ).fetchall():
        sources.setdefault(entry, []).append(MessageId(message))
    rows = connection.execute(
        "SELECT id, kind, text, slot, value, rest FROM lasting ORDER BY id"
    ).fetchall()
    found = []
    for number, kind, text, slot, value, rest in rows:
        told = json.loads(rest)
        times = [datetime.fromisoformat(told[t]) if told[t] else None for t in _TIMES]
        holder = told["superseded_by"]
        found.append(
            LastingEntry(
                EntryId(number),
                LastingKind(kind),
                text,
                slot,
                value,
                times[0],
                times[1],
                tuple(sources.get(number, ())),
                int(told["supporting"]),
                int(told["used"]),
                int(told["confirmations"]),
                int(told["contradictions"]),
                bool(told["pinned"]),
                None if holder is None else EntryId(holder),
            )
        )
    return tuple(found)


def put(connection: Connection, kept: Sequence[LastingEntry]) -> None:
    """Store these entries in place of all that were there.

    How often an entry was used is counted elsewhere, and pins are set there, perhaps meanwhile: an
    entry that was there keeps both.
    """
    before = {one.id: one for one in entries(connection)}
    kept = [
        replace(one, used=before[one.id].used, pinned=before[one.id].pinned or one.pinned)
        if one.id in before
        else one
        for one in kept
    ]
    connection.execute("DELETE FROM lasting")
    connection.execute("DELETE FROM lasting_source")
    load(
        connection,
        "INSERT INTO lasting SELECT id, kind, text, slot, value, rest FROM {batch}",
        numbers={"id": [one.id for one in kept]},
        texts={
            "kind": [one.kind.value for one in kept],
            "text": [one.text for one in kept],
            "slot": [one.slot for one in kept],
            "value": [one.value for one in kept],
            "rest": [_rest_of(one) for one in kept],
        },
    )
    sources = [(one.id, m, place) for one in kept for place, m in enumerate(one.sources)]
    load(
        connection,
        "INSERT INTO lasting_source SELECT lasting_id, message_id, place FROM {batch}",
        numbers={
            "lasting_id": [entry for entry, _, _ in sources],
            "message_id": [message for _, message, _ in sources],
            "place": [place for _, _, place in sources],
        },
    )


def count_used(connection: Connection, used: Mapping[EntryId, int]) -> None:
    """Add to how often entries were used; those that are gone are left out."""
    for one in entries(connection) if used else ():
        if one.id in used:
            _put_rest(connection, replace(one, used=one.used + used[one.id]))


def pin(connection: Connection, entry: EntryId, *, pinned: bool) -> LastingEntry:
    """Pin an entry, or let it go again; how it stands now.

    Raises:
        RecordNotFoundError: there is no such entry.
    """
    found = next((one for one in entries(connection) if one.id == entry), None)
    if found is None:
        raise RecordNotFoundError(f"there is no entry {entry}", hint="localmem tiers")
    found = replace(found, pinned=pinned)
    _put_rest(connection, found)
    return found


def erase(connection: Connection, messages: str) -> int:
    """Remove what rests on messages that are about to go; how many entries went.

    `messages` is what stands behind IN. A wish says the same in all its messages, and goes with the
    last of them. Any other entry may hold words of the one that goes, and is made anew of the rest.
    """
    connection.execute(
        f"DELETE FROM lasting_source WHERE lasting_id IN (SELECT l.id FROM lasting l "
        f"JOIN lasting_source s ON s.lasting_id = l.id WHERE s.message_id IN {messages} "
        f"AND l.kind <> '{LastingKind.WISH.value}')"
    )
    connection.execute(f"DELETE FROM lasting_source WHERE message_id IN {messages}")
    return changed(
        connection.execute(
            "DELETE FROM lasting WHERE id NOT IN (SELECT lasting_id FROM lasting_source)"
        )
    )


def _put_rest(connection: Connection, one: LastingEntry) -> None:
    connection.execute("UPDATE lasting SET rest = ? WHERE id = ?", [_rest_of(one), int(one.id)])


def _rest_of(one: LastingEntry) -> str:
    told: dict[str, object] = {name: getattr(one, name) for name in _NUMBERS}
    for name in _TIMES:
        moment = getattr(one, name)
        told[name] = "" if moment is None else moment.isoformat()
    return json.dumps(told)
