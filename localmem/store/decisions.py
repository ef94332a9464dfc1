"""What models decided about claims that no rule was sure of, and what is still open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection as Connection

from localmem.store.claims import claims_where, unfold
from localmem.store.items import select_items
from localmem.types import Claim, Item, MessageId, Provenance


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
        unfold(connection, "message_id = ? AND position = ?", values)


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
        one.number: one
        for one in claims_where(connection, f"WHERE c.id IN ({','.join(map(str, own))})")
    }
    near = {
        int(one.id): one
        for one in select_items(connection, f"WHERE id IN ({','.join(map(str, others))})")
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
