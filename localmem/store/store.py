"""The memory file as a room of values: every method takes the lease, does its work, gives it back.

Wiring only; what happens stands in the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from duckdb import DuckDBPyConnection as Connection

from localmem.errors import RecordNotFoundError
from localmem.store import claims as claim_rows
from localmem.store import conversations as incoming
from localmem.store import decisions as decision_rows
from localmem.store import (
    derived,
    erasing,
    forgetting,
    imports,
    layers,
    meta,
    ownership,
    participants,
    people,
    reads,
    references,
    snapshots,
    usage,
    vectors,
)
from localmem.store import items as item_rows
from localmem.store import records as record_rows
from localmem.store import rulings as ruling_rows
from localmem.store.claims import ItemGroup
from localmem.store.columns import Changes, MessageColumns, VectorColumns
from localmem.store.decisions import Decision, Undecided
from localmem.store.grouping import SESSION_GAP
from localmem.store.lease import Lease
from localmem.store.records import Unrecorded
from localmem.store.tombstones import Tombstones
from localmem.store.transactions import rehearsal, transaction
from localmem.types import (
    Claim,
    ConversationDelta,
    ErasureReceipt,
    ForgetPlan,
    ForgetTarget,
    ImportedConversation,
    ImportId,
    ImportReport,
    IndexSnapshot,
    Item,
    ItemCounts,
    ItemId,
    ItemKind,
    ItemState,
    MadeFacts,
    MadeNotes,
    MemoryStats,
    Message,
    MessageId,
    MessageRecord,
    Participant,
    ParticipantId,
    PeopleChange,
    PersonOverview,
    PersonView,
    Provenance,
    ResolvedDate,
    Ruling,
    Session,
    SessionId,
    SplitChoice,
    StoredVectors,
    TurnId,
    TurnSummary,
    UnreadReply,
)

_PATIENCE_S = 10.0


class Store:
    """One memory file. Safe for threads; several processes may have one each at the same time.

    The file is open only inside `reading()` and `writing()`, which every method enters by itself:
    put several calls into one block to open it once. `idle_s` keeps it open that much longer while
    nobody else waits. Each writing method is one transaction.
    """

    def __init__(self, path: Path, *, patience_s: float = _PATIENCE_S, idle_s: float = 0.0) -> None:
        """Nothing is opened yet. The file is made when it is first used.

        `patience_s`: how long to wait for other processes before StoreLockedError.
        """
        self.path = path.resolve()  # rewriting must replace the file, not a link to it
        self._lease = Lease(self.path, patience_s=patience_s, idle_s=idle_s)
        self._generation: tuple[Connection, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back; later calls raise StoreError."""
        self._lease.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the memory for reading, together with other readers.

        Raises:
            StoreLockedError: a writer kept it for longer than the patience.
        """
        with self._lease.hold(write=False):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the memory alone. Not inside `reading()`.

        Raises:
            StoreLockedError: others kept it for longer than the patience.
        """
        with self._lease.hold(write=True):
            yield

    @contextmanager
    def lingering(self, seconds: float = 1.0) -> Iterator[None]:
        """Keep the file open so long between two uses in this block, while nobody else waits."""
        with self._lease.lingering(seconds):
            yield

    # --- Imports --------------------------------------------------------------------------

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

    def _erasing(self, erase: Callable[[Connection], dict[str, int]]) -> ErasureReceipt:
        with self._lease.hold(write=True):
            bytes_before = self.path.stat().st_size
            with self._transaction() as connection:
                counts = erase(connection)
            self._lease.rewrite()
            bytes_after = self.path.stat().st_size
        return erasing.receipt(counts, bytes_before=bytes_before, bytes_after=bytes_after)

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

    # --- Messages, sessions, participants ---------------------------------------------------

    def messages(self, ids: Sequence[MessageId]) -> tuple[Message, ...]:
        """The messages in the order of `ids`.

        Raises:
            RecordNotFoundError: one of them is not stored.
        """
        with self._lease.hold(write=False) as connection:
            return reads.messages(connection, ids)

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

    def indexed_messages(self, *, after_generation: int = 0) -> MessageColumns:
        """The messages on the shown path as columns, by session and ordinal."""
        with self._lease.hold(write=False) as connection:
            return reads.message_columns(connection, after_generation)

    def shown_messages(self, *, after_generation: int = 0) -> tuple[Message, ...]:
        """The same messages as values: slower, with the speakers' names."""
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

    def participants(self) -> tuple[Participant, ...]:
        with self._lease.hold(write=False) as connection:
            return participants.participants(connection)

    def find_participant(self, name: str) -> Participant:
        """The participant with this name or alias; case does not matter.

        Raises:
            RecordNotFoundError: nobody has it; the hint lists names.
        """
        with self._lease.hold(write=False) as connection:
            return participants.find(connection, name)

    def owner(self) -> Participant | None:
        with self._lease.hold(write=False) as connection:
            return participants.owner(connection)

    def set_owner(self, name: str) -> Participant:
        """Make the person with this name the owner, who speaks in all chats with assistants."""
        with self._transaction() as connection:
            return ownership.set_owner(connection, name)

    def people(self) -> tuple[PersonOverview, ...]:
        """All participants in numbers: the owner, then those who said the most."""
        with self._lease.hold(write=False) as connection:
            return people.overview(connection)

    def person(self, name: str) -> PersonView:
        """Who somebody is, by name, alias or id.

        Raises:
            RecordNotFoundError, UsageError: nobody is called so, or several are.
        """
        with self._lease.hold(write=False) as connection:
            return people.view(connection, name)

    def add_alias(self, name: str, alias: str) -> Participant:
        """Give somebody one more name.

        Raises:
            RecordNotFoundError, UsageError: nobody or several are called `name`, or somebody else
                is called `alias`.
        """
        with self._transaction() as connection:
            return people.alias(connection, name, alias)

    def merge_people(self, kept: str, gone: str) -> PeopleChange:
        """Make two participants one, called as the first; `split_person` takes it back.

        Raises:
            RecordNotFoundError, UsageError: a name is nobody's or several people's, or both are
                one, or one is an assistant.
        """
        with self._transaction() as connection:
            return people.merge(connection, kept, gone)

    def split_person(self, name: str, choice: SplitChoice, new_name: str) -> PeopleChange:
        """Give a part of somebody's messages to `new_name`, or (no choice) take back a merge.

        Raises:
            RecordNotFoundError, UsageError: nobody or several are called so, or the choice holds
                none or all of what they said.
        """
        with self._transaction() as connection:
            return people.split(connection, name, choice, new_name)

    def stats(self) -> MemoryStats:
        with self._lease.hold(write=False) as connection:
            return reads.stats(connection, self.path)

    def shown_characters(self) -> int:
        """The length of all shown messages with what is attached to them."""
        with self._lease.hold(write=False) as connection:
            return reads.shown_characters(connection)

    # --- Derived rows ---------------------------------------------------------------------

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

    # --- Facts and notes --------------------------------------------------------------------

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

    # --- Participants' records and items ------------------------------------------------------

    def unrecorded(self, limit: int) -> tuple[Unrecorded, ...]:
        """Shown messages that have no record yet, by id."""
        with self._lease.hold(write=False) as connection:
            return record_rows.unrecorded(connection, limit)

    def put_records(self, records: Sequence[MessageRecord]) -> None:
        """Store records in place of what the messages had; their items must be made anew."""
        with self._transaction() as connection:
            record_rows.put_records(connection, records)

    def records_of(self, ids: Sequence[MessageId]) -> Mapping[MessageId, MessageRecord]:
        """The records of messages; those without one are absent."""
        with self._lease.hold(write=False) as connection:
            return record_rows.records_of(connection, ids)

    def stale_claims(self) -> Mapping[ItemGroup, tuple[Claim, ...]]:
        """All claims of the groups whose items are out of date."""
        with self._lease.hold(write=False) as connection:
            return claim_rows.stale_claims(connection)

    def put_items(self, made: Mapping[ItemGroup, Sequence[Item]]) -> None:
        """Store the items of whole groups in place of what they had."""
        with self._transaction() as connection:
            item_rows.put_items(connection, made)

    def items(
        self,
        *,
        participants: Iterable[ParticipantId] | None = None,
        slots: Iterable[str] | None = None,
        kinds: Iterable[ItemKind] | None = None,
    ) -> tuple[Item, ...]:
        """The items of some participants, slots and kinds (None: of all), by id."""
        with self._lease.hold(write=False) as connection:
            return item_rows.items_where(
                connection, participants=participants, slots=slots, kinds=kinds
            )

    def item(self, number: ItemId) -> Item:
        """One item.

        Raises:
            RecordNotFoundError: there is none with this id.
        """
        with self._lease.hold(write=False) as connection:
            found = item_rows.item(connection, number)
        if found is None:
            raise RecordNotFoundError(
                f"there is no item {number}", hint="localmem history TOPIC shows their numbers"
            )
        return found

    def items_of_messages(
        self, ids: Iterable[MessageId], *, state: ItemState | None = None
    ) -> tuple[Item, ...]:
        """The items that rest on any of these messages (in one state)."""
        with self._lease.hold(write=False) as connection:
            return item_rows.items_of_messages(connection, list(ids), state=state)

    def item_counts(self) -> ItemCounts:
        with self._lease.hold(write=False) as connection:
            return item_rows.counts(connection)

    def put_ruling(self, participant: ParticipantId, ruling: Ruling) -> None:
        """Keep an order of the owner; the items that it is about must be made anew."""
        with self._transaction() as connection:
            ruling_rows.put_ruling(connection, participant, ruling)

    def rulings(self) -> Mapping[ParticipantId, tuple[Ruling, ...]]:
        """The owner's orders, oldest first, by the participant they are about."""
        with self._lease.hold(write=False) as connection:
            return ruling_rows.rulings(connection)

    def undecided(self, limit: int) -> tuple[Undecided, ...]:
        """Claims that no rule was sure of, each with the item that it may repeat or change."""
        with self._lease.hold(write=False) as connection:
            return decision_rows.undecided(connection, limit)

    def put_decisions(self, decisions: Sequence[Decision]) -> None:
        """Keep what a model decided about claims; their items must be made anew."""
        with self._transaction() as connection:
            decision_rows.put_decisions(connection, decisions)

    def decisions(self) -> tuple[Decision, ...]:
        """All that models decided about claims."""
        with self._lease.hold(write=False) as connection:
            return decision_rows.decisions(connection)

    # --- Use ----------------------------------------------------------------------------------

    def count_opened(self, opened: Mapping[SessionId, int]) -> None:
        """Add to how often sessions were opened."""
        with self._transaction() as connection:
            usage.count(connection, opened)

    def opened_counts(self) -> Mapping[SessionId, int]:
        """How often each session was opened; those that never were are absent."""
        with self._lease.hold(write=False) as connection:
            return usage.counts(connection)

    # --- Vectors --------------------------------------------------------------------------

    def messages_without_vectors(self, model_id: str, limit: int) -> tuple[Message, ...]:
        """Shown messages with text that have no vector of this model, oldest first."""
        with self._lease.hold(write=False) as connection:
            pending = vectors.pending(connection, model_id)[:limit]
            return reads.messages(connection, [MessageId(int(number)) for number in pending])

    def count_without_vectors(self, model_id: str) -> int:
        with self._lease.hold(write=False) as connection:
            return len(vectors.pending(connection, model_id))

    def put_vectors(self, batch: StoredVectors, *, blank: Sequence[MessageId] = ()) -> None:
        """Store vectors, in place of those that the messages had from this model.

        `blank` are messages in which the embedder found nothing to embed.

        Raises:
            StoreError: the bytes do not fit the counts, or the model has another dimension here.
        """
        with self._transaction() as connection:
            vectors.put(connection, batch, blank)

    def vectors(self, model_id: str) -> VectorColumns:
        """All vectors of a model, one float32 matrix."""
        with self._lease.hold(write=False) as connection:
            return vectors.get(connection, model_id, 0)

    def vector_models(self) -> Mapping[str, int]:
        """The models that have vectors here, with their dimension."""
        with self._lease.hold(write=False) as connection:
            return vectors.models(connection)

    def drop_vectors(self, model_id: str) -> None:
        with self._transaction() as connection:
            vectors.drop(connection, model_id)

    def active_embedder(self) -> str | None:
        """Model id of the vectors that search uses."""
        with self._lease.hold(write=False) as connection:
            return meta.get(connection, meta.ACTIVE_EMBEDDER)

    def set_active_embedder(self, model_id: str) -> None:
        """Let search use the vectors of this model from now on."""
        with self._transaction() as connection:
            if meta.get(connection, meta.ACTIVE_EMBEDDER) != model_id:
                meta.put(connection, meta.ACTIVE_EMBEDDER, model_id)
                meta.forbid_replay(connection, meta.bump_generation(connection))

    # --- Generation, snapshots, model checks --------------------------------------------------

    def generation(self) -> int:
        """Counts the changes of what search would return; 0 for an empty memory.

        While the file stays open nobody else can write it, so that one look at it is enough.
        """
        with self._lease.hold(write=False) as connection:
            known = self._generation
            if known is None or known[0] is not connection:
                known = self._generation = (connection, meta.get_int(connection, meta.GENERATION))
            return known[1]

    def changes_since(self, generation: int) -> Changes:
        """What came since `generation`, with the vectors of the embedder in use."""
        with self._lease.hold(write=False) as connection:
            values = meta.get_all(connection)
            now = int(values.get(meta.GENERATION, 0))
            must_reload = generation < int(values.get(meta.REPLAY_FLOOR, 0))
            after = now if must_reload else generation
            model_id = values.get(meta.ACTIVE_EMBEDDER, "")
            return Changes(
                generation=now,
                reload=must_reload,
                messages=reads.message_columns(connection, after),
                vectors=vectors.get(connection, model_id, after),
                summaries=derived.summaries_after(connection, after),
            )

    def put_snapshot(self, snapshot: IndexSnapshot) -> None:
        """Store an index in place of the one of the same name and model."""
        with self._transaction() as connection:
            snapshots.put(connection, snapshot)

    def get_snapshot(self, name: str, *, model_id: str = "") -> IndexSnapshot | None:
        """The stored index; None where there is none.

        Raises:
            StaleIndexError: its bytes were damaged; build it anew.
        """
        with self._lease.hold(write=False) as connection:
            return snapshots.get(connection, name, model_id)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._lease.hold(write=True) as connection:
            self._generation = None
            with transaction(connection):
                yield connection
