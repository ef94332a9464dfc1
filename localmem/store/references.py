"""Whether every id in the memory is somebody's: what nothing stands for is an orphan.

It goes by names: a column `turn_id` holds ids of `turn`. So tables that come later are looked at
too; columns that hold several ids, or ids of several tables, are listed here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from duckdb import DuckDBPyConnection as Connection

from localmem.types import Layer

_ID = "_id"
_VOICES = "SELECT id FROM participant UNION ALL SELECT voice_id FROM absorbed"
_LAYER_OWNERS = ((Layer.SUMMARY, "turn"), (Layer.FACTS, "session"), (Layer.NOTES, "message"))

_OTHER_NAMES = {"voice_id": _VOICES, "into_voice_id": _VOICES, "instead_voice_id": _VOICES}
"""Columns whose name is not their table's."""

_CHILDLESS = (("turn", "message"), ("session", "turn"))
"""A row of the first is nothing without a row of the second."""


def orphans(connection: Connection) -> dict[str, int]:
    """Rows with an id that is nobody's, by table and column; empty where all is well."""
    found = {
        **dict(_by_name(connection)),
        **dict(_layer_units(connection)),
        **dict(_without_children(connection)),
        "key_fact.message_ids": _sources_of_facts(connection),
        "vector_page.message_ids": _vectors(connection),
    }
    return {place: count for place, count in found.items() if count}


def _by_name(connection: Connection) -> Iterator[tuple[str, int]]:
    columns = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE NOT internal AND data_type = 'BIGINT' ORDER BY table_name, column_name"
    ).fetchall()
    owners = {str(table) for table, column in columns if column == "id"}
    for table, column in columns:
        stem = str(column).removesuffix(_ID)
        known = _OTHER_NAMES.get(str(column))
        if known is None and (stem == column or stem not in owners):
            continue
        ids = known or f"SELECT id FROM {stem}"
        yield f"{table}.{column}", _count(connection, str(table), f"{column} NOT IN ({ids})")


def _layer_units(connection: Connection) -> Iterator[tuple[str, int]]:
    for table in ("layer_unit", "unread_reply"):
        for layer, owner in _LAYER_OWNERS:
            lost = f"layer = {int(layer)} AND unit_id NOT IN (SELECT id FROM {owner})"
            yield f"{table}.unit_id of {owner}", _count(connection, table, lost)


def _without_children(connection: Connection) -> Iterator[tuple[str, int]]:
    for parent, child in _CHILDLESS:
        lost = f"id NOT IN (SELECT {parent}_id FROM {child})"
        yield f"{parent} without {child}", _count(connection, parent, lost)


def _sources_of_facts(connection: Connection) -> int:
    return _count(
        connection,
        "(SELECT unnest(string_split(message_ids, chr(31))) AS source FROM key_fact "
        "WHERE message_ids <> '')",
        "source::BIGINT NOT IN (SELECT id FROM message)",
    )


def _vectors(connection: Connection) -> int:
    stored = connection.execute("SELECT id FROM message").fetchnumpy()["id"]
    pages = connection.execute("SELECT message_ids FROM vector_page").fetchall()
    ids = np.frombuffer(b"".join(page for (page,) in pages), np.int64)
    return int((~np.isin(ids, stored)).sum())


def _count(connection: Connection, table: str, condition: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()
    return 0 if row is None else int(row[0])
