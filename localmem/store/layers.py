"""L1 facts, L2 notes, and replies of models that could not be read: rows with their provenance.

A unit (a session for facts, a message for notes) is stored whole, also where nothing was found
in it, in place of what it had. Replies that could not be read are kept for `doctor` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection as Connection

from localmem.store import fact_pages
from localmem.store.batches import id_set, load
from localmem.store.cells import joined, parts
from localmem.types import (
    KeyFact,
    Layer,
    MadeFacts,
    MadeNotes,
    MessageId,
    Provenance,
    SessionId,
    TurnNote,
    UnreadReply,
)

_SCHEMA = """
CREATE TABLE layer_unit (
    layer TINYINT, unit_id BIGINT, session_id BIGINT, model_id VARCHAR, prompt_sha VARCHAR,
    source_sha VARCHAR);
CREATE TABLE key_fact (
    session_id BIGINT, position INTEGER, text VARCHAR, message_ids VARCHAR, missing VARCHAR);
CREATE TABLE turn_note (
    message_id BIGINT, session_id BIGINT, position INTEGER, text VARCHAR, missing VARCHAR);
CREATE TABLE unread_reply (
    layer TINYINT, unit_id BIGINT, session_id BIGINT, place VARCHAR, reason VARCHAR,
    reply VARCHAR, model_id VARCHAR, prompt_sha VARCHAR, source_sha VARCHAR);
"""
_UNREAD = """
SELECT layer, unit_id, session_id, place, reason, reply, model_id, prompt_sha, source_sha
FROM unread_reply
"""


def create_tables(connection: Connection) -> None:
    """The second step of the schema."""
    connection.execute(_SCHEMA)


def put_facts(connection: Connection, made: MadeFacts) -> None:
    """Store L1 of a session in place of what it had; nothing where the session is gone."""
    number = int(made.session_id)
    _clear(connection, Layer.FACTS, [number])
    connection.execute("DELETE FROM key_fact WHERE session_id = ?", [number])
    fact_pages.renew(connection, number)
    _put_units(connection, Layer.FACTS, [(number, number, made.provenance)])
    load(
        connection,
        "INSERT INTO key_fact SELECT session_id, position, text, message_ids, missing FROM {batch} "
        "SEMI JOIN (SELECT id AS session_id FROM session) USING (session_id)",
        numbers={
            "session_id": [number] * len(made.facts),
            "position": list(range(len(made.facts))),
        },
        texts={
            "text": [fact.text for fact in made.facts],
            "message_ids": [joined(map(str, fact.message_ids)) for fact in made.facts],
            "missing": [joined(fact.missing) for fact in made.facts],
        },
    )


def put_notes(connection: Connection, session_id: SessionId, made: Sequence[MadeNotes]) -> None:
    """Store L2 of messages of one session in place of what they had; erased ones are left out."""
    ids = [int(one.message_id) for one in made]
    _clear(connection, Layer.NOTES, ids)
    load(
        connection,
        "DELETE FROM turn_note WHERE message_id IN (SELECT message_id FROM {batch})",
        numbers={"message_id": ids},
    )
    _put_units(
        connection,
        Layer.NOTES,
        [(int(one.message_id), int(session_id), one.provenance) for one in made],
    )
    notes = [(int(one.message_id), n, note) for one in made for n, note in enumerate(one.notes)]
    load(
        connection,
        "INSERT INTO turn_note SELECT message_id, session_id, position, text, missing FROM {batch} "
        "SEMI JOIN (SELECT id AS message_id FROM message) USING (message_id)",
        numbers={
            "message_id": [number for number, _, _ in notes],
            "session_id": [int(session_id)] * len(notes),
            "position": [position for _, position, _ in notes],
        },
        texts={
            "text": [note.text for _, _, note in notes],
            "missing": [joined(note.missing) for _, _, note in notes],
        },
    )


def put_unread(connection: Connection, replies: Sequence[UnreadReply]) -> None:
    """Keep what could not be read, in place of what the unit's last attempt left."""
    for layer in {one.layer for one in replies}:
        ids = [one.unit_id for one in replies if one.layer is layer]
        with id_set(connection, ids) as wanted:
            connection.execute(
                f"DELETE FROM unread_reply WHERE layer = ? AND unit_id IN {wanted}", [int(layer)]
            )
    load(
        connection,
        "INSERT INTO unread_reply SELECT layer, unit_id, session_id, place, reason, reply, "
        "model_id, prompt_sha, source_sha FROM {batch} "
        "SEMI JOIN (SELECT id AS session_id FROM session) USING (session_id)",
        numbers={
            "layer": [int(one.layer) for one in replies],
            "unit_id": [one.unit_id for one in replies],
            "session_id": [int(one.session_id) for one in replies],
        },
        texts={
            "place": [one.place for one in replies],
            "reason": [one.reason for one in replies],
            "reply": [one.reply for one in replies],
            **_provenance_columns([one.provenance for one in replies]),
        },
    )


def facts_of(connection: Connection, session_id: SessionId) -> MadeFacts | None:
    """Stored L1 of a session; None where it was never made."""
    units = _units(connection, Layer.FACTS, [int(session_id)])
    if not units:
        return None
    provenance = units[int(session_id)]
    rows = connection.execute(
        "SELECT position, text, message_ids, missing FROM key_fact WHERE session_id = ? "
        "ORDER BY position",
        [int(session_id)],
    ).fetchall()
    facts = tuple(
        KeyFact(
            session_id=session_id,
            position=int(position),
            text=str(text),
            message_ids=tuple(MessageId(int(part)) for part in parts(ids)),
            missing=parts(missing),
            provenance=provenance,
        )
        for position, text, ids, missing in rows
    )
    return MadeFacts(session_id, facts, provenance)


def notes_of(connection: Connection, ids: Sequence[MessageId]) -> Mapping[MessageId, MadeNotes]:
    """Stored L2 of messages; those for which it was never made are absent."""
    units = _units(connection, Layer.NOTES, [int(number) for number in ids])
    found: dict[int, list[TurnNote]] = {number: [] for number in units}
    with id_set(connection, units) as wanted:
        rows = connection.execute(
            "SELECT message_id, position, text, missing FROM turn_note "
            f"WHERE message_id IN {wanted} ORDER BY message_id, position"
        ).fetchall()
    for number, position, text, missing in rows:
        note = TurnNote(
            MessageId(int(number)),
            int(position),
            str(text),
            parts(missing),
            units[int(number)],
        )
        found[int(number)].append(note)
    return {
        MessageId(number): MadeNotes(MessageId(number), tuple(found[number]), provenance)
        for number, provenance in units.items()
    }


def unread(connection: Connection, session_id: SessionId | None = None) -> tuple[UnreadReply, ...]:
    """What could not be read, of one session or of all, by session and unit."""
    condition = "" if session_id is None else f"WHERE session_id = {int(session_id)}"
    rows = connection.execute(
        f"{_UNREAD} {condition} ORDER BY session_id, layer, unit_id, place"
    ).fetchall()
    return tuple(
        UnreadReply(
            layer=Layer(int(row[0])),
            unit_id=int(row[1]),
            session_id=SessionId(int(row[2])),
            place=str(row[3]),
            reason=str(row[4]),
            reply=str(row[5]),
            provenance=Provenance(str(row[6]), str(row[7]), str(row[8])),
        )
        for row in rows
    )


def made_sessions(connection: Connection) -> Mapping[SessionId, Provenance]:
    """The sessions that have stored L1, with what it was made from and by."""
    rows = connection.execute(
        "SELECT unit_id, model_id, prompt_sha, source_sha FROM layer_unit WHERE layer = ?",
        [int(Layer.FACTS)],
    ).fetchall()
    return {SessionId(int(row[0])): Provenance(*map(str, row[1:])) for row in rows}


def erase_sessions(connection: Connection, sessions: str) -> dict[str, int]:
    """Remove all layers of the sessions that the subquery `sessions` names; counts of rows.

    A note may rest on the message before its own and a fact on the whole session, so a session
    that loses a message, or shows another branch, loses all of them.
    """
    counts = {}
    for name, table in (("facts", "key_fact"), ("notes", "turn_note"), ("replies", "unread_reply")):
        row = connection.execute(f"DELETE FROM {table} WHERE session_id IN ({sessions})").fetchone()
        counts[name] = 0 if row is None else int(row[0])
    connection.execute(f"DELETE FROM layer_unit WHERE session_id IN ({sessions})")
    fact_pages.forget(connection, sessions)
    return counts


def _clear(connection: Connection, layer: Layer, ids: Sequence[int]) -> None:
    for table in ("layer_unit", "unread_reply"):
        with id_set(connection, ids) as wanted:
            connection.execute(
                f"DELETE FROM {table} WHERE layer = ? AND unit_id IN {wanted}", [int(layer)]
            )


def _put_units(
    connection: Connection, layer: Layer, units: Sequence[tuple[int, int, Provenance]]
) -> None:
    owner = "session" if layer is Layer.FACTS else "message"
    load(
        connection,
        "INSERT INTO layer_unit SELECT layer, unit_id, session_id, model_id, prompt_sha, "
        f"source_sha FROM {{batch}} SEMI JOIN (SELECT id AS unit_id FROM {owner}) USING (unit_id)",
        numbers={
            "layer": [int(layer)] * len(units),
            "unit_id": [unit for unit, _, _ in units],
            "session_id": [session for _, session, _ in units],
        },
        texts=_provenance_columns([provenance for _, _, provenance in units]),
    )


def _units(connection: Connection, layer: Layer, ids: Sequence[int]) -> dict[int, Provenance]:
    with id_set(connection, ids) as wanted:
        rows = connection.execute(
            "SELECT unit_id, model_id, prompt_sha, source_sha FROM layer_unit "
            f"WHERE layer = ? AND unit_id IN {wanted} ORDER BY unit_id",
            [int(layer)],
        ).fetchall()
    return {int(row[0]): Provenance(*map(str, row[1:])) for row in rows}


def _provenance_columns(several: Sequence[Provenance]) -> dict[str, list[str]]:
    return {
        "model_id": [one.model_id for one in several],
        "prompt_sha": [one.prompt_sha for one in several],
        "source_sha": [one.source_sha for one in several],
    }
