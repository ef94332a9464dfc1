"""A search: its limits, what it found, and what it says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from localmem.types.ids import MessageId
from localmem.types.messages import Message, ResolvedDate, Session


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Hard limits of a search. None means no limit; days are included on both sides."""

    participant: str | None = None
    since: date | None = None
    until: date | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search found. Scores compare only within one `mode`.

    `signals` holds the part of each signal, for explanation.
    """

    message_id: MessageId
    score: float
    mode: str
    signals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A hit with its message, as front ends show it.

    `standing` says what of it no longer holds, and what does; "" where nothing is known of that.
    """

    hit: Hit
    message: Message
    session: Session
    dates: tuple[ResolvedDate, ...] = ()
    standing: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search returns. `notices` says what degraded it ("12 messages have no vector yet")."""

    query: str
    mode: str
    found: tuple[FoundMessage, ...]
    sessions_total: int
    seconds: float
    notices: tuple[str, ...] = ()
