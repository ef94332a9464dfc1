"""Messages, turns and sessions as they were said. Wiring only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from localmem.store import reads, usage
from localmem.store.facade.held import Held
from localmem.types import MemoryStats, Message, MessageId, Session, SessionId, TurnId


class MessageRows(Held):
    """The raw messages."""

    def messages(self, ids: Sequence[MessageId]) -> tuple[Message, ...]:
        """The messages in the order of `ids`.

        Raises:
            RecordNotFoundError: one of them is not stored.
        """
        with self._lease.hold(write=False) as connection:
            return reads.messages(connection, ids)

    def messages_left(self, ids: Sequence[MessageId]) -> Mapping[MessageId, Message]:
        """Those of these messages that are still stored."""
        with self._lease.hold(write=False) as connection:
            return reads.messages_left(connection, ids)

    def shown_messages(self, *, after_generation: int = 0) -> tuple[Message, ...]:
        """The messages on the shown path, by session and ordinal."""
        with self._lease.hold(write=False) as connection:
            return reads.shown_messages(connection, after_generation)

    def turns(self, ids: Iterable[TurnId]) -> tuple[tuple[Message, ...], ...]:
        """The shown messages of each turn, in the order of `ids`; () for unknown turns."""
        with self._lease.hold(write=False) as connection:
            return reads.turns(connection, ids)

    def sessions(self) -> tuple[Session, ...]:
        """All sessions that show a message, oldest first; those without a time come last."""
        with self._lease.hold(write=False) as connection:
            return reads.sessions(connection)

    def session(self, session_id: SessionId) -> Session:
        """One session.

        Raises:
            RecordNotFoundError: there is no such session, or it shows no message.
        """
        with self._lease.hold(write=False) as connection:
            (found,) = reads.sessions_of(connection, [session_id])
            return found

    def sessions_of(self, ids: Sequence[SessionId]) -> tuple[Session, ...]:
        """The sessions in the order of `ids`.

        Raises:
            RecordNotFoundError: one of them is not stored, or shows no message.
        """
        with self._lease.hold(write=False) as connection:
            return reads.sessions_of(connection, ids)

    def session_messages(
        self, session_id: SessionId, *, all_branches: bool = False
    ) -> tuple[Message, ...]:
        """The messages of a session in their order.

        Raises:
            RecordNotFoundError: there is no such session.
        """
        with self._lease.hold(write=False) as connection:
            return reads.session_messages(connection, session_id, all_branches=all_branches)

    def stats(self) -> MemoryStats:
        with self._lease.hold(write=False) as connection:
            return reads.stats(connection, self.path)

    def shown_characters(self) -> int:
        """The length of all shown messages with what is attached to them."""
        with self._lease.hold(write=False) as connection:
            return reads.shown_characters(connection)

    def count_opened(self, uses: usage.Uses, *, patience_s: float) -> None:
        """Add to how often things were opened, if the turn comes within `patience_s`.

        Raises:
            StoreLockedError: it did not; nothing was counted.
        """
        with self._lease.hurried(patience_s), self._transaction() as connection:
            usage.count(connection, uses)

    def opened_counts(self) -> Mapping[SessionId, int]:
        """How often each session was opened; those that never were are absent."""
        with self._lease.hold(write=False) as connection:
            return usage.counts(connection)
