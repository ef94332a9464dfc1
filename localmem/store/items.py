"""Items: what is known of participants, made from all claims of a group and stored group by group.

A group (one participant, kind and slot) that loses a claim loses its items, until they are made
anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from localmem.store import meta, personas
from localmem.store.batches import NO_TIME, id_set, load, microseconds, offset_minutes
from localmem.store.cells import DAY, changed, day_number, joined, moment_of, parts
from localmem.store.claims import GROUP, ItemGroup
from localmem.types import (
    Item,
    ItemCounts,
    ItemId,
    ItemKind,
    ItemState,
    MessageId,
    ParticipantId,
    Role,
)

CORRECTIONS = "correction"
"""The source of conversations that hold the owner's corrections."""

_SCHEMA = """
CREATE TABLE record (
    message_id BIGINT, participant_id BIGINT, attitude VARCHAR, reason VARCHAR, topics VARCHAR,
    summary VARCHAR, model_id VARCHAR, prompt_sha VARCHAR, source_sha VARCHAR);
CREATE TABLE claim (
    id BIGINT, message_id BIGINT, position INTEGER, participant_id BIGINT, kind VARCHAR,
    slot VARCHAR, entity VARCHAR, value VARCHAR, quote VARCHAR, positive BOOLEAN,
    modality VARCHAR, cue VARCHAR, old_value VARCHAR, reason VARCHAR, names VARCHAR,
    valid_from DATE, valid_to DATE, by_owner BOOLEAN, missing VARCHAR, key_sha VARCHAR,
    folded BOOLEAN);
CREATE TABLE item (
    id BIGINT, kind VARCHAR, participant_id BIGINT, slot VARCHAR, entity VARCHAR, value VARCHAR,
    quote VARCHAR, said_at BIGINT, said_offset INTEGER, last_said_at BIGINT,
    last_offset INTEGER, positive BOOLEAN, state VARCHAR, valid_from DATE, valid_to DATE,
    supersedes BIGINT, confirmations INTEGER, reason VARCHAR, end_reason VARCHAR, ended_by BIGINT,
    names VARCHAR, by_owner BOOLEAN, corrected BOOLEAN, duplicate_of BIGINT, missing VARCHAR);
CREATE TABLE item_source (item_id BIGINT, message_id BIGINT, position INTEGER);
CREATE TABLE ruling (
    participant_id BIGINT, kind VARCHAR, key_sha VARCHAR, made_at TIMESTAMPTZ, message_id BIGINT);
CREATE TABLE decision (
    message_id BIGINT, position INTEGER, key_sha VARCHAR, action VARCHAR, model_id VARCHAR,
    prompt_sha VARCHAR);
"""
_ITEMS = """
SELECT id, kind, participant_id, slot, entity, value, quote, said_at, said_offset, last_said_at,
    last_offset, positive, state, valid_from, valid_to, supersedes, confirmations, reason,
    end_reason, ended_by, names, by_owner, corrected, duplicate_of, missing
FROM item
"""


def create_tables(connection: Connection) -> None:
    """The fourth step of the schema."""
    connection.execute(_SCHEMA)


def put_items(connection: Connection, made: Mapping[ItemGroup, Sequence[Item]]) -> None:
    """Store the items of whole groups in place of what they had; searches may end otherwise."""
    if made:
        meta.bump_generation(connection)
    personas.mark_stale(connection, {int(group.participant_id) for group in made})
    _clear_groups(connection, list(made))
    items = [item for several in made.values() for item in several]
    _insert(connection, items)
    sources = [(item.id, number, n) for item in items for n, number in enumerate(item.message_ids)]
    load(
        connection,
        "INSERT INTO item_source SELECT item_id, message_id, position FROM {batch}",
        numbers={
            "item_id": [int(row[0]) for row in sources],
            "message_id": [int(row[1]) for row in sources],
            "position": [row[2] for row in sources],
        },
    )


def items_where(
    connection: Connection,
    *,
    participants: Iterable[ParticipantId] | None = None,
    slots: Iterable[str] | None = None,
    kinds: Iterable[ItemKind] | None = None,
) -> tuple[Item, ...]:
    """The items of some participants, slots and kinds (None: of all), by id."""
    conditions = ["true"]
    bound: list[list[str]] = []
    if participants is not None:
        listed = ",".join(str(int(one)) for one in participants) or "NULL"
        conditions.append(f"participant_id IN ({listed})")
    for column, values in (("slot", slots), ("kind", kinds)):
        if values is not None:
            conditions.append(f"list_contains(?, {column})")
            bound.append([str(value) for value in values])
    return select_items(connection, f"WHERE {' AND '.join(conditions)} ORDER BY id", bound)


def item(connection: Connection, number: ItemId) -> Item | None:
    """One item; None where there is none with this id."""
    found = select_items(connection, f"WHERE id = {int(number)}")
    return found[0] if found else None


def items_of_messages(connection: Connection, ids: Iterable[MessageId]) -> tuple[Item, ...]:
    """The items that rest on any of these messages, by id."""
    with id_set(connection, ids) as wanted:
        found = connection.execute(
            f"SELECT DISTINCT item_id FROM item_source WHERE message_id IN {wanted}"
        ).fetchall()
    if not found:
        return ()
    numbers = ",".join(str(int(number)) for (number,) in found)
    return select_items(connection, f"WHERE id IN ({numbers}) ORDER BY id")


def counts(connection: Connection) -> ItemCounts:
    """What is stored, and how many shown messages have no record yet."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM record), "
        "(SELECT count(*) FROM message m ANTI JOIN record r ON r.message_id = m.id "
        f" WHERE m.on_path AND m.role IN ('{Role.USER.value}', '{Role.ASSISTANT.value}')), "
        "count(*), count(*) FILTER (state IN ('active', 'pinned')), "
        "count(*) FILTER (missing <> ''), "
        "(SELECT count(*) FROM message m JOIN participant p ON p.id = m.participant_id "
        " WHERE m.on_path AND NOT p.is_assistant) FROM item"
    ).fetchone()
    assert row is not None  # noqa: S101  # counts always give a row
    return ItemCounts(*(int(value) for value in row))


def select_items(
    connection: Connection, condition: str, bound: Sequence[object] = ()
) -> tuple[Item, ...]:
    """The items that an SQL clause behind FROM chooses, with their sources."""
    rows = connection.execute(f"{_ITEMS} {condition}", list(bound)).fetchall()
    if not rows:
        return ()
    with id_set(connection, [int(row[0]) for row in rows]) as wanted:
        sources: dict[int, list[MessageId]] = {}
        for number, message in connection.execute(
            f"SELECT item_id, message_id FROM item_source WHERE item_id IN {wanted} "
            "ORDER BY item_id, position"
        ).fetchall():
            sources.setdefault(int(number), []).append(MessageId(int(message)))
    return tuple(_item(row, sources.get(int(row[0]), [])) for row in rows)


def delete_items(connection: Connection, groups: str) -> int:
    """Remove the items of the groups in a table, with their sources; gives how many."""
    chosen = f"(SELECT id FROM item SEMI JOIN {groups} USING ({GROUP}))"
    connection.execute(f"DELETE FROM item_source WHERE item_id IN {chosen}")
    return changed(connection.execute(f"DELETE FROM item WHERE id IN {chosen}"))


def _clear_groups(connection: Connection, groups: Sequence[ItemGroup]) -> None:
    """Remove the items of these groups, and mark their claims as taken."""
    load(
        connection,
        "CREATE OR REPLACE TEMP TABLE made_group AS "
        "SELECT participant_id::BIGINT AS participant_id, kind, slot FROM {batch}",
        numbers={"participant_id": [int(one.participant_id) for one in groups]},
        texts={"kind": [one.kind.value for one in groups], "slot": [one.slot for one in groups]},
    )
    if not groups:
        return
    delete_items(connection, "made_group")
    connection.execute(
        "UPDATE claim SET folded = true FROM made_group g WHERE g.kind = claim.kind "
        "AND g.participant_id = claim.participant_id AND g.slot = claim.slot AND NOT folded"
    )
    connection.execute("DROP TABLE made_group")


def _insert(connection: Connection, items: Sequence[Item]) -> None:
    load(
        connection,
        "INSERT INTO item SELECT id, kind, participant_id, slot, entity, value, quote, said_at, "
        "said_offset, last_said_at, last_offset, positive, state, "
        f"{DAY.format('valid_from')}, {DAY.format('valid_to')}, nullif(supersedes, 0), "
        "confirmations, reason, end_reason, nullif(ended_by, 0), names, by_owner, corrected, "
        "nullif(duplicate_of, 0), missing FROM {batch}",
        numbers={
            "id": [int(one.id) for one in items],
            "participant_id": [int(one.participant_id) for one in items],
            "said_at": [microseconds(one.said_at) for one in items],
            "said_offset": [offset_minutes(one.said_at) for one in items],
            "last_said_at": [microseconds(one.last_said_at) for one in items],
            "last_offset": [offset_minutes(one.last_said_at) for one in items],
            "positive": [one.positive for one in items],
            "valid_from": [day_number(one.valid_from) for one in items],
            "valid_to": [day_number(one.valid_to) for one in items],
            "supersedes": [int(one.supersedes or 0) for one in items],
            "confirmations": [one.confirmations for one in items],
            "ended_by": [int(one.ended_by or 0) for one in items],
            "by_owner": [one.by_owner for one in items],
            "corrected": [one.corrected for one in items],
            "duplicate_of": [int(one.duplicate_of or 0) for one in items],
        },
        texts={
            "kind": [one.kind.value for one in items],
            "slot": [one.slot for one in items],
            "entity": [one.entity for one in items],
            "value": [one.value for one in items],
            "quote": [one.quote for one in items],
            "state": [one.state.value for one in items],
            "reason": [one.reason for one in items],
            "end_reason": [one.end_reason for one in items],
            "names": [joined(one.names) for one in items],
            "missing": [joined(one.missing) for one in items],
        },
    )


def _item(row: tuple[Any, ...], sources: Sequence[MessageId]) -> Item:
    return Item(
        id=ItemId(int(row[0])),
        kind=ItemKind(row[1]),
        participant_id=ParticipantId(int(row[2])),
        slot=row[3],
        entity=row[4],
        value=row[5],
        quote=row[6],
        said_at=_stored_moment(row[7], row[8]),
        last_said_at=_stored_moment(row[9], row[10]),
        message_ids=tuple(sources),
        positive=row[11],
        state=ItemState(row[12]),
        valid_from=row[13],
        valid_to=row[14],
        supersedes=None if row[15] is None else ItemId(int(row[15])),
        confirmations=int(row[16]),
        reason=row[17],
        end_reason=row[18],
        ended_by=None if row[19] is None else MessageId(int(row[19])),
        names=parts(row[20]),
        by_owner=row[21],
        corrected=row[22],
        duplicate_of=None if row[23] is None else ItemId(int(row[23])),
        missing=parts(row[24]),
    )


def _stored_moment(said_at_us: int, offset_min: int) -> datetime | None:
    return None if said_at_us == NO_TIME else moment_of(said_at_us, offset_min)
