"""Messages, who speaks them, the sessions they stand in, and the days they name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from localmem.types.ids import ConversationId, MessageId, ParticipantId, SessionId, TurnId


class Role(StrEnum):
    """Who a message comes from in its source's own terms.

    In a chat among people every message has the role USER. REPLY is what this memory itself said in
    a conversation with its owner: it tells only what was recalled, so that it is never evidence,
    and nothing is ever learned from it.
    """

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"
    REPLY = "reply"


OWN_CHAT = "localmem"
"""The source of the owner's conversations with the memory itself."""


class ConversationKind(StrEnum):
    """ASSISTANT: one person and an assistant. PEOPLE: two or more people."""

    ASSISTANT = "assistant"
    PEOPLE = "people"


class Granularity(StrEnum):
    """How exact a resolved date is."""

    DAY = "day"
    WEEK = "week"
    WEEKEND = "weekend"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"
    DECADE = "decade"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class Participant:
    """Who speaks or is spoken of. `name` is the name to show; `aliases` holds the others."""

    id: ParticipantId
    name: str
    aliases: tuple[str, ...] = ()
    is_owner: bool = False
    is_assistant: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One utterance by one participant. Its text is never altered.

    `ordinal` counts from 0 within the session. `said_at` carries the offset of the place where
    it was said, so that its calendar day is right.
    """

    id: MessageId
    turn_id: TurnId
    session_id: SessionId
    participant_id: ParticipantId
    speaker: str
    role: Role
    ordinal: int
    text: str
    said_at: datetime | None = None
    attachment_text: str = ""

    @property
    def whole_text(self) -> str:
        """What was said, and what belongs to it: the text that is indexed."""
        return f"{self.text}\n{self.attachment_text}".strip()


@dataclass(frozen=True, slots=True)
class Session:
    """A contiguous episode of turns: a conversation, or the part of it between long silences."""

    id: SessionId
    conversation_id: ConversationId
    title: str
    source: str
    kind: ConversationKind
    started_at: datetime | None
    ended_at: datetime | None
    turn_count: int
    message_count: int


@dataclass(frozen=True, slots=True)
class ResolvedDate:
    """A time expression of a text, resolved against the time of its message.

    `start` and `end` are calendar days, both included. `words` are the original words at
    [`begin`:`stop`] of the text. `open_end` marks "since 2016".
    """

    words: str
    begin: int
    stop: int
    start: date
    end: date
    granularity: Granularity
    open_end: bool = False
