"""A question: what it may spend, what was opened for it, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from localmem.types.ids import MessageId, SessionId
from localmem.types.layers import Layer
from localmem.types.messages import Message, ResolvedDate
from localmem.types.tiers import LastingEntry


class Depth(StrEnum):
    """How much work a question may cause."""

    INSTANT = "instant"
    DIRECT = "direct"
    DEEP = "deep"
    AUTO = "auto"


class AnswerType(StrEnum):
    """What a question asks for."""

    PERSON = "person"
    PLACE = "place"
    DATE = "date"
    DURATION = "duration"
    NUMBER = "number"
    LIST = "list"
    REASON = "reason"
    YES_NO = "yes/no"
    QUOTE = "quote"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Budget:
    """What a question may spend. None means no limit."""

    steps: int = 20
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A message that was opened for a question, with its resolved dates.

    `score` compares only within one question. `layer` says how much of it was opened. `standing`
    says what of it no longer holds.
    """

    message: Message
    dates: tuple[ResolvedDate, ...]
    score: float
    layer: Layer = Layer.RAW
    standing: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """The exact message that supports an answer. `quote` is a literal part of its text."""

    message_id: MessageId
    session_id: SessionId
    session_title: str
    speaker: str
    said_at: datetime | None
    quote: str


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of answering: what was done, on what, how much it opened, how long it took.

    `tokens` were opened or shown. `decision` numbers the decision of a deep question that the
    step belongs to, from 1; 0 elsewhere. `outcome` says in a few words what came of it.
    """

    tool: str
    arguments: str
    layer: Layer | None
    tokens: int
    seconds: float
    decision: int = 0
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """How an answer came about.

    `model_calls` counts replies and choices. `opened_share` is the share of the whole history's
    text that was opened as raw text, facts or notes, None where it was not counted; `deepest` is
    the finest layer that was opened. `opened` gives the finest layer of each session of which
    more than summaries was opened.
    """

    depth: Depth
    steps: tuple[TraceStep, ...]
    sessions_opened: int
    sessions_total: int
    tokens_by_layer: Mapping[str, int]
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    model_id: str | None
    model_calls: int = 0
    opened_share: float | None = None
    deepest: Layer | None = None
    opened: Mapping[SessionId, Layer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its evidence. `found` False means: not found in this memory.

    `complete` is False when the budget ran out first. `wishes` are those of the owner's standing
    wishes that the language model was shown beside the evidence, as what they once said.
    """

    question: str
    asked_at: datetime
    text: str
    found: bool
    citations: tuple[Citation, ...]
    trace: Trace
    complete: bool = True
    notices: tuple[str, ...] = ()
    wishes: tuple[LastingEntry, ...] = ()
