"""The record of imports, and taking one back."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from localmem.errors import RecordNotFoundError
from localmem.store import erasing, item_erasing, layers, meta, talks, tiers
from localmem.types import ImportId, ImportProblem, ImportReport

_LIST = """
SELECT i.id, i.path, i.source, epoch_us(i.started_at), i.finished, i.undone, i.conversations_seen,
    i.conversations_added, i.conversations_grown, i.messages_known, i.problems,
    count(m.id), count(DISTINCT m.turn_id), count(m.id) FILTER (m.said_at IS NULL),
    (SELECT count(*) FROM conversation c WHERE c.import_id = i.id)
FROM import i LEFT JOIN message m ON m.import_id = i.id
GROUP BY ALL ORDER BY i.id DESC
"""

_SESSIONS_SHOWING_ANOTHER = """
SELECT session_id FROM message WHERE id IN
    (SELECT message_id FROM path_change WHERE import_id = {number})
"""


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
    check(connection, report.import_id)
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
    check(connection, import_id)
    shown_again = take_back_changes(connection, import_id)
    ids = talks.with_replies(connection, messages_of(connection, import_id))
    counts = erasing.erase_messages(connection, ids)
    for name, count in shown_again.items():
        counts[name] += count
    return counts


def messages_of(connection: Connection, import_id: ImportId) -> NDArray[np.int64]:
    """int64: the messages that an import added."""
    found = connection.execute("SELECT id FROM message WHERE import_id = ?", [int(import_id)])
    return np.asarray(found.fetchnumpy()["id"], np.int64)


def take_back_changes(connection: Connection, import_id: ImportId) -> dict[str, int]:
    """Undo what an import changed of what was there before it, and mark it as undone.

    Gives counts of the derived rows that are wrong now, which are removed.
    """
    number = int(import_id)
    changed = _SESSIONS_SHOWING_ANOTHER.format(number=number)
    counts = layers.erase_sessions(connection, changed)
    counts["summaries"] = erasing.delete(
        connection,
        "turn_summary",
        "turn_id IN (SELECT m.turn_id FROM message m JOIN path_change c ON c.message_id = m.id "
        f"WHERE c.import_id = {number})",
    )
    those = f"(SELECT message_id FROM path_change WHERE import_id = {number})"
    item_erasing.drop(connection, those)
    tiers.erase(connection, those)
    connection.execute(
        "UPDATE message SET on_path = c.was_on_path FROM path_change c "
        "WHERE c.import_id = ? AND c.message_id = message.id",
        [number],
    )
    connection.execute("DELETE FROM path_change WHERE import_id = ?", [number])
    connection.execute("DELETE FROM conversation_title WHERE import_id = ?", [number])
    connection.execute("UPDATE import SET undone = true, problems = '[]' WHERE id = ?", [number])
    return counts


def check(connection: Connection, import_id: ImportId) -> None:
    """Demand that there is such an import.

    Raises:
        RecordNotFoundError: there is none.
    """
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
