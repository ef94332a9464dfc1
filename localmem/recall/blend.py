"""Fusion of the weighted retrieval with the graph: four terms, by rank (AdaMem, equations 3 and 4).

score = alpha / (1 + rank) + beta / (1 + rank in the graph) + gamma * recency + delta * fact. Ranks
count from 0, absent adds nothing. Pure: rankings in, a ranking out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from localmem.types import MessageId

_RESIDUAL = 0.1
"""The factual term of a message that no retrieved fact rests on; the paper says "small"."""


@dataclass(frozen=True, slots=True)
class FusionTerms:
    """The weights of the four terms: rank, graph, recency, fact."""

    alpha: float
    beta: float
    gamma: float
    delta: float


TABLE_7 = FusionTerms(0.7, 0.1, 0.1, 0.1)
"""The paper's defaults (Table 7). They lie outside of the clips below, which bind a refiner."""
_CLIPS = ((0.90, 1.00), (0.0, 0.08), (0.0, 0.03), (0.0, 0.03))


def clipped(terms: FusionTerms) -> FusionTerms:
    """The terms within the ranges that a refined plan may use (AdaMem, section B.6)."""
    values = (terms.alpha, terms.beta, terms.gamma, terms.delta)
    return FusionTerms(
        *(min(max(value, least), most) for value, (least, most) in zip(values, _CLIPS, strict=True))
    )


def blend(
    ranked: Sequence[MessageId],
    graph_scores: Mapping[MessageId, float],
    terms: FusionTerms,
    *,
    in_time: Sequence[MessageId],
    with_facts: Collection[MessageId] = (),
) -> list[tuple[MessageId, float]]:
    """All messages of both rankings with their fused scores, best first, ties by the lower id.

    `ranked` is the baseline, best first. `in_time` holds all messages that may take part, oldest
    first; `with_facts` are the sources of retrieved facts.
    """
    place = {number: rank for rank, number in enumerate(ranked)}
    by_graph = sorted(graph_scores, key=lambda number: (-graph_scores[number], number))
    graph_place = {number: rank for rank, number in enumerate(by_graph)}
    merged = place.keys() | graph_place.keys()
    recency = _recency([number for number in in_time if number in merged])
    facts = frozenset(with_facts)
    scored = [
        (
            number,
            terms.alpha * _prior(place.get(number))
            + terms.beta * _prior(graph_place.get(number))
            + terms.gamma * recency.get(number, 0.0)
            + terms.delta * (1.0 if number in facts else _RESIDUAL),
        )
        for number in merged
    ]
    return sorted(scored, key=lambda one: (-one[1], one[0]))


def append_graph(
    ranked: Sequence[MessageId], graph_scores: Mapping[MessageId, float]
) -> list[MessageId]:
    """Without fusion: the baseline's order, then what only the graph found."""
    known = frozenset(ranked)
    new = [number for number in graph_scores if number not in known]
    return [*ranked, *sorted(new, key=lambda number: (-graph_scores[number], number))]


def _prior(rank: int | None) -> float:
    return 0.0 if rank is None else 1.0 / (1 + rank)


def _recency(in_time: Sequence[MessageId]) -> dict[MessageId, float]:
    """Oldest 0 to newest 1; a single one has 1."""
    last = len(in_time) - 1
    return {number: place / last if last else 1.0 for place, number in enumerate(in_time)}
