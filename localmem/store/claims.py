"""Claims: rows that belong to messages and go with them, in the groups that items are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection as Connection

from localmem.store import meta
from localmem.store.batches import load
from localmem.store.cells import DAY, day_number, joined, moment_of, parts
from localmem.types import Claim, Cue, ItemKind, MessageId, Modality, ParticipantId

GROUP = "participant_id, kind, slot"
"""The columns that name a group, of claims and of items."""

_CLAIMS = """
SELECT c.id, c.message_id, c.position, c.participant_id, c.kind, c.slot, c.entity, c.value,
    c.quote, epoch_us(m.said_at), m.utc_offset_min, c.positive, c.modality, c.cue, c.old_value,
    c.reason, c.names, c.valid_from, c.valid_to, c.by_owner, c.missing, c.key_sha
FROM claim c JOIN message m ON m.id = c.message_id
"""


@dataclass(frozen=True, slots=True, order=True)
class ItemGroup:
    """What is made anew together: a slot, the facts or the events of one participant."""

    participant_id: ParticipantId
    kind: ItemKind
    slot: str


def add_claims(connection: Connection, claims: Sequence[Claim]) -> None:
    """Store claims of stored messages; their groups are out of date."""
    if not claims:
        return
    counters = meta.Counters(connection)
    ids = [counters.next("claim") for _ in claims]
    counters.save()
    load(
        connection,
        "INSERT INTO claim SELECT id, message_id, position, participant_id, kind, slot, entity, "
        "value, quote, positive, modality, cue, old_value, reason, names, "
        f"{DAY.format('valid_from')}, {DAY.format('valid_to')}, by_owner, missing, key_sha, "
        "false FROM {batch} SEMI JOIN (SELECT id AS message_id FROM message) USING (message_id)",
        numbers={
            "id": ids,
            "message_id": [int(one.message_id) for one in claims],
            "position": [one.position for one in claims],
            "participant_id": [int(one.participant_id) for one in claims],
            "positive": [one.positive for one in claims],
            "valid_from": [day_number(one.valid_from) for one in claims],
            "valid_to": [day_number(one.valid_to) for one in claims],
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
            "names": [joined(one.names) for one in claims],
            "missing": [joined(one.missing) for one in claims],
            "key_sha": [one.key_sha for one in claims],
        },
    )


def claims_where(connection: Connection, condition: str) -> list[Claim]:
    """The claims that an SQL clause behind FROM chooses (`c` is a claim, `m` its message)."""
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
            said_at=moment_of(row[9], row[10]),
            positive=row[11],
            modality=Modality(row[12]),
            cue=Cue(row[13]),
            old_value=row[14],
            reason=row[15],
            names=parts(row[16]),
            valid_from=row[17],
            valid_to=row[18],
            by_owner=row[19],
            missing=parts(row[20]),
            key_sha=row[21],
        )
        for row in connection.execute(f"{_CLAIMS} {condition}").fetchall()
    ]


def stale_claims(connection: Connection) -> Mapping[ItemGroup, tuple[Claim, ...]]:
    """All claims of the groups whose items are out of date."""
    claims = claims_where(
        connection,
        f"SEMI JOIN (SELECT DISTINCT {GROUP} FROM claim WHERE NOT folded) g "
        "ON g.participant_id = c.participant_id AND g.kind = c.kind AND g.slot = c.slot "
        "ORDER BY c.id",
    )
    found: dict[ItemGroup, list[Claim]] = {}
    for claim in claims:
        group = ItemGroup(claim.participant_id, claim.kind, claim.slot)
        found.setdefault(group, []).append(claim)
    return {group: tuple(several) for group, several in found.items()}


def unfold(connection: Connection, claims: str, values: Sequence[object] = ()) -> None:
    """Mark the groups of some claims as out of date. `claims` is a condition on their columns."""
    connection.execute(
        f"UPDATE claim SET folded = false WHERE ({GROUP}) IN "
        f"(SELECT ({GROUP}) FROM claim WHERE {claims})",
        list(values),
    )
