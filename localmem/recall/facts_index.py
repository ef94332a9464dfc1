"""L1 facts as a second way to the messages that they rest on: by their words and their vectors.

A fact says in full what its message said in passing, so it is found where the message is not. It
reads no store, and does not know how much a fact is worth beside the message itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from localmem.errors import StaleIndexError
from localmem.index.blob import pack, unpack
from localmem.index.keyword import KeywordIndex
from localmem.index.vector import ExactVectors
from localmem.recall.corpus import Corpus, Floats, Ints
from localmem.store import FactTexts, FactVectors
from localmem.types import SessionId

_KIND = "facts"
_COLUMNS = 5
_LEAST_SPREAD = 1e-5

LEAST_COSINE = 0.3
"""Below it a fact is no evidence by its vector alone, as with messages."""


@dataclass(frozen=True, slots=True)
class FactScores:
    """What the facts say of rows: of each row its best fact's.

    `keyword` float32 (rows,): BM25 among the facts. `nearness` float32 (rows,): by how many
    deviations the fact's cosine is above the mean of all facts; 0 below it, and under the cosine
    from which a vector is evidence. Both are 0 where a row has no fact.
    """

    keyword: Floats
    nearness: Floats


class FactIndex:
    """The facts of sessions. Putting a session's facts again replaces them.

    Not safe for concurrent calls.
    """

    def __init__(self) -> None:
        self._keywords = KeywordIndex()
        self._vectors: ExactVectors | None = None
        self._sources: dict[int, tuple[int, ...]] = {}
        self._numbers: dict[SessionId, dict[int, int]] = {}
        self._marks: dict[SessionId, int] = {}
        self._last = 0
        self._links: _Links | None = None

    def __len__(self) -> int:
        return len(self._sources)

    @property
    def marks(self) -> Mapping[SessionId, int]:
        """The mark of each session that was put here."""
        return self._marks

    def put(self, several: Sequence[FactTexts]) -> None:
        """Index the facts of sessions, without vectors."""
        self.drop([one.session_id for one in several])
        texts: list[str] = []
        first = self._last + 1
        for one in several:
            places: dict[int, int] = {}
            for fact in one.facts:
                self._last += 1
                places[fact.position] = self._last
                self._sources[self._last] = tuple(int(number) for number in fact.message_ids)
                texts.append(fact.text)
            self._numbers[one.session_id] = places
            self._marks[one.session_id] = one.mark
        self._keywords.add(range(first, self._last + 1), texts)
        self._links = None

    def put_vectors(self, vectors: FactVectors) -> None:
        """Add the vectors of a session's facts; of facts that are not here they are left out."""
        numbers = self._numbers.get(vectors.session_id, {})
        positions = vectors.positions.tolist()
        known = [place for place, position in enumerate(positions) if position in numbers]
        if self._marks.get(vectors.session_id) != vectors.mark or not known:
            return
        if self._vectors is None:
            self._vectors = ExactVectors(vectors.model_id, vectors.rows.shape[1])
        self._vectors.add([numbers[positions[place]] for place in known], vectors.rows[known])
        self._links = None

    def drop(self, sessions: Collection[SessionId]) -> None:
        """Forget the facts of these sessions; others that are named are passed over."""
        gone = [n for s in sessions for n in self._numbers.pop(s, {}).values()]
        for session_id in sessions:
            self._marks.pop(session_id, None)
        if not gone:
            return
        self._keywords.remove(gone)
        if self._vectors is not None:
            self._vectors.remove(gone)
        for number in gone:
            del self._sources[number]
        self._links = None

    def drop_vectors(self) -> None:
        """Forget all vectors."""
        self._vectors = None
        self._links = None

    def scores(self, corpus: Corpus, query: str, vector: Floats | None) -> FactScores:
        """What the facts say of the corpus's rows; without a `vector` by words alone."""
        links = self._linked(corpus)
        keyword = links.best(self._keywords.scores(query), links.by_text)
        if vector is None or self._vectors is None or not len(self._vectors):
            return FactScores(keyword, np.zeros(len(corpus), np.float32))
        near = _nearness(self._vectors.scores(vector))
        return FactScores(keyword, links.best(near, links.by_vector))

    def _linked(self, corpus: Corpus) -> _Links:
        if self._links is None or self._links.corpus is not corpus:
            vector_ids = self._vectors.ids.tolist() if self._vectors is not None else []
            self._links = _Links(
                corpus,
                _pairs(corpus, self._sources, self._keywords.ids),
                _pairs(corpus, self._sources, vector_ids),
            )
        return self._links

    def to_bytes(self) -> dict[str, bytes]:
        """Snapshots of the words by name, for `from_bytes`; vectors are stored as they are."""
        lines = [
            (int(session), position, number, len(self._sources[number]), self._last)
            for session, places in self._numbers.items()
            for position, number in places.items()
        ]
        table = np.array(lines, np.int64).reshape(len(lines), _COLUMNS)
        sources = [source for line in lines for source in self._sources[line[2]]]
        arrays = {
            "table": table,
            "sources": np.array(sources, np.int64),
            "sessions": np.array([int(number) for number in self._marks], np.int64),
            "marks": np.array(list(self._marks.values()), np.int64),
        }
        return {
            "facts": pack({"kind": _KIND, "count": len(lines)}, arrays),
            "facts_keywords": self._keywords.to_bytes(),
        }

    @classmethod
    def from_bytes(cls, snapshots: Mapping[str, bytes]) -> FactIndex:
        """The index of `to_bytes`, without vectors.

        Raises:
            StaleIndexError: a snapshot is damaged, or the two are not of one time.
        """
        index = cls()
        arrays = unpack(snapshots["facts"], kind=_KIND).arrays
        index._keywords = KeywordIndex.from_bytes(snapshots["facts_keywords"])
        sessions = [SessionId(number) for number in arrays["sessions"].tolist()]
        index._marks = dict(zip(sessions, arrays["marks"].tolist(), strict=True))
        index._numbers = {number: {} for number in sessions}
        sources, taken = arrays["sources"].tolist(), 0
        for session, position, number, count, last in arrays["table"].tolist():
            index._numbers[SessionId(session)][position] = number
            index._sources[number] = tuple(sources[taken : taken + count])
            taken, index._last = taken + count, last
        if sorted(index._keywords.ids) != sorted(index._sources):
            raise StaleIndexError("the stored index of facts has words of another time")
        return index


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Which values belong to which rows: a value may stand for several, a row have several."""

    values: Ints
    rows: Ints


@dataclass(frozen=True, slots=True)
class _Links:
    """The way from facts, and from their vectors, to the rows of one corpus."""

    corpus: Corpus
    by_text: _Pairs
    by_vector: _Pairs

    def best(self, values: Floats, pairs: _Pairs) -> Floats:
        """Float32 (rows,): the best value that leads to each row, at least 0."""
        best = np.zeros(len(self.corpus), np.float32)
        np.maximum.at(best, pairs.rows, values[pairs.values])
        return best


def _nearness(cosines: Floats) -> Floats:
    """Deviations above the mean; 0 for what is no evidence."""
    centred = cosines - cosines.mean()
    spread = float(cosines.std())
    if spread < _LEAST_SPREAD:
        return np.zeros_like(cosines)
    evident = (centred > 0) & (cosines >= LEAST_COSINE)
    return np.where(evident, centred / np.float32(spread), 0).astype(np.float32)


def _pairs(corpus: Corpus, sources: Mapping[int, Sequence[int]], numbers: Sequence[int]) -> _Pairs:
    values = [place for place, number in enumerate(numbers) for _ in sources[number]]
    rows = corpus.places([source for number in numbers for source in sources[number]])
    known = rows >= 0
    return _Pairs(np.array(values, np.int64)[known], rows[known])
