"""Working memory: a participant's newest messages, and those consolidated (AdaMem, section 3.1).

A queue of 20 by recency alone; when it is full, the oldest 5 contiguous ones leave it together.
Records and items are made by rule at once, for what is in the queue too, so nothing waits; what
leaves the queue is read by a model in the background, five neighbours at a time, and may be
bettered. The queue is worked out from the order of the messages, so that it is the same whether
they came in one import or one by one. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

CAPACITY = 20
SEGMENT = 5

_T = TypeVar("_T")


def queue_of(
    ordered: Sequence[_T], *, capacity: int = CAPACITY, segment: int = SEGMENT
) -> tuple[tuple[_T, ...], tuple[tuple[_T, ...], ...]]:
    """(in the queue, segments that left it) of what one participant said, the oldest first.

    Raises:
        ValueError: a segment is larger than the queue, or empty.
    """
    if not 0 < segment <= capacity:
        raise ValueError(f"a segment has 1 to {capacity} messages; got {segment}")
    over = len(ordered) - capacity
    full = over // segment + 1 if over >= 0 else 0
    cut = full * segment
    segments = tuple(tuple(ordered[n : n + segment]) for n in range(0, cut, segment))
    return tuple(ordered[cut:]), segments
