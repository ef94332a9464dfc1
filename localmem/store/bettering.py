"""Records of messages as models better them: which are open, and what is put into their place.

A record that a model has bettered keeps the claims that rules made, with their ids, so that what
the owner knows by its number keeps it; new claims come beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection as Connection

from localmem.store.batches import id_set
from localmem.store.cells import joined
from localmem.store.claims import add_claims, unfold
from localmem.store.records import records_of
from localmem.types import Attitude, MessageId, MessageRecord, ParticipantId, Role

RULES = "rules"
"""The maker of records that no model has bettered."""

_TRIED = " tried "
_TALKING = f"role IN ('{Role.USER.value}', '{Role.ASSISTANT.value}')"


@dataclass(frozen=True, slots=True)
class RecordMark:
    """Who made a message's record, and which model could not better it."""

    model_id: str
    prompt_sha: str

    @property
    def is_bettered(self) -> bool:
        """Whether a model has bettered it."""
        return self.model_id != RULES

    @property
    def tried_by(self) -> str:
        """The mark of the last attempt that came to nothing; "" for none."""
        return self.prompt_sha.partition(_TRIED)[2]


def said_in_order(connection: Connection, participant: ParticipantId) -> tuple[MessageId, ...]:
    """What somebody says on the branches that are shown, the oldest first (no time: before all)."""
    rows = connection.execute(
        f"SELECT id FROM message WHERE on_path AND {_TALKING} AND participant_id = ? "
        "ORDER BY said_at NULLS FIRST, session_id, ordinal",
        [int(participant)],
    ).fetchall()
    return tuple(MessageId(int(number)) for (number,) in rows)


def marks(connection: Connection, participant: ParticipantId) -> Mapping[MessageId, RecordMark]:
    """The marks of the records of a participant's messages."""
    rows = connection.execute(
        "SELECT r.message_id, r.model_id, r.prompt_sha FROM record r "
        "JOIN message m ON m.id = r.message_id WHERE m.participant_id = ?",
        [int(participant)],
    ).fetchall()
    return {MessageId(int(number)): RecordMark(model, sha) for number, model, sha in rows}


def attitudes(connection: Connection, participant: ParticipantId) -> Mapping[MessageId, Attitude]:
    """The attitude of each of a participant's messages that shows one."""
    rows = connection.execute(
        "SELECT message_id, attitude FROM record WHERE participant_id = ? AND attitude <> ''",
        [int(participant)],
    ).fetchall()
    return {MessageId(int(number)): Attitude(attitude) for number, attitude in rows}


def better(connection: Connection, records: Sequence[MessageRecord]) -> int:
    """Put bettered records in place of those that rules made from the same text; how many.

    Claims with a number keep it and get the value of the new record; those without are added.
    The others stay as they are. Their items must be made anew.
    """
    ids = [one.message_id for one in records]
    now = records_of(connection, ids)
    done = 0
    for one in records:
        there = now.get(one.message_id)
        if there is None or there.provenance.model_id != RULES:
            continue
        if there.provenance.source_sha != one.provenance.source_sha:
            continue
        if there.participant_id != one.participant_id:
            continue
        _update(connection, one)
        _revalue(connection, one, there)
        add_claims(connection, [claim for claim in one.claims if not claim.number])
        done += 1
    return done


def mark_tried(connection: Connection, ids: Iterable[MessageId], mark: str) -> int:
    """Mark the records that rules made of these messages as ones that `mark` has not bettered."""
    with id_set(connection, map(int, ids)) as those:
        row = connection.execute(
            "UPDATE record SET prompt_sha = string_split(prompt_sha, ?)[1] || ? || ? "
            f"WHERE message_id IN {those} AND model_id = ?",
            [_TRIED, _TRIED, mark, RULES],
        ).fetchone()
    return 0 if row is None else int(row[0])


def _update(connection: Connection, one: MessageRecord) -> None:
    connection.execute(
        "UPDATE record SET attitude = ?, reason = ?, topics = ?, summary = ?, model_id = ?, "
        "prompt_sha = ? WHERE message_id = ?",
        [
            one.attitude.value,
            one.reason,
            joined(one.topics),
            one.summary,
            one.provenance.model_id,
            one.provenance.prompt_sha,
            int(one.message_id),
        ],
    )


def _revalue(connection: Connection, one: MessageRecord, there: MessageRecord) -> None:
    before = {claim.number: claim for claim in there.claims}
    for claim in one.claims:
        old = before.get(claim.number)
        if old is not None and claim.number and old.value != claim.value:
            connection.execute(
                "UPDATE claim SET value = ? WHERE id = ?", [claim.value, claim.number]
            )
            unfold(connection, "id = ?", [claim.number])
