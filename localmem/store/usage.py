"""How often each session was opened: for an answer, or to be read. It orders background work.

Counts and nothing else: not when, not for which question.
"""

from __future__ import annotations

from collections.abc import Mapping

from duckdb import DuckDBPyConnection as Connection

from localmem.store.batches import load
from localmem.types import SessionId


def create_tables(connection: Connection) -> None:
    """The third step of the schema."""
    connection.execute("CREATE TABLE session_use (session_id BIGINT, opened BIGINT)")


def count(connection: Connection, opened: Mapping[SessionId, int]) -> None:
    """Add to the counts; sessions that are gone are left out."""
    before = counts(connection)
    ids = [int(number) for number in opened]
    load(
        connection,
        "DELETE FROM session_use WHERE session_id IN (SELECT session_id FROM {batch})",
        numbers={"session_id": ids},
    )
    load(
        connection,
        "INSERT INTO session_use SELECT session_id, opened FROM {batch} "
        "SEMI JOIN (SELECT id AS session_id FROM session) USING (session_id)",
        numbers={
            "session_id": ids,
            "opened": [before.get(number, 0) + times for number, times in opened.items()],
        },
    )


def counts(connection: Connection) -> Mapping[SessionId, int]:
    """How often each session was opened; those that never were are absent."""
    rows = connection.execute("SELECT session_id, opened FROM session_use").fetchall()
    return {SessionId(int(number)): int(opened) for number, opened in rows}
