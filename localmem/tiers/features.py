"""The twelve features by which the selector knows an episode. Pure, no words are kept.

Each lies in 0 to 1 (the three `is_` features are 0 or 1). Names are FluxMem's (Table 5); the paper
prints no formulas, these are ours. docs/how-episodes-work.md has them in a table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localmem.ports import FloatMatrix
from localmem.types import Page

NAMES = (
    "page_count",
    "avg_page_length",
    "entity_density",
    "relation_indicators",
    "topic_diversity",
    "topic_transitions",
    "is_qna_pattern",
    "is_decision_tree",
    "is_entity_centric",
    "time_span",
    "temporal_density",
    "semantic_complexity",
)
WINDOW = 64
"""The newest pages of an episode that count."""
FOUNDING_WINDOW = 16
"""The newest pages of the running conversation, where an episode is founded."""

_LONGEST_PAGE = math.log(1_001)
_TWO_YEARS_H = math.log(17_521)
_PAGE_A_MINUTE = math.log(61)
_SHORTEST_H = 1 / 60
_TIME = 4
_FIRST_ROWS = 4

Floats = NDArray[np.float32]


@dataclass(slots=True)
class Window:
    """The newest pages of an episode or conversation, as far as the features need them.

    `vectors` float16 (size, dim) rows, `cosines` float32 (size, size) between them, `traits`
    float64 (size, 5), `weighs` uint8 (size,); the first `length` rows count, oldest first. Grows
    by doubling up to `most` rows; then the oldest page leaves.
    """

    most: int = WINDOW
    length: int = 0
    vectors: NDArray[np.float16] = field(default_factory=lambda: np.zeros((0, 0), np.float16))
    cosines: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    traits: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 5)))
    weighs: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    pages: list[Page] = field(default_factory=list)
    named: Counter[str] = field(default_factory=Counter)

    def add(self, page: Page, vector: Floats) -> None:
        """Takes a page in; `vector` is its unit vector, float32 (dim,)."""
        if self.length == self.most:
            self._drop_oldest()
        elif self.length == len(self.traits):
            self._grow(len(vector))
        row = self.length
        self.vectors[row] = vector
        known = self.vectors[: row + 1].astype(np.float32)
        self.cosines[row, : row + 1] = self.cosines[: row + 1, row] = known @ vector
        traits = page.traits
        is_qna = traits.asks and not traits.answer_asks
        said_h = page.said_at.timestamp() / 3600 if page.said_at else math.nan
        self.traits[row] = (traits.words, len(traits.entities), traits.relations, is_qna, said_h)
        self.weighs[row] = traits.weighs
        self.pages.append(page)
        self.named.update(set(traits.entities))
        self.length += 1

    def features(self, theta: float) -> Floats:
        """The features, float32 (12,) in the order of `NAMES`; all 0 for an empty window.

        `theta` is the cosine from which two pages count as one topic.
        """
        n = self.length
        if n == 0:
            return np.zeros(len(NAMES), np.float32)
        traits = self.traits[:n]
        words, entities, relations, qna, _ = traits.mean(axis=0).tolist()
        diversity, transitions = self._topics(theta)
        hours = self._hours()
        commonest = max(self.named.values(), default=0)
        mean = self.vectors[:n].astype(np.float32).mean(axis=0)
        return np.array(
            [
                math.log2(1 + n) / math.log2(1 + WINDOW),
                min(1.0, math.log1p(words) / _LONGEST_PAGE),
                min(1.0, entities / 10),
                min(1.0, 100 * relations / max(words, 1.0) / 2),
                diversity,
                transitions,
                float(qna >= 0.6),
                float(b"\1\1\1" in self.weighs[:n].tobytes()),
                float(n >= 3 and commonest >= 0.4 * n),
                0.0 if hours is None else min(1.0, math.log1p(hours) / _TWO_YEARS_H),
                0.0 if hours is None else _density(n, hours),
                0.0 if n == 1 else max(0.0, 1.0 - float(np.linalg.norm(mean))),
            ],
            np.float32,
        )

    def _topics(self, theta: float) -> tuple[float, float]:
        """Topic diversity (leaders when each page joins the first near one) and transitions."""
        n = self.length
        if n == 1:
            return 0.0, 0.0
        cosines = self.cosines[:n, :n]
        near = np.packbits(cosines >= theta, axis=1, bitorder="little")
        leaders = count = 0
        for row, line in enumerate(near):
            if not int.from_bytes(line.tobytes(), "little") & leaders:
                leaders |= 1 << row
                count += 1
        apart = int(np.count_nonzero(np.diagonal(cosines, 1) < theta))
        return (count - 1) / (n - 1), apart / (n - 1)

    def _hours(self) -> float | None:
        """From the earliest to the latest page; None where no page has a time."""
        times = self.traits[: self.length, _TIME]
        known = times[~np.isnan(times)]
        return float(known.max() - known.min()) if known.size else None

    def _drop_oldest(self) -> None:
        gone = self.pages.pop(0)
        for name in set(gone.traits.entities):
            self.named[name] -= 1
            if not self.named[name]:
                del self.named[name]
        self.vectors[:-1] = self.vectors[1:].copy()
        self.cosines[:-1, :-1] = self.cosines[1:, 1:].copy()
        self.traits[:-1] = self.traits[1:].copy()
        self.weighs[:-1] = self.weighs[1:].copy()
        self.length -= 1

    def _grow(self, dimension: int) -> None:
        size = min(self.most, max(_FIRST_ROWS, 2 * self.length))
        n = self.length
        vectors = np.zeros((size, dimension), np.float16)
        cosines = np.zeros((size, size), np.float32)
        traits, weighs = np.zeros((size, 5)), np.zeros(size, np.uint8)
        if n:
            vectors[:n], cosines[:n, :n] = self.vectors[:n], self.cosines[:n, :n]
            traits[:n], weighs[:n] = self.traits[:n], self.weighs[:n]
        self.vectors, self.cosines, self.traits, self.weighs = vectors, cosines, traits, weighs


def features_of(pages: Sequence[Page], vectors: FloatMatrix, theta: float) -> Floats:
    """The features of pages in order, with their vectors float32 (n, dim)."""
    window = Window()
    for page, vector in zip(pages, vectors, strict=True):
        window.add(page, vector)
    return window.features(theta)


def _density(pages: int, hours: float) -> float:
    return min(1.0, math.log1p(pages / max(hours, _SHORTEST_H)) / _PAGE_A_MINUTE)
