"""Which page lies in which episode, and which messages are a page, as they are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from duckdb import DuckDBPyConnection as Connection

from localmem.errors import RecordNotFoundError
from localmem.store.batches import id_set
from localmem.types import EpisodeId, GateKind, MergeDecision, MessageId, PageId, SessionId

UNPAGED = (
    "SELECT id, session_id FROM message m WHERE on_path "
    "AND NOT EXISTS (SELECT 1 FROM page_message p WHERE p.message_id = m.id)"
)
"""Shown messages that are in no page yet."""


def unpaged(connection: Connection) -> dict[SessionId, list[MessageId]]:
    """Shown messages that are in no page yet, by session."""
    found: dict[SessionId, list[MessageId]] = {}
    for number, session in connection.execute(f"{UNPAGED} ORDER BY ordinal, id").fetchall():
        found.setdefault(SessionId(session), []).append(MessageId(number))
    return found


def episodes_of(
    connection: Connection, messages: Collection[MessageId]
) -> dict[MessageId, EpisodeId]:
    """The episode of each of these messages that is in one."""
    if not messages:
        return {}
    with id_set(connection, messages) as those:
        rows = connection.execute(
            "SELECT m.message_id, e.episode_id FROM page_message m "
            f"JOIN episode_page e USING (page_id) WHERE m.message_id IN {those}"
        ).fetchall()
    return {MessageId(message): EpisodeId(episode) for message, episode in rows}


def pages_of(
    connection: Connection, episode_id: EpisodeId
) -> list[tuple[MergeDecision, SessionId]]:
    """The decisions on an episode's pages with their sessions, oldest page first.

    Raises:
        RecordNotFoundError: there is no such episode.
    """
    rows = connection.execute(
        "SELECT p.id, p.session_id, p.merged, p.probability, p.score, p.gate, p.fit, p.continues "
        "FROM episode_page e JOIN page p ON p.id = e.page_id WHERE e.episode_id = ? ORDER BY p.id",
        [int(episode_id)],
    ).fetchall()
    if not rows:
        raise RecordNotFoundError(f"there is no episode {episode_id}", hint="localmem tiers")
    akin: dict[int, list[EpisodeId]] = {}
    with id_set(connection, [row[0] for row in rows]) as those:
        links = connection.execute(
            f"SELECT page_id, episode_id FROM page_link WHERE page_id IN {those} ORDER BY ALL"
        ).fetchall()
    for page, other in links:
        akin.setdefault(page, []).append(EpisodeId(other))
    return [
        (
            MergeDecision(
                PageId(row[0]),
                episode_id,
                bool(row[2]),
                float(row[3]),
                float(row[4]),
                GateKind(row[5]),
                int(row[6]),
                tuple(akin.get(row[0], ())),
                None if row[7] is None else PageId(row[7]),
            ),
            SessionId(row[1]),
        )
        for row in rows
    ]


def messages_of(
    connection: Connection, page_ids: Iterable[PageId]
) -> Mapping[PageId, tuple[MessageId, ...]]:
    """The messages of pages in the order in which they were said."""
    found: dict[PageId, list[MessageId]] = {}
    with id_set(connection, page_ids) as those:
        rows = connection.execute(
            "SELECT p.page_id, p.message_id FROM page_message p JOIN message m "
            f"ON m.id = p.message_id WHERE p.page_id IN {those} AND m.on_path "
            "ORDER BY p.page_id, m.ordinal"
        ).fetchall()
    for page, message in rows:
        found.setdefault(PageId(page), []).append(MessageId(message))
    return {page: tuple(ids) for page, ids in found.items()}


def mark(connection: Connection) -> tuple[int, int, int]:
    """Changes with every change of which page is in which episode."""
    row: Any = connection.execute(
        "SELECT count(*), coalesce(max(page_id), 0), coalesce(max(episode_id), 0) FROM episode_page"
    ).fetchone()
    return int(row[0]), int(row[1]), int(row[2])


def episode_of_messages(connection: Connection) -> dict[int, int]:
    """The episode of each message that is in one."""
    columns = connection.execute(
        "SELECT message_id, episode_id FROM page_message JOIN episode_page USING (page_id)"
    ).fetchnumpy()
    ids, episode_ids = columns["message_id"].tolist(), columns["episode_id"].tolist()
    return dict(zip(ids, episode_ids, strict=True))


def members(
    connection: Connection, wanted: Iterable[EpisodeId]
) -> dict[EpisodeId, list[tuple[MessageId, ...]]]:
    """The shown messages of each page of these episodes, oldest page first."""
    with id_set(connection, wanted) as those:
        rows = connection.execute(
            "SELECT e.episode_id, e.page_id, m.id FROM episode_page e "
            "JOIN page_message p ON p.page_id = e.page_id JOIN message m ON m.id = p.message_id "
            f"WHERE e.episode_id IN {those} AND m.on_path "
            "ORDER BY e.episode_id, e.page_id, m.ordinal"
        ).fetchall()
    pages: dict[tuple[int, int], list[MessageId]] = {}
    for episode, page, message in rows:
        pages.setdefault((episode, page), []).append(MessageId(message))
    found: dict[EpisodeId, list[tuple[MessageId, ...]]] = {}
    for (episode, _), ids in pages.items():
        found.setdefault(EpisodeId(episode), []).append(tuple(ids))
    return found


def related(connection: Connection) -> dict[EpisodeId, list[EpisodeId]]:
    """The episodes that the gate found akin to pages of each, the most often first."""
    rows = connection.execute(
        "SELECT e.episode_id, l.episode_id FROM page_link l JOIN episode_page e USING (page_id) "
        "WHERE e.episode_id <> l.episode_id GROUP BY ALL ORDER BY e.episode_id, count(*) DESC, "
        "l.episode_id"
    ).fetchall()
    found: dict[EpisodeId, list[EpisodeId]] = {}
    for episode, akin in rows:
        found.setdefault(EpisodeId(episode), []).append(EpisodeId(akin))
    return found


def newest_pages(connection: Connection, most: int) -> dict[EpisodeId, list[PageId]]:
    """The newest `most` pages of every episode, oldest first."""
    rows = connection.execute(
        "SELECT episode_id, page_id FROM episode_page QUALIFY row_number() OVER "
        "(PARTITION BY episode_id ORDER BY page_id DESC) <= ? ORDER BY ALL",
        [most],
    ).fetchall()
    found: dict[EpisodeId, list[PageId]] = {}
    for episode, page in rows:
        found.setdefault(EpisodeId(episode), []).append(PageId(page))
    return found
