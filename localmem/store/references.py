"""Whether every id in the memory is somebody's: a row with one that nothing has is an orphan.

It goes by names: a column `turn_id` holds ids of `turn`. So tables that come later are looked at
too; columns that hold several ids, or ids of several tables, are listed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from localmem.store import meta, vectors
from localmem.store.claims import GROUP, unfold
from localmem.types import Layer

_ID = "_id"
_VOICES = "SELECT id FROM participant UNION ALL SELECT voice_id FROM absorbed"
_LAYER_OWNERS = ((Layer.SUMMARY, "turn"), (Layer.FACTS, "session"), (Layer.NOTES, "message"))

_OTHER_NAMES = {
    "voice_id": _VOICES,
    "into_voice_id": _VOICES,
    "instead_voice_id": _VOICES,
    "supersedes": "SELECT id FROM item",
    "duplicate_of": "SELECT id FROM item",
    "ended_by": "SELECT id FROM message",
    "continues": "SELECT id FROM page",
    "cited_id": "SELECT id FROM message",
}
"""Columns whose name is not their table's."""

_CHILDLESS = (
    ("turn", "message"),
    ("session", "turn"),
    ("item", "item_source"),
    ("persona", "persona_member"),
    ("page", "page_message"),
    ("episode", "episode_page"),
    ("lasting", "lasting_source"),
)
"""A row of the first is nothing without a row of the second."""


_RAW = ("import", "conversation", "session", "turn", "message", "participant")
"""What is never removed for being an orphan: it may hold words that are nowhere else."""


@dataclass(frozen=True, slots=True)
class _Check:
    """Rows of a table that meet a condition are orphans; `place` says what they lack."""

    place: str
    table: str
    lost: str
    is_derived: bool = True


def orphans(connection: Connection) -> dict[str, int]:
    """Rows with an id that nothing has, by table and column; empty where all is well."""
    found = {
        check.place: _count(connection, check.table, check.lost) for check in _checks(connection)
    }
    found["vector_page.message_ids"] = len(_lost_vectors(connection))
    return {place: count for place, count in found.items() if count}


def remove_orphans(connection: Connection) -> None:
    """Remove those that were derived, and what then belongs to nothing; raw rows stay.

    Items that go are made anew of their claims, if these are still there.
    """
    while _remove_once(connection):
        pass
    vectors.erase(connection, _lost_vectors(connection))
    meta.forbid_replay(connection, meta.bump_generation(connection))


def _remove_once(connection: Connection) -> int:
    removed = 0
    for check in _checks(connection):
        if check.is_derived:
            if check.table == "item":  # it is made anew of its claims, which are taken already
                unfold(connection, f"({GROUP}) IN (SELECT ({GROUP}) FROM item WHERE {check.lost})")
            row = connection.execute(f"DELETE FROM {check.table} WHERE {check.lost}").fetchone()
            removed += 0 if row is None else int(row[0])
    return removed


def _checks(connection: Connection) -> Iterator[_Check]:
    yield from _by_name(connection)
    for table in ("layer_unit", "unread_reply"):
        for layer, owner in _LAYER_OWNERS:
            lost = f"layer = {int(layer)} AND unit_id NOT IN (SELECT id FROM {owner})"
            yield _Check(f"{table}.unit_id of {owner}", table, lost)
    for parent, child in _CHILDLESS:
        lost = f"id NOT IN (SELECT {parent}_id FROM {child})"
        yield _Check(f"{parent} without {child}", parent, lost)
    sources = "string_split(message_ids, chr(31))::BIGINT[]"
    gone = f"NOT list_has_all((SELECT coalesce(list(id), []) FROM message), {sources})"
    yield _Check("key_fact.message_ids", "key_fact", f"message_ids <> '' AND {gone}")


def _by_name(connection: Connection) -> Iterator[_Check]:
    columns = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE NOT internal AND data_type = 'BIGINT' ORDER BY table_name, column_name"
    ).fetchall()
    owners = {str(table) for table, column in columns if column == "id"}
    for table, column in columns:
        stem = str(column).removesuffix(_ID)
        known = _OTHER_NAMES.get(str(column))
        if known is not None or (stem != column and stem in owners):
            ids = known or f"SELECT id FROM {stem}"
            lost = f"{column} NOT IN ({ids})"
            yield _Check(f"{table}.{column}", str(table), lost, is_derived=table not in _RAW)


def _lost_vectors(connection: Connection) -> NDArray[np.int64]:
    stored = connection.execute("SELECT id FROM message").fetchnumpy()["id"]
    pages = connection.execute("SELECT message_ids FROM vector_page").fetchall()
    ids = np.frombuffer(b"".join(page for (page,) in pages), np.int64)
    return ids[~np.isin(ids, stored)]


def _count(connection: Connection, table: str, condition: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()
    return 0 if row is None else int(row[0])
