"""Claims, records and items going with their messages, or because these changed hands.

The owner's orders stay as long as there is something that they are about.
"""

from __future__ import annotations

from duckdb import DuckDBPyConnection as Connection

from localmem.store import personas
from localmem.store.cells import changed
from localmem.store.claims import GROUP
from localmem.store.items import delete_items


def erase(connection: Connection, messages: str) -> dict[str, int]:
    """Remove what was made of messages that are about to go; gives counts of rows.

    `messages` is what stands behind IN. What a correction among them had replaced is made anew,
    of whatever kind it is. An order goes with the last claim that it was about; if the claim is
    only hidden, the order stays. What hidden messages claimed is not known, so with one of these
    go all orders about the same participant that are about nothing shown.
    """
    replaced = _clear_stale(
        connection,
        f"({GROUP}) IN (SELECT ({GROUP}) FROM item WHERE ended_by IN {messages}) OR "
        "(participant_id, key_sha) IN (SELECT (participant_id, key_sha) FROM ruling "
        f"WHERE message_id IN {messages})",
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE gone_key AS SELECT DISTINCT key_sha FROM claim "
        f"WHERE message_id IN {messages}"
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE gone_unread AS SELECT DISTINCT participant_id FROM message "
        f"WHERE id IN {messages} AND id NOT IN (SELECT message_id FROM record)"
    )
    personas.forget_words(connection, messages)
    counts = drop(connection, messages)
    counts["items"] += replaced
    _erase_orders(connection, messages)
    return counts


def _erase_orders(connection: Connection, messages: str) -> None:
    """Remove what was decided or ordered in these messages, or about what they alone claimed."""
    connection.execute(
        f"DELETE FROM decision WHERE message_id IN {messages} "
        "OR key_sha NOT IN (SELECT key_sha FROM claim)"
    )
    connection.execute(
        f"DELETE FROM ruling WHERE message_id IN {messages} OR (NOT EXISTS (SELECT 1 FROM claim c "
        "WHERE c.participant_id = ruling.participant_id AND c.key_sha = ruling.key_sha) "
        "AND (key_sha IN (SELECT key_sha FROM gone_key) "
        "OR participant_id IN (SELECT participant_id FROM gone_unread)))"
    )
    connection.execute("DROP TABLE gone_key")
    connection.execute("DROP TABLE gone_unread")


def drop(connection: Connection, messages: str) -> dict[str, int]:
    """Remove records and claims of messages that stay or are hidden; the owner's orders stay.

    `messages` is what stands behind IN. Groups that lose a claim lose their items until these are
    made anew. Gives counts of rows.
    """
    if connection.execute("SELECT 1 FROM record LIMIT 1").fetchone() is None:
        return {"records": 0, "claims": 0, "items": 0}
    personas.drop(connection, messages)
    counts = {"items": _clear_stale(connection, f"message_id IN {messages}")}
    for name in ("record", "claim"):
        counts[f"{name}s"] = changed(
            connection.execute(f"DELETE FROM {name} WHERE message_id IN {messages}")
        )
    return counts


def sweep(connection: Connection) -> None:
    """Remove claims about somebody who is gone, with the items made of them."""
    gone = "participant_id NOT IN (SELECT id FROM participant)"
    if connection.execute(f"SELECT 1 FROM claim WHERE {gone} LIMIT 1").fetchone() is not None:
        _clear_stale(connection, gone)
        connection.execute(f"DELETE FROM claim WHERE {gone}")
    connection.execute(f"DELETE FROM ruling WHERE {gone}")
    personas.sweep(connection)


def _clear_stale(connection: Connection, claims: str) -> int:
    """Remove the items of the groups of some claims, and mark all claims of these groups."""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE stale_group AS SELECT DISTINCT {GROUP} FROM claim "
        f"WHERE {claims}"
    )
    removed = delete_items(connection, "stale_group")
    connection.execute(
        "UPDATE claim SET folded = false FROM stale_group g WHERE g.kind = claim.kind "
        "AND g.participant_id = claim.participant_id AND g.slot = claim.slot"
    )
    connection.execute("DROP TABLE stale_group")
    return removed
