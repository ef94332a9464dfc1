"""Instances for the selector: an episode at a cut, its features, and what each structure earns.

Reward (FluxMem, equation 9 and Algorithm 2; the parts are ours, the paper defines neither):
r = 0.7 * nDCG@3 of the gold pages + 0.3 * (gold pages among the 3 shown / 3) * min(1, 600 / tokens
shown), averaged over the questions whose gold pages all lie in the episode. Only this episode's
structure is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.measures import ndcg
from benchmarks.page_data import PagedHistory
from localmem.tiers.features import WINDOW, features_of
from localmem.tiers.midterm import MidTerm
from localmem.tiers.relevance import EpisodePages
from localmem.tiers.selector import KINDS
from localmem.tiers.structures import build_structure

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

CUTS = (6, 10, 16, 32)
LEAST_PAGES = 6
SHOWN = 3
_QUALITY, _MEMORY_USE = 0.7, 0.3
_TOKENS = 600
_TOKENS_A_WORD = 4 / 3


@dataclass(frozen=True, slots=True)
class Instance:
    """An episode at a cut. `features` float32 (12,), `rewards` float64 (3,) in `KINDS`' order."""

    dataset: str
    history: str
    episode: int
    pages: int
    questions: int
    features: Floats
    rewards: Doubles


def instances_of(history: PagedHistory) -> Iterator[Instance]:
    """Every episode that the gate makes of a history, at every cut that holds a question."""
    tier = MidTerm(history.vectors.shape[1])
    members: dict[int, list[int]] = {}
    for row, decision in enumerate(tier.consolidate(history.pages, history.vectors)):
        members.setdefault(int(decision.episode_id), []).append(row)
    for episode, rows in members.items():
        sizes = sorted({c for c in CUTS if c < len(rows)} | {len(rows)})
        for size in (s for s in sizes if s >= LEAST_PAGES):
            instance = _instance(history, episode, rows[:size], tier.theta)
            if instance is not None:
                yield instance


def _instance(
    history: PagedHistory, episode: int, rows: Sequence[int], theta: float
) -> Instance | None:
    inside = set(rows)
    asked = [i for i, q in enumerate(history.questions) if q.gold and q.gold <= inside]
    if not asked:
        return None
    own = [history.pages[row] for row in rows]
    vectors = history.vectors[list(rows)]
    pages = EpisodePages(
        [history.texts[r] for r in rows], vectors, [p.traits.entities for p in own]
    )
    structures = [build_structure(kind, pages) for kind in KINDS]
    place_of = {row: place for place, row in enumerate(rows)}
    rewards = np.zeros((len(asked), len(KINDS)))
    for line, number in enumerate(asked):
        question = history.questions[number]
        gold = frozenset(place_of[row] for row in question.gold)
        vector = history.question_vectors[number]
        for column, structure in enumerate(structures):
            found = [f.place for f in structure.rank(question.text, vector, k=SHOWN)]
            words = sum(own[place].traits.words for place in found)
            rewards[line, column] = reward(found, gold, words * _TOKENS_A_WORD)
    newest = slice(-WINDOW, None)
    return Instance(
        history.dataset,
        history.name,
        episode,
        len(rows),
        len(asked),
        features_of(own[newest], vectors[newest], theta),
        rewards.mean(axis=0),
    )


def reward(found: Sequence[int], gold: frozenset[int], tokens: float) -> float:
    """0.7 quality + 0.3 memory use of the pages that one question was shown."""
    use = len(gold & set(found)) / SHOWN * min(1.0, _TOKENS / max(tokens, 1.0))
    return _QUALITY * ndcg(found, gold, SHOWN) + _MEMORY_USE * use
