"""What fusion is conditioned on: the question, how peaked the scores are, the kind of history.

Every feature is a small number around 0, so that one scale of weights fits all. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from localmem.recall.corpus import Corpus, Floats
from localmem.recall.signals import BaseScores

_FIRST_PERSON = frozenset({"i", "my", "me", "mine", "we", "our", "us", "i've", "i'm"})


def features(
    corpus: Corpus,
    base: BaseScores,
    signals: Mapping[str, Floats],
    words: Sequence[str],
    names: Collection[str] | None = None,
) -> dict[str, float]:
    """The features of one question by name; `words` are the question's words. `names` are the
    features that are wanted, by default all."""
    keyword = signals["keyword"]
    vector = signals.get("vector")
    term_count = len(base.idf) + base.unknown
    measured: dict[str, Callable[[], float]] = {
        "one": lambda: 1.0,
        "names_speaker": lambda: float(signals["speaker"].any()),
        "length": lambda: float(np.log1p(term_count)) - 1.8,
        "rarest": lambda: (float(base.idf.max(initial=0.0)) - 5.0) / 2,
        "unknown": lambda: base.unknown / max(term_count, 1),
        "first_person": lambda: float(any(w in _FIRST_PERSON for w in words)),
        "number": lambda: float(any(character.isdigit() for w in words for character in w)),
        "keyword_peak": lambda: (_peak(keyword) - 6.0) / 3,
        "keyword_gap": lambda: _gap(keyword) / 3,
        "vector_peak": lambda: 0.0 if vector is None else _peak(vector) - 4.0,
        "vector_best": lambda: 0.0 if vector is None else (float(vector.max()) - 0.5) * 4,
        "agree": lambda: 0.0 if vector is None else float(keyword.argmax() == vector.argmax()),
        "people": lambda: corpus.share_among_people,
        "long_messages": lambda: corpus.mean_log_length - 5.5,
    }
    return {name: measure() for name, measure in measured.items() if names is None or name in names}


def _peak(scores: Floats) -> float:
    return float((scores.max() - scores.mean()) / (scores.std() + 1e-6))


def _gap(scores: Floats) -> float:
    """How far the best stands above the fifth best, in deviations."""
    fifth = max(len(scores) - 5, 0)
    return float((scores.max() - np.partition(scores, fifth)[fifth]) / (scores.std() + 1e-6))
