"""Exact probabilities of options: the log-probabilities of all their tokens after a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from localmem.backends.llama_cache import SLOTS, WORKERS, PromptCache
from localmem.backends.llama_native import OUTPUTS, BatchItem, Logits
from localmem.backends.slots import Slot, one_begins_another
from localmem.errors import UsageError


def score_options(
    cache: PromptCache, slot: Slot, first: Logits, spellings: Sequence[list[int]]
) -> NDArray[np.float64]:
    """Summed log-probabilities of the options' tokens after the prompt in a slot, (options,).

    `first` are the logits after the prompt. Where one option begins another, the end of the reply
    counts for all.

    Raises:
        UsageError: an option has more tokens than one batch gives logits for.
    """
    scores = np.array([_log_softmax(first)[tokens[0]] for tokens in spellings])
    ends_count = one_begins_another(spellings)
    longer = [n for n, tokens in enumerate(spellings) if ends_count or len(tokens) > 1]
    for some in _batches(longer, [len(tokens) for tokens in spellings]):
        more = _score_batch(cache, slot, [spellings[n] for n in some], ends_count)
        for number, score in zip(some, more, strict=True):
            scores[number] += score
    return scores


def _score_batch(
    cache: PromptCache, slot: Slot, spellings: Sequence[list[int]], ends_count: bool
) -> list[float]:
    """What the tokens after the first add to each option's score, all in one batch."""
    position = len(slot.tokens)
    items: list[BatchItem] = []
    rows: list[int] = []
    for worker, tokens in enumerate(spellings):
        sequence = SLOTS + worker
        cache.native.copy_sequence(slot.sequence, sequence, position)
        rows.append(len(items))
        items += [
            BatchItem(token, position + i, sequence, wants_logits=True)
            for i, token in enumerate(tokens)
        ]
    cache.evaluate(items, spared=slot)
    scored = [
        _tail_score(cache, row, tokens, ends_count)
        for tokens, row in zip(spellings, rows, strict=True)
    ]
    for worker in range(len(spellings)):
        cache.native.trim_sequence(SLOTS + worker, 0)
    return scored


def _tail_score(cache: PromptCache, row: int, tokens: Sequence[int], ends_count: bool) -> float:
    total = 0.0
    for i, token in enumerate(tokens[1:]):
        total += float(_log_softmax(cache.native.logits(row + i))[token])
    if ends_count:
        last = _log_softmax(cache.native.logits(row + len(tokens) - 1))
        total += float(np.logaddexp.reduce(last[sorted(cache.native.end_tokens)]))
    return total


def _batches(numbers: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Options grouped so that a group fits the workers and the outputs of one batch."""
    group: list[int] = []
    for number in numbers:
        if lengths[number] > OUTPUTS:
            raise UsageError(
                f"an option of a choice has {lengths[number]} tokens, at most {OUTPUTS}"
            )
        total = sum(lengths[one] for one in group) + lengths[number]
        if group and (len(group) == WORKERS or total > OUTPUTS):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def _log_softmax(logits: Logits) -> NDArray[np.float64]:
    wide = logits.astype(np.float64)
    wide -= wide.max()
    result: NDArray[np.float64] = wide - np.log(np.exp(wide).sum())
    return result
