"""The record of imports, and taking one back."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from localmem.errors import RecordNotFoundError
from localmem.store import layers, meta, vectors
from localmem.types import ErasureReceipt, ImportId, ImportProblem, ImportReport

_LIST = """
SELECT i.id, i.path, i.source, epoch_us(i.started_at), i.finished, i.undone, i.conversations_seen,
    i.conversations_added, i.conversations_grown, i.messages_known, i.problems,
    count(m.id), count(DISTINCT m.turn_id), count(m.id) FILTER (m.said_at IS NULL),
    (SELECT count(*) FROM conversation c WHERE c.import_id = i.id)
FROM import i LEFT JOIN message m ON m.import_id = i.id
GROUP BY ALL ORDER BY i.id DESC
"""

_SESSIONS_CHANGED = """
SELECT session_id FROM message WHERE import_id = {number} OR id IN
    (SELECT message_id FROM path_change WHERE import_id = {number})
"""

# In this order: each line finds what the lines before it have left without an owner.
_ORPHANS = (
    ("turns", "turn", "id NOT IN (SELECT turn_id FROM message)"),
    ("sessions", "session", "id NOT IN (SELECT session_id FROM turn)"),
    ("uses", "session_use", "session_id NOT IN (SELECT id FROM session)"),
    ("conversations", "conversation", "id NOT IN (SELECT conversation_id FROM session)"),
    ("titles", "conversation_title", "conversation_id NOT IN (SELECT id FROM conversation)"),
    (
        "participants",
        "participant",
        "id NOT IN (SELECT participant_id FROM message) AND (NOT is_owner OR is_placeholder)",
    ),
    ("aliases", "alias", "participant_id NOT IN (SELECT id FROM participant)"),
    ("dates", "resolved_date", "message_id NOT IN (SELECT id FROM message)"),
    ("paths", "path_change", "message_id NOT IN (SELECT id FROM message)"),
)


def begin(connection: Connection, path: str, source: str, started_at: datetime) -> ImportId:
    """Note that an import has begun."""
    counters = meta.Counters(connection)
    number = counters.next("import")
    counters.save()
    connection.execute(
        "INSERT INTO import VALUES (?, ?, ?, ?, false, false, 0, 0, 0, 0, '[]')",
        [number, path, source, started_at],
    )
    return ImportId(number)


def finish(connection: Connection, report: ImportReport) -> None:
    """Note what an import did.

    Raises:
        RecordNotFoundError: the report's import was never begun.
    """
    if report.import_id is None:
        raise RecordNotFoundError("the report names no import")
    _check(connection, report.import_id)
    connection.execute(
        "UPDATE import SET source = ?, finished = ?, conversations_seen = ?, "
        "conversations_added = ?, conversations_grown = ?, messages_known = ?, problems = ? "
        "WHERE id = ?",
        [
            report.source,
            report.complete,
            report.conversations_seen,
            report.conversations_added,
            report.conversations_grown,
            report.messages_known,
            json.dumps([asdict(problem) for problem in report.problems]),
            int(report.import_id),
        ],
    )


def list_all(connection: Connection) -> tuple[ImportReport, ...]:
    """All imports, newest first; one that was cut short counts what it has stored."""
    return tuple(map(_report, connection.execute(_LIST).fetchall()))


def erase(connection: Connection, import_id: ImportId) -> dict[str, int]:
    """Remove what an import added and all that was derived from it; gives counts of rows.

    Branches that it hid are shown again, titles that it changed are as before.

    Raises:
        RecordNotFoundError: there is no such import.
    """
    _check(connection, import_id)
    number = int(import_id)
    gone = connection.execute("SELECT id FROM message WHERE import_id = ?", [number]).fetchnumpy()
    counts = {"vectors": vectors.erase(connection, gone["id"])}
    counts |= layers.erase_sessions(connection, _SESSIONS_CHANGED.format(number=number))
    _restore_path(connection, number)
    counts["summaries"] = _delete(
        connection,
        "turn_summary",
        "turn_id IN (SELECT turn_id FROM message WHERE import_id = $import_id)",
        number,
    )
    counts["messages"] = _delete(connection, "message", "import_id = $import_id", number)
    _delete(connection, "conversation_title", "import_id = $import_id", number)
    for name, table, condition in _ORPHANS:
        counts[name] = _delete(connection, table, condition)
    counts["snapshots"] = _delete(connection, "index_snapshot", "true")
    connection.execute("UPDATE import SET undone = true, problems = '[]' WHERE id = ?", [number])
    meta.forbid_replay(connection, meta.bump_generation(connection))
    meta.put(connection, meta.REWRITE_PENDING, "erased rows")
    return counts


def receipt(counts: dict[str, int], *, bytes_before: int, bytes_after: int) -> ErasureReceipt:
    """The receipt for what `erase` counted."""
    return ErasureReceipt(
        messages=counts["messages"],
        turns=counts["turns"],
        sessions=counts["sessions"],
        conversations=counts["conversations"],
        participants=counts["participants"],
        summaries=counts["summaries"],
        dates=counts["dates"],
        vectors=counts["vectors"],
        facts=counts["facts"],
        notes=counts["notes"],
        replies=counts["replies"],
        snapshots=counts["snapshots"],
        bytes_before=bytes_before,
        bytes_after=bytes_after,
    )


def _restore_path(connection: Connection, import_id: int) -> None:
    connection.execute(
        "DELETE FROM turn_summary WHERE turn_id IN (SELECT m.turn_id FROM message m "
        "JOIN path_change c ON c.message_id = m.id WHERE c.import_id = ?)",
        [import_id],
    )
    connection.execute(
        "UPDATE message SET on_path = c.was_on_path FROM path_change c "
        "WHERE c.import_id = ? AND c.message_id = message.id",
        [import_id],
    )
    connection.execute("DELETE FROM path_change WHERE import_id = ?", [import_id])


def _delete(connection: Connection, table: str, condition: str, import_id: int = 0) -> int:
    parameters = {"import_id": import_id} if "$import_id" in condition else {}
    row = connection.execute(f"DELETE FROM {table} WHERE {condition}", parameters).fetchone()
    return 0 if row is None else int(row[0])


def _check(connection: Connection, import_id: ImportId) -> None:
    if not connection.execute("SELECT 1 FROM import WHERE id = ?", [int(import_id)]).fetchone():
        raise RecordNotFoundError(
            f"there is no import {import_id}", hint="localmem imports list shows them"
        )


def _report(row: tuple[Any, ...]) -> ImportReport:
    return ImportReport(
        import_id=ImportId(row[0]),
        path=row[1],
        source=row[2],
        started_at=datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row[3]),
        complete=bool(row[4]),
        undone=bool(row[5]),
        conversations_seen=row[6],
        conversations_added=max(row[7], row[14]),
        conversations_grown=row[8],
        messages_known=row[9],
        problems=tuple(ImportProblem(**problem) for problem in json.loads(row[10])),
        messages_added=row[11],
        turns_added=row[12],
        without_time=row[13],
    )
