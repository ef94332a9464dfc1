"""Pages and episodes as rows: which messages are a page, where it went and why, what an episode is.

Derived from messages and their vectors, so everything in here can be made again. A message that
goes takes its page along, and the episode whose vectors it was part of: the episode's other pages
come again.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection as Connection

from localmem.store import lasting, meta
from localmem.store.batches import id_set, load
from localmem.store.cells import changed
from localmem.store.tier_pages import UNPAGED
from localmem.types import (
    EpisodeId,
    GateKind,
    GateState,
    LastingEntry,
    MergeDecision,
    Page,
    PageId,
    StoredEpisode,
    StructureKind,
    TierCounts,
)

PAGE, EPISODE = "page", "episode"

_SCHEMA = """
CREATE TABLE page (
    id BIGINT, session_id BIGINT, merged BOOLEAN, probability DOUBLE, score DOUBLE, gate VARCHAR,
    fit INTEGER, continues BIGINT);
CREATE TABLE page_message (page_id BIGINT, message_id BIGINT);
CREATE TABLE episode_page (episode_id BIGINT, page_id BIGINT);
CREATE TABLE page_link (page_id BIGINT, episode_id BIGINT);
CREATE TABLE episode (
    id BIGINT, structure VARCHAR, page_count BIGINT, touched BIGINT, total BLOB, newest BLOB,
    opened BIGINT, rest VARCHAR);
CREATE TABLE tier_state (model_id VARCHAR, gate_state VARCHAR, pool BLOB, adjacent BLOB);
"""
_TABLES = ("page_link", "episode_page", "page_message", "page", "episode", "tier_state")
_TIMES = ("first_said_at", "last_said_at", "visited_at")
_REST = ("last_page", "last_session", "central_page", "central_cosine", "chances", *_TIMES)


@dataclass(frozen=True, slots=True)
class Consolidated:
    """One batch as it is stored: all or nothing.

    `loose` are pages without a vector: they go to no episode. `episodes` are those that changed,
    `dissolved` those that had to go, `lasting` all entries of the long term after this batch.
    """

    model_id: str
    pages: Sequence[Page]
    decisions: Sequence[MergeDecision]
    episodes: Sequence[StoredEpisode]
    dissolved: Sequence[EpisodeId]
    state: GateState
    loose: Sequence[Page] = ()
    lasting: Sequence[LastingEntry] = ()


def create_tables(connection: Connection) -> None:
    """The step of the schema that brings pages and episodes."""
    connection.execute(_SCHEMA)


def state(connection: Connection) -> tuple[str, GateState] | None:
    """The embedder whose vectors made the episodes, and where the gate stopped."""
    row = connection.execute(
        "SELECT model_id, gate_state, pool, adjacent FROM tier_state"
    ).fetchone()
    if row is None:
        return None
    told = json.loads(row[1])
    told["mixture"] = tuple(told["mixture"])
    return str(row[0]), GateState(**told, pool=bytes(row[2]), adjacent=bytes(row[3]))


def episodes(
    connection: Connection, wanted: Iterable[EpisodeId] | None = None
) -> tuple[StoredEpisode, ...]:
    """All episodes or these, by id."""
    query = "SELECT id, structure, page_count, touched, total, newest, opened, rest FROM episode"
    if wanted is None:
        rows = connection.execute(f"{query} ORDER BY id").fetchall()
    else:
        with id_set(connection, wanted) as those:
            rows = connection.execute(f"{query} WHERE id IN {those} ORDER BY id").fetchall()
    return tuple(map(_episode, rows))


def put(connection: Connection, made: Consolidated) -> None:
    """Store a batch. Pages of messages that are gone or placed meanwhile must not be in it."""
    all_pages = [*made.pages, *made.loose]
    _insert_pages(connection, made)
    load(
        connection,
        "INSERT INTO page_message SELECT page_id, message_id FROM {batch}",
        numbers={
            "page_id": [page.id for page in all_pages for _ in page.message_ids],
            "message_id": [number for page in all_pages for number in page.message_ids],
        },
    )
    load(
        connection,
        "INSERT INTO episode_page SELECT episode_id, page_id FROM {batch}",
        numbers={
            "episode_id": [one.episode_id for one in made.decisions],
            "page_id": [one.page_id for one in made.decisions],
        },
    )
    links = [(one.page_id, akin) for one in made.decisions for akin in one.related]
    load(
        connection,
        "INSERT INTO page_link SELECT page_id, episode_id FROM {batch}",
        numbers={"page_id": [a for a, _ in links], "episode_id": [b for _, b in links]},
    )
    put_episodes(connection, made.episodes)
    dissolve(connection, made.dissolved)
    _put_state(connection, made.model_id, made.state)
    lasting.put(connection, made.lasting)
    counters = meta.Counters(connection)
    last_page = max((page.id for page in all_pages), default=PageId(0))
    last_episode = max((one.id for one in made.episodes), default=EpisodeId(0))
    for kind, last in ((PAGE, last_page), (EPISODE, last_episode)):
        while counters.last(kind) < last:
            counters.next(kind)
    counters.save()


def put_episodes(connection: Connection, changed_ones: Sequence[StoredEpisode]) -> None:
    """Store episodes in place of what they were.

    How often an episode was opened is counted elsewhere, perhaps meanwhile: one that was there
    keeps its count and its last visit.
    """
    if not changed_ones:
        return
    before = {one.id: one for one in episodes(connection, [one.id for one in changed_ones])}
    changed_ones = [
        replace(one, opened=before[one.id].opened, visited_at=before[one.id].visited_at)
        if one.id in before
        else one
        for one in changed_ones
    ]
    with id_set(connection, [one.id for one in changed_ones]) as those:
        connection.execute(f"DELETE FROM episode WHERE id IN {those}")
    load(
        connection,
        "INSERT INTO episode SELECT id, structure, page_count, touched, from_base64(total), "
        "from_base64(newest), opened, rest FROM {batch}",
        numbers={
            "id": [one.id for one in changed_ones],
            "page_count": [one.pages for one in changed_ones],
            "touched": [one.touched for one in changed_ones],
            "opened": [one.opened for one in changed_ones],
        },
        texts={
            "structure": [one.structure.value for one in changed_ones],
            "total": [_base64(one.total) for one in changed_ones],
            "newest": [_base64(one.newest) for one in changed_ones],
            "rest": [_rest_of(one) for one in changed_ones],
        },
    )


def count_opened(connection: Connection, opened: Mapping[EpisodeId, int]) -> None:
    """Add to how often episodes were opened; those that are gone are left out.

    They were visited at the memory's own time, that of its newest message.
    """
    if not opened:
        return
    newest: Any = connection.execute(
        "SELECT epoch(max(said_at)) FROM message WHERE on_path"
    ).fetchone()
    now = None if newest[0] is None else datetime.fromtimestamp(newest[0], UTC)
    for one in episodes(connection, opened):
        visited = replace(one, opened=one.opened + opened[one.id], visited_at=now)
        connection.execute(
            "UPDATE episode SET opened = ?, rest = ? WHERE id = ?",
            [visited.opened, _rest_of(visited), int(one.id)],
        )


def dissolve(connection: Connection, gone: Sequence[EpisodeId]) -> None:
    """Remove episodes; their pages stay pages and belong to none."""
    if not gone:
        return
    with id_set(connection, gone) as those:
        for table in ("episode_page", "page_link"):
            connection.execute(f"DELETE FROM {table} WHERE episode_id IN {those}")
        connection.execute(f"DELETE FROM episode WHERE id IN {those}")


def last_ids(connection: Connection) -> tuple[int, int]:
    """The ids of page and episode that were handed out last."""
    counters = meta.Counters(connection)
    return counters.last(PAGE), counters.last(EPISODE)


def counts(connection: Connection) -> TierCounts:
    """How much is where."""
    pages, placed, episode_count, pending = (
        _number(connection, query)
        for query in (
            "SELECT count(*) FROM page",
            "SELECT count(*) FROM episode_page",
            "SELECT count(*) FROM episode",
            f"SELECT count(*) FROM ({UNPAGED})",
        )
    )
    across = _number(
        connection,
        "SELECT count(*) FROM (SELECT e.episode_id FROM episode_page e JOIN page p "
        "ON p.id = e.page_id GROUP BY e.episode_id HAVING count(DISTINCT p.session_id) > 1)",
    )
    by_structure = connection.execute("SELECT structure, count(*) FROM episode GROUP BY ALL")
    structures = {StructureKind(kind): int(count) for kind, count in by_structure.fetchall()}
    by_gate = connection.execute("SELECT gate, count(*) FROM page WHERE gate <> '' GROUP BY ALL")
    gates = {GateKind(kind): int(count) for kind, count in by_gate.fetchall()}
    return TierCounts(
        pages=pages,
        placed=placed,
        loose=pages - placed,
        episodes=episode_count,
        across_sessions=across,
        pending=pending,
        lasting=_number(connection, "SELECT count(*) FROM lasting"),
        by_structure=structures,
        by_gate=gates,
    )


def erase(connection: Connection, messages: str) -> dict[str, int]:
    """Remove what was made of messages that are about to go or be hidden; gives counts of rows.

    `messages` is what stands behind IN. An episode that loses a page is dissolved, because its
    vectors hold what is to go; its other pages are made and placed again.
    """
    lasting.erase(connection, messages)
    hit = f"SELECT page_id FROM page_message WHERE message_id IN {messages}"
    if connection.execute(f"{hit} LIMIT 1").fetchone() is None:
        return {"pages": 0, "episodes": 0}
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE gone_episode AS SELECT DISTINCT episode_id AS id "
        f"FROM episode_page WHERE page_id IN ({hit})"
    )
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE gone_page AS {hit} UNION SELECT page_id "
        "FROM episode_page WHERE episode_id IN (SELECT id FROM gone_episode)"
    )
    pages, gone = "(SELECT page_id FROM gone_page)", "(SELECT id FROM gone_episode)"
    for table in ("episode_page", "page_link", "page_message"):
        connection.execute(f"DELETE FROM {table} WHERE page_id IN {pages}")
    connection.execute(f"DELETE FROM page_link WHERE episode_id IN {gone}")
    connection.execute(f"UPDATE page SET continues = NULL WHERE continues IN {pages}")
    counts_of = {
        "pages": changed(connection.execute(f"DELETE FROM page WHERE id IN {pages}")),
        "episodes": changed(connection.execute(f"DELETE FROM episode WHERE id IN {gone}")),
    }
    connection.execute("DROP TABLE gone_page")
    connection.execute("DROP TABLE gone_episode")
    return counts_of


def clear(connection: Connection) -> None:
    """Remove all pages and episodes; the next run makes them anew."""
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table}")


def _insert_pages(connection: Connection, made: Consolidated) -> None:
    pages = [*made.pages, *made.loose]
    told: list[MergeDecision | None] = [*made.decisions, *[None] * len(made.loose)]
    load(
        connection,
        "INSERT INTO page SELECT id, session_id, merged, probability, score, gate, fit, "
        "CASE WHEN continues = 0 THEN NULL ELSE continues END FROM {batch}",
        numbers={
            "id": [page.id for page in pages],
            "session_id": [page.session_id for page in pages],
            "merged": [one is not None and one.merged for one in told],
            "probability": np.array([one.probability if one else 0.0 for one in told]),
            "score": np.array([one.score if one else 0.0 for one in told]),
            "fit": [one.fit if one else 0 for one in told],
            "continues": [(one.continues if one else None) or 0 for one in told],
        },
        texts={"gate": [one.gate.value if one else "" for one in told]},
    )


def _put_state(connection: Connection, model_id: str, state: GateState) -> None:
    told = asdict(state)
    pool, adjacent = told.pop("pool"), told.pop("adjacent")
    connection.execute("DELETE FROM tier_state")
    connection.execute(
        "INSERT INTO tier_state VALUES (?, ?, ?, ?)", [model_id, json.dumps(told), pool, adjacent]
    )


def _rest_of(one: StoredEpisode) -> str:
    told = {name: getattr(one, name) for name in _REST}
    return json.dumps(told | {name: _iso(told[name]) for name in _TIMES})


def _episode(row: Sequence[Any]) -> StoredEpisode:
    rest = json.loads(row[7])
    rest["chances"] = tuple(rest["chances"])
    return StoredEpisode(
        EpisodeId(row[0]),
        StructureKind(row[1]),
        int(row[2]),
        int(row[3]),
        bytes(row[4]),
        bytes(row[5]),
        int(row[6]),
        **rest | {name: _moment(rest[name]) for name in _TIMES},
    )


def _iso(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _base64(row: bytes) -> str:
    return b64encode(row).decode("ascii")


def _number(connection: Connection, query: str) -> int:
    row = connection.execute(query).fetchone()
    return 0 if row is None else int(row[0])
