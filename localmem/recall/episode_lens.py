"""Episodes as a lens on what search found: hits that lie in one episode speak for each other.

A stage after the weighted retrieval. It searches nothing itself: what the retrieval did not find
stays unfound, what lies in the episode of several good hits moves up. (FluxMem, section 3.3; the
form is ours.)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from localmem.recall.ranking import Ranking, Stage, Staged

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
