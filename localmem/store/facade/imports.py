"""Importing, and forgetting for good. Wiring only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from duckdb import DuckDBPyConnection as Connection

from localmem.store import conversations as incoming
from localmem.store import erasing, forgetting, imports, reads, references
from localmem.store.facade.held import Held
from localmem.store.grouping import SESSION_GAP
from localmem.store.tombstones import Tombstones
from localmem.store.transactions import rehearsal
from localmem.types import (
    ConversationDelta,
    ErasureReceipt,
    ForgetPlan,
    ForgetTarget,
    ImportedConversation,
    ImportId,
    ImportReport,
)


class ImportRows(Held):
    """What comes into the file, and what leaves it."""

    def begin_import(self, path: str, source: str, started_at: datetime) -> ImportId:
        with self._transaction() as connection:
            return imports.begin(connection, path, source, started_at)

    def add_conversations(
        self,
        import_id: ImportId,
        conversations: Sequence[ImportedConversation],
        *,
        gap: timedelta = SESSION_GAP,
        allow_again: bool = False,
    ) -> tuple[ConversationDelta, ...]:
        """Store what is new of the conversations, all of them or (on an error) none.

        Known messages are never altered, forgotten ones stay out unless `allow_again`. A silence
        longer than `gap` begins a new session.
        """
        with self._transaction() as connection:
            return incoming.add_conversations(
                connection, import_id, conversations, gap, allow_again=allow_again
            )

    def add_conversation(
        self, import_id: ImportId, conversation: ImportedConversation
    ) -> ConversationDelta:
        """Store what is new of one conversation, in a transaction of its own."""
        (delta,) = self.add_conversations(import_id, [conversation])
        return delta

    def finish_import(self, report: ImportReport) -> None:
        """Note what an import did; its counts of stored rows are taken from the rows.

        Raises:
            RecordNotFoundError: the report's import was never begun.
        """
        with self._transaction() as connection:
            imports.finish(connection, report)

    def list_imports(self) -> tuple[ImportReport, ...]:
        """All imports, newest first."""
        with self._lease.hold(write=False) as connection:
            return imports.list_all(connection)

    def undo_import(self, import_id: ImportId) -> ErasureReceipt:
        """Remove what an import added and all that was derived from it, bytes included.

        Raises:
            RecordNotFoundError: there is no such import.
        """
        return self._erasing(lambda connection: imports.erase(connection, import_id))

    def plan_forget(self, target: ForgetTarget) -> ForgetPlan:
        """What `forget` would do. Changes nothing.

        Raises:
            UsageError, RecordNotFoundError: the target names nothing, or what is not here.
        """
        with self._lease.hold(write=True) as connection, rehearsal(connection):
            return forgetting.plan(connection, target, self.path.stat().st_size)

    def forget(self, target: ForgetTarget, *, confirm: str = "") -> ErasureReceipt:
        """Remove what the target names and all that was derived from it, bytes included.

        The same export does not bring it back. `confirm` must be the owner's name to forget them.

        Raises:
            UsageError, RecordNotFoundError: the target names nothing, or what is not here; or it
                is the owner and `confirm` is not their name.
        """
        return self._erasing(
            lambda connection: forgetting.forget_confirmed(connection, target, confirm)
        )

    def count_known(self, conversation: ImportedConversation) -> int:
        """How many of the conversation's messages are stored already."""
        with self._lease.hold(write=False) as connection:
            known = reads.known_source_ids(connection, conversation.source, conversation.source_id)
        return len(known & {message.source_id for message in conversation.messages})

    def count_forgotten(self, conversation: ImportedConversation) -> int:
        """How many of the conversation's messages were forgotten and stay out."""
        with self._lease.hold(write=False) as connection:
            allowed = Tombstones(connection).without_forgotten(conversation)
        return len(conversation.messages) - len(allowed.messages)

    def orphans(self) -> Mapping[str, int]:
        """Rows that belong to nothing, by table and column; empty where all is well."""
        with self._lease.hold(write=False) as connection:
            return references.orphans(connection)

    def remove_orphans(self) -> None:
        """Remove derived rows that belong to nothing; raw ones stay."""
        with self._transaction() as connection:
            references.remove_orphans(connection)

    def compact(self) -> int:
        """Write the file anew without unused space; gives the number of bytes saved."""
        with self._lease.hold(write=True):
            bytes_before = self.path.stat().st_size
            self._lease.rewrite()
            return bytes_before - self.path.stat().st_size

    def _erasing(self, erase: Callable[[Connection], dict[str, int]]) -> ErasureReceipt:
        with self._lease.hold(write=True):
            bytes_before = self.path.stat().st_size
            with self._transaction() as connection:
                counts = erase(connection)
            self._lease.rewrite()
            bytes_after = self.path.stat().st_size
        return erasing.receipt(counts, bytes_before=bytes_before, bytes_after=bytes_after)
