"""What a stage after the weighted retrieval sees of it, and what it gives back.

The seam between the retriever, which knows no routes, and the routes, which know no index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from localmem.recall.corpus import Bools, Corpus, Floats, Ints


def _no_rows(name: str) -> Ints:
    return np.zeros(0, np.int64)


def _no_vectors(ids: Sequence[int]) -> tuple[Ints, Floats]:
    return np.zeros(0, np.int64), np.zeros((0, 0), np.float32)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Every row with its score. `evident` rows have something to do with the question.

    `dated` rows name a time in their words. `cosines` gives the best chunk's cosine of each row
    with a vector, None where there are no vectors. `holding` gives the rows that hold all words
    of a name, `vectors_of` the vectors of messages: int64 (n,) whose each is, float32 (n, dim).
    """

    corpus: Corpus
    scores: Floats
    evident: Bools
    dated: Bools
    cosines: Callable[[Floats], Floats | None]
    holding: Callable[[str], Ints] = _no_rows
    vectors_of: Callable[[Sequence[int]], tuple[Ints, Floats]] = _no_vectors

    def best(self, most: int) -> Ints:
        """int64: the evident rows of the best scores, best first, ties by the lower row."""
        rows = np.flatnonzero(self.evident)
        order = np.lexsort((rows, -self.scores[rows]))[:most]
        return np.asarray(rows[order], np.int64)


@dataclass(frozen=True, slots=True)
class Staged:
    """The scores as a stage leaves them, and by name what it added to each row."""

    scores: Floats
    evident: Bools
    parts: Mapping[str, Floats] = field(default_factory=dict)


Stage = Callable[[Ranking], Staged]


def chained(stages: Sequence[Stage]) -> Stage:
    """Several stages as one: each sees what the one before it made of the ranking."""

    def run(ranking: Ranking) -> Staged:
        parts: dict[str, Floats] = {}
        for stage in stages:
            staged = stage(ranking)
            parts |= staged.parts
            ranking = replace(ranking, scores=staged.scores, evident=staged.evident)
        return Staged(ranking.scores, ranking.evident, parts)

    return run
