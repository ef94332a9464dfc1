"""Who said a message before people were merged, so that a merge can be taken back.

A voice is a participant as an import made it, or as a split did. When participants are merged, the
absorbed one lives on as a voice of the other: its messages, names and later messages under these
names keep its number. A message without a row here has the voice of its participant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from duckdb import DuckDBPyConnection as Connection

from localmem.store.batches import id_set, load

_SCHEMA = """
CREATE TABLE absorbed (
    voice_id BIGINT, into_voice_id BIGINT, name VARCHAR, is_owner BOOLEAN, is_assistant BOOLEAN,
    is_placeholder BOOLEAN);
CREATE TABLE absorbed_alias (voice_id BIGINT, folded VARCHAR, name VARCHAR, was_new BOOLEAN);
CREATE TABLE absorbed_message (message_id BIGINT, voice_id BIGINT);
CREATE TABLE reassigned (conversation_id BIGINT, voice_id BIGINT, instead_voice_id BIGINT);
"""


def create_tables(connection: Connection) -> None:
    """A part of a step of the schema."""
    connection.execute(_SCHEMA)


class Voices:
    """The merges as they stand: whose voice is whose, and who speaks instead in a conversation."""

    def __init__(self, connection: Connection) -> None:
        rows = connection.execute("SELECT voice_id, into_voice_id FROM absorbed").fetchall()
        self.into: Mapping[int, int] = {int(voice): int(into) for voice, into in rows}
        instead = connection.execute("SELECT * FROM reassigned").fetchall()
        self._instead = {(int(c), int(voice)): int(other) for c, voice, other in instead}
        self._named: dict[tuple[int, str], int] = {}
        names = connection.execute(
            "SELECT voice_id, folded FROM absorbed_alias WHERE was_new"
        ).fetchall()
        # The innermost voice that brought a name has it: outer ones are written first.
        for voice, folded in sorted(names, key=lambda row: self._depth(int(row[0]))):
            self._named[self.participant(int(voice)), str(folded)] = int(voice)

    def participant(self, voice: int) -> int:
        """The participant that a voice is part of."""
        while voice in self.into:
            voice = self.into[voice]
        return voice

    def parts(self, voice: int) -> tuple[int, ...]:
        """The voice with all that were merged into it, by number."""
        return tuple(sorted({voice, *(v for v in self.into if voice in self.above(v))}))

    def above(self, voice: int) -> list[int]:
        """What a voice was merged into, the nearest first."""
        found = []
        while voice in self.into:
            voice = self.into[voice]
            found.append(voice)
        return found

    def by_name(self, participant: int, folded: str) -> int:
        """The voice that speaks under one of a participant's names."""
        return self._named.get((participant, folded), participant)

    def in_conversation(self, conversation: int, voice: int) -> int:
        """Who speaks in a conversation where the export has this voice: splits decide that."""
        seen = {voice}
        while (conversation, voice) in self._instead:
            voice = self._instead[conversation, voice]
            if voice in seen:
                return voice
            seen.add(voice)
        return voice

    def _depth(self, voice: int) -> int:
        return len(self.above(voice))


def put(connection: Connection, voices: Sequence[tuple[int, int]]) -> None:
    """Note (message, voice) of messages whose voice is not their participant."""
    load(
        connection,
        "INSERT INTO absorbed_message SELECT message_id, voice_id FROM {batch}",
        numbers={"message_id": [v[0] for v in voices], "voice_id": [v[1] for v in voices]},
    )


def absorb(connection: Connection, gone: int, kept: int) -> None:
    """Make a participant a voice of another; messages and names go over with their voice."""
    connection.execute(
        "INSERT INTO absorbed_message SELECT id, $gone FROM message WHERE participant_id = $gone "
        "AND id NOT IN (SELECT message_id FROM absorbed_message)",
        {"gone": gone},
    )
    connection.execute(
        "INSERT INTO absorbed SELECT id, ?, name, is_owner, is_assistant, is_placeholder "
        "FROM participant WHERE id = ?",
        [kept, gone],
    )
    connection.execute(
        "INSERT INTO absorbed_alias SELECT $gone, folded, name, "
        "folded NOT IN (SELECT folded FROM alias WHERE participant_id = $kept) "
        "FROM alias WHERE participant_id = $gone",
        {"gone": gone, "kept": kept},
    )
    connection.execute(
        "DELETE FROM alias WHERE participant_id = $gone AND "
        "folded IN (SELECT folded FROM alias WHERE participant_id = $kept)",
        {"gone": gone, "kept": kept},
    )
    for table in ("alias", "message", "ruling"):
        connection.execute(
            f"UPDATE {table} SET participant_id = ? WHERE participant_id = ?", [kept, gone]
        )
    connection.execute("DELETE FROM participant WHERE id = ?", [gone])


def release(connection: Connection, voice: int) -> tuple[int, ...]:
    """Make a voice a participant again, with its names, messages and its own voices.

    Gives the messages that go over.
    """
    voices = Voices(connection)
    kept = voices.participant(voice)
    connection.execute(
        "INSERT INTO participant SELECT voice_id, name, false, is_assistant, is_placeholder "
        "FROM absorbed WHERE voice_id = ?",
        [voice],
    )
    _take_names(connection, voice, kept, voices.above(voice))
    connection.execute(
        "INSERT INTO alias SELECT voice_id, folded, name FROM absorbed_alias WHERE voice_id = ?",
        [voice],
    )
    with id_set(connection, voices.parts(voice)) as parts:
        moved = connection.execute(
            f"SELECT message_id FROM absorbed_message WHERE voice_id IN {parts}"
        ).fetchall()
    ids = tuple(int(number) for (number,) in moved)
    with id_set(connection, ids) as wanted:
        connection.execute(f"UPDATE message SET participant_id = ? WHERE id IN {wanted}", [voice])
    for table in ("absorbed_message", "absorbed", "absorbed_alias"):
        connection.execute(f"DELETE FROM {table} WHERE voice_id = ?", [voice])
    return ids


def erase(connection: Connection, gone: Iterable[int]) -> None:
    """Remove voices with their names and rules; their messages are gone already."""
    voices = Voices(connection)
    for voice in gone:
        _take_names(connection, voice, voices.participant(voice), voices.above(voice))
        for table in ("absorbed", "absorbed_alias", "absorbed_message"):
            connection.execute(f"DELETE FROM {table} WHERE voice_id = ?", [voice])


def sweep(connection: Connection) -> None:
    """Remove what messages that are gone leave: their rows, silent voices, rules of nobody."""
    connection.execute(
        "DELETE FROM absorbed_message WHERE message_id NOT IN (SELECT id FROM message)"
    )
    connection.execute(
        "DELETE FROM reassigned WHERE conversation_id NOT IN (SELECT id FROM conversation)"
    )
    while silent := connection.execute(
        "SELECT voice_id FROM absorbed "
        "WHERE voice_id NOT IN (SELECT voice_id FROM absorbed_message) "
        "AND voice_id NOT IN (SELECT into_voice_id FROM absorbed)"
    ).fetchall():
        erase(connection, [int(voice) for (voice,) in silent])
    connection.execute(
        "DELETE FROM reassigned WHERE instead_voice_id NOT IN "
        "(SELECT id FROM participant UNION ALL SELECT voice_id FROM absorbed) "
        "OR voice_id NOT IN (SELECT id FROM participant UNION ALL SELECT voice_id FROM absorbed)"
    )


def _take_names(connection: Connection, voice: int, kept: int, above: Sequence[int]) -> None:
    """Take the names that a voice brought from its participant and from the voices between."""
    names = "SELECT folded FROM absorbed_alias WHERE voice_id = $voice AND was_new"
    connection.execute(
        f"DELETE FROM alias WHERE participant_id = $kept AND folded IN ({names})",
        {"voice": voice, "kept": kept},
    )
    for outer in above:
        connection.execute(
            f"DELETE FROM absorbed_alias WHERE voice_id = $outer AND folded IN ({names})",
            {"voice": voice, "outer": outer},
        )
