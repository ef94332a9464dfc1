"""An episode as topics within topics: first the topic, then its pages (FluxMem, 3.3).

Each page links to its one most similar other page; what hangs together is a group. Groups are
grouped again by their centroids until at most eight are left. No threshold takes part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localmem.ports import FloatMatrix
from localmem.tiers.relevance import EpisodePages, best, z_score
from localmem.types import PageRank, StructureKind

Floats = NDArray[np.float32]

MOST_CHILDREN = 8
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class TopicNode:
    """A topic: the places of all its pages, and the topics within it (none: a leaf)."""

    places: tuple[int, ...]
    children: tuple[TopicNode, ...] = ()


class HierarchicalStructure:
    """A tree of topics; a search goes down the best branch first."""

    kind = StructureKind.HIERARCHICAL

    def __init__(self, pages: EpisodePages) -> None:
        self._pages = pages

    def rank(self, question: str, vector: Floats | None, *, k: int) -> list[PageRank]:
        """score = h + z(score of its group), over the pages of the first branches that give k."""
        if not len(self._pages):
            return []
        scores = self._pages.near(question, vector).copy()
        leaves = [node.places for node in _leaves(self.root)]
        of_leaf = z_score(self._node_scores(leaves, question, vector))
        for places, value in zip(leaves, of_leaf.tolist(), strict=True):
            scores[list(places)] += value
        taken: list[int] = []
        for places in self._downwards(self.root, question, vector):
            taken.extend(places)
            if len(taken) >= k:
                break
        return best(scores, k, sorted(taken))

    @cached_property
    def root(self) -> TopicNode:
        """The tree. One group alone hangs flat on the root."""
        leaves = nearest_groups(self._pages.vectors)
        nodes = [TopicNode(tuple(group)) for group in leaves]
        while len(nodes) > MOST_CHILDREN:
            centroids = np.stack([self._centroid(node.places) for node in nodes])
            groups = nearest_groups(centroids)
            if len(groups) == len(nodes):
                break
            nodes = [_joined([nodes[i] for i in group]) for group in groups]
        return TopicNode(tuple(range(len(self._pages))), tuple(nodes))

    def _downwards(
        self, node: TopicNode, question: str, vector: Floats | None
    ) -> Iterator[tuple[int, ...]]:
        """The places of leaves, depth first, the best child first."""
        if not node.children:
            yield node.places
            return
        scores = self._node_scores([c.places for c in node.children], question, vector)
        for found in best(scores, len(node.children)):
            yield from self._downwards(node.children[found.place], question, vector)

    def _node_scores(
        self, groups: Sequence[Sequence[int]], question: str, vector: Floats | None
    ) -> Floats:
        """z(cosine of the centroid) + z(rarity of the question's words that the group holds)."""
        index = self._pages.keywords
        terms = index.terms(question)
        present = index.contributions(terms) > 0
        held = np.array([present[:, list(group)].any(axis=1) for group in groups], np.float32)
        words = held @ index.idf(terms) if terms else np.zeros(len(groups), np.float32)
        if vector is None:
            return z_score(np.asarray(words, np.float32))
        cosines = np.stack([self._centroid(group) for group in groups]) @ vector
        return z_score(np.asarray(words, np.float32)) + z_score(cosines)

    def _centroid(self, places: Sequence[int]) -> Floats:
        mean = self._pages.vectors[list(places)].mean(axis=0)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)


def nearest_groups(vectors: FloatMatrix) -> list[list[int]]:
    """Connected components when each row links to its most similar other row; ties by row.

    Groups are ordered by their first row. A row alone is a group of its own.
    """
    count = len(vectors)
    parent = list(range(count))

    def top(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    for start in range(0, count if count > 1 else 0, _BLOCK):
        block = vectors[start : start + _BLOCK] @ vectors.T
        block[np.arange(len(block)), np.arange(start, start + len(block))] = -2.0
        for row, other in enumerate(block.argmax(axis=1).tolist(), start):
            first, second = sorted((top(row), top(other)))
            parent[second] = first
    groups: dict[int, list[int]] = {}
    for row in range(count):
        groups.setdefault(top(row), []).append(row)
    return list(groups.values())


def _joined(nodes: Sequence[TopicNode]) -> TopicNode:
    if len(nodes) == 1:
        return nodes[0]
    places = tuple(sorted(place for node in nodes for place in node.places))
    return TopicNode(places, tuple(nodes))


def _leaves(node: TopicNode) -> Iterator[TopicNode]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)
