"""Derived lines that name somebody: gone when that name no longer holds, and made anew.

L0 lines, facts and notes name who speaks. After a merge, a split or a change of the owner those of
the sessions concerned are dropped, and every running program reads its index anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from duckdb import DuckDBPyConnection as Connection

from localmem.store import item_erasing, layers, meta
from localmem.store.batches import id_set


def drop_lines_of(connection: Connection, participant: int) -> None:
    """Drop what was derived from the sessions in which a participant speaks."""
    own = f"FROM message WHERE participant_id = {int(participant)}"
    _drop(connection, f"SELECT session_id {own}")
    item_erasing.drop(connection, f"(SELECT id {own})")


def drop_lines_with(connection: Connection, message_ids: Sequence[int]) -> int:
    """Drop what was derived from the sessions of these messages; how many sessions there are."""
    with id_set(connection, message_ids) as wanted:
        query = f"SELECT session_id FROM message WHERE id IN {wanted}"
        _drop(connection, query)
        item_erasing.drop(connection, wanted)
        row = connection.execute(f"SELECT count(DISTINCT session_id) FROM ({query})").fetchone()
    return 0 if row is None else int(row[0])


def demand_reload(connection: Connection) -> None:
    """Every program that has an index in memory must read it anew; stored ones are of no use."""
    connection.execute("DELETE FROM index_snapshot")
    meta.forbid_replay(connection, meta.bump_generation(connection))


def _drop(connection: Connection, sessions: str) -> None:
    layers.erase_sessions(connection, sessions)
    connection.execute(
        "DELETE FROM turn_summary WHERE turn_id IN "
        f"(SELECT id FROM turn WHERE session_id IN ({sessions}))"
    )
