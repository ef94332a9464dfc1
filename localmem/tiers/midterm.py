"""The middle of the memory: pages gather in episodes, across sessions. No file, no words.

A page comes with its vector; the gate decides whether it joins an episode or founds one; the
selector chooses the episode's structure. What it holds is bounded by the number of episodes, not
by the number of pages: raw turns stay where they are and are never lost by anything in here.
(FluxMem, sections 3.2 and 3.5.)
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from localmem.ports import FloatMatrix
from localmem.tiers.candidates import Candidates, EpisodeVectors
from localmem.tiers.features import FOUNDING_WINDOW, NAMES, Window
from localmem.tiers.gate import BetaGate, Gate, Verdict
from localmem.tiers.selector import (
    BEST_FIXED,
    FixedSelector,
    Selector,
    choose,
    choose_again,
)
from localmem.tiers.utility import utility
from localmem.types import (
    EpisodeId,
    EpisodeOverview,
    MergeDecision,
    Page,
    PageId,
    SessionId,
    StoredEpisode,
    StructureKind,
)

Floats = NDArray[np.float32]

MOST_EPISODES = 2_000
_ADJACENT = 4_000
_FIRST_THETA = 0.45
_PAGES_PER_THETA = 25
_DAY_S = 86_400.0


@dataclass(slots=True)
class Episode:
    """A group of pages as the middle of the memory holds it.

    `row` is its place among the vectors. `last_page` and `last_session` are those of its newest
    page. `visited_at` is when it was last opened. `central_page` was the nearest to the centroid
    when it came. The window is kept only where the selector reads features.
    """

    id: EpisodeId
    row: int
    structure: StructureKind
    window: Window = field(default_factory=Window)
    pages: int = 0
    opened: int = 0
    first_said_at: datetime | None = None
    last_said_at: datetime | None = None
    visited_at: datetime | None = None
    last_page: PageId | None = None
    last_session: SessionId | None = None
    central_page: PageId | None = None
    central_cosine: float = -1.0
    chances: tuple[float, ...] = ()

    def seen_at(self) -> float:
        """Seconds since 1970 of its last page or visit; NaN where neither has a time."""
        times = [t.timestamp() for t in (self.last_said_at, self.visited_at) if t is not None]
        return max(times, default=math.nan)


@dataclass(frozen=True, slots=True)
class RunningState:
    """What the next page is compared with: theta, cosines of adjacent pages float32 (n,)."""

    theta: float = 0.0
    adjacent: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    previous_page: PageId | None = None
    previous_episode: EpisodeId | None = None


class MidTerm:
    """All episodes. Not safe for concurrent calls."""

    def __init__(
        self,
        dimension: int,
        *,
        gate: Gate | None = None,
        selector: Selector | None = None,
        most_episodes: int = MOST_EPISODES,
        first_id: int = 1,
    ) -> None:
        """`gate` defaults to the pooled Beta gate, `selector` to a graph for all.

        No learned selector earned more than that; see docs/how-episodes-work.md.
        """
        self.gate: Gate = gate or BetaGate()
        self._selector = selector or FixedSelector(BEST_FIXED)
        self._most = most_episodes
        self._vectors = EpisodeVectors(dimension)
        self._episodes: dict[EpisodeId, Episode] = {}
        self._by_row: dict[int, EpisodeId] = {}
        self._next_id = first_id
        self._running = Window(most=FOUNDING_WINDOW)
        self._previous: tuple[Page, Floats, EpisodeId] | None = None
        self._adjacent: deque[float] = deque(maxlen=_ADJACENT)
        self._since_theta = _PAGES_PER_THETA
        self._theta = _FIRST_THETA
        self._dissolved: list[EpisodeId] = []
        self._changed: set[EpisodeId] = set()
        self._latest: datetime | None = None

    @property
    def theta(self) -> float:
        """The cosine from which two pages count as one topic: the median of adjacent pages."""
        return self._theta

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """All episodes, by id."""
        return tuple(self._episodes.values())

    @property
    def latest(self) -> datetime | None:
        """The time of the newest page: now, for this memory."""
        return self._latest

    @property
    def vector_rows(self) -> int:
        """Rows of vectors that have ever been in use at once: what bounds the memory."""
        return self._vectors.rows

    def __len__(self) -> int:
        return len(self._episodes)

    def consolidate(self, pages: Sequence[Page], vectors: FloatMatrix) -> Iterator[MergeDecision]:
        """Where each page goes, one after the other; vectors float32 (n, dim) unit rows.

        Pages come in the order in which they were said, those of a session together.
        """
        for page, vector in zip(pages, vectors, strict=True):
            yield self.take(page, vector)

    def take(self, page: Page, vector: Floats) -> MergeDecision:
        """Where one page goes."""
        self._run_on(page, vector)
        also = self._previous_row()
        candidates = self._vectors.near(vector, also)
        verdict = self.gate.admit(candidates.scores)
        if verdict.merges:
            episode = self._episodes[self._by_row[candidates.rows[0]]]
            continues = _continues(episode, page)
            self._merge(episode, page, vector)
        else:
            continues = None
            episode = self._found(page, vector)
        decision = self._told(page, episode, candidates, verdict, continues)
        self._previous = (page, vector, episode.id)
        if len(self._episodes) > self._most:
            self._dissolve_least(keep=episode.id)
        return decision

    def dissolved(self) -> tuple[EpisodeId, ...]:
        """Episodes that had to go since the last call; their pages belong to none."""
        gone = tuple(self._dissolved)
        self._dissolved.clear()
        return gone

    def changed(self) -> tuple[StoredEpisode, ...]:
        """The episodes that changed since the last call, as they are stored, by id."""
        known = [self._episodes[one] for one in sorted(self._changed) if one in self._episodes]
        self._changed.clear()
        return tuple(self._stored(episode) for episode in known)

    def running_state(self) -> RunningState:
        """What the next page will be compared with, for the store."""
        page, _, episode = self._previous or (None, None, None)
        return RunningState(
            self._theta,
            np.fromiter(self._adjacent, np.float32),
            page.id if page else None,
            episode,
        )

    def restore(
        self,
        episodes: Sequence[StoredEpisode],
        running: RunningState,
        previous: tuple[Page, Floats] | None,
    ) -> None:
        """Goes on where an earlier run stopped; call it before the first page.

        `previous` is the page that came last with its vector; None where it is gone.
        """
        for stored in sorted(episodes, key=lambda one: one.touched):
            total = np.frombuffer(stored.total, np.float32)
            row = self._vectors.restore(total, np.frombuffer(stored.newest, np.float32))
            self._by_row[row] = stored.id
            self._episodes[stored.id] = _episode_of(stored, row)
            times = [t for t in (stored.last_said_at, self._latest) if t is not None]
            self._latest = max(times, default=None)
        self._episodes = dict(sorted(self._episodes.items()))
        self._theta = running.theta or self._theta
        self._adjacent.extend(running.adjacent.tolist())
        if previous is not None and running.previous_episode is not None:
            self._previous = (*previous, running.previous_episode)
            self._running.add(*previous)

    def fill_window(
        self, episode_id: EpisodeId, pages: Sequence[Page], vectors: FloatMatrix
    ) -> None:
        """The newest pages of an episode, oldest first, for a selector that reads features."""
        for page, vector in zip(pages, vectors, strict=True):
            self._episodes[episode_id].window.add(page, vector)

    def drop(self, episode_ids: Iterable[EpisodeId]) -> None:
        """Dissolves episodes; ids that are not here are passed over."""
        for episode_id in episode_ids:
            episode = self._episodes.pop(episode_id, None)
            if episode is not None:
                self._vectors.drop(episode.row)
                del self._by_row[episode.row]

    def utilities(self) -> NDArray[np.float64]:
        """float64 (episodes,): U of each, in the order of `episodes`."""
        known = self._episodes.values()
        now = self._latest.timestamp() if self._latest else math.nan
        seen = np.array([episode.seen_at() for episode in known], np.float64)
        return utility(
            np.array([episode.opened for episode in known], np.float64),
            np.array([episode.pages for episode in known], np.float64),
            (now - seen) / _DAY_S,
        )

    def overviews(self) -> list[EpisodeOverview]:
        """Every episode in numbers, the most useful first."""
        made = [
            EpisodeOverview(
                episode.id,
                episode.structure,
                episode.pages,
                episode.first_said_at,
                episode.last_said_at,
                float(useful),
                opened=episode.opened,
                chances=episode.chances,
            )
            for episode, useful in zip(self._episodes.values(), self.utilities(), strict=True)
        ]
        return sorted(made, key=lambda one: (-one.utility, one.id))

    def akin(self) -> list[tuple[EpisodeId, EpisodeId]]:
        """Pairs of episodes whose centroids are among each other's three nearest."""
        known = list(self._episodes.values())
        pairs = self._vectors.mutual([episode.row for episode in known])
        return [(known[a].id, known[b].id) for a, b in pairs]

    def _run_on(self, page: Page, vector: Floats) -> None:
        """The running conversation and the topic threshold take note of the page."""
        if self._previous is not None:
            before, its_vector, _ = self._previous
            self._adjacent.append(float(its_vector @ vector))
            if before.session_id != page.session_id:
                self._running = Window(most=FOUNDING_WINDOW)
        self._running.add(page, vector)
        self._since_theta += 1
        if self._since_theta >= _PAGES_PER_THETA and self._adjacent:
            self._theta = float(np.median(np.fromiter(self._adjacent, np.float64)))
            self._since_theta = 0
        if page.said_at and (self._latest is None or page.said_at > self._latest):
            self._latest = page.said_at

    def _previous_row(self) -> int | None:
        episode = self._episodes.get(self._previous[2]) if self._previous else None
        return episode.row if episode else None

    def _found(self, page: Page, vector: Floats) -> Episode:
        chances = self._chances(self._running)
        episode = Episode(EpisodeId(self._next_id), self._vectors.found(vector), choose(chances))
        self._next_id += 1
        self._episodes[episode.id] = episode
        self._by_row[episode.row] = episode.id
        episode.chances = tuple(chances.tolist())
        self._note(episode, page, vector)
        return episode

    def _merge(self, episode: Episode, page: Page, vector: Floats) -> None:
        self._vectors.join(episode.row, vector)
        self._note(episode, page, vector)
        chances = self._chances(episode.window)
        episode.structure = choose_again(episode.structure, chances, episode.pages)
        episode.chances = tuple(chances.tolist())

    def _chances(self, window: Window) -> Floats:
        if self._selector.reads_features:
            return self._selector.chances(window.features(self._theta))
        return self._selector.chances(np.zeros(len(NAMES), np.float32))

    def _told(
        self,
        page: Page,
        episode: Episode,
        candidates: Candidates,
        verdict: Verdict,
        continues: PageId | None,
    ) -> MergeDecision:
        related = [self._by_row[candidates.rows[place]] for place in verdict.kept]
        return MergeDecision(
            page.id,
            episode.id,
            verdict.merges,
            verdict.probability,
            float(candidates.scores[0]) if candidates.rows else 0.0,
            verdict.kind,
            verdict.fit,
            tuple(one for one in related if one != episode.id),
            continues,
        )

    def _note(self, episode: Episode, page: Page, vector: Floats) -> None:
        if self._selector.reads_features:
            episode.window.add(page, vector)
        episode.pages += 1
        episode.last_page, episode.last_session = page.id, page.session_id
        cosine = float(self._vectors.centroid(episode.row) @ vector)
        if episode.pages == 2 or cosine > episode.central_cosine:
            # The first page was its own centroid, which says nothing.
            episode.central_page, episode.central_cosine = page.id, cosine
        if page.said_at is not None:
            first = [t for t in (page.said_at, episode.first_said_at) if t is not None]
            last = [t for t in (page.said_at, episode.last_said_at) if t is not None]
            episode.first_said_at, episode.last_said_at = min(first), max(last)
        self._changed.add(episode.id)

    def _stored(self, episode: Episode) -> StoredEpisode:
        return StoredEpisode(
            episode.id,
            episode.structure,
            episode.pages,
            self._vectors.touched(episode.row),
            self._vectors.total(episode.row).tobytes(),
            self._vectors.newest(episode.row).tobytes(),
            episode.opened,
            episode.first_said_at,
            episode.last_said_at,
            episode.visited_at,
            episode.last_page,
            episode.last_session,
            episode.central_page,
            episode.central_cosine,
            episode.chances,
        )

    def _dissolve_least(self, keep: EpisodeId) -> None:
        """The least useful episode goes, the one that just took a page in never."""
        useful = self.utilities()
        ids = list(self._episodes)
        useful[ids.index(keep)] = np.inf
        gone = ids[int(np.argmin(useful))]
        self.drop([gone])
        self._dissolved.append(gone)


def _episode_of(stored: StoredEpisode, row: int) -> Episode:
    return Episode(
        stored.id,
        row,
        stored.structure,
        pages=stored.pages,
        opened=stored.opened,
        first_said_at=stored.first_said_at,
        last_said_at=stored.last_said_at,
        visited_at=stored.visited_at,
        last_page=stored.last_page,
        last_session=stored.last_session,
        central_page=stored.central_page,
        central_cosine=stored.central_cosine,
        chances=stored.chances,
    )


def _continues(episode: Episode, page: Page) -> PageId | None:
    """The episode's last page, where it is of another session."""
    return episode.last_page if episode.last_session != page.session_id else None
