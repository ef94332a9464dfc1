"""The owner's conversations with the memory itself. Wiring only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from localmem.store import conversations as incoming
from localmem.store import talks
from localmem.store.facade.held import Held
from localmem.types import ImportedConversation, ImportId, MessageId, SessionId


class TalkRows(Held):
    """What is said in them, and what each reply rests on."""

    def add_said(
        self,
        import_id: ImportId,
        conversation: ImportedConversation,
        *,
        gap: timedelta,
        cited: Sequence[MessageId] = (),
    ) -> MessageId:
        """Store one message, with what it cites where it is a reply; both or none."""
        with self._transaction() as connection:
            (delta,) = incoming.add_conversations(connection, import_id, [conversation], gap)
            (number,) = delta.message_ids
            talks.put(connection, number, cited)
            return number

    def cited_by(self, ids: Iterable[MessageId]) -> Mapping[MessageId, tuple[MessageId, ...]]:
        """The messages that each of these replies rests on; those that rest on none are absent."""
        with self._lease.hold(write=False) as connection:
            return talks.cited_by(connection, ids)

    def talk_id(self, session_id: SessionId) -> str:
        """The id under which the conversation of a session goes on.

        Raises:
            RecordNotFoundError: there is no such session, or it was imported.
        """
        with self._lease.hold(write=False) as connection:
            return talks.source_id(connection, session_id)
