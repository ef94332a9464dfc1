"""An episode as a net of pages that name the same things (FluxMem, 3.3 and Figure 2).

What a question names pulls in pages that share rare names with the pages it finds, though they
share no word with the question itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from localmem.entities import entities
from localmem.tiers.relevance import EpisodePages, best
from localmem.types import PageRank, StructureKind

Floats = NDArray[np.float32]

_SEEDS = 2
_DECAY = 0.85
_HOPS = 2
_NEAR_WEIGHT = 0.55
_NEAREST = 3
_NEIGHBOURS = 20
_SPREAD = 0.5
_WORD = re.compile(r"[\w'’-]+")


class GraphStructure:
    """Pages and names as nodes; edges are worked out on demand, from where a search spreads."""

    kind = StructureKind.GRAPH

    def __init__(self, pages: EpisodePages) -> None:
        self._pages = pages

    def rank(self, question: str, vector: Floats | None, *, k: int) -> list[PageRank]:
        """score = h + 0.5 * best spread from the seeds: the two nearest pages and named ones."""
        if not len(self._pages):
            return []
        near = self._pages.near(question, vector)
        seeds = [found.place for found in best(near, _SEEDS)]
        seeds += [place for name in self.named(question) for place in self._by_name[name]]
        return best(near + _SPREAD * self.spread(seeds), k)

    def named(self, question: str) -> list[str]:
        """The episode's names that the question names."""
        asked, folded = _asked(question)
        return [name for name in self._by_name if name in asked or f" {name} " in folded]

    def spread(self, seeds: Sequence[int]) -> Floats:
        """float32 (n,): the best product of edge weights and 0.85 a hop from any seed; seeds 1."""
        reached = np.zeros(len(self._pages), np.float32)
        edge_of_search = list(dict.fromkeys(seeds))
        reached[edge_of_search] = 1.0
        for _ in range(_HOPS):
            found = reached.copy()
            for place in edge_of_search:
                found = np.maximum(found, _DECAY * reached[place] * self.weights(place))
            grown = np.flatnonzero(found > reached)
            order = np.lexsort((grown, -found[grown]))
            edge_of_search = grown[order][:_NEIGHBOURS].tolist()
            reached = found
        return reached

    def weights(self, place: int) -> Floats:
        """float32 (n,): the weight of the edge from one page to each other.

        max(min(1, 2 * sum of 1 / df over shared names), 0.55 for its three nearest by cosine).
        """
        shared = np.zeros(len(self._pages), np.float32)
        for name in set(self._pages.entities[place]):
            others = self._by_name[name]
            shared[others] += 1.0 / len(others)
        weights = np.minimum(1.0, 2.0 * shared)
        cosines = self._pages.vectors @ self._pages.vectors[place]
        cosines[place] = -2.0
        nearest = [found.place for found in best(cosines, _NEAREST) if found.score > -2.0]
        weights[nearest] = np.maximum(weights[nearest], _NEAR_WEIGHT)
        weights[place] = 0.0
        return np.asarray(weights, np.float32)

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, names in enumerate(self._pages.entities):
            for name in Counter(names):
                places.setdefault(name, []).append(place)
        return places


@lru_cache(maxsize=4)
def _asked(question: str) -> tuple[frozenset[str], str]:
    """A question's names and its words; one question is put to several episodes in a row."""
    names = frozenset(name.casefold() for name in entities(question))
    return names, f" {' '.join(_WORD.findall(question.casefold()))} "
