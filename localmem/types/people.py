"""The people of a memory as front ends show and change them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from localmem.types.ids import ConversationId, ImportId, SessionId
from localmem.types.items import Item
from localmem.types.messages import Participant, Session


@dataclass(frozen=True, slots=True)
class PersonOverview:
    """A participant in numbers. `absorbed` are the names of those who were merged into them.

    Messages are those on the branches that are shown.
    """

    person: Participant
    messages: int
    sessions: int
    first_said_at: datetime | None
    last_said_at: datetime | None
    absorbed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SplitChoice:
    """Which messages of a person belong to somebody else: those in any of these."""

    sessions: tuple[SessionId, ...] = ()
    conversations: tuple[ConversationId, ...] = ()
    imports: tuple[ImportId, ...] = ()


@dataclass(frozen=True, slots=True)
class PersonView:
    """Who somebody is. `topics` are the keywords of their turns with their counts.

    `sessions` are the latest of those in which they speak. `known` holds of them now, of
    `known_total` such items: the owner's word first, then what was repeated, then the newest.
    """

    overview: PersonOverview
    topics: tuple[tuple[str, int], ...]
    sessions: tuple[Session, ...]
    known: tuple[Item, ...] = ()
    known_total: int = 0


@dataclass(frozen=True, slots=True)
class PeopleChange:
    """What a merge or a split did: who it is about now, and how many messages went over to them.

    `sessions` counts those whose summaries, facts and notes are made anew.
    """

    person: Participant
    messages: int
    sessions: int
