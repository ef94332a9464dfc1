"""An episode as a sequence: nearness, and newer pages a little before older ones (FluxMem, 3.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localmem.tiers.relevance import EpisodePages, best
from localmem.types import PageRank, StructureKind

_RECENCY = 0.2


class LinearStructure:
    """Pages in the order of time."""

    kind = StructureKind.LINEAR

    def __init__(self, pages: EpisodePages) -> None:
        self._pages = pages

    def rank(self, question: str, vector: NDArray[np.float32] | None, *, k: int) -> list[PageRank]:
        """score = h + 0.2 * (place in time, oldest 0, newest 1)."""
        if not len(self._pages):
            return []
        time = np.linspace(0, 1, len(self._pages), dtype=np.float32)
        return best(self._pages.near(question, vector) + _RECENCY * time, k)
