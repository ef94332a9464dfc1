"""How answers are scored: LoCoMo's own token F1, and BLEU-1.

This module is pure: two strings in, a number out. It must not know where answers come from.

LoCoMo's rules: text is lower-cased, stripped of commas, punctuation and the words a, an, the, and;
tokens are Porter-stemmed. Category 1 (multi-hop) compares comma-separated parts: the mean over the
gold's parts of the best F1 among the prediction's parts. Category 3 (open-domain) uses the gold up
to the first semicolon. The other categories compare whole strings.
"""

from __future__ import annotations

import math
import random
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import Stemmer

MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP, ADVERSARIAL = 1, 2, 3, 4, 5

CATEGORY_NAMES: Mapping[int, str] = {
    MULTI_HOP: "multi-hop",
    TEMPORAL: "temporal",
    OPEN_DOMAIN: "open-domain",
    SINGLE_HOP: "single-hop",
    ADVERSARIAL: "adversarial",
}

_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
BOOTSTRAP_ROUNDS = 10_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95% bootstrap interval over `n` values."""

    mean: float
    low: float
    high: float
    n: int


def normalised_tokens(text: str) -> list[str]:
    """The text's words as LoCoMo compares them, unstemmed."""
    bare = text.replace(",", "").lower().translate(_DROP_PUNCTUATION)
    return _ARTICLES.sub(" ", bare).split()


def token_f1(prediction: str, gold: str) -> float:
    """F1 of the stemmed tokens of two strings, counted as multisets; 0.0 where none is shared."""
    stemmer = Stemmer.Stemmer("porter")
    predicted = stemmer.stemWords(normalised_tokens(prediction))
    expected = stemmer.stemWords(normalised_tokens(gold))
    shared = sum((Counter(predicted) & Counter(expected)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(expected)
    return 2 * precision * recall / (precision + recall)


def multi_part_f1(prediction: str, gold: str) -> float:
    """Mean over the gold's comma-separated parts of the best F1 among the prediction's parts."""
    parts = [part.strip() for part in prediction.split(",")]
    wanted = [part.strip() for part in gold.split(",")]
    return sum(max(token_f1(part, want) for part in parts) for want in wanted) / len(wanted)


def locomo_f1(prediction: str, gold: str, category: int) -> float:
    """Token F1 as LoCoMo's scorer computes it for a question of categories 1 to 4.

    Raises:
        ValueError: category 5 has no gold answer to compare with.
    """
    if category == MULTI_HOP:
        return multi_part_f1(prediction, gold)
    if category == OPEN_DOMAIN:
        return token_f1(prediction, gold.split(";")[0].strip())
    if category in (TEMPORAL, SINGLE_HOP):
        return token_f1(prediction, gold)
    raise ValueError(f"category {category} has no token F1; want one of 1, 2, 3, 4")


def bleu_1(prediction: str, gold: str) -> float:
    """Clipped unigram precision with brevity penalty, over normalised, unstemmed tokens."""
    predicted, expected = normalised_tokens(prediction), normalised_tokens(gold)
    if not predicted or not expected:
        return 0.0
    shared = sum((Counter(predicted) & Counter(expected)).values())
    brevity = min(1.0, math.exp(1 - len(expected) / len(predicted)))
    return brevity * shared / len(predicted)


def bootstrap_mean(
    values: Sequence[float], *, seed: int = 0, rounds: int = BOOTSTRAP_ROUNDS
) -> Interval:
    """The mean of `values` and its 95% percentile bootstrap interval.

    For a paired comparison hand in the differences per question. An empty sequence gives zeros.
    """
    n = len(values)
    if n == 0:
        return Interval(0.0, 0.0, 0.0, 0)
    draw = random.Random(seed)  # noqa: S311 - resampling, not secrecy
    means = sorted(math.fsum(draw.choices(values, k=n)) / n for _ in range(rounds))
    low, high = means[int(0.025 * rounds)], means[min(rounds - 1, int(0.975 * rounds))]
    return Interval(math.fsum(values) / n, low, high, n)
