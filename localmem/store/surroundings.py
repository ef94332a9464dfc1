"""The messages around a node of the graph, in the order of time: enough of them for its edges.

The whole graph of a large memory takes seconds; what one node is tied to stands near it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection as Connection

from localmem.store.batches import id_set
from localmem.store.cells import parts
from localmem.types import MessageId, ParticipantId, SessionId

_IN_TIME = """
WITH began AS (
    SELECT session_id, min(said_at) AS moment FROM message WHERE on_path GROUP BY session_id),
ordered AS (
    SELECT m.id, m.session_id, m.participant_id, m.turn_id, row_number() OVER (
        ORDER BY b.moment IS NULL, b.moment, m.session_id, m.ordinal, m.id) AS place
    FROM message m JOIN began b USING (session_id) WHERE m.on_path),
owned AS (
    SELECT *, row_number() OVER (PARTITION BY participant_id ORDER BY place) AS own FROM ordered)
"""
_ROWS = """
SELECT o.id, o.session_id, o.participant_id, coalesce(s.keywords, '')
FROM owned o LEFT JOIN turn_summary s USING (turn_id)
"""


@dataclass(frozen=True, slots=True)
class NearMessage:
    """A message near a node; `keywords` are those of its turn."""

    id: MessageId
    session_id: SessionId
    participant_id: ParticipantId
    keywords: tuple[str, ...]


def around(
    connection: Connection, ids: Iterable[MessageId], *, reach: int
) -> tuple[NearMessage, ...]:
    """The messages of the sessions of these, and up to `reach` of each speaker on either side."""
    with id_set(connection, ids) as wanted:
        return _near(
            connection,
            f"WHERE EXISTS (SELECT 1 FROM owned c WHERE c.id IN {wanted} AND ("
            "o.session_id = c.session_id OR (o.participant_id = c.participant_id "
            f"AND abs(o.own - c.own) <= {int(reach)})))",
        )


def these(connection: Connection, ids: Iterable[MessageId]) -> tuple[NearMessage, ...]:
    """These messages alone, as far as they are shown."""
    with id_set(connection, ids) as wanted:
        return _near(connection, f"WHERE o.id IN {wanted}")


def on_topic(connection: Connection, topic: str) -> tuple[NearMessage, ...]:
    """All messages whose turn has this keyword, whatever its case."""
    turns = [
        int(turn)
        for turn, keywords in connection.execute(
            "SELECT turn_id, keywords FROM turn_summary WHERE keywords <> ''"
        ).fetchall()
        if topic in {word.casefold() for word in parts(keywords)}
    ]
    with id_set(connection, turns) as wanted:
        return _near(connection, f"WHERE o.turn_id IN {wanted}")


def topics_with(connection: Connection, part: str, *, most: int) -> Sequence[str]:
    """Case-folded keywords that hold a text, those of most turns first."""
    rows = connection.execute(
        "SELECT keyword, count(*) AS turns FROM (SELECT DISTINCT turn_id, "
        "lower(unnest(string_split(keywords, chr(31)))) AS keyword FROM turn_summary) "
        "WHERE contains(keyword, ?) GROUP BY keyword ORDER BY turns DESC, keyword LIMIT ?",
        [part.lower(), most],
    ).fetchall()
    return list(dict.fromkeys(str(word).casefold() for word, _ in rows))


def _near(connection: Connection, condition: str) -> tuple[NearMessage, ...]:
    rows = connection.execute(f"{_IN_TIME} {_ROWS} {condition} ORDER BY o.place").fetchall()
    return tuple(
        NearMessage(
            MessageId(int(number)), SessionId(int(session)), ParticipantId(int(whose)), parts(words)
        )
        for number, session, whose, words in rows
    )
