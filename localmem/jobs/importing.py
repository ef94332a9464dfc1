"""Brings an export into the store: raw text first, in transactions of many conversations.

Derives nothing; `deriving` does that afterwards, so that a failure there never costs a message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from localmem.importers import Export
from localmem.store import Store
from localmem.types import (
    ConversationDelta,
    ImportedConversation,
    ImportId,
    ImportProblem,
    ImportReport,
)

_BATCH_MESSAGES = 4_000


@dataclass(slots=True)
class _Tally:
    seen: int = 0
    added: int = 0
    grown: int = 0
    messages_added: int = 0
    messages_known: int = 0
    turns_added: int = 0
    without_time: int = 0
    forgotten: int = 0
    problems: list[ImportProblem] = field(default_factory=list)

    def count(self, deltas: Iterable[ConversationDelta]) -> None:
        for delta in deltas:
            self.seen += 1
            self.added += delta.is_new
            self.grown += delta.has_grown
            self.messages_added += len(delta.message_ids)
            self.messages_known += delta.messages_known
            self.turns_added += delta.turns_added
            self.without_time += delta.without_time
            self.forgotten += delta.messages_forgotten


def store_export(
    store: Store,
    export: Export,
    *,
    shown_path: str,
    started_at: datetime,
    gap: timedelta,
    allow_again: bool = False,
    on_batch: Callable[[], None] | None = None,
) -> ImportReport:
    """Store what is new of an export and say what that was.

    Each batch is one transaction, so an interruption loses at most the batch in hand, and the
    same import again completes it. `on_batch` is called after each. What was forgotten stays out
    unless `allow_again`.
    """
    import_id = store.begin_import(shown_path, export.source, started_at)
    tally = _Tally()
    for batch in _batches(export, tally.problems):
        tally.count(store.add_conversations(import_id, batch, gap=gap, allow_again=allow_again))
        if on_batch is not None:
            on_batch()
    report = _report(import_id, export, shown_path, tally, started_at)
    store.finish_import(report)
    return report


def plan_export(
    export: Export,
    known: Callable[[ImportedConversation], int],
    forgotten: Callable[[ImportedConversation], int],
) -> ImportReport:
    """What storing an export would do; `known` counts a conversation's messages already stored,
    `forgotten` those that stay out."""
    tally = _Tally()
    for batch in _batches(export, tally.problems):
        for conversation in batch:
            stored, out = known(conversation), forgotten(conversation)
            new = len(conversation.messages) - stored - out
            tally.seen += 1
            tally.forgotten += out
            tally.added += stored == 0 and not (out and not new)
            tally.grown += bool(stored and new)
            tally.messages_added += new
            tally.messages_known += stored
            tally.without_time += sum(m.said_at is None for m in conversation.messages)
    return replace(_report(None, export, str(export.path), tally, None), complete=False)


def _batches(export: Export, problems: list[ImportProblem]) -> Iterator[list[ImportedConversation]]:
    """Conversations in groups of about 4,000 messages; problems are put aside."""
    batch: list[ImportedConversation] = []
    size = 0
    for imported in export:
        if isinstance(imported, ImportProblem):
            problems.append(imported)
            continue
        batch.append(imported)
        size += len(imported.messages)
        if size >= _BATCH_MESSAGES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _report(
    import_id: ImportId | None,
    export: Export,
    shown_path: str,
    tally: _Tally,
    started_at: datetime | None,
) -> ImportReport:
    return ImportReport(
        import_id=import_id,
        path=shown_path,
        source=export.source,
        conversations_seen=tally.seen,
        conversations_added=tally.added,
        conversations_grown=tally.grown,
        messages_added=tally.messages_added,
        messages_known=tally.messages_known,
        turns_added=tally.turns_added,
        without_time=tally.without_time,
        problems=tuple(tally.problems),
        messages_forgotten=tally.forgotten,
        started_at=started_at,
    )
