"""The corpus with the places of its rows in the indexes, as one state of a retriever sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np

from localmem.index.keyword import KeywordIndex
from localmem.index.vector import VectorIndex
from localmem.recall.corpus import Bools, Corpus, Floats, Ints
from localmem.types import ResolvedDate

DayRange = tuple[date, date]


class CorpusView:
    """The corpus with the places of its rows in the indexes, made anew after a change."""

    def __init__(self, corpus: Corpus, keywords: KeywordIndex, vectors: VectorIndex | None) -> None:
        self.corpus = corpus
        place = {message_id: row for row, message_id in enumerate(keywords.ids)}
        self.keyword_rows = np.array([place[int(m)] for m in corpus.message_ids], np.int64)
        self._vectors = vectors
        places = np.zeros(0, np.int64) if vectors is None else corpus.places(vectors.ids)
        self._is_one_each = np.array_equal(places, np.arange(len(corpus)))
        known = np.flatnonzero(places >= 0)
        # The chunks of a row side by side, in their order.
        self._order = known[np.argsort(places[known], kind="stable")]
        self._filled, self._starts, self._counts = np.unique(
            places[self._order], return_index=True, return_counts=True
        )
        self.has_vector: Bools = np.zeros(len(corpus), np.bool_)
        self.has_vector[self._filled] = True
        self._spans: Ints | None = None

    def dated(self, days: Mapping[int, Sequence[DayRange]]) -> Bools:
        """Rows whose words name a time."""
        named = np.zeros(len(self.corpus), np.bool_)
        named[self._named(days)[:, 0]] = True
        return named

    def dated_within(
        self, days: Mapping[int, Sequence[DayRange]], asked: Sequence[ResolvedDate]
    ) -> Bools:
        """Rows said on, or speaking of, days that a question names."""
        dated = np.zeros(len(self.corpus), np.bool_)
        for resolved in asked:
            since, until = resolved.start.toordinal(), resolved.end.toordinal()
            dated |= (self.corpus.days >= since) & (self.corpus.days <= until)
            rows, first, last = self._named(days).T
            dated[rows[(first <= until) & (last >= since)]] = True
        return dated

    def forget_dated(self) -> None:
        """The days of some rows have changed."""
        self._spans = None

    def _named(self, days: Mapping[int, Sequence[DayRange]]) -> Ints:
        """int64 (days named, 3): row, first day and last day of each, as ordinals."""
        if self._spans is None:
            rows = enumerate(self.corpus.message_ids.tolist())
            found = [
                (row, start.toordinal(), end.toordinal())
                for row, number in rows
                for start, end in days.get(number, ())
            ]
            self._spans = np.array(found, np.int64).reshape(-1, 3)
        return self._spans

    def cosines(
        self, query: Floats | None
    ) -> tuple[Floats, Floats, Floats] | tuple[None, None, None]:
        """Best chunk's, mean and first chunk's cosine of each row; a row without a vector gets
        the mean of the others. None where there is no query vector or no vectors."""
        if query is None or self._vectors is None or not len(self._filled):
            return None, None, None
        scores = self._vectors.scores(query)
        if self._is_one_each:
            return scores, scores, scores
        scores = scores[self._order]
        best, mean, first = (np.zeros(len(self.corpus), np.float32) for _ in range(3))
        best[self._filled] = np.maximum.reduceat(scores, self._starts)
        mean[self._filled] = np.add.reduceat(scores, self._starts) / self._counts
        first[self._filled] = scores[self._starts]
        if len(self._filled) < len(self.corpus):
            for values in (best, mean, first):
                values[~self.has_vector] = values[self._filled].mean()
        return best, mean, first
