"""What a search measures of each message: its own words and vector, and its neighbourhood's.

The neighbourhood is derived from the scores of the rows around, at search time, so nothing is
indexed or embedded twice. This module must not weigh one signal against another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localmem.recall.corpus import Bools, Corpus, Floats

KEYWORD_SIGNALS = frozenset(
    {"keyword", "keyword_before", "keyword_after", "keyword_before_2", "keyword_after_2",
     "keyword_pair", "keyword_window", "keyword_cover", "keyword_session"}
)  # fmt: skip
"""Signals in units of BM25, which mean the same in every memory."""

PLAIN = frozenset({"speaker", "person", "asks", "asked", "date"}) | KEYWORD_SIGNALS
"""Signals that fusion takes as they are; the others are standardised over the rows, because
cosines of one embedder are not those of another."""

VECTOR_SIGNALS = frozenset(
    {"vector", "vector_mean", "vector_first", "vector_before", "vector_after", "vector_window",
     "vector_session"}
)  # fmt: skip
"""Signals that need the question's vector."""

_SESSION_BEST = 3


@dataclass(frozen=True, slots=True)
class BaseScores:
    """The scores of rows on their own, in the corpus's order.

    `terms` (terms, rows): each query term's part of the keyword score. `best`, `mean`, `first`
    (rows,): cosine of a row's best chunk, mean over its chunks, its first chunk; None where the
    question has no vector. `idf` (terms,). `unknown` counts query terms that occur nowhere.
    """

    terms: Floats
    idf: Floats
    unknown: int
    best: Floats | None = None
    mean: Floats | None = None
    first: Floats | None = None


def measure(corpus: Corpus, base: BaseScores, *, named: Bools, dated: Bools) -> dict[str, Floats]:
    """float32 (rows,) by signal name. `named`: rows whose speaker the question names; `dated`:
    rows that belong to the days that the question names."""
    signals = _keyword_signals(corpus, base.terms)
    if base.best is not None and base.mean is not None and base.first is not None:
        signals |= _vector_signals(corpus, base.best)
        signals |= {"vector_mean": base.mean, "vector_first": base.first}
    return signals | {
        "speaker": named.astype(np.float32),
        "person": (corpus.from_person & ~corpus.among_people).astype(np.float32),
        "date": dated.astype(np.float32),
        "length": corpus.log_lengths,
        "asks": corpus.asks,
        "asked": corpus.shifted(corpus.asks, 1),
    }


def _keyword_signals(corpus: Corpus, terms: Floats) -> dict[str, Floats]:
    own = terms.sum(axis=0, dtype=np.float32)
    pairs = corpus.shifted(terms, 1)
    np.maximum(pairs, terms, out=pairs)
    session = corpus.session_best(terms).sum(axis=0, dtype=np.float32)[corpus.session_numbers]
    return {
        "keyword": own,
        "keyword_before": corpus.shifted(own, 1),
        "keyword_after": corpus.shifted(own, -1),
        "keyword_before_2": corpus.shifted(own, 2),
        "keyword_after_2": corpus.shifted(own, -2),
        "keyword_pair": pairs.sum(axis=0, dtype=np.float32),
        "keyword_window": _window_best(corpus, pairs).sum(axis=0, dtype=np.float32),
        "keyword_cover": session,
        "keyword_session": session_mean_of_best(corpus, own),
    }


def _vector_signals(corpus: Corpus, best: Floats) -> dict[str, Floats]:
    mean = np.float32(best.mean(dtype=np.float64))
    around = {by: corpus.shifted(best - mean, by) for by in (-2, -1, 1, 2)}
    return {
        "vector": best,
        "vector_before": around[1],
        "vector_after": around[-1],
        "vector_window": (around[-2] + around[-1] + around[1] + around[2]) * np.float32(0.25),
        "vector_session": session_mean_of_best(corpus, best),
    }


def _window_best(corpus: Corpus, pairs: Floats) -> Floats:
    """Each term's best part within two rows either side in the session, from the best of each row
    and the one before it: a window of five is such a pair here, one before, and two after."""
    best = np.maximum(pairs, corpus.shifted(pairs, 1))
    for by in (1, 2):
        np.maximum(best, corpus.shifted(pairs, -by), out=best)
    return best


def session_mean_of_best(corpus: Corpus, values: Floats) -> Floats:
    """float32 (rows,): mean of the three best values in the row's session (of fewer, of all)."""
    left = values.astype(np.float32, copy=True)
    places = np.arange(len(values))
    sums = np.zeros(len(corpus.starts), np.float32)
    counts = np.zeros(len(corpus.starts), np.float32)
    for _ in range(_SESSION_BEST):
        best = corpus.session_best(left)
        found = np.isfinite(best)
        sums += np.where(found, best, 0)
        counts += found
        is_best = left == best[corpus.session_numbers]
        first = np.minimum.reduceat(np.where(is_best, places, len(values)), corpus.starts)
        left[first] = -np.inf
    return np.asarray((sums / counts)[corpus.session_numbers], np.float32)


def names_in(words: Sequence[str], name: str) -> bool:
    """Whether a question's words hold a speaker's name, or its first word."""
    parts = name.casefold().split()
    bare = {word.removesuffix("'s").removesuffix("'") for word in words}
    return bool(parts) and parts[0] in bare
