"""What a deep question has found so far: the evidence set V, and what was tried for it.

Views are added and never change; everything is in one place, so that a policy can be shown it.
No tool runs here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from localmem.recall.deep.question import Question
from localmem.recall.route import Route
from localmem.types import (
    EntryId,
    EpisodeId,
    FoundMessage,
    Layer,
    MessageId,
    ResolvedDate,
    SessionId,
    TraceStep,
    TurnId,
)

_LEAST_FIT = 0.05
"""Of a message that a query found at all."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line that was opened: an L0 sentence, a fact, a note or a message.

    `message_ids` are what it rests on, `said_at` when the first of them was said. `by_rule`: no
    model wrote it. `telling`: it holds most of the question's words and a span of what is asked.
    """

    text: str
    session_id: SessionId
    layer: Layer
    message_ids: tuple[MessageId, ...]
    said_at: datetime | None
    dates: tuple[ResolvedDate, ...] = ()
    by_rule: bool = True
    supported: bool = True
    share: float = 0.0
    telling: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """A session at one layer, as far as it was opened."""

    session_id: SessionId
    layer: Layer
    lines: tuple[Line, ...]

    @property
    def characters(self) -> int:
        """The length of its lines."""
        return sum(len(line.text) for line in self.lines)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A message that a query found, with the best score that any query gave it (equation 5)."""

    found: FoundMessage
    score: float


@dataclass(slots=True)
class State:
    """One deep question in the making.

    `candidates` are kept best first. `size_reflected` is how much was open at the last
    reflection; `waiting` holds queries that wait for their search; `sufficient` is what the last
    reflection said of it; `taken` names the tools of the route that were used; `opened_episodes`
    counts the levels of each episode that are open, `recalled` holds the messages behind entries
    of the long term that were recalled. `stopped` says what ended the loop before it converged:
    "" or "steps", "seconds", "tokens".
    """

    question: Question
    views: dict[tuple[SessionId, Layer], View] = field(default_factory=dict)
    candidates: dict[MessageId, Candidate] = field(default_factory=dict)
    ranked_sessions: tuple[SessionId, ...] = ()
    drilled: list[SessionId] = field(default_factory=list)
    raw_turns: set[TurnId] = field(default_factory=set)
    parts: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()
    tried: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    refused: set[tuple[str, SessionId | None]] = field(default_factory=set)
    route: Route | None = None
    taken: set[str] = field(default_factory=set)
    opened_episodes: dict[EpisodeId, int] = field(default_factory=dict)
    recalled: dict[EntryId, frozenset[MessageId]] = field(default_factory=dict)
    gap: str = ""
    reflections: int = 0
    reflected: bool = False
    size_reflected: int = -1
    nudges: int = 0
    nudged: bool = False
    converged: bool = False
    sufficient: bool = False
    decision: int = 0
    stopped: str = ""
    steps: list[TraceStep] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """|V|: how many lines are open."""
        return sum(len(view.lines) for view in self.views.values())

    @property
    def asked(self) -> tuple[str, ...]:
        """The question, or its parts where it was split."""
        return self.parts or (self.question.text,)

    def lines(self, *, least: Layer = Layer.FACTS) -> Iterator[Line]:
        """All open lines of this layer or finer ones."""
        for view in self.views.values():
            if view.layer >= least:
                yield from view.lines

    def view(self, session_id: SessionId, layer: Layer) -> View | None:
        """The view of a session at a layer, where it is open."""
        return self.views.get((session_id, layer))

    def open(self, session_id: SessionId, layer: Layer, lines: Sequence[Line]) -> View:
        """Adds lines to a view; lines that are open already stay once. What is new comes back."""
        key = (session_id, layer)
        before = self.views[key].lines if key in self.views else ()
        known = {(line.text, line.message_ids) for line in before}
        new = tuple(line for line in lines if (line.text, line.message_ids) not in known)
        self.views[key] = View(session_id, layer, before + new)
        return View(session_id, layer, new)

    def merge(self, found: Sequence[FoundMessage], most_sessions: int) -> int:
        """Takes in what a query found: each message, and so each session, keeps its best score.

        How many of the messages are new. Sessions beyond the `most_sessions` best are left out.
        """
        fresh = 0
        for one in found:
            known = self.candidates.get(one.message.id)
            fresh += known is None
            if known is None or one.hit.score > known.score:
                self.candidates[one.message.id] = Candidate(one, one.hit.score)
        self.candidates = dict(
            sorted(self.candidates.items(), key=lambda item: (-item[1].score, item[0]))
        )
        order = dict.fromkeys(one.found.session.id for one in self.candidates.values())
        self.ranked_sessions = tuple(order)[:most_sessions]
        return fresh

    def relevance(self) -> Mapping[MessageId, float]:
        """How well each found message fits, above 0 and up to 1."""
        scores = [one.score for one in self.candidates.values()]
        low, high = min(scores, default=0.0), max(scores, default=0.0)
        width = (high - low) or 1.0
        return {
            number: _LEAST_FIT + (1 - _LEAST_FIT) * (one.score - low) / width
            for number, one in self.candidates.items()
        }

    def opened_sessions(self) -> dict[SessionId, Layer]:
        """Sessions of which more than the L0 lines was opened, each with its finest layer."""
        opened: dict[SessionId, Layer] = {}
        for view in sorted(self.views.values(), key=lambda view: (view.session_id, view.layer)):
            if view.layer > Layer.SUMMARY:
                opened[view.session_id] = view.layer
        return opened
