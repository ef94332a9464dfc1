"""The pages of one episode, and how near each is to a question: what all structures start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localmem.index.fusion import RRF_K, reciprocal_rank, standardised
from localmem.index.keyword import KeywordIndex
from localmem.ports import FloatMatrix
from localmem.types import PageRank

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class EpisodePages:
    """Pages in the order of time. `vectors` float32 (n, dim) unit rows.

    `entities` are each page's, case-folded. `reciprocal` fuses words and meaning by reciprocal
    rank, as the paper's setup does, instead of adding standardised scores.
    """

    texts: Sequence[str]
    vectors: FloatMatrix
    entities: Sequence[Sequence[str]]
    reciprocal: bool = False

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def keywords(self) -> KeywordIndex:
        """BM25 over the pages."""
        index = KeywordIndex()
        index.add(range(len(self.texts)), self.texts)
        return index

    def near(self, question: str, vector: Floats | None) -> Floats:
        """h of each page, float32 (n,): z(meaning) + z(words), or their reciprocal ranks."""
        words = self.keywords.scores(question)
        meaning = self.vectors @ vector if vector is not None else np.zeros_like(words)
        if self.reciprocal:
            return reciprocal_rank([words, meaning], weight=0.5, k=RRF_K)
        return z_score(words) + z_score(meaning)


def z_score(values: Floats) -> Floats:
    """Mean 0 and deviation 1, float32 (n,); all 0 where the values are alike."""
    if not values.size:
        return values
    return np.asarray(standardised(values[None, :].astype(np.float32))[0], np.float32)


def best(scores: Floats, k: int, places: Sequence[int] | None = None) -> list[PageRank]:
    """The k largest scores, ties by place; `places` limits which take part."""
    chosen = range(len(scores)) if places is None else places
    ordered = sorted(chosen, key=lambda place: (-float(scores[place]), place))[:k]
    return [PageRank(place, float(scores[place])) for place in ordered]
