"""Stored rows as values: messages, turns, sessions, dates, numbers about the memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from localmem.errors import RecordNotFoundError
from localmem.store import meta
from localmem.store.batches import NO_TIME, id_set
from localmem.store.cells import moment_of
from localmem.store.columns import MessageColumns
from localmem.store.vectors import pending
from localmem.types import (
    ConversationId,
    ConversationKind,
    Granularity,
    Layer,
    MemoryStats,
    Message,
    MessageId,
    ParticipantId,
    ResolvedDate,
    Role,
    Session,
    SessionId,
    TurnId,
)

_ROLES = {role.value: role for role in Role}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_MESSAGES = """
SELECT id, turn_id, session_id, participant_id, role, ordinal, text, epoch_us(said_at),
    utc_offset_min, attachment_text
FROM message
"""

_SESSIONS = """
SELECT session_id, any_value(conversation_id), epoch_us(min(said_at)),
    min_by(utc_offset_min, said_at), epoch_us(max(said_at)), max_by(utc_offset_min, said_at),
    count(DISTINCT turn_id), count(*)
FROM message WHERE on_path
"""

_CONVERSATIONS = """
SELECT id, source, kind, max_by(title, t.import_id)
FROM conversation c LEFT JOIN conversation_title t ON t.conversation_id = c.id
"""

_COLUMNS = f"""
SELECT m.id, m.turn_id, m.session_id, m.participant_id, m.ordinal, m.role, m.text,
    m.attachment_text, coalesce(epoch_us(m.said_at), {NO_TIME}) AS said_at, m.utc_offset_min,
    c.source, c.kind
FROM message m JOIN conversation c ON c.id = m.conversation_id
WHERE m.on_path AND m.generation > ?
ORDER BY m.session_id, m.ordinal
"""


_DATES = (
    "SELECT message_id, words, begin_at, stop_at, start_day, end_day, granularity, open_end "
    "FROM resolved_date"
)
_DATES_ORDER = "ORDER BY message_id, begin_at, stop_at"


def messages(connection: Connection, ids: Sequence[MessageId]) -> tuple[Message, ...]:
    """The messages in the order of `ids`.

    Raises:
        RecordNotFoundError: one of them is not stored.
    """
    found = messages_left(connection, ids)
    missing = [number for number in ids if number not in found]
    if missing:
        raise RecordNotFoundError(f"there is no message {missing[0]}")
    return tuple(found[number] for number in ids)


def messages_left(connection: Connection, ids: Sequence[MessageId]) -> Mapping[MessageId, Message]:
    """Those of these messages that are stored."""
    with id_set(connection, ids) as wanted:
        return {m.id: m for m in _messages(connection, f"WHERE id IN {wanted}")}


def known_source_ids(connection: Connection, source: str, source_id: str) -> frozenset[str]:
    """The ids, in the source's own terms, of a conversation's stored messages."""
    rows = connection.execute(
        "SELECT m.source_id FROM message m JOIN conversation c ON c.id = m.conversation_id "
        "WHERE c.source = ? AND c.source_id = ?",
        [source, source_id],
    ).fetchall()
    return frozenset(str(number) for (number,) in rows)


def session_messages(
    connection: Connection, session_id: SessionId, *, all_branches: bool
) -> tuple[Message, ...]:
    """The messages of a session in their order; other branches only where asked for.

    Raises:
        RecordNotFoundError: there is no such session.
    """
    branches = "" if all_branches else "AND on_path"
    found = _messages(
        connection, f"WHERE session_id = {int(session_id)} {branches} ORDER BY ordinal"
    )
    if not found:
        check_session(connection, session_id)
    return tuple(found)


def shown_messages(connection: Connection, after: int) -> tuple[Message, ...]:
    """All messages on the shown path that are newer than the generation `after`."""
    condition = f"WHERE on_path AND generation > {int(after)} ORDER BY session_id, ordinal"
    return tuple(_messages(connection, condition))


def turns(connection: Connection, ids: Iterable[TurnId]) -> tuple[tuple[Message, ...], ...]:
    """The shown messages of each turn, in the order of `ids`; () for a turn that shows none."""
    groups: dict[TurnId, list[Message]] = {number: [] for number in ids}
    with id_set(connection, groups) as wanted:
        condition = f"WHERE on_path AND turn_id IN {wanted} ORDER BY session_id, ordinal"
        for message in _messages(connection, condition):
            groups[message.turn_id].append(message)
    return tuple(map(tuple, groups.values()))


def sessions(connection: Connection) -> tuple[Session, ...]:
    """All sessions that show a message, oldest first; those without a time come last."""
    found = _sessions(connection, "", "")
    return tuple(sorted(found, key=lambda s: (s.started_at is None, s.started_at or _EPOCH, s.id)))


def sessions_of(connection: Connection, ids: Sequence[SessionId]) -> tuple[Session, ...]:
    """The sessions in the order of `ids`.

    Raises:
        RecordNotFoundError: one of them is not stored, or shows no message.
    """
    with id_set(connection, ids) as wanted:
        found = {
            s.id: s
            for s in _sessions(
                connection,
                f"AND session_id IN {wanted}",
                f"WHERE c.id IN (SELECT conversation_id FROM session WHERE id IN {wanted})",
            )
        }
    missing = [number for number in ids if number not in found]
    if missing:
        raise _no_session(missing[0])
    return tuple(found[number] for number in ids)


def message_columns(connection: Connection, after: int) -> MessageColumns:
    """The messages on the shown path that are newer than the generation `after`, as columns."""
    table = connection.execute(_COLUMNS, [after]).fetchnumpy()
    said_at_us = table["said_at"].astype(np.int64)
    said_at = _times(said_at_us)
    return MessageColumns(
        message_ids=table["id"].astype(np.int64),
        turn_ids=table["turn_id"].astype(np.int64),
        session_ids=table["session_id"].astype(np.int64),
        participant_ids=table["participant_id"].astype(np.int64),
        ordinals=table["ordinal"].astype(np.int32),
        said_at=said_at,
        local_days=_times(said_at_us, table["utc_offset_min"]).astype("datetime64[D]"),
        from_user=np.asarray(table["role"] == Role.USER.value, np.bool_),
        in_assistant_chat=np.asarray(table["kind"] == ConversationKind.ASSISTANT.value, np.bool_),
        sources=table["source"].tolist(),
        texts=table["text"].tolist(),
        attachment_texts=table["attachment_text"].tolist(),
    )


def dates_of(
    connection: Connection, ids: Sequence[MessageId]
) -> Mapping[MessageId, tuple[ResolvedDate, ...]]:
    """The resolved dates of each message, in the order of the text; messages without are absent."""
    with id_set(connection, ids) as wanted:
        rows = connection.execute(
            f"{_DATES} WHERE message_id IN {wanted} {_DATES_ORDER}"
        ).fetchall()
    return _by_message(rows)


def all_dates(connection: Connection) -> Mapping[MessageId, tuple[ResolvedDate, ...]]:
    """The resolved dates of every message that has some."""
    return _by_message(connection.execute(f"{_DATES} {_DATES_ORDER}").fetchall())


def _by_message(
    rows: Iterable[tuple[Any, ...]],
) -> Mapping[MessageId, tuple[ResolvedDate, ...]]:
    found: dict[MessageId, list[ResolvedDate]] = {}
    for number, words, begin, stop, start, end, granularity, open_end in rows:
        found.setdefault(MessageId(int(number)), []).append(
            ResolvedDate(
                words=str(words),
                begin=int(begin),
                stop=int(stop),
                start=start,
                end=end,
                granularity=Granularity(str(granularity)),
                open_end=bool(open_end),
            )
        )
    return {number: tuple(dates) for number, dates in found.items()}


def stats(connection: Connection, memory: Path) -> MemoryStats:
    """Numbers about the whole memory."""
    shown = _row(
        connection,
        "SELECT count(*) FILTER (on_path), count(*) FILTER (NOT on_path), "
        "count(*) FILTER (on_path AND said_at IS NULL), count(DISTINCT turn_id) FILTER (on_path), "
        "count(DISTINCT session_id) FILTER (on_path), "
        "count(DISTINCT conversation_id) FILTER (on_path), "
        "epoch_us(min(said_at) FILTER (on_path)), epoch_us(max(said_at) FILTER (on_path)) "
        "FROM message",
    )
    counts = _row(
        connection,
        "SELECT (SELECT count(*) FROM participant), (SELECT count(*) FROM resolved_date), "
        "(SELECT count(DISTINCT turn_id) FROM message ANTI JOIN turn_summary USING (turn_id) "
        " WHERE on_path)",
    )
    made = _row(
        connection,
        "SELECT count(*) FILTER (layer = ?), count(*) FILTER (layer = ?) FROM layer_unit",
        [int(Layer.FACTS), int(Layer.NOTES)],
    )
    blocks = _row(connection, "SELECT block_size, free_blocks FROM pragma_database_size()")
    embedder = meta.get(connection, meta.ACTIVE_EMBEDDER)
    return MemoryStats(
        conversations=int(shown[5]),
        sessions=int(shown[4]),
        turns=int(shown[3]),
        messages=int(shown[0]),
        hidden_messages=int(shown[1]),
        participants=int(counts[0]),
        without_time=int(shown[2]),
        first_said_at=moment_of(shown[6], 0),
        last_said_at=moment_of(shown[7], 0),
        turns_without_summary=int(counts[2]),
        messages_without_vectors=len(pending(connection, embedder or "")),
        dates=int(counts[1]),
        embedder=embedder,
        generation=meta.get_int(connection, meta.GENERATION),
        file_bytes=memory.stat().st_size,
        unused_bytes=int(blocks[0]) * int(blocks[1]),
        sessions_with_facts=int(made[0]),
        messages_with_notes=int(made[1]),
    )


def shown_characters(connection: Connection) -> int:
    """The length of all shown messages with what is attached to them."""
    row = _row(
        connection,
        "SELECT coalesce(sum(length(text) + length(attachment_text)), 0) FROM message "
        "WHERE on_path",
    )
    return int(row[0])


def pending_turns(connection: Connection, limit: int) -> tuple[tuple[Message, ...], ...]:
    """The shown messages of turns that have no L0, oldest first; at most `limit` turns."""
    rows = connection.execute(
        "SELECT DISTINCT turn_id FROM message ANTI JOIN turn_summary USING (turn_id) "
        "WHERE on_path ORDER BY turn_id LIMIT ?",
        [limit],
    ).fetchall()
    return turns(connection, [TurnId(int(number)) for (number,) in rows])


def _messages(connection: Connection, condition: str) -> list[Message]:
    """The messages that a condition of this module selects. Names are few: no join for them."""
    names = dict(connection.execute("SELECT id, name FROM participant").fetchall())
    rows = connection.execute(f"{_MESSAGES} {condition}").fetchall()
    return [
        Message(
            id=MessageId(row[0]),
            turn_id=TurnId(row[1]),
            session_id=SessionId(row[2]),
            participant_id=ParticipantId(row[3]),
            speaker=names[row[3]],
            role=_ROLES[row[4]],
            ordinal=row[5],
            text=row[6],
            said_at=moment_of(row[7], row[8]),
            attachment_text=row[9],
        )
        for row in rows
    ]


def _sessions(connection: Connection, of_messages: str, of_conversations: str) -> list[Session]:
    """The sessions that conditions of this module select, in no order."""
    rows = connection.execute(
        f"{_CONVERSATIONS} {of_conversations} GROUP BY id, source, kind"
    ).fetchall()
    conversations = {row[0]: row[1:] for row in rows}
    found = []
    for row in connection.execute(f"{_SESSIONS} {of_messages} GROUP BY session_id").fetchall():
        source, kind, title = conversations[row[1]]
        found.append(
            Session(
                id=SessionId(row[0]),
                conversation_id=ConversationId(row[1]),
                title=title or "",
                source=source,
                kind=ConversationKind(kind),
                started_at=moment_of(row[2], row[3]),
                ended_at=moment_of(row[4], row[5]),
                turn_count=row[6],
                message_count=row[7],
            )
        )
    return found


def _times(
    said_at_us: NDArray[np.int64], offset_min: NDArray[np.generic] | None = None
) -> NDArray[np.datetime64]:
    """datetime64[us]; NO_TIME is the very number that NumPy uses for NaT."""
    if offset_min is None:
        return said_at_us.view("datetime64[us]")
    shift = offset_min.astype(np.int64) * 60_000_000
    return np.where(said_at_us == NO_TIME, NO_TIME, said_at_us + shift).view("datetime64[us]")


def _row(connection: Connection, query: str, values: Sequence[object] = ()) -> tuple[Any, ...]:
    """The only row of a query that always has one."""
    (row,) = connection.execute(query, list(values)).fetchall()
    return tuple(row)


def check_session(connection: Connection, session_id: SessionId) -> None:
    """Demand that there is such a session.

    Raises:
        RecordNotFoundError: there is none.
    """
    if not connection.execute("SELECT 1 FROM session WHERE id = ?", [int(session_id)]).fetchone():
        raise _no_session(session_id)


def _no_session(session_id: SessionId) -> RecordNotFoundError:
    return RecordNotFoundError(
        f"there is no session {session_id}", hint="localmem sessions lists them"
    )
