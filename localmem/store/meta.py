"""The few single values of a memory: schema version, generation, counters, embedder in use."""

from __future__ import annotations

from duckdb import DuckDBPyConnection as Connection

SCHEMA_VERSION = "schema_version"
GENERATION = "generation"
REPLAY_FLOOR = "replay_floor"
ACTIVE_EMBEDDER = "active_embedder"
REWRITE_PENDING = "rewrite_pending"


def get(connection: Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
    return None if row is None else str(row[0])


def get_int(connection: Connection, key: str) -> int:
    """The number under `key`; 0 where there is none."""
    return int(get(connection, key) or 0)


def put(connection: Connection, key: str, value: str | int | None) -> None:
    """Set `key`; None removes it."""
    if value is None:
        connection.execute("DELETE FROM meta WHERE key = ?", [key])
        return
    connection.execute(
        "INSERT INTO meta VALUES ($key, $value) ON CONFLICT (key) DO UPDATE SET value = $value",
        {"key": key, "value": str(value)},
    )


def bump_generation(connection: Connection) -> int:
    """Count one more change of what search would return; gives the new generation."""
    generation = get_int(connection, GENERATION) + 1
    put(connection, GENERATION, generation)
    return generation


def forbid_replay(connection: Connection, generation: int) -> None:
    """Searchers older than `generation` must reload: this change removes or hides messages."""
    put(connection, REPLAY_FLOOR, generation)


class Counter:
    """Hands out ids of one kind that no row ever had; `save` before the transaction ends."""

    def __init__(self, connection: Connection, kind: str) -> None:
        self._connection = connection
        self._key = f"last_{kind}_id"
        self.last = get_int(connection, self._key)
        self._saved = self.last

    def next(self) -> int:
        self.last += 1
        return self.last

    def save(self) -> None:
        if self.last != self._saved:
            put(self._connection, self._key, self.last)
            self._saved = self.last
