"""Pages, episodes and what decided about them (FluxMem, sections 3.1 to 3.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from localmem.types.finding import FoundMessage
from localmem.types.ids import EntryId, EpisodeId, MessageId, PageId, SessionId
from localmem.types.messages import Message
from localmem.types.talking import RecentPage


class StructureKind(StrEnum):
    """How an episode is organised, in the order in which the selector names them."""

    LINEAR = "linear"
    GRAPH = "graph"
    HIERARCHICAL = "hierarchical"


@dataclass(frozen=True, slots=True)
class PageTraits:
    """What of a page's words decides about its place; taken once, by rule.

    `words` counts them. `entities` are case-folded, without the speakers. `relations` counts
    phrases that compare, give a cause, name kin or a role, or tie two things together.
    `asks`: the first message holds a question mark. `answer_asks`: the reply ends with one.
    `weighs`: the first message weighs alternatives ("should I", "either").
    """

    words: int
    entities: tuple[str, ...] = ()
    relations: int = 0
    asks: bool = False
    answer_asks: bool = False
    weighs: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """One exchange: a user message with its reply; among people, a message and its answer.

    `said_at` is the time of its first message.
    """

    id: PageId
    session_id: SessionId
    message_ids: tuple[MessageId, ...]
    said_at: datetime | None
    traits: PageTraits


@dataclass(frozen=True, slots=True)
class PageRank:
    """A page that a structure found: its place in the episode, oldest 0. Scores are its own."""

    place: int
    score: float


class GateKind(StrEnum):
    """What decided: the fitted mixture, the prior gate while it has too few scores, or nothing.

    NONE: there was no candidate, so the page founded the first episode.
    """

    FITTED = "fitted"
    PRIOR = "prior"
    FIXED = "fixed"
    PAPER = "paper"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class MergeDecision:
    """Where a page went and why.

    `merged` False: it founded `episode_id`. `probability` is that of the best candidate, 0 where
    there was none; `score` its similarity. `fit` numbers the gate's fits from 1, 0 before the
    first. `related` are other episodes that the gate finds akin, best first. `continues` is the
    last page of the episode where that is of another session: the page goes on from there.
    """

    page_id: PageId
    episode_id: EpisodeId
    merged: bool
    probability: float
    score: float
    gate: GateKind
    fit: int
    related: tuple[EpisodeId, ...] = ()
    continues: PageId | None = None


@dataclass(frozen=True, slots=True)
class EpisodeOverview:
    """An episode in numbers.

    `chances` are the selector's for linear, graph, hierarchical at its last look. `utility` is
    the mean of use, size and recency, each 0 to 1. `opened` counts how often it was read.
    """

    id: EpisodeId
    structure: StructureKind
    pages: int
    first_said_at: datetime | None
    last_said_at: datetime | None
    utility: float
    opened: int = 0
    chances: tuple[float, ...] = ()
    summary: str = ""
    related: tuple[EpisodeId, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode as the store keeps it between two runs.

    `total` and `newest` are float32 rows as bytes: the sum of its pages' vectors, and that of its
    newest page. `touched` orders episodes by their newest page. `central_page` was nearest to the
    centroid when it came.
    """

    id: EpisodeId
    structure: StructureKind
    pages: int
    touched: int
    total: bytes
    newest: bytes
    opened: int = 0
    first_said_at: datetime | None = None
    last_said_at: datetime | None = None
    visited_at: datetime | None = None
    last_page: PageId | None = None
    last_session: SessionId | None = None
    central_page: PageId | None = None
    central_cosine: float = -1.0
    chances: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class GateState:
    """Where the gate stopped: its pool of scores and the fit, by the settings that made them.

    `pool` is float64 rows as bytes, `adjacent` the cosines of adjacent pages, float32 as bytes.
    `low` and `high` bound the pool; `mixture` holds a, b and share of the low and the high
    component, then the mean log-likelihood and the rounds; () before the first fit.
    `previous_page` is the page that came last, `previous_episode` where it went.
    """

    settings: str
    pool: bytes = b""
    since_fit: int = 0
    size_at_fit: int = 0
    fit: int = 0
    low: float = 0.0
    high: float = 0.0
    mixture: tuple[float, ...] = ()
    theta: float = 0.0
    adjacent: bytes = b""
    previous_page: PageId | None = None
    previous_episode: EpisodeId | None = None


@dataclass(frozen=True, slots=True)
class TierCounts:
    """How much is where. `pending` counts messages that are in no page yet.

    `loose` are pages whose episode had to go, or that have no vector. `by_structure` counts
    episodes, `by_gate` pages by what decided.
    """

    pages: int = 0
    placed: int = 0
    loose: int = 0
    episodes: int = 0
    across_sessions: int = 0
    pending: int = 0
    lasting: int = 0
    by_structure: Mapping[StructureKind, int] = field(default_factory=dict)
    by_gate: Mapping[GateKind, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """A page of an episode as it is shown: the decision that put it there, and its messages."""

    page_id: PageId
    session_id: SessionId
    decision: MergeDecision
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """An episode with its pages, oldest first."""

    overview: EpisodeOverview
    pages: tuple[EpisodePage, ...]


@dataclass(frozen=True, slots=True)
class TiersView:
    """What is where and why: the counts, the gate, and the most useful episodes.

    `recent` are the pages of the running conversation, oldest first; there may be none.
    `gate` is what decides now; `fit`, `low_mean`, `high_mean` and `middle` describe the fit:
    its number, the raw scores at which its two kinds lie, and the score from which a page merges.
    """

    counts: TierCounts
    gate: GateKind
    fit: int
    low_mean: float
    high_mean: float
    middle: float
    theta: float
    episodes: tuple[EpisodeOverview, ...]
    lasting: tuple[LastingEntry, ...] = ()
    recent: tuple[RecentPage, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsolidateReport:
    """What one run did. `open_messages` are left for the next."""

    pages: int
    merged: int
    founded: int
    dissolved: int
    open_messages: int
    seconds: float


class LastingKind(StrEnum):
    """What a long-term entry tells of (FluxMem, 3.2)."""

    PROFILE = "profile"
    FACT = "fact"
    KNOWLEDGE = "knowledge"
    WISH = "wish"


@dataclass(frozen=True, slots=True)
class LastingEntry:
    """One entry of the long term: a claim with its sources, and what speaks for keeping it.

    `slot` names what it is about, so that two entries of one slot with different values contradict
    each other; "" contradicts nothing. `value` is what it says, case-folded. `sources` are the
    messages it rests on. `supporting` counts the episodes they lie in, `used` how often an answer
    took it. A WISH is what the owner said they like to have done: shown as data, never obeyed.
    `superseded_by` is the entry that holds in its place.
    """

    id: EntryId
    kind: LastingKind
    text: str
    slot: str
    value: str
    said_at: datetime | None
    last_said_at: datetime | None
    sources: tuple[MessageId, ...]
    supporting: int = 1
    used: int = 0
    confirmations: int = 1
    contradictions: int = 0
    pinned: bool = False
    superseded_by: EntryId | None = None


@dataclass(frozen=True, slots=True)
class LastingView:
    """An entry of the long term with the messages that it rests on, oldest first."""

    entry: LastingEntry
    sources: tuple[FoundMessage, ...]
