"""The owner's conversations with the memory itself: what each reply rests on.

A reply repeats what was recalled for it, so that it goes with any message that it cites.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from localmem.errors import RecordNotFoundError
from localmem.store.batches import id_set, load
from localmem.types import OWN_CHAT, MessageId, SessionId

_SCHEMA = "CREATE TABLE citation (message_id BIGINT, cited_id BIGINT, place INTEGER);"


def create_tables(connection: Connection) -> None:
    """The step of the schema that brings citations of replies."""
    connection.execute(_SCHEMA)


def put(connection: Connection, reply: MessageId, cited: Sequence[MessageId]) -> None:
    """Note what a reply rests on; messages that are gone are left out."""
    load(
        connection,
        "INSERT INTO citation SELECT message_id, cited_id, place FROM {batch} "
        "SEMI JOIN (SELECT id AS cited_id FROM message) USING (cited_id)",
        numbers={
            "message_id": [int(reply)] * len(cited),
            "cited_id": [int(number) for number in cited],
            "place": range(len(cited)),
        },
    )


def cited_by(
    connection: Connection, ids: Iterable[MessageId]
) -> Mapping[MessageId, tuple[MessageId, ...]]:
    """The messages that each of these replies rests on; those that rest on none are absent."""
    with id_set(connection, map(int, ids)) as wanted:
        rows = connection.execute(
            "SELECT message_id, cited_id FROM citation "
            f"WHERE message_id IN {wanted} ORDER BY message_id, place"
        ).fetchall()
    found: dict[MessageId, tuple[MessageId, ...]] = {}
    for reply, cited in rows:
        number = MessageId(int(reply))
        found[number] = (*found.get(number, ()), MessageId(int(cited)))
    return found


def with_replies(connection: Connection, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64, sorted: these messages, and the replies that rest on any of them."""
    with id_set(connection, ids) as those:
        found = connection.execute(
            f"SELECT DISTINCT message_id AS id FROM citation WHERE cited_id IN {those}"
        ).fetchnumpy()
    return np.unique(np.concatenate([ids, np.asarray(found["id"], np.int64)]))


def erase(connection: Connection, messages: str) -> None:
    """Remove what is noted of messages that are about to go; `messages` stands behind IN."""
    connection.execute(
        f"DELETE FROM citation WHERE message_id IN {messages} OR cited_id IN {messages}"
    )


def source_id(connection: Connection, session: SessionId) -> str:
    """The id under which the conversation of such a session goes on.

    Raises:
        RecordNotFoundError: there is no such session, or it is of another source.
    """
    row = connection.execute(
        "SELECT c.source_id FROM conversation c JOIN session s ON s.conversation_id = c.id "
        "WHERE s.id = ? AND c.source = ?",
        [int(session), OWN_CHAT],
    ).fetchone()
    if row is None:
        raise RecordNotFoundError(
            f"session {session} is no conversation with this memory",
            hint=f"localmem sessions --source {OWN_CHAT}",
        )
    return str(row[0])
