"""How rankings are scored: recall of the gold, and nDCG. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence, Set


def recall(ranked: Sequence[Hashable], gold: Set[Hashable], k: int) -> float:
    """Share of the gold among the first k, the gold counted as at most k."""
    return len(set(ranked[:k]) & gold) / min(len(gold), k)


def ndcg(ranked: Sequence[Hashable], gold: Set[Hashable], k: int) -> float:
    """Normalised discounted cumulative gain of the first k, each gold item worth 1."""
    gained = sum(1 / math.log2(place + 2) for place, i in enumerate(ranked[:k]) if i in gold)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(len(gold), k)))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]
