"""Who speaks, and who is whom. Wiring only."""

from __future__ import annotations

from localmem.store import ownership, participants, people
from localmem.store.facade.held import Held
from localmem.types import Participant, PeopleChange, PersonOverview, PersonView, SplitChoice


class PeopleRows(Held):
    """The participants."""

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
