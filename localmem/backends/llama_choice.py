"""Exact probabilities of options: the log-probabilities of all their tokens after a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from localmem.backends.llama_cache import SLOTS, WORKERS, PromptCache
from localmem.backends.llama_native import OUTPUTS, BatchItem, Logits
from localmem.backends.slots import Slot, one_begins_another

_TOGETHER = 1024
"""Most tokens of options that stand in the cache at once, unless one alone is longer."""


def score_options(
    cache: PromptCache, slot: Slot, first: Logits, spellings: Sequence[list[int]]
) -> NDArray[np.float64]:
    """Summed log-probabilities of the options' tokens after the prompt in a slot, (options,).

    `first` are the logits after the prompt. Where one option begins another, the end of the reply
    counts for all.
    """
    scores = np.array([_log_probability(first, tokens[0]) for tokens in spellings])
    ends_count = one_begins_another(spellings)
    longer = [n for n, tokens in enumerate(spellings) if ends_count or len(tokens) > 1]
    for some in _groups(longer, [len(tokens) for tokens in spellings]):
        more = _score_group(cache, slot, [spellings[n] for n in some], ends_count)
        for number, score in zip(some, more, strict=True):
            scores[number] += score
    return scores


def _score_group(
    cache: PromptCache, slot: Slot, spellings: Sequence[list[int]], ends_count: bool
) -> list[float]:
    """What the tokens after the first add to each option's score; a sequence for each option."""
    begin = len(slot.tokens)
    for worker in range(len(spellings)):
        cache.native.copy_sequence(slot.sequence, SLOTS + worker, begin)
    places = [
        (worker, place)
        for worker, tokens in enumerate(spellings)
        for place in range(len(tokens) if ends_count else len(tokens) - 1)
    ]
    scores = [0.0] * len(spellings)
    for start in range(0, len(places), OUTPUTS):
        part = places[start : start + OUTPUTS]
        items = [
            BatchItem(spellings[worker][place], begin + place, SLOTS + worker, wants_logits=True)
            for worker, place in part
        ]
        cache.evaluate(items, spared=slot)
        for row, (worker, place) in enumerate(part):
            logits, tokens = cache.native.logits(row), spellings[worker]
            if place + 1 < len(tokens):
                scores[worker] += _log_probability(logits, tokens[place + 1])
            else:
                scores[worker] += _log_probability(logits, *cache.native.end_tokens)
    for worker in range(len(spellings)):
        cache.native.trim_sequence(SLOTS + worker, 0)
    return scores


def _groups(numbers: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Options grouped so that a group fits the workers, and its tokens in the cache."""
    group: list[int] = []
    for number in numbers:
        total = sum(lengths[one] for one in group) + lengths[number]
        if group and (len(group) == WORKERS or total > _TOGETHER):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def _log_probability(logits: Logits, *tokens: int) -> float:
    """Of one of these tokens to come next."""
    wide = logits.astype(np.float64)
    wide -= wide.max()
    return float(np.logaddexp.reduce(wide[list(tokens)]) - np.log(np.exp(wide).sum()))
