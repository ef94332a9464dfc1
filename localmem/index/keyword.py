"""Keyword search by BM25, with rows that can be added and removed at once.

bm25s scores a fixed corpus: idf and mean length are baked into its matrix. Rows added since are
kept as a tail beside it, and both parts are scored with the statistics of all rows together, so
that a search gives what a full rebuild would give. This module must not know what a row is.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localmem.index.blob import pack, pack_words, unpack, unpack_words
from localmem.words import Analyser

K1 = 1.2
B = 0.75
_KIND = "keyword"
_TAIL_MIN = 1000
_TAIL_SHARE = 0.5

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class KeywordIndex:
    """BM25 (Lucene's variant: idf = ln(1 + (N - df + .5) / (df + .5)), k1 1.2, b 0.75) over rows.

    Rows keep the order in which they were added; `ids` names them. Not safe for concurrent calls.
    """

    def __init__(self) -> None:
        self._analyser = Analyser()
        self._ids: list[int] = []
        self._lengths = np.zeros(0, np.float32)
        self._main = _Main.empty()
        self._tail: list[Counter[str]] = []
        self._tail_postings: dict[str, list[tuple[int, int]]] = {}
        self._pending_lengths: list[int] = []

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> list[int]:
        """The rows' ids, in row order."""
        return list(self._ids)

    def add(self, ids: Sequence[int], texts: Sequence[str]) -> None:
        """Appends rows; they are found from the next search on."""
        if len(ids) != len(texts):
            raise ValueError(f"got {len(ids)} ids, want one for each of {len(texts)} texts")
        documents = [Counter(self._analyser.terms(text)) for text in texts]
        self._ids.extend(ids)
        if len(self._tail) + len(documents) > max(_TAIL_MIN, _TAIL_SHARE * self._main.rows):
            self._rebuild([*self._documents(), *documents])
        else:
            self._append(documents)

    def remove(self, ids: Iterable[int]) -> None:
        """Drops the rows of these ids; ids that are not here are passed over."""
        gone = set(ids)
        keep = [row for row, known in enumerate(self._ids) if known not in gone]
        if len(keep) == len(self._ids):
            return
        documents = self._documents()
        self._ids = [self._ids[row] for row in keep]
        self._rebuild([documents[row] for row in keep])

    def merge(self) -> None:
        """Moves the tail into the bm25s matrix; scores stay the same."""
        if self._tail:
            self._rebuild(self._documents())

    def terms(self, query: str) -> list[str]:
        """The distinct search terms of a query that occur in at least one row, in order."""
        known = dict.fromkeys(self._analyser.terms(query))
        return [t for t in known if t in self._main.vocabulary or t in self._tail_postings]

    def query_terms(self, query: str) -> list[str]:
        """The distinct search terms of a query, known or not, in order."""
        return list(dict.fromkeys(self._analyser.terms(query)))

    def idf(self, terms: Sequence[str]) -> Floats:
        """float32 (len(terms),): inverse document frequency over all rows."""
        total = len(self._ids)
        df = np.array([self._document_frequency(t) for t in terms], np.float64)
        return np.log1p((total - df + 0.5) / (df + 0.5)).astype(np.float32)

    def contributions(self, terms: Sequence[str]) -> Floats:
        """float32 (len(terms), rows): what each term adds to each row's BM25 score."""
        lengths = self._all_lengths()
        out = np.zeros((len(terms), len(lengths)), np.float32)
        if not terms:
            return out
        norms = length_norms(lengths)
        for line, (term, idf) in enumerate(zip(terms, self.idf(terms), strict=True)):
            rows, counts = self._postings(term)
            out[line, rows] = idf * counts / (counts + norms[rows])
        return out

    def scores(self, query: str) -> Floats:
        """float32 (rows,): BM25 of each row; 0 means that no term of the query occurs in it."""
        terms = self.terms(query)
        if not terms or not self._ids:
            return np.zeros(len(self._ids), np.float32)
        if not self._tail:
            return self._main.scores(terms)
        return np.asarray(self.contributions(terms).sum(axis=0), np.float32)

    def to_bytes(self) -> bytes:
        """A snapshot; the tail is merged first, so equal rows give equal bytes."""
        self.merge()
        return pack(
            {"kind": _KIND, "count": len(self._ids), "k1": K1, "b": B},
            {"ids": np.array(self._ids, np.int64), **self._main.arrays()},
        )

    @classmethod
    def from_bytes(cls, snapshot: bytes) -> KeywordIndex:
        """The index of a snapshot.

        Raises:
            StaleIndexError: the snapshot is damaged or not one of a keyword index.
        """
        unpacked = unpack(snapshot, kind=_KIND)
        index = cls()
        index._ids = [int(i) for i in unpacked.arrays["ids"]]
        index._main = _Main.of_arrays(unpacked.arrays)
        return index

    def _append(self, documents: Iterable[Counter[str]]) -> None:
        for counts in documents:
            row = self._main.rows + len(self._tail)
            self._tail.append(counts)
            self._pending_lengths.append(counts.total())
            for term, count in counts.items():
                self._tail_postings.setdefault(term, []).append((row, count))

    def _rebuild(self, documents: list[Counter[str]]) -> None:
        self._main = _Main.build(documents)
        self._tail, self._tail_postings, self._pending_lengths = [], {}, []

    def _documents(self) -> list[Counter[str]]:
        return self._main.documents() + self._tail

    def _all_lengths(self) -> Floats:
        tail = np.array(self._pending_lengths, np.float32)
        return np.concatenate([self._main.lengths, tail])

    def _document_frequency(self, term: str) -> int:
        return self._main.document_frequency(term) + len(self._tail_postings.get(term, ()))

    def _postings(self, term: str) -> tuple[Ints, Floats]:
        rows, counts = self._main.postings(term)
        tail = self._tail_postings.get(term)
        if not tail:
            return rows, counts
        added = np.array(tail, np.int64)
        return (
            np.concatenate([rows, added[:, 0]]),
            np.concatenate([counts, added[:, 1].astype(np.float32)]),
        )


def length_norms(lengths: Floats) -> Floats:
    """BM25's length part k1 * (1 - b + b * length / mean length) of each row."""
    mean = float(lengths.mean(dtype=np.float64)) if lengths.size else 0.0
    return np.asarray(K1 * (1 - B + B * lengths / max(mean, 1e-9)), np.float32)


class _Main:
    """The bm25s matrix over its rows, and the way back from its scores to term counts."""

    def __init__(self, vocabulary: dict[str, int], lengths: Floats, matrix: dict[str, Any]) -> None:
        self.vocabulary = vocabulary
        self.lengths = lengths
        self._matrix = matrix
        self._norms = length_norms(lengths)
        self._engine: Any = None

    @classmethod
    def empty(cls) -> _Main:
        none = {"data": np.zeros(0, np.float32), "indices": np.zeros(0, np.int32)}
        return cls({}, np.zeros(0, np.float32), {**none, "indptr": np.zeros(1, np.int64)})

    @classmethod
    def build(cls, documents: list[Counter[str]]) -> _Main:
        vocabulary: dict[str, int] = {}
        numbered: list[list[int]] = []
        for counts in documents:
            line: list[int] = []
            for term, count in counts.items():
                line.extend([vocabulary.setdefault(term, len(vocabulary))] * count)
            numbered.append(line)
        if not vocabulary:
            empty = cls.empty()
            return cls({}, np.zeros(len(documents), np.float32), empty._matrix)
        engine = _engine()
        engine.index((numbered, vocabulary), create_empty_token=False, show_progress=False)
        lengths = np.array([len(line) for line in numbered], np.float32)
        return cls(vocabulary, lengths, engine.scores)

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[Any]]) -> _Main:
        terms = unpack_words(arrays["vocabulary"])
        matrix = {name: arrays[name] for name in ("data", "indices", "indptr")}
        return cls({t: i for i, t in enumerate(terms)}, arrays["lengths"], matrix)

    @property
    def rows(self) -> int:
        return len(self.lengths)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "vocabulary": pack_words(list(self.vocabulary)),
            "lengths": self.lengths,
            "data": np.asarray(self._matrix["data"], np.float32),
            "indices": np.asarray(self._matrix["indices"], np.int32),
            "indptr": np.asarray(self._matrix["indptr"], np.int64),
        }

    def scores(self, terms: Sequence[str]) -> Floats:
        """bm25s's own scores of all rows; the statistics are those of the matrix alone."""
        if self._engine is None:
            self._engine = _engine()
            self._engine.scores = {**self._matrix, "num_docs": self.rows}
            self._engine.nonoccurrence_array = None
        numbers = [self.vocabulary[t] for t in terms]
        return np.asarray(self._engine.get_scores_from_ids(numbers), np.float32)

    def document_frequency(self, term: str) -> int:
        number = self.vocabulary.get(term)
        if number is None:
            return 0
        indptr = self._matrix["indptr"]
        return int(indptr[number + 1] - indptr[number])

    def postings(self, term: str) -> tuple[Ints, Floats]:
        """Rows that hold a term, and how often each does.

        The count comes back from the stored score s = idf * tf / (tf + norm): with r = s / idf,
        tf = r * norm / (1 - r), rounded to the whole number that it was.
        """
        number = self.vocabulary.get(term)
        if number is None:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        start, stop = self._matrix["indptr"][number : number + 2]
        rows = np.asarray(self._matrix["indices"][start:stop], np.int64)
        df = len(rows)
        idf = np.log1p((self.rows - df + 0.5) / (df + 0.5))
        share = np.asarray(self._matrix["data"][start:stop], np.float64) / idf
        counts = np.rint(share * self._norms[rows] / np.maximum(1 - share, 1e-9))
        return rows, np.maximum(counts, 1).astype(np.float32)

    def documents(self) -> list[Counter[str]]:
        """The term counts of every row, back from the matrix."""
        found: list[Counter[str]] = [Counter() for _ in range(self.rows)]
        for term in self.vocabulary:
            rows, counts = self.postings(term)
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
                found[row][term] = int(count)
        return found


def _engine() -> Any:
    """A bm25s engine; the debug level that its import gives to its logger is taken back."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.NOTSET)
    return bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy", csc_backend="numpy")
