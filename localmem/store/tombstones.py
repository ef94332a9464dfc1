"""Marks of what was forgotten, so that the same export does not bring it back.

A mark is a hash of the ids that the source itself gave; of the text nothing is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from localmem.store.batches import id_set, load, storable
from localmem.store.cells import BETWEEN
from localmem.types import ImportedConversation


def create_tables(connection: Connection) -> None:
    """A part of a step of the schema."""
    connection.execute("CREATE TABLE forgotten (digest VARCHAR)")


class Tombstones:
    """All marks, as an import asks for them."""

    def __init__(self, connection: Connection) -> None:
        rows = connection.execute("SELECT digest FROM forgotten").fetchall()
        self._digests = frozenset(str(digest) for (digest,) in rows)

    def without_forgotten(self, conversation: ImportedConversation) -> ImportedConversation:
        """The conversation as far as it may come in."""
        if not self._digests:
            return conversation
        keys = (conversation.source, conversation.source_id)
        kept = tuple(
            message
            for message in conversation.messages
            if _message_digest(*keys, message.source_id) not in self._digests
        )
        keeps_title = _title_digest(*keys) not in self._digests
        if len(kept) == len(conversation.messages) and keeps_title:
            return conversation
        title = conversation.title if keeps_title else ""
        return replace(conversation, messages=kept, title=title)


def put_messages(connection: Connection, ids: NDArray[np.int64]) -> int:
    """Mark stored messages, which are about to be erased; gives how many were marked."""
    with id_set(connection, ids) as wanted:
        rows = connection.execute(
            "SELECT c.source, c.source_id, m.source_id FROM message m "
            f"JOIN conversation c ON c.id = m.conversation_id WHERE m.id IN {wanted}"
        ).fetchall()
    _put(connection, [_message_digest(*map(str, row)) for row in rows])
    return len(rows)


def put_titles(connection: Connection, conversations: Iterable[int]) -> None:
    """Mark the titles of stored conversations."""
    with id_set(connection, conversations) as wanted:
        rows = connection.execute(
            f"SELECT source, source_id FROM conversation WHERE id IN {wanted}"
        ).fetchall()
    _put(connection, [_title_digest(*map(str, row)) for row in rows])


def lift(connection: Connection, conversations: Iterable[ImportedConversation]) -> None:
    """Take the marks of these conversations and their messages away."""
    digests = []
    for one in conversations:
        digests.append(_title_digest(one.source, one.source_id))
        digests += [_message_digest(one.source, one.source_id, m.source_id) for m in one.messages]
    load(
        connection,
        "DELETE FROM forgotten WHERE digest IN (SELECT digest FROM {batch})",
        numbers={"number": range(len(digests))},
        texts={"digest": digests},
    )


def _put(connection: Connection, digests: list[str]) -> None:
    load(
        connection,
        "INSERT INTO forgotten SELECT DISTINCT digest FROM {batch} "
        "ANTI JOIN forgotten USING (digest)",
        numbers={"number": range(len(digests))},
        texts={"digest": digests},
    )


def _message_digest(source: str, conversation: str, message: str) -> str:
    return _digest("message", source, conversation, message)


def _title_digest(source: str, conversation: str) -> str:
    return _digest("title", source, conversation)


def _digest(*parts: str) -> str:
    return hashlib.sha256(storable(BETWEEN.join(parts)).encode()).hexdigest()
