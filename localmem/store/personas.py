"""Persona snapshots as rows: which items a topic memory or an aspect holds, by which keys.

Only the grouping is stored, with the keys' vectors and their links. What a snapshot says is read
from its items, so that it can tell nothing that they do not hold. A participant's snapshots are
out of date from the moment on at which one of their items changes, until they are made anew; a
message that goes takes its members, keys and names along at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from duckdb import DuckDBPyConnection as Connection

from localmem.ports import FloatMatrix
from localmem.store import meta
from localmem.store.batches import id_set, load
from localmem.types import (
    ItemId,
    MessageId,
    ParticipantId,
    PersonaId,
    PersonaKind,
    Provenance,
)

_SCHEMA = """
CREATE TABLE persona (
    id BIGINT, participant_id BIGINT, kind VARCHAR, name VARCHAR, model_id VARCHAR,
    prompt_sha VARCHAR, source_sha VARCHAR);
CREATE TABLE persona_member (persona_id BIGINT, claim_id BIGINT, position INTEGER, key VARCHAR);
CREATE TABLE persona_key (
    participant_id BIGINT, kind VARCHAR, key VARCHAR, nearest VARCHAR, similarity DOUBLE,
    place INTEGER);
CREATE TABLE persona_rows (
    participant_id BIGINT, kind VARCHAR, model_id VARCHAR, dimension INTEGER, unit_rows BLOB);
CREATE TABLE persona_fresh (participant_id BIGINT);
"""
_WORD = re.compile(r"[^\W_]+")
_NO_NAME = Provenance("", "", "")
_NO_ROWS = np.zeros((0, 0), np.float32)


@dataclass(frozen=True, slots=True)
class PersonaGroup:
    """A stored snapshot: its members in their order, each with its key.

    `named_by` is the provenance of a name that a model gave; None where the name is a key.
    """

    id: PersonaId
    participant_id: ParticipantId
    kind: PersonaKind
    name: str
    members: tuple[tuple[ItemId, str], ...]
    named_by: Provenance | None = None


@dataclass(frozen=True, slots=True)
class PersonaKeys:
    """The keys of one participant and kind, in the order of the alphabet, with their nearest.

    `rows` are float32 (n, dim), unit, by the embedder `model_id`; (0, 0) and "" where the words of
    the keys stand for themselves.
    """

    kind: PersonaKind
    keys: tuple[str, ...]
    nearest: tuple[str, ...]
    similarities: tuple[float, ...]
    model_id: str
    rows: FloatMatrix


@dataclass(frozen=True, slots=True)
class PersonaNode:
    """A snapshot as a node of the graph, with the messages that its items rest on."""

    id: PersonaId
    participant_id: ParticipantId
    message_ids: tuple[MessageId, ...]


def create_tables(connection: Connection) -> None:
    """A step of the schema."""
    connection.execute(_SCHEMA)


def stale(connection: Connection) -> tuple[ParticipantId, ...]:
    """Participants of whom something is known, or was, since their snapshots were made."""
    rows = connection.execute(
        "SELECT participant_id FROM item UNION SELECT participant_id FROM persona "
        "EXCEPT SELECT participant_id FROM persona_fresh ORDER BY ALL"
    ).fetchall()
    return tuple(ParticipantId(int(number)) for (number,) in rows)


def groups(
    connection: Connection, participant: ParticipantId | None = None
) -> tuple[PersonaGroup, ...]:
    """The stored snapshots of one participant, or of all, by id."""
    whose = "" if participant is None else f"WHERE p.participant_id = {int(participant)}"
    rows = connection.execute(
        "SELECT p.id, p.participant_id, p.kind, p.name, p.model_id, p.prompt_sha, p.source_sha, "
        "list(m.claim_id ORDER BY m.position), list(m.key ORDER BY m.position) "
        f"FROM persona p JOIN persona_member m ON m.persona_id = p.id {whose} "
        "GROUP BY ALL ORDER BY p.id"
    ).fetchall()
    return tuple(
        PersonaGroup(
            id=PersonaId(int(row[0])),
            participant_id=ParticipantId(int(row[1])),
            kind=PersonaKind(row[2]),
            name=row[3],
            members=tuple(
                (ItemId(int(n)), str(key)) for n, key in zip(row[7], row[8], strict=True)
            ),
            named_by=Provenance(row[4], row[5], row[6]) if row[4] else None,
        )
        for row in rows
    )


def keys(connection: Connection, participant: ParticipantId) -> tuple[PersonaKeys, ...]:
    """The keys of a participant with their links and vectors, by kind."""
    whose = f"WHERE participant_id = {int(participant)}"
    stored = {
        str(kind): (str(model_id), np.frombuffer(blob, np.float32).reshape(-1, int(dimension)))
        for kind, model_id, dimension, blob in connection.execute(
            f"SELECT kind, model_id, dimension, unit_rows FROM persona_rows {whose}"
        ).fetchall()
    }
    found: list[PersonaKeys] = []
    for kind in PersonaKind:
        several = connection.execute(
            f"SELECT key, nearest, similarity, place FROM persona_key {whose} AND kind = ? "
            "ORDER BY key",
            [kind.value],
        ).fetchall()
        if not several:
            continue
        model_id, rows = stored.get(kind.value, ("", _NO_ROWS))
        found.append(
            PersonaKeys(
                kind=kind,
                keys=tuple(str(row[0]) for row in several),
                nearest=tuple(str(row[1]) for row in several),
                similarities=tuple(float(row[2]) for row in several),
                model_id=model_id,
                rows=rows[[int(row[3]) for row in several]] if model_id else _NO_ROWS,
            )
        )
    return tuple(found)


def put(
    connection: Connection,
    participant: ParticipantId,
    made: Sequence[PersonaGroup],
    its_keys: Sequence[PersonaKeys],
) -> None:
    """Store a participant's snapshots in place of what they had; groups with id 0 get a new one."""
    clear(connection, participant)
    counters = meta.Counters(connection)
    numbers = [int(group.id) or counters.next("persona") for group in made]
    counters.save()
    by = [group.named_by or _NO_NAME for group in made]
    load(
        connection,
        "INSERT INTO persona SELECT id, $whose::BIGINT, kind, name, model_id, prompt_sha, "
        "source_sha FROM {batch}",
        numbers={"id": numbers},
        texts={
            "kind": [group.kind.value for group in made],
            "name": [group.name for group in made],
            "model_id": [one.model_id for one in by],
            "prompt_sha": [one.prompt_sha for one in by],
            "source_sha": [one.source_sha for one in by],
        },
        parameters={"whose": str(int(participant))},
    )
    members = [
        (number, int(one), place, key)
        for number, group in zip(numbers, made, strict=True)
        for place, (one, key) in enumerate(group.members)
    ]
    load(
        connection,
        "INSERT INTO persona_member SELECT persona_id, claim_id, position, key FROM {batch}",
        numbers={
            "persona_id": [row[0] for row in members],
            "claim_id": [row[1] for row in members],
            "position": [row[2] for row in members],
        },
        texts={"key": [row[3] for row in members]},
    )
    for several in its_keys:
        _put_keys(connection, participant, several)
    connection.execute("INSERT INTO persona_fresh VALUES (?)", [int(participant)])


def _put_keys(connection: Connection, participant: ParticipantId, several: PersonaKeys) -> None:
    load(
        connection,
        "INSERT INTO persona_key SELECT $whose::BIGINT, $kind, key, nearest, similarity, place "
        "FROM {batch}",
        numbers={
            "similarity": np.asarray(several.similarities, np.float64),
            "place": np.arange(len(several.keys), dtype=np.int64),
        },
        texts={"key": several.keys, "nearest": several.nearest},
        parameters={"whose": str(int(participant)), "kind": several.kind.value},
    )
    if several.model_id and several.keys:
        blob = np.ascontiguousarray(several.rows, np.float32).tobytes()
        connection.execute(
            "INSERT INTO persona_rows VALUES (?, ?, ?, ?, ?)",
            [
                int(participant),
                several.kind.value,
                several.model_id,
                int(several.rows.shape[1]),
                blob,
            ],
        )


def rename(connection: Connection, number: PersonaId, name: str, by: Provenance) -> None:
    """Give a snapshot a model's name; where it is gone, nothing happens."""
    connection.execute(
        "UPDATE persona SET name = ?, model_id = ?, prompt_sha = ?, source_sha = ? WHERE id = ?",
        [name, by.model_id, by.prompt_sha, by.source_sha, int(number)],
    )


def nodes(connection: Connection) -> tuple[PersonaNode, ...]:
    """All snapshots with the messages that the items rest on that they hold now."""
    rows = connection.execute(
        "SELECT p.id, p.participant_id, list(DISTINCT s.message_id ORDER BY s.message_id) "
        "FROM persona p JOIN persona_member m ON m.persona_id = p.id "
        "JOIN item_source s ON s.item_id = m.claim_id GROUP BY ALL ORDER BY p.id"
    ).fetchall()
    return tuple(
        PersonaNode(
            PersonaId(int(number)),
            ParticipantId(int(whose)),
            tuple(MessageId(int(one)) for one in several),
        )
        for number, whose, several in rows
    )


# --- Keeping in step ------------------------------------------------------------------------


def mark_stale(connection: Connection, participants: Iterable[int]) -> None:
    """What is known of these participants has changed."""
    with id_set(connection, participants) as those:
        connection.execute(f"DELETE FROM persona_fresh WHERE participant_id IN {those}")


def drop(connection: Connection, messages: str) -> None:
    """Take what rests on these messages out: members, their keys, the names of their groups.

    `messages` is what stands behind IN. To be called while their claims are there.
    """
    if connection.execute("SELECT 1 FROM persona LIMIT 1").fetchone() is None:
        return
    resting = (
        f"SELECT id FROM claim WHERE message_id IN {messages} UNION SELECT item_id "
        f"FROM item_source WHERE message_id IN {messages}"
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE touched AS SELECT p.id, p.participant_id, p.kind, m.key, "
        f"m.claim_id FROM persona p JOIN persona_member m ON m.persona_id = p.id "
        f"WHERE m.claim_id IN ({resting})"
    )
    connection.execute(
        "DELETE FROM persona_key WHERE EXISTS (SELECT 1 FROM touched t "
        "WHERE t.participant_id = persona_key.participant_id AND t.kind = persona_key.kind "
        "AND t.key <> '' AND (t.key = persona_key.key OR t.key = persona_key.nearest))"
    )
    _repack(connection, "SELECT participant_id, kind FROM touched")
    connection.execute(
        "UPDATE persona SET name = '', model_id = '', prompt_sha = '', source_sha = '' "
        "WHERE id IN (SELECT id FROM touched)"
    )
    connection.execute(
        "DELETE FROM persona_fresh WHERE participant_id IN (SELECT participant_id FROM touched)"
    )
    connection.execute(
        "DELETE FROM persona_member WHERE (persona_id, claim_id) IN (SELECT (id, claim_id) "
        "FROM touched)"
    )
    connection.execute("DROP TABLE touched")
    _remove_empty(connection)


def forget_words(connection: Connection, messages: str) -> None:
    """Take the words of messages that are about to go out of the keys and names of other items.

    A key is the form of a word that most items have, so it may be another item's word. Where one
    occurs in what the messages claimed, the key goes, and so does a name with it; both are made
    anew. `messages` is what stands behind IN. To be called while their claims are there.
    """
    told: dict[int, set[str]] = {}
    for whose, text in connection.execute(
        "SELECT participant_id, concat_ws(' ', quote, value, entity, old_value) FROM claim "
        f"WHERE message_id IN {messages}"
    ).fetchall():
        told.setdefault(int(whose), set()).update(_words(str(text)))
    for whose, words in told.items():
        _forget_words(connection, whose, words)


def _forget_words(connection: Connection, whose: int, words: set[str]) -> None:
    rows = connection.execute(
        "SELECT key FROM persona_key WHERE participant_id = $1 UNION SELECT nearest "
        "FROM persona_key WHERE participant_id = $1 UNION SELECT m.key FROM persona_member m "
        "JOIN persona p ON p.id = m.persona_id WHERE p.participant_id = $1 "
        "UNION SELECT name FROM persona WHERE participant_id = $1",
        [whose],
    ).fetchall()
    telling = [str(text) for (text,) in rows if not words.isdisjoint(_words(str(text)))]
    if not telling:
        return
    connection.execute(
        "DELETE FROM persona_key WHERE participant_id = $1 "
        "AND (list_contains($2, key) OR list_contains($2, nearest))",
        [whose, telling],
    )
    _repack(
        connection,
        f"SELECT participant_id, kind FROM persona_rows WHERE participant_id = {whose}",
    )
    mine = "(SELECT id FROM persona WHERE participant_id = $1)"
    connection.execute(
        f"UPDATE persona_member SET key = '' WHERE persona_id IN {mine} AND list_contains($2, key)",
        [whose, telling],
    )
    connection.execute(
        "UPDATE persona SET name = '', model_id = '', prompt_sha = '', source_sha = '' "
        "WHERE participant_id = $1 AND list_contains($2, name)",
        [whose, telling],
    )
    mark_stale(connection, [whose])


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def clear(connection: Connection, participant: int) -> None:
    """Remove all that is about a participant who is about to go."""
    _clear(connection, f"= {int(participant)}")


def sweep(connection: Connection) -> None:
    """Remove what is about participants who are gone, or rests on claims that are."""
    _clear(connection, "NOT IN (SELECT id FROM participant)")
    connection.execute("DELETE FROM persona_member WHERE claim_id NOT IN (SELECT id FROM claim)")
    _remove_empty(connection)


def _clear(connection: Connection, whose: str) -> None:
    connection.execute(
        "DELETE FROM persona_member WHERE persona_id IN "
        f"(SELECT id FROM persona WHERE participant_id {whose})"
    )
    for table in ("persona", "persona_key", "persona_rows", "persona_fresh"):
        connection.execute(f"DELETE FROM {table} WHERE participant_id {whose}")


def _remove_empty(connection: Connection) -> None:
    connection.execute(
        "DELETE FROM persona WHERE id NOT IN (SELECT persona_id FROM persona_member)"
    )


def _repack(connection: Connection, touched: str) -> None:
    """Take the vectors of keys that are gone out of the rows of these participants and kinds."""
    rows = connection.execute(
        "SELECT participant_id, kind, dimension, unit_rows FROM persona_rows "
        f"SEMI JOIN ({touched}) USING (participant_id, kind)"
    ).fetchall()
    for whose, kind, dimension, blob in rows:
        which = [int(whose), str(kind)]
        places = connection.execute(
            "SELECT place FROM persona_key WHERE participant_id = ? AND kind = ? ORDER BY place",
            which,
        ).fetchall()
        left = np.frombuffer(blob, np.float32).reshape(-1, int(dimension))[[p for (p,) in places]]
        connection.execute(
            "UPDATE persona_rows SET unit_rows = ? WHERE participant_id = ? AND kind = ?",
            [left.tobytes(), *which],
        )
        connection.execute(
            "UPDATE persona_key SET place = n.place FROM (SELECT key, "
            "row_number() OVER (ORDER BY place) - 1 AS place FROM persona_key "
            "WHERE participant_id = $1 AND kind = $2) n "
            "WHERE participant_id = $1 AND kind = $2 AND n.key = persona_key.key",
            which,
        )


def by_kind(found: Iterable[PersonaGroup], kind: PersonaKind) -> Mapping[int, frozenset[int]]:
    """The items of the groups of one kind, by the groups' ids."""
    return {
        int(group.id): frozenset(int(number) for number, _ in group.members)
        for group in found
        if group.kind is kind
    }
