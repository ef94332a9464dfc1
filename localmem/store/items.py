"""Records of messages, their claims, and the items that are made of claims: rows by participant.

Claims belong to messages and go with them. Items are made from all claims of a group (one
participant, kind and slot); a group that loses a claim loses its items, until they are made anew.
The owner's orders stay as long as there is something that they are about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from localmem.store import meta
from localmem.store.batches import NO_TIME, id_set, load, microseconds, offset_minutes
from localmem.types import (
    Attitude,
    Claim,
    ConversationKind,
    Cue,
    Item,
    ItemCounts,
    ItemId,
    ItemKind,
    ItemState,
    MessageId,
    MessageRecord,
    Modality,
    ParticipantId,
    Provenance,
    Role,
    Ruling,
    RulingKind,
)

CORRECTIONS = "correction"
"""The source of conversations that hold the owner's corrections."""

_BETWEEN = "\x1f"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
_DAY = "CASE WHEN {0} = 0 THEN NULL ELSE DATE '0001-01-01' + ({0} - 1)::INTEGER END"
_CLAIMS = """
SELECT c.id, c.message_id, c.position, c.participant_id, c.kind, c.slot, c.entity, c.value,
    c.quote, epoch_us(m.said_at), m.utc_offset_min, c.positive, c.modality, c.cue, c.old_value,
    c.reason, c.names, c.valid_from, c.valid_to, c.by_owner, c.missing, c.key_sha
FROM claim c JOIN message m ON m.id = c.message_id
"""
_ITEMS = """
SELECT id, kind, participant_id, slot, entity, value, quote, said_at, said_offset, last_said_at,
    last_offset, positive, state, valid_from, valid_to, supersedes, confirmations, reason,
    end_reason, ended_by, names, by_owner, corrected, duplicate_of, missing
FROM item
"""
_GROUP = "participant_id, kind, slot"


@dataclass(frozen=True, slots=True, order=True)
class ItemGroup:
    """What is made anew together: a slot, the facts or the events of one participant."""

    participant_id: ParticipantId
    kind: ItemKind
    slot: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A model's word on a claim that no rule was sure of: what to do with it and one item.

    The claim is named by its message and position, the item by its key.
    """

    message_id: MessageId
    position: int
    key_sha: str
    action: str
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class Undecided:
    """A claim that no rule was sure of, and the item that it may repeat or change."""

    claim: Claim
    item: Item


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """A message without a record, in what kind of chat it was said, from which source."""

    message_id: MessageId
    in_assistant_chat: bool
    source: str


def create_tables(connection: Connection) -> None:
    """The fourth step of the schema."""
    connection.execute(_SCHEMA)


# --- Records and claims ---------------------------------------------------------------------


def unrecorded(connection: Connection, limit: int) -> tuple[Unrecorded, ...]:
    """Shown messages that have no record, by id; those of tools and systems never get one."""
    rows = connection.execute(
        "SELECT m.id, c.kind, c.source FROM message m ANTI JOIN record r ON r.message_id = m.id "
        "JOIN conversation c ON c.id = m.conversation_id "
        "WHERE m.on_path AND m.role IN (?, ?) ORDER BY m.id LIMIT ?",
        [Role.USER.value, Role.ASSISTANT.value, limit],
    ).fetchall()
    return tuple(
        Unrecorded(MessageId(int(row[0])), row[1] == ConversationKind.ASSISTANT.value, str(row[2]))
        for row in rows
    )


def put_records(connection: Connection, records: Sequence[MessageRecord]) -> None:
    """Store records with their claims in place of what the messages had; erased ones are left out.

    The items of their groups are out of date until they are made anew.
    """
    ids = [int(one.message_id) for one in records]
    with id_set(connection, ids) as those:
        drop(connection, those)
    load(
        connection,
        "INSERT INTO record SELECT message_id, participant_id, attitude, reason, topics, summary, "
        "model_id, prompt_sha, source_sha FROM {batch} "
        "SEMI JOIN (SELECT id AS message_id FROM message) USING (message_id)",
        numbers={
            "message_id": ids,
            "participant_id": [int(one.participant_id) for one in records],
        },
        texts={
            "attitude": [one.attitude.value for one in records],
            "reason": [one.reason for one in records],
            "topics": [_joined(one.topics) for one in records],
            "summary": [one.summary for one in records],
            "model_id": [one.provenance.model_id for one in records],
            "prompt_sha": [one.provenance.prompt_sha for one in records],
            "source_sha": [one.provenance.source_sha for one in records],
        },
    )
    _insert_claims(connection, [claim for one in records for claim in one.claims])


def records_of(
    connection: Connection, ids: Iterable[MessageId]
) -> Mapping[MessageId, MessageRecord]:
    """The records of messages; those without one are absent.

    Topics and summary that nobody made for the message alone are those of its turn.
    """
    with id_set(connection, ids) as wanted:
        claims = _claims(connection, f"WHERE c.message_id IN {wanted} ORDER BY c.id")
    with id_set(connection, ids) as wanted:
        rows = connection.execute(
            "SELECT r.message_id, r.participant_id, r.attitude, r.reason, "
            "CASE WHEN r.topics = '' THEN coalesce(s.keywords, '') ELSE r.topics END, "
            "CASE WHEN r.summary = '' THEN coalesce(s.sentence, '') ELSE r.summary END, "
            "r.model_id, r.prompt_sha, r.source_sha FROM record r "
            "JOIN message m ON m.id = r.message_id "
            "LEFT JOIN turn_summary s ON s.turn_id = m.turn_id "
            f"WHERE r.message_id IN {wanted} ORDER BY r.message_id"
        ).fetchall()
    by_message: dict[int, list[Claim]] = {}
    for claim in claims:
        by_message.setdefault(int(claim.message_id), []).append(claim)
    return {
        MessageId(int(row[0])): MessageRecord(
            message_id=MessageId(int(row[0])),
            participant_id=ParticipantId(int(row[1])),
            attitude=Attitude(str(row[2])),
            reason=str(row[3]),
            claims=tuple(by_message.get(int(row[0]), ())),
            topics=_parts(row[4]),
            summary=str(row[5]),
            provenance=Provenance(*map(str, row[6:])),
        )
        for row in rows
    }


def stale_groups(connection: Connection) -> tuple[ItemGroup, ...]:
    """The groups that have claims of which no items are made yet."""
    rows = connection.execute(
        f"SELECT DISTINCT {_GROUP} FROM claim WHERE NOT folded ORDER BY ALL"
    ).fetchall()
    return tuple(ItemGroup(ParticipantId(int(p)), ItemKind(k), str(slot)) for p, k, slot in rows)


def stale_claims(connection: Connection) -> Mapping[ItemGroup, tuple[Claim, ...]]:
    """All claims of the groups whose items are out of date."""
    claims = _claims(
        connection,
        f"SEMI JOIN (SELECT DISTINCT {_GROUP} FROM claim WHERE NOT folded) g "
        "ON g.participant_id = c.participant_id AND g.kind = c.kind AND g.slot = c.slot "
        "ORDER BY c.id",
    )
    found: dict[ItemGroup, list[Claim]] = {}
    for claim in claims:
        group = ItemGroup(claim.participant_id, claim.kind, claim.slot)
        found.setdefault(group, []).append(claim)
    return {group: tuple(several) for group, several in found.items()}


# --- Items ----------------------------------------------------------------------------------


def put_items(connection: Connection, made: Mapping[ItemGroup, Sequence[Item]]) -> None:
    """Store the items of whole groups in place of what they had; searches may end otherwise."""
    if made:
        meta.bump_generation(connection)
    _clear_groups(connection, list(made))
    items = [item for several in made.values() for item in several]
    _insert_items(connection, items)
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
    return _items(connection, f"WHERE {' AND '.join(conditions)} ORDER BY id", bound)


def item(connection: Connection, number: ItemId) -> Item | None:
    """One item; None where there is none with this id."""
    found = _items(connection, f"WHERE id = {int(number)}")
    return found[0] if found else None


def items_of_messages(
    connection: Connection, ids: Iterable[MessageId], *, state: ItemState | None = None
) -> tuple[Item, ...]:
    """The items that rest on any of these messages (in one state), by id."""
    with id_set(connection, ids) as wanted:
        found = connection.execute(
            f"SELECT DISTINCT item_id FROM item_source WHERE message_id IN {wanted}"
        ).fetchall()
    if not found:
        return ()
    numbers = ",".join(str(int(number)) for (number,) in found)
    condition = "" if state is None else f" AND state = '{state.value}'"
    return _items(connection, f"WHERE id IN ({numbers}){condition} ORDER BY id")


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


# --- The owner's orders ---------------------------------------------------------------------


def put_ruling(connection: Connection, participant: ParticipantId, ruling: Ruling) -> None:
    """Keep an order, in place of an earlier one about the same; its groups are out of date."""
    connection.execute(
        "DELETE FROM ruling WHERE participant_id = ? AND key_sha = ? AND kind <> ?",
        [int(participant), ruling.key_sha, RulingKind.REPLACE.value],
    )
    connection.execute(
        "INSERT INTO ruling VALUES (?, ?, ?, ?, ?)",
        [
            int(participant),
            ruling.kind.value,
            ruling.key_sha,
            ruling.made_at,
            None if ruling.message_id is None else int(ruling.message_id),
        ],
    )
    connection.execute(
        f"UPDATE claim SET folded = false WHERE ({_GROUP}) IN "
        f"(SELECT ({_GROUP}) FROM claim WHERE participant_id = ? AND key_sha = ?)",
        [int(participant), ruling.key_sha],
    )


def rulings(connection: Connection) -> Mapping[ParticipantId, tuple[Ruling, ...]]:
    """All orders, oldest first, by participant."""
    rows = connection.execute(
        "SELECT participant_id, kind, key_sha, epoch_us(made_at), message_id FROM ruling "
        "ORDER BY made_at, key_sha"
    ).fetchall()
    found: dict[ParticipantId, list[Ruling]] = {}
    for participant, kind, key, made_at, message in rows:
        found.setdefault(ParticipantId(int(participant)), []).append(
            Ruling(
                RulingKind(kind),
                str(key),
                _EPOCH + timedelta(microseconds=int(made_at)),
                None if message is None else MessageId(int(message)),
            )
        )
    return {number: tuple(several) for number, several in found.items()}


# --- Decisions ------------------------------------------------------------------------------


def put_decisions(connection: Connection, decisions: Sequence[Decision]) -> None:
    """Keep what a model decided; the groups of these claims are out of date."""
    for one in decisions:
        values = [int(one.message_id), one.position]
        connection.execute("DELETE FROM decision WHERE message_id = ? AND position = ?", values)
        connection.execute(
            "INSERT INTO decision SELECT c.message_id, c.position, ?, ?, ?, ? FROM claim c "
            "WHERE c.message_id = ? AND c.position = ?",
            [
                one.key_sha,
                one.action,
                one.provenance.model_id,
                one.provenance.prompt_sha,
                *values,
            ],
        )
        connection.execute(
            f"UPDATE claim SET folded = false WHERE ({_GROUP}) IN "
            f"(SELECT ({_GROUP}) FROM claim WHERE message_id = ? AND position = ?)",
            values,
        )


def undecided(connection: Connection, limit: int) -> tuple[Undecided, ...]:
    """Claims of which a model may say whether they are the item beside which they stand, by id."""
    rows = connection.execute(
        "SELECT i.id, i.duplicate_of FROM item i JOIN claim c ON c.id = i.id "
        "WHERE i.duplicate_of IS NOT NULL AND i.state = 'active' AND NOT EXISTS (SELECT 1 "
        "FROM decision d WHERE d.message_id = c.message_id AND d.position = c.position) "
        "ORDER BY i.id LIMIT ?",
        [limit],
    ).fetchall()
    if not rows:
        return ()
    own, others = ({int(row[n]) for row in rows} for n in (0, 1))
    claims = {
        one.number: one for one in _claims(connection, f"WHERE c.id IN ({','.join(map(str, own))})")
    }
    near = {
        int(one.id): one
        for one in _items(connection, f"WHERE id IN ({','.join(map(str, others))})")
    }
    return tuple(
        Undecided(claims[int(number)], near[int(other)])
        for number, other in rows
        if int(other) in near
    )


def decisions(connection: Connection) -> tuple[Decision, ...]:
    """All that models decided, by message and position."""
    rows = connection.execute(
        "SELECT message_id, position, key_sha, action, model_id, prompt_sha FROM decision "
        "ORDER BY message_id, position"
    ).fetchall()
    return tuple(
        Decision(
            MessageId(int(m)), int(p), str(key), str(act), Provenance(str(model), str(sha), "")
        )
        for m, p, key, act, model, sha in rows
    )


# --- Going with their messages --------------------------------------------------------------


def erase(connection: Connection, messages: str) -> dict[str, int]:
    """Remove what was made of messages that are about to go; gives counts of rows.

    `messages` is what stands behind IN. An order that is about nothing any more goes too.
    """
    counts = drop(connection, messages)
    connection.execute(f"DELETE FROM decision WHERE message_id IN {messages}")
    connection.execute(f"DELETE FROM ruling WHERE message_id IN {messages}")
    connection.execute(
        "DELETE FROM ruling WHERE NOT EXISTS (SELECT 1 FROM claim c "
        "WHERE c.participant_id = ruling.participant_id AND c.key_sha = ruling.key_sha)"
    )
    return counts


def drop(connection: Connection, messages: str) -> dict[str, int]:
    """Remove records and claims of messages that stay or are hidden; the owner's orders stay.

    `messages` is what stands behind IN. Groups that lose a claim lose their items until these are
    made anew. Gives counts of rows.
    """
    if connection.execute("SELECT 1 FROM record LIMIT 1").fetchone() is None:
        return {"records": 0, "claims": 0, "items": 0}
    counts = {"items": _clear_stale(connection, f"message_id IN {messages}")}
    for name in ("record", "claim"):
        counts[f"{name}s"] = _changed(
            connection.execute(f"DELETE FROM {name} WHERE message_id IN {messages}")
        )
    return counts


def sweep(connection: Connection) -> None:
    """Remove claims about somebody who is gone, with the items made of them."""
    gone = "participant_id NOT IN (SELECT id FROM participant)"
    if connection.execute(f"SELECT 1 FROM claim WHERE {gone} LIMIT 1").fetchone() is not None:
        _clear_stale(connection, gone)
        connection.execute(f"DELETE FROM claim WHERE {gone}")
    connection.execute(f"DELETE FROM ruling WHERE {gone}")


def share_rulings(connection: Connection, before: int, now: int, messages: Iterable[int]) -> None:
    """Let the orders about claims of these messages hold for a second participant too.

    The messages go over from one to the other; an order about nothing is of no effect.
    """
    with id_set(connection, messages) as moved:
        connection.execute(
            "INSERT INTO ruling SELECT ?, kind, key_sha, made_at, message_id FROM ruling "
            "WHERE participant_id = ? AND key_sha IN "
            f"(SELECT key_sha FROM claim WHERE message_id IN {moved})",
            [now, before],
        )


def _clear_stale(connection: Connection, claims: str) -> int:
    """Remove the items of the groups of some claims, and mark all claims of these groups."""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE stale_group AS SELECT DISTINCT {_GROUP} FROM claim "
        f"WHERE {claims}"
    )
    removed = _delete_items(connection, "stale_group")
    connection.execute(
        "UPDATE claim SET folded = false FROM stale_group g WHERE g.kind = claim.kind "
        "AND g.participant_id = claim.participant_id AND g.slot = claim.slot"
    )
    connection.execute("DROP TABLE stale_group")
    return removed


def _delete_items(connection: Connection, groups: str) -> int:
    """Remove the items of the groups in a table, with their sources; gives how many."""
    chosen = f"(SELECT id FROM item SEMI JOIN {groups} USING ({_GROUP}))"
    connection.execute(f"DELETE FROM item_source WHERE item_id IN {chosen}")
    return _changed(connection.execute(f"DELETE FROM item WHERE id IN {chosen}"))


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
    _delete_items(connection, "made_group")
    connection.execute(
        "UPDATE claim SET folded = true FROM made_group g WHERE g.kind = claim.kind "
        "AND g.participant_id = claim.participant_id AND g.slot = claim.slot AND NOT folded"
    )
    connection.execute("DROP TABLE made_group")


# --- Rows -----------------------------------------------------------------------------------


def _insert_claims(connection: Connection, claims: Sequence[Claim]) -> None:
    if not claims:
        return
    counters = meta.Counters(connection)
    ids = [counters.next("claim") for _ in claims]
    counters.save()
    load(
        connection,
        "INSERT INTO claim SELECT id, message_id, position, participant_id, kind, slot, entity, "
        "value, quote, positive, modality, cue, old_value, reason, names, "
        f"{_DAY.format('valid_from')}, {_DAY.format('valid_to')}, by_owner, missing, key_sha, "
        "false FROM {batch} SEMI JOIN (SELECT id AS message_id FROM message) USING (message_id)",
        numbers={
            "id": ids,
            "message_id": [int(one.message_id) for one in claims],
            "position": [one.position for one in claims],
            "participant_id": [int(one.participant_id) for one in claims],
            "positive": [one.positive for one in claims],
            "valid_from": [_ordinal(one.valid_from) for one in claims],
            "valid_to": [_ordinal(one.valid_to) for one in claims],
            "by_owner": [one.by_owner for one in claims],
        },
        texts={
            "kind": [one.kind.value for one in claims],
            "slot": [one.slot for one in claims],
            "entity": [one.entity for one in claims],
            "value": [one.value for one in claims],
            "quote": [one.quote for one in claims],
            "modality": [one.modality.value for one in claims],
            "cue": [one.cue.value for one in claims],
            "old_value": [one.old_value for one in claims],
            "reason": [one.reason for one in claims],
            "names": [_joined(one.names) for one in claims],
            "missing": [_joined(one.missing) for one in claims],
            "key_sha": [one.key_sha for one in claims],
        },
    )


def _insert_items(connection: Connection, items: Sequence[Item]) -> None:
    load(
        connection,
        "INSERT INTO item SELECT id, kind, participant_id, slot, entity, value, quote, said_at, "
        "said_offset, last_said_at, last_offset, positive, state, "
        f"{_DAY.format('valid_from')}, {_DAY.format('valid_to')}, nullif(supersedes, 0), "
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
            "valid_from": [_ordinal(one.valid_from) for one in items],
            "valid_to": [_ordinal(one.valid_to) for one in items],
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
            "names": [_joined(one.names) for one in items],
            "missing": [_joined(one.missing) for one in items],
        },
    )


def _claims(connection: Connection, condition: str) -> list[Claim]:
    return [
        Claim(
            number=int(row[0]),
            message_id=MessageId(int(row[1])),
            position=int(row[2]),
            participant_id=ParticipantId(int(row[3])),
            kind=ItemKind(row[4]),
            slot=row[5],
            entity=row[6],
            value=row[7],
            quote=row[8],
            said_at=_moment(row[9], row[10]),
            positive=row[11],
            modality=Modality(row[12]),
            cue=Cue(row[13]),
            old_value=row[14],
            reason=row[15],
            names=_parts(row[16]),
            valid_from=row[17],
            valid_to=row[18],
            by_owner=row[19],
            missing=_parts(row[20]),
            key_sha=row[21],
        )
        for row in connection.execute(f"{_CLAIMS} {condition}").fetchall()
    ]


def _items(
    connection: Connection, condition: str, bound: Sequence[object] = ()
) -> tuple[Item, ...]:
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
        names=_parts(row[20]),
        by_owner=row[21],
        corrected=row[22],
        duplicate_of=None if row[23] is None else ItemId(int(row[23])),
        missing=_parts(row[24]),
    )


def _changed(result: Connection) -> int:
    row = result.fetchone()
    return 0 if row is None else int(row[0])


def _stored_moment(said_at_us: int, offset_min: int) -> datetime | None:
    return None if said_at_us == NO_TIME else _moment(said_at_us, offset_min)


def _moment(said_at_us: int | None, offset_min: int | None) -> datetime | None:
    if said_at_us is None:
        return None
    moment = _EPOCH + timedelta(microseconds=said_at_us)
    return moment.astimezone(timezone(timedelta(minutes=offset_min))) if offset_min else moment


def _ordinal(day: date | None) -> int:
    return 0 if day is None else day.toordinal()


def _joined(parts: Iterable[str]) -> str:
    return _BETWEEN.join(part.replace(_BETWEEN, " ") for part in parts)


def _parts(joined: str) -> tuple[str, ...]:
    return tuple(joined.split(_BETWEEN)) if joined else ()
