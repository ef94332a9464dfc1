"""Working memory, bettered records and persona snapshots. Wiring only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from localmem.store import bettering
from localmem.store import personas as persona_rows
from localmem.store.bettering import RecordMark
from localmem.store.facade.held import Held
from localmem.store.personas import PersonaGroup, PersonaKeys, PersonaNode
from localmem.types import (
    Attitude,
    MessageId,
    MessageRecord,
    ParticipantId,
    PersonaId,
    Provenance,
)


class PersonaRows(Held):
    """What participants are to the memory, and how far their messages were read for it."""

    def said_in_order(self, participant: ParticipantId) -> tuple[MessageId, ...]:
        """What a participant says on the branches that are shown, the oldest first."""
        with self._lease.hold(write=False) as connection:
            return bettering.said_in_order(connection, participant)

    def record_marks(self, participant: ParticipantId) -> Mapping[MessageId, RecordMark]:
        """Who made the records of a participant's messages, and who could not better them."""
        with self._lease.hold(write=False) as connection:
            return bettering.marks(connection, participant)

    def attitudes_of(self, participant: ParticipantId) -> Mapping[MessageId, Attitude]:
        """The attitude of each of a participant's messages that shows one."""
        with self._lease.hold(write=False) as connection:
            return bettering.attitudes(connection, participant)

    def better_records(self, records: Sequence[MessageRecord]) -> int:
        """Put bettered records in place of the rules' own of the same text; how many were put."""
        with self._transaction() as connection:
            return bettering.better(connection, records)

    def mark_records_tried(self, ids: Iterable[MessageId], mark: str) -> int:
        """Mark records as ones that a model could not better; how many were marked."""
        with self._transaction() as connection:
            return bettering.mark_tried(connection, ids, mark)

    def stale_personas(self) -> tuple[ParticipantId, ...]:
        """Participants of whom something else is known than when their snapshots were made."""
        with self._lease.hold(write=False) as connection:
            return persona_rows.stale(connection)

    def persona_groups(self, participant: ParticipantId | None = None) -> tuple[PersonaGroup, ...]:
        """The stored snapshots of a participant, or of all."""
        with self._lease.hold(write=False) as connection:
            return persona_rows.groups(connection, participant)

    def persona_keys(self, participant: ParticipantId) -> tuple[PersonaKeys, ...]:
        """The keys of a participant's snapshots with their links and vectors, by kind."""
        with self._lease.hold(write=False) as connection:
            return persona_rows.keys(connection, participant)

    def persona_nodes(self) -> tuple[PersonaNode, ...]:
        """All snapshots with the messages that they rest on."""
        with self._lease.hold(write=False) as connection:
            return persona_rows.nodes(connection)

    def put_personas(
        self,
        participant: ParticipantId,
        made: Sequence[PersonaGroup],
        keys: Sequence[PersonaKeys],
    ) -> None:
        """Store a participant's snapshots in place of what they had."""
        with self._transaction() as connection:
            persona_rows.put(connection, participant, made, keys)

    def rename_persona(self, number: PersonaId, name: str, by: Provenance) -> None:
        """Give a snapshot a model's name."""
        with self._transaction() as connection:
            persona_rows.rename(connection, number, name, by)
