"""The part of `Memory` that is about people and what is known of them. Wiring only."""

from __future__ import annotations

from localmem.memory.upkeep import Upkeep
from localmem.ports import Clock
from localmem.store import Store
from localmem.types import (
    Correction,
    ItemHistory,
    ItemId,
    ItemSources,
    Neighbourhood,
    Node,
    NodeKind,
    Participant,
    ParticipantId,
    PeopleChange,
    Persona,
    PersonOverview,
    PersonView,
    RulingKind,
    SplitChoice,
)


class KnowingPeople:
    """Who is who in a memory, what is known of them, and the owner's word on it."""

    _store: Store
    _clock: Clock
    _upkeep: Upkeep

    # --- People ---------------------------------------------------------------------------

    def people(self) -> tuple[PersonOverview, ...]:
        """Everybody who speaks, in numbers: the owner, then those who said the most."""
        return self._store.people()

    def person(self, name: str) -> PersonView:
        """Who somebody is, by name, alias or id.

        Raises:
            RecordNotFoundError, UsageError: nobody is called so, or several are.
        """
        return self._store.person(name)

    def persona(self, name: str) -> Persona:
        """What somebody is to the memory: topic memories, aspects, attributes with their history.

        What has changed since it was made last is made anew first.

        Raises:
            RecordNotFoundError, UsageError: nobody is called so, or several are.
        """
        from localmem.participants.personas import persona_of

        participant = self._store.find_participant(name).id
        self._upkeep.regroup(participant)
        return persona_of(self._store, participant)

    def neighbourhood(self, of: str | Node) -> Neighbourhood:
        """What a node of the graph is tied to, and how strongly.

        `of` is a node, or its name: a person, a topic, "message 12", "fact 5", "persona 3". Of a
        person the snapshots that are out of date are made anew first.

        Raises:
            RecordNotFoundError: there is no such node.
            UsageError: the name is empty, or several people have it.
        """
        from localmem.participants import neighbourhood as around

        node = around.node_named(self._store, of) if isinstance(of, str) else of
        if node.kind is NodeKind.PERSON:
            self._upkeep.regroup(ParticipantId(int(node.key)))
        return around.neighbourhood(self._store, node)

    def add_alias(self, name: str, alias: str) -> Participant:
        """Give somebody one more name.

        Raises:
            RecordNotFoundError, UsageError: nobody or several are called `name`, or somebody else
                is called `alias`.
        """
        return self._store.add_alias(name, alias)

    def merge_people(self, kept: str, gone: str) -> PeopleChange:
        """Make two one, called as the first; `split_person` without a choice takes it back.

        Raises:
            RecordNotFoundError, UsageError: a name is nobody's or several people's, or both are
                one, or one is an assistant.
        """
        change = self._store.merge_people(kept, gone)
        self._upkeep.settle()
        return change

    def split_person(self, name: str, choice: SplitChoice, new_name: str) -> PeopleChange:
        """Give a part of what somebody said to somebody else, or take back a merge.

        Raises:
            RecordNotFoundError, UsageError: nobody or several are called so, or the choice holds
                none or all of what they said.
        """
        change = self._store.split_person(name, choice, new_name)
        self._upkeep.settle()
        return change

    # --- What is known ----------------------------------------------------------------------

    def correct(self, text: str, *, instead_of: ItemId | None = None) -> Correction:
        """Say what is so. It outranks what it corrects: the item named, else what it is about.

        Raises:
            UsageError: there is nothing said, or a name in it is that of several people.
            RecordNotFoundError: there is no such item.
        """
        from localmem.jobs import correcting

        done = correcting.correct(
            self._store, text, made_at=self._clock.now(), instead_of=instead_of
        )
        self._upkeep.embed_few()
        self._upkeep.renew_lasting()
        return done

    def retire(self, number: ItemId) -> ItemHistory:
        """Let an item count no more.

        Raises:
            RecordNotFoundError, UsageError: there is no such item, or it does not hold any more.
        """
        from localmem.jobs import correcting

        done = correcting.order(self._store, number, RulingKind.RETIRE, made_at=self._clock.now())
        self._upkeep.renew_lasting()
        return done

    def pin(self, number: ItemId) -> ItemHistory:
        """Let an item stay, whatever messages say later.

        Raises:
            RecordNotFoundError, UsageError: there is no such item, or it does not hold any more.
        """
        from localmem.jobs import correcting

        done = correcting.order(self._store, number, RulingKind.PIN, made_at=self._clock.now())
        self._upkeep.renew_lasting()
        return done

    def why(self, number: ItemId) -> ItemSources:
        """The messages that an item rests on, with its history.

        Raises:
            RecordNotFoundError: there is no such item.
        """
        from localmem.jobs import correcting

        return correcting.why(self._store, number)

    def history(self, topic: str, *, limit: int = 10) -> tuple[ItemHistory, ...]:
        """Every version of what is known of a topic, with dates and reasons; the closest first.

        Raises:
            UsageError: the topic is empty.
        """
        from localmem.jobs import correcting

        return correcting.history(self._store, topic, most=limit)
