"""What search reads of L1: its words with their sources, and its vectors, a page a session.

A session's L1 is stored whole, and so are its vectors. A mark tells one making of it from the
next: a page is of use for the mark it was made for alone, and a searcher reads only the sessions
whose mark it does not know.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from localmem.store import meta
from localmem.store.batches import id_set
from localmem.store.cells import parts
from localmem.types import Layer, MessageId, SessionId

FACTS_MARK = "facts_mark"
"""Counts the makings of L1 and their going."""

_SCHEMA = f"""
CREATE TABLE fact_mark (session_id BIGINT, mark BIGINT);
CREATE TABLE fact_page (
    session_id BIGINT, mark BIGINT, model_id VARCHAR, dimension INTEGER, positions BLOB,
    unit_rows BLOB);
INSERT INTO fact_mark SELECT DISTINCT unit_id, 0 FROM layer_unit WHERE layer = {int(Layer.FACTS)};
"""
_WITHOUT_PAGE = """
SELECT session_id FROM fact_mark ANTI JOIN
    (SELECT session_id, mark FROM fact_page WHERE model_id = ?) USING (session_id, mark)
ORDER BY session_id
"""


@dataclass(frozen=True, slots=True)
class FactText:
    """A fact as search reads it: its place in the session's L1, its words, and its sources."""

    position: int
    text: str
    message_ids: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True)
class FactTexts:
    """The facts of one session in their order, without those that a source check marked.

    `mark` tells this making of them from others.
    """

    session_id: SessionId
    mark: int
    facts: tuple[FactText, ...]


@dataclass(frozen=True, slots=True)
class FactVectors:
    """Vectors of one session's facts for one `mark`: `rows` float32 (n, dimension), unit rows.

    `positions` int32 (n,); a long fact has several rows.
    """

    session_id: SessionId
    mark: int
    model_id: str
    positions: NDArray[np.int32]
    rows: NDArray[np.float32]


def create_tables(connection: Connection) -> None:
    """A step of the schema; L1 that is there already is found too."""
    connection.execute(_SCHEMA)


def renew(connection: Connection, session_id: int) -> None:
    """The L1 of a session was stored: a new mark, and no page."""
    forget(connection, str(int(session_id)))
    connection.execute(
        "INSERT INTO fact_mark SELECT id, ? FROM session WHERE id = ?",
        [_bump(connection), int(session_id)],
    )


def forget(connection: Connection, sessions: str) -> None:
    """The L1 of the sessions that the subquery or list `sessions` names is gone."""
    connection.execute(f"DELETE FROM fact_page WHERE session_id IN ({sessions})")
    gone = connection.execute(f"DELETE FROM fact_mark WHERE session_id IN ({sessions})").fetchone()
    if gone is not None and gone[0]:
        _bump(connection)


def marks(connection: Connection) -> Mapping[SessionId, int]:
    """The sessions that have L1, each with the mark of its making."""
    rows = connection.execute("SELECT session_id, mark FROM fact_mark").fetchall()
    return {SessionId(int(number)): int(mark) for number, mark in rows}


def texts(connection: Connection, sessions: Collection[SessionId]) -> tuple[FactTexts, ...]:
    """The facts of those of the sessions that have L1."""
    found: dict[int, list[FactText]] = {}
    with id_set(connection, sessions) as wanted:
        known = connection.execute(
            f"SELECT session_id, mark FROM fact_mark WHERE session_id IN {wanted} ORDER BY ALL"
        ).fetchall()
        rows = connection.execute(
            "SELECT session_id, position, text, message_ids FROM key_fact "
            f"WHERE missing = '' AND session_id IN {wanted} ORDER BY session_id, position"
        ).fetchall()
    for number, position, text, ids in rows:
        sources = tuple(MessageId(int(part)) for part in parts(ids))
        found.setdefault(int(number), []).append(FactText(int(position), str(text), sources))
    return tuple(
        FactTexts(SessionId(int(number)), int(mark), tuple(found.get(int(number), ())))
        for number, mark in known
    )


def pages(
    connection: Connection, sessions: Collection[SessionId], model_id: str
) -> tuple[FactVectors, ...]:
    """The vectors of sessions by one embedder, as far as they were made for the present L1."""
    with id_set(connection, sessions) as wanted:
        rows = connection.execute(
            "SELECT session_id, mark, dimension, positions, unit_rows FROM fact_page "
            "SEMI JOIN fact_mark USING (session_id, mark) "
            f"WHERE model_id = ? AND session_id IN {wanted} ORDER BY session_id",
            [model_id],
        ).fetchall()
    return tuple(
        FactVectors(
            SessionId(int(number)),
            int(mark),
            model_id,
            np.frombuffer(positions, np.int32),
            np.frombuffer(unit_rows, np.float32).reshape(-1, int(dimension)),
        )
        for number, mark, dimension, positions, unit_rows in rows
    )


def without_page(connection: Connection, model_id: str) -> tuple[SessionId, ...]:
    """The sessions whose L1 has no vectors of this embedder."""
    rows = connection.execute(_WITHOUT_PAGE, [model_id]).fetchall()
    return tuple(SessionId(int(number)) for (number,) in rows)


def put_page(connection: Connection, vectors: FactVectors) -> None:
    """Store the vectors of a session's facts; nothing where its L1 is another by now."""
    number = int(vectors.session_id)
    known = connection.execute(
        "SELECT 1 FROM fact_mark WHERE session_id = ? AND mark = ?", [number, vectors.mark]
    ).fetchone()
    if known is None:
        return
    connection.execute(
        "DELETE FROM fact_page WHERE session_id = ? AND model_id = ?", [number, vectors.model_id]
    )
    connection.execute(
        "INSERT INTO fact_page VALUES (?, ?, ?, ?, ?, ?)",
        [
            number,
            vectors.mark,
            vectors.model_id,
            vectors.rows.shape[1],
            vectors.positions.tobytes(),
            vectors.rows.tobytes(),
        ],
    )
    _bump(connection)


def drop(connection: Connection, model_id: str) -> None:
    """Remove all vectors of an embedder."""
    connection.execute("DELETE FROM fact_page WHERE model_id = ?", [model_id])
    _bump(connection)


def _bump(connection: Connection) -> int:
    mark = meta.get_int(connection, FACTS_MARK) + 1
    meta.put(connection, FACTS_MARK, mark)
    return mark
