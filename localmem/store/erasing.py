"""Taking messages out of a memory with every row that was derived from them. The only such place.

Rows only: the file's bytes are gone when it is rewritten, for which a mark is left.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from localmem.store import item_erasing, layers, meta, talks, tiers, tombstones, vectors, voices
from localmem.store.batches import id_set
from localmem.types import ErasureReceipt

_TITLE_ENDS = " .…\t\n"

# In this order: each line finds what the lines before it have left without an owner.
_ORPHANS = (
    ("turns", "turn", "id NOT IN (SELECT turn_id FROM message)"),
    ("sessions", "session", "id NOT IN (SELECT session_id FROM turn)"),
    ("uses", "session_use", "session_id NOT IN (SELECT id FROM session)"),
    ("conversations", "conversation", "id NOT IN (SELECT conversation_id FROM session)"),
    ("title rows", "conversation_title", "conversation_id NOT IN (SELECT id FROM conversation)"),
    (
        "participants",
        "participant",
        "id NOT IN (SELECT participant_id FROM message) AND (NOT is_owner OR is_placeholder)",
    ),
    ("aliases", "alias", "participant_id NOT IN (SELECT id FROM participant)"),
    ("dates", "resolved_date", "message_id NOT IN (SELECT id FROM message)"),
    ("paths", "path_change", "message_id NOT IN (SELECT id FROM message)"),
)


def erase_messages(connection: Connection, ids: NDArray[np.int64]) -> dict[str, int]:
    """Remove messages and all that rests on them; gives counts of rows by kind.

    A line of L0 may have been written with its neighbours in view, a note rests on the message
    before its own, a fact on the whole session: a session that loses a message loses all of them.
    """
    counts = {"vectors": vectors.erase(connection, ids)}
    with id_set(connection, ids) as those:
        sessions = f"SELECT session_id FROM message WHERE id IN {those}"
        counts |= layers.erase_sessions(connection, sessions)
        counts["summaries"] = delete(
            connection,
            "turn_summary",
            f"turn_id IN (SELECT id FROM turn WHERE session_id IN ({sessions}))",
        )
        counts |= item_erasing.erase(connection, those)
        counts |= tiers.erase(connection, those)
        talks.erase(connection, those)
        counts["messages"] = delete(connection, "message", f"id IN {those}")
    return counts | sweep(connection)


def sweep(connection: Connection) -> dict[str, int]:
    """Remove what has lost what it belongs to; gives counts of rows by kind."""
    counts = {name: delete(connection, table, lost) for name, table, lost in _ORPHANS}
    voices.sweep(connection)
    item_erasing.sweep(connection)
    counts["snapshots"] = delete(connection, "index_snapshot", "true")
    meta.forbid_replay(connection, meta.bump_generation(connection))
    meta.put(connection, meta.REWRITE_PENDING, "erased rows")
    return counts


def erase_titles(connection: Connection, ids: NDArray[np.int64], names: Iterable[str] = ()) -> int:
    """Empty the titles of these messages' conversations that are a part of what they say, or name
    one of `names`; gives how many. They do not come back with the same export.

    Services make a title of the first message, so it would tell what is to be forgotten.
    """
    with id_set(connection, ids) as those:
        rows = connection.execute(
            "SELECT t.conversation_id, t.title, "
            "list(lower(m.text || chr(10) || m.attachment_text)) "
            "FROM conversation_title t JOIN message m USING (conversation_id) "
            f"WHERE m.id IN {those} AND trim(t.title) <> '' GROUP BY ALL"
        ).fetchall()
    telling = {
        (int(number), str(title))
        for number, title, texts in rows
        if _is_told(str(title), texts) or names_one(str(title), names)
    }
    for number, title in sorted(telling):
        connection.execute(
            "UPDATE conversation_title SET title = '' WHERE conversation_id = ? AND title = ?",
            [number, title],
        )
    tombstones.put_titles(connection, {number for number, _ in telling})
    return len(telling)


def names_one(text: str, names: Iterable[str]) -> bool:
    """Whether a text holds one of the names as whole words; case does not matter."""
    framed = f" {_words(text)} "
    return any(f" {words} " in framed for name in names if (words := _words(name)))


def receipt(counts: dict[str, int], *, bytes_before: int, bytes_after: int) -> ErasureReceipt:
    """The receipt for what was counted."""
    return ErasureReceipt(
        messages=counts["messages"],
        turns=counts["turns"],
        sessions=counts["sessions"],
        conversations=counts["conversations"],
        participants=counts["participants"],
        summaries=counts["summaries"],
        dates=counts["dates"],
        vectors=counts["vectors"],
        facts=counts["facts"],
        notes=counts["notes"],
        replies=counts["replies"],
        snapshots=counts["snapshots"],
        bytes_before=bytes_before,
        bytes_after=bytes_after,
        titles=counts.get("titles", 0),
        kept_out=counts.get("kept out", 0),
        items=counts.get("items", 0),
    )


def delete(connection: Connection, table: str, condition: str) -> int:
    """Remove the rows of a table that meet a condition of the caller's; gives how many."""
    row = connection.execute(f"DELETE FROM {table} WHERE {condition}").fetchone()
    return 0 if row is None else int(row[0])


def _is_told(title: str, texts: Iterable[str]) -> bool:
    words = title.lower().strip(_TITLE_ENDS)
    return bool(words) and any(words in text for text in texts)


def _words(text: str) -> str:
    spaced = "".join(c if c.isalnum() else " " for c in text.casefold())
    return " ".join(spaced.split())
