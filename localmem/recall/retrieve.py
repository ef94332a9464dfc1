"""Finding messages: rows and indexes together, four modes, filters before ranking.

The caller hands in messages, vectors and L0 lines, and keeps the snapshots; nothing here knows
the store or loads a model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from localmem.errors import UsageError
from localmem.index.fusion import FusionWeights, load_weights
from localmem.index.keyword import KeywordIndex
from localmem.index.kinds import approximate, vectors_of
from localmem.index.vector import ExactVectors, VectorIndex
from localmem.ports import FloatMatrix
from localmem.recall.corpus import Corpus, CorpusRow, Floats, Ints
from localmem.recall.fusion_features import features
from localmem.recall.ranking import Ranking, Stage
from localmem.recall.scored import Scored, allowed_rows, best_hits
from localmem.recall.signals import BaseScores, measure, names_in
from localmem.recall.snapshots import rows_from_bytes, rows_to_bytes
from localmem.recall.summaries import SummaryIndex
from localmem.recall.view import CorpusView, DayRange
from localmem.types import (
    Hit,
    Message,
    MessageId,
    ResolvedDate,
    SearchFilter,
    Session,
    SessionId,
    TurnSummary,
)
from localmem.words import words

MODES = ("learned", "rrf", "bm25", "dense")
HNSW_FROM = 50_000
"""From this number of vectors on, the approximate index is worth its graph."""

_LEAST_COSINE = 0.3
"""Below it a vector alone is no evidence: with MiniLM, words that a history knows nothing of come
this near to its nearest message."""


class Retriever:
    """Finds messages. Not safe for concurrent calls: one lock each.

    Everything that was added is found by the next search.
    """

    def __init__(
        self, *, vectors: VectorIndex | None = None, weights: FusionWeights | None = None
    ) -> None:
        self._rows: dict[int, CorpusRow] = {}
        self._keywords = KeywordIndex()
        self._vectors = vectors
        self._summaries = SummaryIndex()
        self._days: dict[int, tuple[DayRange, ...]] = {}
        self._weights = weights
        self._view: CorpusView | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def vectors(self) -> VectorIndex | None:
        """The vector index in use, if any."""
        return self._vectors

    @property
    def corpus(self) -> Corpus:
        """The rows as they are searched now."""
        return self._current_view().corpus

    @property
    def without_vector(self) -> int:
        """How many messages have no vector (yet)."""
        return int(np.count_nonzero(~self._current_view().has_vector))

    def add_messages(
        self, messages: Sequence[Message], sessions: Mapping[SessionId, Session]
    ) -> None:
        """Indexes messages on the path to their conversation's current node; known ids are
        indexed anew."""
        self._forget_rows([int(m.id) for m in messages if int(m.id) in self._rows])
        for message in messages:
            self._rows[int(message.id)] = CorpusRow.of(message, sessions[message.session_id])
        self._keywords.add([int(m.id) for m in messages], [m.whole_text for m in messages])
        self._view = None

    def add_vectors(
        self, model_id: str, message_ids: Sequence[MessageId], vectors: FloatMatrix
    ) -> None:
        """Adds unit vectors, float32 (len(message_ids), dimension), the chunks of a message in
        their order under its id; ids of messages that are not indexed are kept for later.

        Raises:
            StaleIndexError: the vectors have another dimension than those here.
        """
        if self._vectors is None:
            self._vectors = ExactVectors(model_id, vectors.shape[1])
        if len(self._vectors) + len(message_ids) > HNSW_FROM:
            self._vectors = approximate(self._vectors)
        self._vectors.add([int(m) for m in message_ids], vectors)
        self._view = None

    def add_summaries(self, summaries: Sequence[TurnSummary]) -> None:
        """Indexes L0 lines (mode `rrf`); a turn's newest line replaces its older one."""
        self._summaries.add(summaries)

    def add_dates(self, dates: Mapping[MessageId, Sequence[ResolvedDate]]) -> None:
        """Tells which days the words of messages speak of."""
        for message_id, resolved in dates.items():
            self._days[int(message_id)] = tuple((d.start, d.end) for d in resolved)
        if self._view is not None:
            self._view.forget_dated()

    def remove(self, message_ids: Iterable[MessageId]) -> None:
        """Forgets messages with their vectors and days; L0 lines of turns that are gone too."""
        gone = [int(m) for m in message_ids]
        self._forget_rows(gone)
        if self._vectors is not None:
            self._vectors.remove(gone)
        for message_id in gone:
            self._days.pop(message_id, None)
        self._summaries.keep_only({r.turn_id for r in self._rows.values()})
        self._view = None

    def search(
        self,
        query: str,
        *,
        embed_query: Floats | None = None,
        mode: str = "learned",
        k: int = 10,
        limits: SearchFilter | None = None,
        question_dates: Sequence[ResolvedDate] = (),
        stage: Stage | None = None,
        evidence_only: bool = False,
    ) -> list[Hit]:
        """The k best messages, best first, ties by the lower id. [] where nothing is evidence.

        `embed_query` is the question's unit vector; without it the fusion by words alone is used.
        `stage` is put after the fusion of mode `learned`. `evidence_only` passes over what the
        memory itself replied to its owner or was only asked.

        Raises:
            UsageError: no such mode, or `dense` without a vector.
        """
        if mode not in MODES:
            raise UsageError(
                f"no search mode is called {mode!r}", hint=f"one of {', '.join(MODES)}"
            )
        if mode == "dense" and embed_query is None:
            raise UsageError("mode dense needs vectors", hint="localmem models pull")
        view = self._current_view()
        if not len(view.corpus) or not query.strip() or k < 1:
            return []
        base = self._base_scores(view, query, embed_query)
        if mode == "learned":
            scored = self._learned(view, base, query, question_dates)
            scored = self._staged(view, scored, stage) if stage is not None else scored
        else:
            scored = self._plain(view, base, query, mode)
        allowed = allowed_rows(view.corpus, limits or SearchFilter())
        if evidence_only:
            allowed &= view.corpus.is_evidence
        return best_hits(view.corpus, scored, allowed, mode, k)

    def measured(
        self,
        query: str,
        embed_query: Floats | None = None,
        question_dates: Sequence[ResolvedDate] = (),
    ) -> tuple[Corpus, dict[str, Floats], dict[str, float]]:
        """The rows, their signals and the question's features: what the fusion is learned from."""
        view = self._current_view()
        base = self._base_scores(view, query, embed_query)
        signals, question = _measured(view, base, query, self._days, question_dates)
        return view.corpus, signals, question

    def snapshot(self) -> dict[str, bytes]:
        """Everything but the days of the words, as bytes by name. L0 and vectors if there are."""
        parts = {"rows": rows_to_bytes(list(self._rows.values()))}
        parts["keywords"] = self._keywords.to_bytes()
        if self._vectors is not None:
            parts["vectors"] = self._vectors.to_bytes()
        return parts | (self._summaries.to_bytes() if len(self._summaries) else {})

    @classmethod
    def from_snapshot(
        cls,
        parts: Mapping[str, bytes],
        *,
        model_id: str = "",
        dimension: int = 0,
        weights: FusionWeights | None = None,
    ) -> Retriever:
        """The retriever of `snapshot`; without a `model_id` its vectors are left out.

        Raises:
            StaleIndexError: a part is damaged, or another embedder made the vectors.
        """
        retriever = cls(weights=weights)
        retriever._rows = {int(r.message_id): r for r in rows_from_bytes(parts["rows"])}
        retriever._keywords = KeywordIndex.from_bytes(parts["keywords"])
        if "vectors" in parts and model_id:
            retriever._vectors = vectors_of(parts["vectors"], model_id, dimension)
        if "summary_sentences" in parts:
            retriever._summaries = SummaryIndex.from_bytes(dict(parts))
        return retriever

    def _forget_rows(self, message_ids: Sequence[int]) -> None:
        if message_ids:
            self._keywords.remove(message_ids)
            for message_id in message_ids:
                self._rows.pop(message_id, None)

    def _current_view(self) -> CorpusView:
        if self._view is None:
            self._view = CorpusView(Corpus(self._rows.values()), self._keywords, self._vectors)
        return self._view

    def _base_scores(self, view: CorpusView, query: str, embed_query: Floats | None) -> BaseScores:
        terms = self._keywords.terms(query)
        asked = self._keywords.query_terms(query)
        parts = self._keywords.contributions(terms)[:, view.keyword_rows]
        best, mean, first = view.cosines(embed_query)
        return BaseScores(
            parts, self._keywords.idf(terms), len(asked) - len(terms), best, mean, first
        )

    def _learned(
        self, view: CorpusView, base: BaseScores, query: str, question_dates: Sequence[ResolvedDate]
    ) -> Scored:
        if self._weights is None:
            self._weights = load_weights()
        model = self._weights.keyword if base.best is None else self._weights.full
        signals, question = _measured(
            view, base, query, self._days, question_dates, features_wanted=model.features
        )
        inputs, weights = model.inputs(signals), model.question_weights(question)
        around = signals["keyword_window"] > 0
        near = around if base.best is None else around | (base.best >= _LEAST_COSINE)
        return Scored(weights @ inputs, near, model.signals, inputs, weights)

    def _staged(self, view: CorpusView, scored: Scored, stage: Stage) -> Scored:
        staged = stage(
            Ranking(
                corpus=view.corpus,
                scores=np.asarray(scored.scores, np.float32),
                evident=scored.evident,
                dated=view.dated(self._days),
                cosines=lambda vector: view.cosines(vector)[0],
                holding=lambda name: self._holding(view, name),
                vectors_of=self._vectors_of,
            )
        )
        return scored.after(staged)

    def _holding(self, view: CorpusView, name: str) -> Ints:
        """The rows that hold all words of a name."""
        asked, known = self._keywords.query_terms(name), self._keywords.terms(name)
        if not known or len(known) < len(asked):
            return np.zeros(0, np.int64)
        held = np.all(self._keywords.contributions(known)[:, view.keyword_rows] > 0, axis=0)
        return np.flatnonzero(held)

    def _vectors_of(self, message_ids: Sequence[int]) -> tuple[Ints, Floats]:
        if self._vectors is None:
            return np.zeros(0, np.int64), np.zeros((0, 0), np.float32)
        return self._vectors.rows_of(message_ids)

    def _plain(self, view: CorpusView, base: BaseScores, query: str, mode: str) -> Scored:
        keyword = base.terms.sum(axis=0, dtype=np.float32)
        if mode == "bm25":
            return Scored(keyword, keyword > 0, ("keyword",), keyword[None])
        if mode == "dense":
            best = np.zeros(len(keyword), np.float32) if base.best is None else base.best
            return Scored(best, view.has_vector, ("vector",), best[None])
        found = self._summaries.scores(query, view.corpus, base.best)
        own = keyword if base.best is None else keyword + base.best
        # Within a turn the messages stand in the order of their own scores.
        order = np.argsort(np.argsort(own, kind="stable"), kind="stable")
        score = found.turns.astype(np.float64) + found.boosts + order * 1e-9
        parts = np.stack([found.turns, found.boosts])
        return Scored(score, found.turns > 0, ("turn", "boost"), parts)


def _measured(
    view: CorpusView,
    base: BaseScores,
    query: str,
    days: Mapping[int, Sequence[DayRange]],
    question_dates: Sequence[ResolvedDate],
    *,
    features_wanted: Collection[str] | None = None,
) -> tuple[dict[str, Floats], dict[str, float]]:
    corpus, asked = view.corpus, words(query)
    named_speakers = np.array([names_in(asked, s) for s in corpus.speakers], np.bool_)
    named = named_speakers[corpus.speaker_codes] & corpus.among_people
    dated = view.dated_within(days, question_dates)
    signals = measure(corpus, base, named=named, dated=dated)
    return signals, features(corpus, base, signals, asked, features_wanted)
