"""What was made from messages by rule or by a model: resolved dates and L0 summaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection as Connection

from localmem.store import meta
from localmem.store.batches import id_set, load
from localmem.store.cells import joined, parts
from localmem.types import (
    MessageId,
    Provenance,
    ResolvedDate,
    SessionId,
    TurnId,
    TurnSummary,
)

_SUMMARIES = """
SELECT turn_id, sentence, keywords, tags, model_id, prompt_sha, source_sha FROM turn_summary
"""


def put_summaries(connection: Connection, summaries: Sequence[TurnSummary]) -> None:
    """Store L0 of turns, in place of what they had. Turns that were erased are left out."""
    if not summaries:
        return
    turn_ids = [int(s.turn_id) for s in summaries]
    load(
        connection,
        "DELETE FROM turn_summary WHERE turn_id IN (SELECT turn_id FROM {batch})",
        numbers={"turn_id": turn_ids},
    )
    generation = meta.bump_generation(connection)
    load(
        connection,
        "INSERT INTO turn_summary SELECT turn_id, sentence, keywords, tags, model_id, prompt_sha, "
        "source_sha, generation FROM {batch} SEMI JOIN (SELECT id AS turn_id FROM turn) "
        "USING (turn_id)",
        numbers={"turn_id": turn_ids, "generation": [generation] * len(summaries)},
        texts={
            "sentence": [s.sentence for s in summaries],
            "keywords": [joined(s.keywords) for s in summaries],
            "tags": [joined(s.tags) for s in summaries],
            "model_id": [s.provenance.model_id for s in summaries],
            "prompt_sha": [s.provenance.prompt_sha for s in summaries],
            "source_sha": [s.provenance.source_sha for s in summaries],
        },
    )


def remark_summaries(connection: Connection, summaries: Sequence[TurnSummary]) -> None:
    """Store the provenance of summaries whose words stay: nothing changes for a searcher."""
    load(
        connection,
        "UPDATE turn_summary SET prompt_sha = b.prompt_sha FROM {batch} b "
        "WHERE turn_summary.turn_id = b.turn_id",
        numbers={"turn_id": [int(s.turn_id) for s in summaries]},
        texts={"prompt_sha": [s.provenance.prompt_sha for s in summaries]},
    )


def marks(connection: Connection) -> tuple[tuple[SessionId, Provenance], ...]:
    """What the summary of each shown turn was made from and by, with its session."""
    rows = connection.execute(
        "SELECT t.session_id, s.model_id, s.prompt_sha, s.source_sha FROM turn_summary s "
        "JOIN turn t ON t.id = s.turn_id "
        "WHERE t.id IN (SELECT turn_id FROM message WHERE on_path) ORDER BY t.id"
    ).fetchall()
    return tuple((SessionId(row[0]), Provenance(*row[1:])) for row in rows)


def put_dates(connection: Connection, dates: Mapping[MessageId, Sequence[ResolvedDate]]) -> None:
    """Store the dates of messages, in place of those they had."""
    load(
        connection,
        "DELETE FROM resolved_date WHERE message_id IN (SELECT message_id FROM {batch})",
        numbers={"message_id": [int(number) for number in dates]},
    )
    rows = [(int(number), found) for number, several in dates.items() for found in several]
    load(
        connection,
        "INSERT INTO resolved_date SELECT message_id, begin_at, stop_at, words, start_day::DATE, "
        "end_day::DATE, granularity, open_end FROM {batch} "
        "SEMI JOIN (SELECT id AS message_id FROM message) USING (message_id)",
        numbers={
            "message_id": [number for number, _ in rows],
            "begin_at": [d.begin for _, d in rows],
            "stop_at": [d.stop for _, d in rows],
            "start_day": np.array([d.start for _, d in rows], "datetime64[us]"),
            "end_day": np.array([d.end for _, d in rows], "datetime64[us]"),
            "open_end": [d.open_end for _, d in rows],
        },
        texts={
            "words": [d.words for _, d in rows],
            "granularity": [d.granularity.value for _, d in rows],
        },
    )


def summaries_of(connection: Connection, turn_ids: Iterable[TurnId]) -> tuple[TurnSummary, ...]:
    """The summaries of these turns by turn id; turns without one are absent."""
    with id_set(connection, turn_ids) as wanted:
        rows = connection.execute(
            f"{_SUMMARIES} WHERE turn_id IN {wanted} ORDER BY turn_id"
        ).fetchall()
    return tuple(map(_summary, rows))


def session_summaries(connection: Connection, session_id: SessionId) -> tuple[TurnSummary, ...]:
    """The summaries of a session in the order of its turns."""
    rows = connection.execute(
        f"{_SUMMARIES} WHERE turn_id IN (SELECT id FROM turn WHERE session_id = ?) "
        "ORDER BY turn_id",
        [int(session_id)],
    ).fetchall()
    return tuple(map(_summary, rows))


def summaries_after(connection: Connection, after: int) -> tuple[TurnSummary, ...]:
    """The summaries that are newer than the generation `after`, by turn id."""
    rows = connection.execute(
        f"{_SUMMARIES} WHERE generation > ? ORDER BY turn_id", [after]
    ).fetchall()
    return tuple(map(_summary, rows))


def _summary(row: tuple[Any, ...]) -> TurnSummary:
    return TurnSummary(
        turn_id=TurnId(row[0]),
        sentence=row[1],
        keywords=parts(row[2]),
        tags=parts(row[3]),
        provenance=Provenance(model_id=row[4], prompt_sha=row[5], source_sha=row[6]),
    )
