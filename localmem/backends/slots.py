"""Which sequence of the KV cache holds which tokens, and which to use for a new prompt. Pure.

A cache keeps several prompts, so that instructions, a session's text and a controller's transcript
are each evaluated once though calls on them alternate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_MOSTLY = 0.75
"""A slot is overwritten in place if at least this share of it is kept; else it is copied."""


@dataclass
class Slot:
    """One sequence: its number in the cache, the tokens it holds, when it was last used."""

    sequence: int
    tokens: list[int] = field(default_factory=list)
    used_at: int = 0


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """Use `target`; its first `keep` tokens are right, after copying them from `source` if set."""

    target: Slot
    keep: int
    source: Slot | None = None


class SlotBook:
    """All slots of one cache, with the least recently used given up first."""

    def __init__(self, count: int) -> None:
        self._slots = [Slot(sequence) for sequence in range(count)]
        self._clock = 0

    def plan(self, prompt: Sequence[int]) -> SlotPlan:
        """Where to evaluate this prompt; at least its last token must be evaluated."""
        self._clock += 1
        most = len(prompt) - 1
        shared = {
            slot.sequence: min(common_prefix(slot.tokens, prompt), most) for slot in self._slots
        }
        best = max(self._slots, key=lambda slot: (shared[slot.sequence], slot.used_at))
        keep = shared[best.sequence]
        if keep and keep >= _MOSTLY * len(best.tokens):
            return self._take(SlotPlan(best, keep))
        oldest = min(self._slots, key=lambda slot: (bool(slot.tokens), slot.used_at))
        if oldest is best or keep == 0:
            return self._take(SlotPlan(oldest, keep if oldest is best else 0))
        return self._take(SlotPlan(oldest, keep, best))

    def give_up_oldest(self, spared: Slot | None) -> Slot | None:
        """Empty the least recently used slot that holds something, other than `spared`."""
        full = [slot for slot in self._slots if slot.tokens and slot is not spared]
        if not full:
            return None
        oldest = min(full, key=lambda slot: slot.used_at)
        oldest.tokens = []
        return oldest

    def _take(self, plan: SlotPlan) -> SlotPlan:
        plan.target.used_at = self._clock
        if plan.source is not None:
            plan.source.used_at = self._clock
        return plan


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """How many leading tokens are equal."""
    length = min(len(left), len(right))
    for place in range(length):
        if left[place] != right[place]:
            return place
    return length


def one_begins_another(spellings: Sequence[list[int]]) -> bool:
    """Whether some spelling is equal to another's beginning, so that its end must count."""
    return any(
        longer[: len(shorter)] == shorter
        for i, shorter in enumerate(spellings)
        for j, longer in enumerate(spellings)
        if i != j
    )
