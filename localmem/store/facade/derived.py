"""The layers of sessions with their dates, made of messages by rule or by a model. Wiring only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from localmem.store import derived, layers, meta, reads
from localmem.store.facade.held import Held
from localmem.types import (
    MadeFacts,
    MadeNotes,
    Message,
    MessageId,
    Provenance,
    ResolvedDate,
    SessionId,
    TurnId,
    TurnSummary,
    UnreadReply,
)


class DerivedRows(Held):
    """L0 to L2, and resolved dates."""

    def turns_without_summary(self, limit: int) -> tuple[tuple[Message, ...], ...]:
        """The shown messages of turns that have no L0, oldest first; at most `limit` turns."""
        with self._lease.hold(write=False) as connection:
            return reads.pending_turns(connection, limit)

    def put_layer0(
        self,
        summaries: Sequence[TurnSummary],
        dates: Mapping[MessageId, Sequence[ResolvedDate]],
        *,
        seen: int | None = None,
    ) -> None:
        """Store L0 of turns and the dates of their messages, in place of what they had.

        `seen` is the generation at which the turns were read: where messages were removed since,
        nothing is stored. The other methods that store what was derived take it for the same.

        A turn that has L0 has its dates too; a turn that grows loses L0 and is pending again.
        """
        with self._transaction() as connection:
            if not meta.has_lost_since(connection, seen):
                derived.put_dates(connection, dates)
                derived.put_summaries(connection, summaries)

    def put_summaries(self, summaries: Sequence[TurnSummary]) -> None:
        """Store better summaries in place of the ones that the turns had."""
        with self._transaction() as connection:
            derived.put_summaries(connection, summaries)

    def remark_summaries(self, summaries: Sequence[TurnSummary]) -> None:
        """Store the prompt that summaries name; their words stay, and no searcher need care."""
        with self._transaction() as connection:
            derived.remark_summaries(connection, summaries)

    def summary_marks(self) -> tuple[tuple[SessionId, Provenance], ...]:
        """What the L0 of each shown turn was made from and by, with its session."""
        with self._lease.hold(write=False) as connection:
            return derived.marks(connection)

    def dates_of(self, ids: Sequence[MessageId]) -> Mapping[MessageId, tuple[ResolvedDate, ...]]:
        """The resolved dates of messages in the order of the text; messages without are absent."""
        with self._lease.hold(write=False) as connection:
            return reads.dates_of(connection, ids)

    def all_dates(self) -> Mapping[MessageId, tuple[ResolvedDate, ...]]:
        """The resolved dates of every message that has some."""
        with self._lease.hold(write=False) as connection:
            return reads.all_dates(connection)

    def summaries(self, turn_ids: Iterable[TurnId]) -> tuple[TurnSummary, ...]:
        """L0 of these turns by turn id; turns without one are absent."""
        with self._lease.hold(write=False) as connection:
            return derived.summaries_of(connection, turn_ids)

    def all_summaries(self) -> tuple[TurnSummary, ...]:
        with self._lease.hold(write=False) as connection:
            return derived.summaries_after(connection, 0)

    def session_summaries(self, session_id: SessionId) -> tuple[TurnSummary, ...]:
        """L0 of a session in the order of its turns."""
        with self._lease.hold(write=False) as connection:
            return derived.session_summaries(connection, session_id)

    def put_notes(
        self, session_id: SessionId, made: Sequence[MadeNotes], *, seen: int | None = None
    ) -> None:
        """Store L2 of messages of a session, each whole, in place of what they had."""
        with self._transaction() as connection:
            if not meta.has_lost_since(connection, seen):
                layers.put_notes(connection, session_id, made)

    def put_facts(self, made: MadeFacts, *, seen: int | None = None) -> None:
        """Store L1 of a session in place of what it had."""
        with self._transaction() as connection:
            if not meta.has_lost_since(connection, seen):
                layers.put_facts(connection, made)

    def put_unread(self, replies: Sequence[UnreadReply], *, seen: int | None = None) -> None:
        """Keep replies that could not be read, for `doctor`; they are never served."""
        with self._transaction() as connection:
            if not meta.has_lost_since(connection, seen):
                layers.put_unread(connection, replies)

    def notes_of(self, ids: Sequence[MessageId]) -> Mapping[MessageId, MadeNotes]:
        """Stored L2, fresh or not; messages for which it was never made are absent."""
        with self._lease.hold(write=False) as connection:
            return layers.notes_of(connection, ids)

    def facts_of(self, session_id: SessionId) -> MadeFacts | None:
        """Stored L1, fresh or not; None where it was never made."""
        with self._lease.hold(write=False) as connection:
            return layers.facts_of(connection, session_id)

    def unread_replies(self, session_id: SessionId | None = None) -> tuple[UnreadReply, ...]:
        """Replies that could not be read, of one session or of all."""
        with self._lease.hold(write=False) as connection:
            return layers.unread(connection, session_id)

    def sessions_with_facts(self) -> Mapping[SessionId, Provenance]:
        """The sessions that have stored L1, with what it was made from and by."""
        with self._lease.hold(write=False) as connection:
            return layers.made_sessions(connection)
