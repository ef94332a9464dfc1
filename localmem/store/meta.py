"""The few single values of a memory: schema version, generation, counters, embedder in use."""

from __future__ import annotations

from duckdb import DuckDBPyConnection as Connection

SCHEMA_VERSION = "schema_version"
GENERATION = "generation"
REPLAY_FLOOR = "replay_floor"
ACTIVE_EMBEDDER = "active_embedder"
REWRITE_PENDING = "rewrite_pending"

_LAST_ID = "last_id_of_"


def get_all(connection: Connection) -> dict[str, str]:
    """All values by key. There are a dozen: reading all is faster than a query with a parameter."""
    rows = connection.execute("SELECT key, value FROM meta").fetchall()
    return {str(key): str(value) for key, value in rows}


def get(connection: Connection, key: str) -> str | None:
    return get_all(connection).get(key)


def get_int(connection: Connection, key: str) -> int:
    """The number under `key`; 0 where there is none."""
    return int(get(connection, key) or 0)


def put(connection: Connection, key: str, value: str | int | None) -> None:
    """Set `key`; None removes it."""
    if value is None:
        connection.execute("DELETE FROM meta WHERE key = ?", [key])
        return
    # An upsert on a primary key does the same and takes five times as long.
    changed = connection.execute("UPDATE meta SET value = ? WHERE key = ?", [str(value), key])
    if changed.fetchall() == [(0,)]:
        connection.execute("INSERT INTO meta VALUES (?, ?)", [key, str(value)])


def bump_generation(connection: Connection) -> int:
    """Count one more change of what search would return; gives the new generation."""
    generation = get_int(connection, GENERATION) + 1
    put(connection, GENERATION, generation)
    return generation


def forbid_replay(connection: Connection, generation: int) -> None:
    """Searchers older than `generation` must reload: this change removes or hides messages."""
    put(connection, REPLAY_FLOOR, generation)


def has_lost_since(connection: Connection, seen: int | None) -> bool:
    """Whether messages were removed, hidden or given to others since the generation `seen`.

    What was derived from what was read then may tell of them. None: nobody asks.
    """
    return seen is not None and seen < get_int(connection, REPLAY_FLOOR)


class Counters:
    """Hands out ids that no row ever had, by kind of row; `save` before the transaction ends."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        values = get_all(connection)
        self._saved = {k: int(v) for k, v in values.items() if k.startswith(_LAST_ID)}
        self._last = dict(self._saved)

    def last(self, kind: str) -> int:
        """The id that was handed out last; 0 before the first."""
        return self._last.get(_LAST_ID + kind, 0)

    def next(self, kind: str) -> int:
        key = _LAST_ID + kind
        number = self._last.get(key, 0) + 1
        self._last[key] = number
        return number

    def save(self) -> None:
        for key, number in self._last.items():
            if self._saved.get(key) != number:
                put(self._connection, key, number)
        self._saved = dict(self._last)
