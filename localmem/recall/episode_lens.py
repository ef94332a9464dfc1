"""Episodes as a lens on what search found: hits that lie in one episode speak for each other.

A stage after the weighted retrieval. It searches nothing itself: what the retrieval did not find
stays unfound, what lies in the episode of several good hits moves up. (FluxMem, section 3.3; the
form is ours.)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from localmem.errors import UsageError
from localmem.recall.ranking import Ranking, Stage, Staged
from localmem.store import Store

WEIGHT = 0.4
_SEEN = 60
"""Of the ranking, how many may move."""
_SPEAKING = 20
"""How many of the best speak for their episodes, the one of rank r with 1 / (1 + r)."""


def lens_stage(episode_of: Mapping[int, int], *, weight: float = WEIGHT) -> Stage:
    """The stage. `episode_of` names the episode of each message; messages in none are absent.

    A row gains weight * deviation of the seen scores * the share of its episode, where the
    strongest episode has share 1.
    """

    def run(ranking: Ranking) -> Staged:
        added = _added(ranking, episode_of, weight)
        return Staged(ranking.scores + added, ranking.evident, {"episode": added})

    return run


class EpisodeLens:
    """The lens of one memory, read anew where pages came or went. Call it inside `reading()`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mark: tuple[int, int, int] | None = None
        self._episode_of: Mapping[int, int] = {}

    def stage(self) -> Stage | None:
        """The stage; None where there are no episodes."""
        mark = self._store.tier_mark()
        if mark != self._mark:
            self._episode_of, self._mark = self._store.episode_of_messages(), mark
        return lens_stage(self._episode_of) if self._episode_of else None


def lens_wanted(name: str) -> bool:
    """Whether `search.episodes` wants the lens.

    Raises:
        UsageError: it is neither on nor off.
    """
    if name not in ("on", "off"):
        raise UsageError(f"search.episodes is {name!r}, want on or off", hint='episodes = "off"')
    return name == "on"


def _added(ranking: Ranking, episode_of: Mapping[int, int], weight: float) -> NDArray[np.float32]:
    added = np.zeros(len(ranking.scores), np.float32)
    rows = ranking.best(_SEEN)
    if not rows.size:
        return added
    ids = ranking.corpus.message_ids[rows].tolist()
    episodes = [episode_of.get(int(number)) for number in ids]
    strength: dict[int, float] = {}
    for rank, episode in enumerate(episodes[:_SPEAKING]):
        if episode is not None:
            strength[episode] = strength.get(episode, 0.0) + 1 / (1 + rank)
    if not strength:
        return added
    unit = weight * float(ranking.scores[rows].std()) / max(strength.values())
    added[rows] = [
        0.0 if episode is None else unit * strength.get(episode, 0.0) for episode in episodes
    ]
    return added
