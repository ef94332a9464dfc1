"""What fusion is conditioned on: the question, how peaked the scores are, the kind of history.

Every feature is a small number around 0, so that one scale of weights fits all. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from localmem.recall.corpus import Corpus, Floats
from localmem.recall.signals import BaseScores

_FIRST_PERSON = frozenset({"i", "my", "me", "mine", "we", "our", "us", "i've", "i'm"})


def features(
    corpus: Corpus, base: BaseScores, signals: Mapping[str, Floats], words: Sequence[str]
) -> dict[str, float]:
    """The features of one question by name; `words` are the question's words."""
    keyword = signals["keyword"]
    vector = signals.get("vector")
    term_count = len(base.idf) + base.unknown
    return {
        "one": 1.0,
        "names_speaker": float(signals["speaker"].any()),
        "length": float(np.log1p(term_count)) - 1.8,
        "rarest": (float(base.idf.max(initial=0.0)) - 5.0) / 2,
        "unknown": base.unknown / max(term_count, 1),
        "first_person": float(any(w in _FIRST_PERSON for w in words)),
        "number": float(any(character.isdigit() for w in words for character in w)),
        "keyword_peak": (_peak(keyword) - 6.0) / 3,
        "keyword_gap": _gap(keyword) / 3,
        "vector_peak": 0.0 if vector is None else _peak(vector) - 4.0,
        "vector_best": 0.0 if vector is None else (float(vector.max()) - 0.5) * 4,
        "agree": 0.0 if vector is None else float(keyword.argmax() == vector.argmax()),
        "people": float(corpus.among_people.mean()),
        "long_messages": float(np.log1p(corpus.lengths).mean()) - 5.5,
    }


def _peak(scores: Floats) -> float:
    return float((scores.max() - scores.mean()) / (scores.std() + 1e-6))


def _gap(scores: Floats) -> float:
    """How far the best stands above the fifth best, in deviations."""
    fifth = max(len(scores) - 5, 0)
    return float((scores.max() - np.partition(scores, fifth)[fifth]) / (scores.std() + 1e-6))
