"""Conversations on their way in: what is new of them is stored, raw, before anything else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from duckdb import DuckDBPyConnection as Connection

from localmem.store import item_erasing, layers, meta, tiers, voices
from localmem.store.batches import NO_TIME, id_set, load, microseconds, offset_minutes
from localmem.store.grouping import Place, later, place_of
from localmem.store.participants import ParticipantBook
from localmem.store.tombstones import Tombstones, lift
from localmem.types import (
    ConversationDelta,
    ConversationId,
    ImportedConversation,
    ImportedMessage,
    ImportId,
    MessageId,
    TurnId,
)


@dataclass(slots=True)
class _Stored:
    """What must be known of a stored message to add others beside it."""

    message_id: int
    turn_id: int
    on_path: bool


@dataclass(slots=True)
class _Conversation:
    """A conversation as it stands during the transaction."""

    number: int
    title: str
    is_new: bool
    messages: dict[str, _Stored] = field(default_factory=dict)
    session_of: dict[int, int] = field(default_factory=dict)
    next_ordinal: dict[int, int] = field(default_factory=dict)
    last_turn: int = 0
    last_session: int = 0
    latest: datetime | None = None


@dataclass(slots=True)
class _Rows:
    """New rows of all tables, column by column."""

    conversations: list[tuple[int, str, str, str]] = field(default_factory=list)
    titles: list[tuple[int, str]] = field(default_factory=list)
    sessions: list[tuple[int, int]] = field(default_factory=list)
    turns: list[tuple[int, int]] = field(default_factory=list)
    places: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    messages: list[ImportedMessage] = field(default_factory=list)
    voices: list[tuple[int, int]] = field(default_factory=list)
    grown_turns: set[int] = field(default_factory=set)
    path_changes: list[tuple[int, bool]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.messages or self.titles or self.path_changes)


def add_conversations(
    connection: Connection,
    import_id: ImportId,
    conversations: Sequence[ImportedConversation],
    gap: timedelta,
    *,
    allow_again: bool = False,
) -> tuple[ConversationDelta, ...]:
    """Store what is new of the conversations, in one transaction that the caller has begun.

    What was forgotten stays out, unless `allow_again`. A known message is never altered. An
    export that lacks stored messages is an older one: it adds what is new, but neither renames a
    conversation nor shows another branch.
    """
    if allow_again:
        lift(connection, conversations)
    writer = _Writer(connection, gap)
    writer.recall(conversations)
    deltas = tuple(writer.add(conversation) for conversation in conversations)
    writer.flush(import_id)
    return deltas


class _Writer:
    """Collects the rows of several conversations and writes them at once."""

    def __init__(self, connection: Connection, gap: timedelta) -> None:
        self._connection = connection
        self._gap = gap
        self._counters = meta.Counters(connection)
        self._participants = ParticipantBook(connection, self._counters)
        self._tombstones = Tombstones(connection)
        self._known: dict[tuple[str, str], _Conversation] = {}
        self._rows = _Rows()

    def recall(self, conversations: Iterable[ImportedConversation]) -> None:
        """Read what is stored of these conversations."""
        keys = {(c.source, c.source_id) for c in conversations}
        if not keys or not _any_row(self._connection, "conversation"):
            return
        load(
            self._connection,
            "CREATE OR REPLACE TEMP TABLE wanted AS SELECT c.id FROM {batch} w JOIN conversation c "
            "ON c.source = w.source AND c.source_id = w.source_id",
            numbers={"number": range(len(keys))},
            texts={"source": [k[0] for k in keys], "source_id": [k[1] for k in keys]},
        )
        by_number: dict[int, _Conversation] = {}
        for number, source, source_id, title in self._connection.execute(_KNOWN).fetchall():
            known = _Conversation(number=int(number), title=str(title), is_new=False)
            by_number[known.number] = known
            self._known[str(source), str(source_id)] = known
        for row in self._connection.execute(_KNOWN_MESSAGES).fetchall():
            _remember(by_number[int(row[0])], row[1:])
        self._connection.execute("DROP TABLE wanted")

    def add(self, conversation: ImportedConversation) -> ConversationDelta:
        """Note the rows that the conversation adds."""
        allowed = self._tombstones.without_forgotten(conversation)
        forgotten = len(conversation.messages) - len(allowed.messages)
        if forgotten and not allowed.messages:
            return _all_forgotten(forgotten)
        return replace(self._add(allowed), messages_forgotten=forgotten)

    def _add(self, conversation: ImportedConversation) -> ConversationDelta:
        stored = self._known.get((conversation.source, conversation.source_id))
        if stored is None:
            stored = self._add_conversation(conversation)
        is_new, stored.is_new = stored.is_new, False
        incoming = {m.source_id: m for m in reversed(conversation.messages)}
        is_current = stored.messages.keys() <= incoming.keys()
        shows_other = False
        if is_current and not is_new:
            shows_other = self._move_path(stored, incoming)
            self._rename(stored, conversation.title)
        counts = {kind: self._counters.last(kind) for kind in ("turn", "session", "message")}
        known_before = len(stored.messages)
        turns: dict[int, None] = {}
        without_time = 0
        for message in conversation.messages:
            if message.source_id not in stored.messages:
                turns[self._add_message(stored, conversation, message)] = None
                without_time += message.said_at is None
        added = range(counts["message"] + 1, self._counters.last("message") + 1)
        return ConversationDelta(
            conversation_id=ConversationId(stored.number),
            is_new=is_new,
            message_ids=tuple(MessageId(m) for m in added),
            turn_ids=tuple(TurnId(t) for t in turns),
            messages_known=len(incoming) - len(added) if known_before else 0,
            turns_added=self._counters.last("turn") - counts["turn"],
            sessions_added=self._counters.last("session") - counts["session"],
            without_time=without_time,
            shows_other_branch=shows_other,
        )

    def flush(self, import_id: ImportId) -> None:
        """Write all noted rows."""
        if self._rows.is_empty:
            return
        generation = meta.bump_generation(self._connection)
        self._counters.save()
        _write_groups(self._connection, self._rows, import_id)
        _write_messages(self._connection, self._rows, import_id, generation)
        voices.put(self._connection, self._rows.voices)
        _drop_summaries(self._connection, self._rows.grown_turns)
        if self._rows.path_changes:
            _write_path(self._connection, self._rows.path_changes, import_id, generation)
            _drop_layers(self._connection, self._rows.path_changes)
            meta.forbid_replay(self._connection, generation)

    def _add_conversation(self, conversation: ImportedConversation) -> _Conversation:
        number = self._counters.next("conversation")
        stored = _Conversation(number=number, title=conversation.title, is_new=True)
        self._known[conversation.source, conversation.source_id] = stored
        self._rows.conversations.append(
            (number, conversation.source, conversation.source_id, conversation.kind.value)
        )
        self._rows.titles.append((number, conversation.title))
        return stored

    def _rename(self, stored: _Conversation, title: str) -> None:
        if title and title != stored.title:
            stored.title = title
            self._rows.titles.append((stored.number, title))

    def _move_path(self, stored: _Conversation, incoming: dict[str, ImportedMessage]) -> bool:
        changes = [
            (known, incoming[source_id].on_path)
            for source_id, known in stored.messages.items()
            if known.on_path != incoming[source_id].on_path
        ]
        for known, on_path in changes:
            known.on_path = on_path
            self._rows.path_changes.append((known.message_id, on_path))
            self._rows.grown_turns.add(known.turn_id)
        return bool(changes)

    def _add_message(
        self, stored: _Conversation, conversation: ImportedConversation, message: ImportedMessage
    ) -> int:
        turn = self._turn_for(stored, conversation, message)
        session = stored.session_of[turn]
        ordinal = stored.next_ordinal.get(session, 0)
        stored.next_ordinal[session] = ordinal + 1
        number = self._counters.next("message")
        speaker = self._participants.speaker(stored.number, conversation, message)
        place = (number, turn, session, stored.number, speaker.participant, ordinal)
        self._rows.places.append(place)
        if speaker.voice != speaker.participant:
            self._rows.voices.append((number, speaker.voice))
        self._rows.messages.append(message)
        self._rows.grown_turns.add(turn)
        stored.messages[message.source_id] = _Stored(number, turn, message.on_path)
        stored.latest = later(stored.latest, message.said_at)
        return turn

    def _turn_for(
        self, stored: _Conversation, conversation: ImportedConversation, message: ImportedMessage
    ) -> int:
        place = place_of(
            message,
            kind=conversation.kind,
            is_first=not stored.messages,
            is_forced=message.source_id in conversation.session_starts,
            latest=stored.latest,
            gap=self._gap,
        )
        if place is Place.SAME_TURN:
            parent = stored.messages.get(message.parent_id or "")
            return parent.turn_id if parent else stored.last_turn
        if place is Place.NEW_SESSION:
            stored.last_session = self._counters.next("session")
            self._rows.sessions.append((stored.last_session, stored.number))
        stored.last_turn = self._counters.next("turn")
        stored.session_of[stored.last_turn] = stored.last_session
        self._rows.turns.append((stored.last_turn, stored.last_session))
        return stored.last_turn


_KNOWN = """
SELECT c.id, c.source, c.source_id,
    (SELECT coalesce(max_by(t.title, t.import_id), '') FROM conversation_title t
     WHERE t.conversation_id = c.id)
FROM conversation c JOIN wanted USING (id)
"""

_KNOWN_MESSAGES = """
SELECT m.conversation_id, m.source_id, m.id, m.turn_id, m.session_id, m.ordinal, m.on_path,
    epoch_us(m.said_at)
FROM message m JOIN wanted w ON w.id = m.conversation_id
"""

_INSERT_MESSAGES = f"""
INSERT INTO message SELECT
    id, turn_id, session_id, conversation_id, participant_id, import_id, role, ordinal, text,
    attachment_text,
    CASE WHEN said_at = {NO_TIME} THEN NULL ELSE make_timestamptz(said_at) END,
    utc_offset_min, source_id, parent_source_id, on_path, generation
FROM {{batch}}
"""


def _remember(known: _Conversation, row: tuple[str, int, int, int, int, bool, int | None]) -> None:
    source_id, number, turn, session, ordinal, on_path, said_at_us = row
    known.messages[source_id] = _Stored(number, turn, on_path)
    known.session_of[turn] = session
    known.next_ordinal[session] = max(known.next_ordinal.get(session, 0), ordinal + 1)
    known.last_turn = max(known.last_turn, turn)
    known.last_session = max(known.last_session, session)
    if said_at_us is not None:
        said_at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=said_at_us)
        known.latest = later(known.latest, said_at)


def _all_forgotten(messages: int) -> ConversationDelta:
    return ConversationDelta(
        conversation_id=None,
        is_new=False,
        message_ids=(),
        turn_ids=(),
        messages_known=0,
        turns_added=0,
        sessions_added=0,
        without_time=0,
        messages_forgotten=messages,
    )


def _any_row(connection: Connection, table: str) -> bool:
    return connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None


def _write_groups(connection: Connection, rows: _Rows, import_id: int) -> None:
    load(
        connection,
        "INSERT INTO conversation SELECT id, source, source_id, kind, import_id FROM {batch}",
        numbers={
            "id": [c[0] for c in rows.conversations],
            "import_id": [import_id] * len(rows.conversations),
        },
        texts={
            "source": [c[1] for c in rows.conversations],
            "source_id": [c[2] for c in rows.conversations],
            "kind": [c[3] for c in rows.conversations],
        },
    )
    load(
        connection,
        "INSERT INTO conversation_title SELECT conversation_id, import_id, title FROM {batch}",
        numbers={
            "conversation_id": [t[0] for t in rows.titles],
            "import_id": [import_id] * len(rows.titles),
        },
        texts={"title": [t[1] for t in rows.titles]},
    )
    load(
        connection,
        "INSERT INTO session SELECT id, conversation_id FROM {batch}",
        numbers={
            "id": [s[0] for s in rows.sessions],
            "conversation_id": [s[1] for s in rows.sessions],
        },
    )
    load(
        connection,
        "INSERT INTO turn SELECT id, session_id FROM {batch}",
        numbers={"id": [t[0] for t in rows.turns], "session_id": [t[1] for t in rows.turns]},
    )


def _write_messages(connection: Connection, rows: _Rows, import_id: int, generation: int) -> None:
    names = ("id", "turn_id", "session_id", "conversation_id", "participant_id", "ordinal")
    numbers: dict[str, Sequence[int]] = {
        name: [place[column] for place in rows.places] for column, name in enumerate(names)
    }
    count = len(rows.messages)
    load(
        connection,
        _INSERT_MESSAGES,
        numbers={
            **numbers,
            "import_id": [import_id] * count,
            "generation": [generation] * count,
            "said_at": [microseconds(m.said_at) for m in rows.messages],
            "utc_offset_min": [offset_minutes(m.said_at) for m in rows.messages],
            "on_path": [m.on_path for m in rows.messages],
        },
        texts={
            "role": [m.role.value for m in rows.messages],
            "text": [m.text for m in rows.messages],
            "attachment_text": [m.attachment_text for m in rows.messages],
            "source_id": [m.source_id for m in rows.messages],
            "parent_source_id": [m.parent_id or "" for m in rows.messages],
        },
    )


def _drop_summaries(connection: Connection, turns: Iterable[int]) -> None:
    """A summary of a turn that has changed is wrong: it must be made again."""
    if _any_row(connection, "turn_summary"):
        load(
            connection,
            "DELETE FROM turn_summary WHERE turn_id IN (SELECT turn_id FROM {batch})",
            numbers={"turn_id": sorted(turns)},
        )


def _drop_layers(connection: Connection, changes: Sequence[tuple[int, bool]]) -> None:
    """Facts and notes of a branch that is not shown are no older ones, but wrong ones."""
    with id_set(connection, [number for number, _ in changes]) as changed:
        layers.erase_sessions(connection, f"SELECT session_id FROM message WHERE id IN {changed}")
        item_erasing.drop(connection, changed)
        tiers.erase(connection, changed)


def _write_path(
    connection: Connection, changes: Sequence[tuple[int, bool]], import_id: int, generation: int
) -> None:
    load(
        connection,
        "INSERT INTO path_change SELECT import_id, message_id, NOT on_path FROM {batch}",
        numbers={
            "import_id": [import_id] * len(changes),
            "message_id": [c[0] for c in changes],
            "on_path": [c[1] for c in changes],
        },
    )
    load(
        connection,
        "UPDATE message SET on_path = b.on_path, generation = b.generation FROM {batch} b "
        "WHERE message.id = b.message_id",
        numbers={
            "message_id": [c[0] for c in changes],
            "on_path": [c[1] for c in changes],
            "generation": [generation] * len(changes),
        },
    )
