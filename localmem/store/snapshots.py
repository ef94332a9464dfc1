"""Indexes as bytes, stamped with what they were made from. Derived: never the only copy."""

from __future__ import annotations

import hashlib

from duckdb import DuckDBPyConnection as Connection

from localmem.errors import StaleIndexError
from localmem.types import IndexSnapshot


def put(connection: Connection, snapshot: IndexSnapshot) -> None:
    """Store the snapshot in place of the one of the same name and model."""
    connection.execute(
        "DELETE FROM index_snapshot WHERE name = ? AND model_id = ?",
        [snapshot.name, snapshot.model_id],
    )
    connection.execute(
        "INSERT INTO index_snapshot VALUES (?, ?, ?, ?, ?, ?)",
        [
            snapshot.name,
            snapshot.generation,
            snapshot.model_id,
            snapshot.dimension,
            hashlib.sha256(snapshot.content).hexdigest(),
            snapshot.content,
        ],
    )


def get(connection: Connection, name: str, model_id: str) -> IndexSnapshot | None:
    """The snapshot of this name and model; None where there is none.

    Raises:
        StaleIndexError: its bytes are not those that were stored; build the index anew.
    """
    row = connection.execute(
        "SELECT generation, dimension, sha256, content FROM index_snapshot "
        "WHERE name = ? AND model_id = ?",
        [name, model_id],
    ).fetchone()
    if row is None:
        return None
    generation, dimension, expected, content = int(row[0]), int(row[1]), str(row[2]), bytes(row[3])
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        raise StaleIndexError(
            f"the snapshot {name!r} has sha256 {actual}, stored was {expected}",
            hint="the index is built anew from the stored messages",
        )
    return IndexSnapshot(
        name=name, generation=generation, model_id=model_id, dimension=dimension, content=content
    )
