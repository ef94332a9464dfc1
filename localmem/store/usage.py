"""How often sessions, episodes and entries of the long term were opened: for an answer, or to be
read. It orders background work, and decides what stays when there is too much.

Counts and nothing else: not for which question. When an episode was last visited is told in the
memory's own time, that of its newest message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from duckdb import DuckDBPyConnection as Connection

from localmem.store import lasting, tier_pages, tiers
from localmem.store.batches import load
from localmem.types import EntryId, EpisodeId, MessageId, SessionId


@dataclass(frozen=True, slots=True)
class Uses:
    """How often each was opened. `cited` holds the messages that each answer cites: it counts once
    for every episode that they lie in."""

    sessions: Mapping[SessionId, int] = field(default_factory=dict)
    cited: Sequence[Collection[MessageId]] = ()
    episodes: Mapping[EpisodeId, int] = field(default_factory=dict)
    entries: Mapping[EntryId, int] = field(default_factory=dict)


def create_tables(connection: Connection) -> None:
    """The third step of the schema."""
    connection.execute("CREATE TABLE session_use (session_id BIGINT, opened BIGINT)")


def count(connection: Connection, uses: Uses) -> None:
    """Add to the counts; what is gone is left out."""
    _count_sessions(connection, uses.sessions)
    episodes = Counter(uses.episodes)
    episode_of = tier_pages.episodes_of(connection, {m for answer in uses.cited for m in answer})
    for answer in uses.cited:
        episodes.update({episode_of[message] for message in answer if message in episode_of})
    tiers.count_opened(connection, episodes)
    lasting.count_used(connection, uses.entries)


def _count_sessions(connection: Connection, opened: Mapping[SessionId, int]) -> None:
    before = counts(connection)
    ids = [int(number) for number in opened]
    load(
        connection,
        "DELETE FROM session_use WHERE session_id IN (SELECT session_id FROM {batch})",
        numbers={"session_id": ids},
    )
    load(
        connection,
        "INSERT INTO session_use SELECT session_id, opened FROM {batch} "
        "SEMI JOIN (SELECT id AS session_id FROM session) USING (session_id)",
        numbers={
            "session_id": ids,
            "opened": [before.get(number, 0) + times for number, times in opened.items()],
        },
    )


def counts(connection: Connection) -> Mapping[SessionId, int]:
    """How often each session was opened; those that never were are absent."""
    rows = connection.execute("SELECT session_id, opened FROM session_use").fetchall()
    return {SessionId(int(number)): int(opened) for number, opened in rows}
