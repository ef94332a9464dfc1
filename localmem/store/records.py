"""Records of messages: what each was found to tell, with its claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection as Connection

from localmem.store.batches import id_set, load
from localmem.store.cells import joined, parts
from localmem.store.claims import add_claims, claims_where
from localmem.store.item_erasing import drop
from localmem.types import (
    Attitude,
    Claim,
    ConversationKind,
    MessageId,
    MessageRecord,
    ParticipantId,
    Provenance,
    Role,
)


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """A message without a record, in what kind of chat it was said, from which source."""

    message_id: MessageId
    in_assistant_chat: bool
    source: str


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
            "topics": [joined(one.topics) for one in records],
            "summary": [one.summary for one in records],
            "model_id": [one.provenance.model_id for one in records],
            "prompt_sha": [one.provenance.prompt_sha for one in records],
            "source_sha": [one.provenance.source_sha for one in records],
        },
    )
    add_claims(connection, [claim for one in records for claim in one.claims])


def records_of(
    connection: Connection, ids: Iterable[MessageId]
) -> Mapping[MessageId, MessageRecord]:
    """The records of messages; those without one are absent.

    Topics and summary that nobody made for the message alone are those of its turn.
    """
    with id_set(connection, ids) as wanted:
        claims = claims_where(connection, f"WHERE c.message_id IN {wanted} ORDER BY c.id")
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
            topics=parts(row[4]),
            summary=str(row[5]),
            provenance=Provenance(*map(str, row[6:])),
        )
        for row in rows
    }
