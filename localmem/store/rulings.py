"""The owner's orders about items: kept by what they are about, so that rebuilding keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from duckdb import DuckDBPyConnection as Connection

from localmem.store.batches import id_set
from localmem.store.claims import unfold
from localmem.types import MessageId, ParticipantId, Ruling, RulingKind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def put_ruling(connection: Connection, participant: ParticipantId, ruling: Ruling) -> None:
    """Keep an order, in place of an earlier one about the same; its groups are out of date.

    One that replaces leaves the earlier ones: it goes with its correction, and then they hold.
    """
    if ruling.kind is not RulingKind.REPLACE:
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
    unfold(connection, "participant_id = ? AND key_sha = ?", [int(participant), ruling.key_sha])


def rulings(connection: Connection) -> Mapping[ParticipantId, tuple[Ruling, ...]]:
    """The orders that count, oldest first, by participant: of one item what was ordered before it
    was replaced counts no more."""
    rows = connection.execute(
        "SELECT participant_id, kind, key_sha, epoch_us(made_at), message_id FROM ruling r "
        "WHERE kind = $replace OR NOT EXISTS (SELECT 1 FROM ruling o WHERE o.kind = $replace "
        "AND o.participant_id = r.participant_id AND o.key_sha = r.key_sha "
        "AND o.made_at >= r.made_at) ORDER BY made_at, key_sha",
        {"replace": RulingKind.REPLACE.value},
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


def share_rulings(connection: Connection, before: int, now: int, messages: Iterable[int]) -> None:
    """Let the orders about claims of these messages hold for a second participant too.

    So do those that are in these messages. The messages go over from one to the other; an order
    about nothing is of no effect.
    """
    with id_set(connection, messages) as moved:
        connection.execute(
            "INSERT INTO ruling SELECT ?, kind, key_sha, made_at, message_id FROM ruling "
            "WHERE participant_id = ? AND (key_sha IN "
            f"(SELECT key_sha FROM claim WHERE message_id IN {moved}) OR message_id IN {moved}) "
            "EXCEPT SELECT * FROM ruling",
            [now, before],
        )
