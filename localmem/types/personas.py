"""Who somebody is to the memory: what is known of them, grouped and dated, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from localmem.types.ids import ItemId, MessageId, ParticipantId
from localmem.types.items import ItemHistory
from localmem.types.messages import Participant

PersonaId = NewType("PersonaId", int)


class PersonaKind(StrEnum):
    """The two kinds of persona snapshot (AdaMem, section 3.1).

    TOPIC: events and facts about one thing, with what they tell of preferences. ASPECT: attributes
    that belong together.
    """

    TOPIC = "topic"
    ASPECT = "aspect"


@dataclass(frozen=True, slots=True)
class PersonaLine:
    """One thing of a snapshot in a few words, with the items and messages it rests on."""

    text: str
    item_ids: tuple[ItemId, ...]
    message_ids: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True)
class PersonaSnapshot:
    """A topic memory or an aspect summary of one participant.

    `id` stays while the group goes on; 0 where it is not stored yet. `name` is the group's most
    central key, or a model's name of it in words of the members. `descriptors` tell what its items
    say of preferences; `lines` are the items, the newest first.
    """

    id: PersonaId
    participant_id: ParticipantId
    kind: PersonaKind
    name: str
    descriptors: tuple[PersonaLine, ...]
    lines: tuple[PersonaLine, ...]

    @property
    def item_ids(self) -> tuple[ItemId, ...]:
        """All items it is made of."""
        return tuple(dict.fromkeys(number for line in self.lines for number in line.item_ids))

    @property
    def message_ids(self) -> tuple[MessageId, ...]:
        """All messages it rests on: its evidence."""
        return tuple(dict.fromkeys(number for line in self.lines for number in line.message_ids))


@dataclass(frozen=True, slots=True)
class WorkingState:
    """Where a participant's messages stand (AdaMem, section 3.1).

    `recent` wait in the working memory of at most 20; `consolidated` have left it, five at a time;
    of these a model has read `bettered` and found `kept` to need nothing more.
    """

    recent: tuple[MessageId, ...]
    consolidated: int
    bettered: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Persona:
    """What is known of a participant: topic memories, aspects, and attributes with their history.

    The largest topics and aspects come first. `notices` say what is not as it should be.
    """

    participant: Participant
    topics: tuple[PersonaSnapshot, ...]
    aspects: tuple[PersonaSnapshot, ...]
    attributes: tuple[ItemHistory, ...]
    working: WorkingState
    notices: tuple[str, ...] = ()
