"""Scores of rows with what they are made of, and the hits that are taken from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localmem.recall.corpus import NO_DAY, Bools, Corpus, Floats, Ints
from localmem.recall.ranking import Staged
from localmem.types import Hit, MessageId, SearchFilter


@dataclass(frozen=True, slots=True)
class Scored:
    """A score for each row, which rows have evidence at all, and what the score is made of:
    `names` of `inputs` (names, rows), times `weights` (names,) where there are any."""

    scores: Floats | NDArray[np.float64]
    evident: Bools
    names: tuple[str, ...]
    inputs: Floats
    weights: Floats | None = None

    def after(self, staged: Staged) -> Scored:
        """The same with what a stage made of it."""
        if not staged.parts or self.weights is None:
            return replace(self, scores=staged.scores, evident=staged.evident)
        names = (*self.names, *staged.parts)
        inputs = np.vstack([self.inputs, *staged.parts.values()])
        ones = np.ones(len(staged.parts), np.float32)
        return Scored(
            staged.scores, staged.evident, names, inputs, np.concatenate([self.weights, ones])
        )

    def parts(self, rows: Ints) -> list[dict[str, float]]:
        """What each signal adds to the score of each of the rows."""
        values = self.inputs[:, rows].T.astype(np.float64)
        if self.weights is not None:
            values *= self.weights
        return [dict(zip(self.names, line, strict=True)) for line in values.round(4).tolist()]


def allowed_rows(corpus: Corpus, limits: SearchFilter) -> Bools:
    """The rows that the limits of a search let through."""
    allowed = np.ones(len(corpus), np.bool_)
    if limits.participant is not None:
        wanted = limits.participant.casefold()
        same = np.array([s.casefold() == wanted for s in corpus.speakers], np.bool_)
        allowed &= same[corpus.speaker_codes]
    if limits.source is not None:
        allowed &= np.array([r.source == limits.source for r in corpus.rows], np.bool_)
    if limits.since is not None:
        allowed &= corpus.days >= limits.since.toordinal()
    if limits.until is not None:
        allowed &= (corpus.days <= limits.until.toordinal()) & (corpus.days != NO_DAY)
    return allowed


def best_hits(corpus: Corpus, scored: Scored, allowed: Bools, mode: str, k: int) -> list[Hit]:
    """The k best of the allowed rows that have evidence, ties by the lower id."""
    rows = np.flatnonzero(allowed & scored.evident)
    scores = scored.scores[rows]
    if len(rows) > k:
        least = np.partition(scores, len(rows) - k)[len(rows) - k]
        rows = rows[scores >= least]
        scores = scored.scores[rows]
    order = np.lexsort((corpus.message_ids[rows], -scores))[:k]
    best = rows[order]
    ids, values = corpus.message_ids[best].tolist(), scored.scores[best].tolist()
    return [
        Hit(message_id=MessageId(number), score=score, mode=mode, signals=parts)
        for number, score, parts in zip(ids, values, scored.parts(best), strict=True)
    ]
