"""What is known of participants, and the word of the owner and of models on it. Wiring only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from localmem.errors import RecordNotFoundError
from localmem.store import claims as claim_rows
from localmem.store import decisions as decision_rows
from localmem.store import items as item_rows
from localmem.store import records as record_rows
from localmem.store import rulings as ruling_rows
from localmem.store.claims import ItemGroup
from localmem.store.decisions import Decision, Undecided
from localmem.store.facade.held import Held
from localmem.store.records import Unrecorded
from localmem.types import (
    Claim,
    Item,
    ItemCounts,
    ItemId,
    ItemKind,
    MessageId,
    MessageRecord,
    ParticipantId,
    Ruling,
)


class ItemRows(Held):
    """Records, claims and items."""

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

    def items_of_messages(self, ids: Iterable[MessageId]) -> tuple[Item, ...]:
        """The items that rest on any of these messages."""
        with self._lease.hold(write=False) as connection:
            return item_rows.items_of_messages(connection, list(ids))

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
