"""APDMem's retriever over L0 lines (mode `rrf`): rank turns, lift their sessions by keywords.

The unit is a turn's L0 line. Lexical score: BM25 of the sentence plus BM25 of the keywords; dense
score: cosine. Both are fused by reciprocal ranks; a session takes its best turn's score, plus 0.1
of the best score for each keyword that the query names (at most 3). APDMem, appendix G.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.index.fusion import reciprocal_rank
from localmem.index.keyword import KeywordIndex
from localmem.recall.corpus import Corpus, Floats, Ints
from localmem.types import TurnSummary

_WEIGHT = 0.5
_KEYWORD_BOOST = 0.1
_MOST_KEYWORDS = 3


@dataclass(frozen=True, slots=True)
class SummaryScores:
    """Of each row: the fused score of its turn, and the boost of its session."""

    turns: Floats
    boosts: Floats


class SummaryIndex:
    """L0 lines by turn. Adding a turn's line again replaces it."""

    def __init__(self) -> None:
        self._sentences = KeywordIndex()
        self._keywords = KeywordIndex()

    def __len__(self) -> int:
        return len(self._sentences)

    def add(self, summaries: Sequence[TurnSummary]) -> None:
        """Indexes L0 lines; the newest line of a turn stays."""
        newest = {s.turn_id: s for s in summaries}
        known = set(self._sentences.ids) & set(newest)
        if known:
            self.remove(known)
        turns = [int(turn) for turn in newest]
        self._sentences.add(turns, [s.sentence for s in newest.values()])
        self._keywords.add(turns, ["\n".join(s.keywords) for s in newest.values()])

    def remove(self, turn_ids: Iterable[int]) -> None:
        """Forgets the lines of these turns."""
        gone = list(turn_ids)
        self._sentences.remove(gone)
        self._keywords.remove(gone)

    def keep_only(self, turn_ids: Iterable[int]) -> None:
        """Forgets the lines of all other turns."""
        self.remove(set(self._sentences.ids) - set(turn_ids))

    def to_bytes(self) -> dict[str, bytes]:
        """Snapshots by name, for `from_bytes`."""
        return {
            "summary_sentences": self._sentences.to_bytes(),
            "summary_keywords": self._keywords.to_bytes(),
        }

    @classmethod
    def from_bytes(cls, snapshots: dict[str, bytes]) -> SummaryIndex:
        """The index of `to_bytes`.

        Raises:
            StaleIndexError: a snapshot is damaged.
        """
        index = cls()
        index._sentences = KeywordIndex.from_bytes(snapshots["summary_sentences"])
        index._keywords = KeywordIndex.from_bytes(snapshots["summary_keywords"])
        return index

    def scores(self, query: str, corpus: Corpus, cosines: Floats | None) -> SummaryScores:
        """Scores of the corpus's rows; `cosines` (rows,) stand for the vectors of the lines."""
        none = np.zeros(len(corpus), np.float32)
        if not len(self) or not len(corpus):
            return SummaryScores(none, none)
        unit_of_turn = {turn: unit for unit, turn in enumerate(self._sentences.ids)}
        units = np.array([unit_of_turn.get(int(t), -1) for t in corpus.turn_ids], np.int64)
        has_line = units >= 0
        lexical = self._sentences.scores(query) + self._keywords.scores(query)
        rankings = [lexical]
        if cosines is not None:
            dense = np.zeros(len(lexical), np.float32)
            np.maximum.at(dense, units[has_line], cosines[has_line])
            rankings.append(dense)
        fused = reciprocal_rank(rankings, weight=_WEIGHT)
        turns = np.where(has_line, fused[units], 0).astype(np.float32)
        return SummaryScores(turns, self._boosts(query, corpus, units, float(fused.max())))

    def _boosts(self, query: str, corpus: Corpus, units: Ints, best: float) -> Floats:
        terms = self._keywords.terms(query)
        if not terms:
            return np.zeros(len(corpus), np.float32)
        named: NDArray[np.bool_] = self._keywords.contributions(terms) > 0
        of_rows = np.where(units >= 0, named[:, units], False).astype(np.float32)
        count = corpus.session_best(of_rows).sum(axis=0)
        lifted = _KEYWORD_BOOST * best * np.minimum(count, _MOST_KEYWORDS)
        return np.asarray(lifted[corpus.session_numbers], np.float32)
