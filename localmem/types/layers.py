"""The layers of a session (L0 to L3), as they are made, stored and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from localmem.types.ids import MessageId, SessionId, TurnId
from localmem.types.messages import Message, ResolvedDate, Session


class Layer(IntEnum):
    """The four layers of a session (APDMem, section 3.1), coarse to fine."""

    SUMMARY = 0
    FACTS = 1
    NOTES = 2
    RAW = 3


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a derived row was made from and by."""

    model_id: str
    prompt_sha: str
    source_sha: str


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """L0 of a turn: a sentence of at most 30 words, 5-8 keywords, 3-5 tags."""

    turn_id: TurnId
    sentence: str
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class TurnNote:
    """L2: one atomic fact of one message, in the order of the text (APDMem, Figure 6).

    `missing` are its names, numbers and dates that the message neither holds nor resolves to.
    """

    message_id: MessageId
    position: int
    text: str
    missing: tuple[str, ...]
    provenance: Provenance

    @property
    def supported(self) -> bool:
        """Whether the message holds all that the note names."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class KeyFact:
    """L1: one self-contained fact of a session with the messages it rests on (APDMem, Figure 5).

    `missing` are its names, numbers and dates that none of these messages holds or resolves to.
    """

    session_id: SessionId
    position: int
    text: str
    message_ids: tuple[MessageId, ...]
    missing: tuple[str, ...]
    provenance: Provenance

    @property
    def supported(self) -> bool:
        """Whether the messages hold all that the fact names."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class MadeNotes:
    """L2 of one message as a model made it; no notes where it told nothing."""

    message_id: MessageId
    notes: tuple[TurnNote, ...]
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class MadeFacts:
    """L1 of one session as a model made it; no facts where it told nothing."""

    session_id: SessionId
    facts: tuple[KeyFact, ...]
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class UnreadReply:
    """What a model said for a layer that could not be read, or "" where it failed to say anything.

    `unit_id` is a turn for SUMMARY, a session for FACTS, a message for NOTES. Never memory.
    """

    layer: Layer
    unit_id: int
    session_id: SessionId
    place: str
    reason: str
    reply: str
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class LayerCost:
    """What it took to serve a layer. All zero where it was in the cache.

    `evaluated_tokens` counts the prompt tokens that a model really ran through.
    """

    evaluated_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """L1 of a session. `fresh` False: it was made from an older state of the session.

    `notices` say what is not as it should be ("made by rule: the time did not allow more").
    """

    session_id: SessionId
    facts: tuple[KeyFact, ...]
    fresh: bool = True
    cost: LayerCost = field(default_factory=LayerCost)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionNotes:
    """L2 of a session, or of some of its messages, in the order of the messages."""

    session_id: SessionId
    notes: tuple[TurnNote, ...]
    fresh: bool = True
    cost: LayerCost = field(default_factory=LayerCost)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session at one layer: L0 lines of its turns (SUMMARY), FACTS, NOTES, or messages (RAW).

    `messages` are there for NOTES too, which stand in their order. `notices` say what is not as
    it should be with facts and notes.
    """

    session: Session
    layer: Layer
    messages: tuple[Message, ...] = ()
    summaries: tuple[TurnSummary, ...] = ()
    dates: Mapping[MessageId, tuple[ResolvedDate, ...]] = field(default_factory=dict)
    facts: tuple[KeyFact, ...] = ()
    notes: tuple[TurnNote, ...] = ()
    notices: tuple[str, ...] = ()
