"""Vector search: the exact matrix, and what every vector index must do.

Vectors are kept with the id of the text that they belong to; a long text has several, under one
id. This module must not know what an id names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localmem.errors import StaleIndexError
from localmem.index.blob import Unpacked, pack, unpack
from localmem.ports import FloatMatrix

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_KIND = "vectors-exact"
_HINT = "run: localmem reindex"


class VectorIndex(Protocol):
    """Unit vectors under ids, in the order in which they were added; ids may repeat."""

    @property
    def model_id(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def ids(self) -> Ints:
        """int64 (len,): the id of each vector."""
        ...

    def __len__(self) -> int: ...

    def add(self, ids: Sequence[int], vectors: FloatMatrix) -> None:
        """Appends float32 (len(ids), dimension) unit rows.

        Raises:
            StaleIndexError: the vectors have another dimension.
        """
        ...

    def remove(self, ids: Iterable[int]) -> None:
        """Drops every vector of these ids; ids that are not here are passed over."""
        ...

    def scores(self, query: Floats) -> Floats:
        """float32 (len,): cosine of each vector with the query, aligned to `ids`.

        An approximate index gives the far vectors the score of the last one that it found.
        """
        ...

    def search(self, query: Floats, k: int) -> list[tuple[int, float]]:
        """The k best ids (each once, by its best vector) with cosines; ties by the lower id."""
        ...

    def rows_of(self, ids: Iterable[int]) -> tuple[Ints, FloatMatrix]:
        """The vectors of these ids: int64 (n,) whose each is, float32 (n, dimension), as added."""
        ...

    def to_bytes(self) -> bytes: ...


class ExactVectors:
    """All vectors in one matrix that grows by doubling: exact, always available."""

    def __init__(self, model_id: str, dimension: int) -> None:
        self._model_id = model_id
        self._dimension = dimension
        self._ids = np.zeros(0, np.int64)
        self._matrix = np.zeros((0, dimension), np.float32)
        self._used = 0

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def ids(self) -> Ints:
        return self._ids

    @property
    def matrix(self) -> FloatMatrix:
        """float32 (len, dimension): the vectors, not to be written to."""
        return self._matrix[: self._used]

    def __len__(self) -> int:
        return self._used

    def add(self, ids: Sequence[int], vectors: FloatMatrix) -> None:
        check_vectors(ids, vectors, self._dimension)
        needed = self._used + len(ids)
        if needed > len(self._matrix):
            grown = np.zeros((max(needed, 2 * len(self._matrix)), self._dimension), np.float32)
            grown[: self._used] = self.matrix
            self._matrix = grown
        self._matrix[self._used : needed] = vectors
        self._ids = np.concatenate([self._ids, np.asarray(ids, np.int64)])
        self._used = needed

    def remove(self, ids: Iterable[int]) -> None:
        keep = ~np.isin(self._ids, np.array(sorted(set(ids)), np.int64))
        if not keep.all():
            self._matrix = self.matrix[keep]
            self._ids = self._ids[keep]
            self._used = len(self._ids)

    def scores(self, query: Floats) -> Floats:
        return np.asarray(self.matrix @ query, np.float32)

    def search(self, query: Floats, k: int) -> list[tuple[int, float]]:
        return best_ids(self._ids, self.scores(query), k)

    def rows_of(self, ids: Iterable[int]) -> tuple[Ints, FloatMatrix]:
        places = np.flatnonzero(np.isin(self._ids, np.array(sorted(set(ids)), np.int64)))
        return self._ids[places], self.matrix[places]

    def to_bytes(self) -> bytes:
        return pack(vector_stamp(_KIND, self), {"ids": self._ids, "matrix": self.matrix})

    @classmethod
    def from_bytes(cls, snapshot: bytes, *, model_id: str, dimension: int) -> ExactVectors:
        """The index of a snapshot.

        Raises:
            StaleIndexError: the snapshot is damaged, or was made by another embedder.
        """
        unpacked = unpack_vectors(snapshot, _KIND, model_id=model_id, dimension=dimension)
        index = cls(model_id, dimension)
        index._ids = unpacked.arrays["ids"]
        index._matrix = unpacked.arrays["matrix"]
        index._used = len(index._ids)
        return index


def best_ids(ids: Ints, scores: Floats, k: int) -> list[tuple[int, float]]:
    """The k best distinct ids with their best scores, best first; ties by the lower id."""
    best: dict[int, float] = {}
    for place in np.lexsort((ids, -scores)):
        if len(best) >= k:
            break
        best.setdefault(int(ids[place]), float(scores[place]))
    return list(best.items())


def check_vectors(ids: Sequence[int], vectors: FloatMatrix, dimension: int) -> None:
    """Raises where ids and vectors do not belong together, or the dimension is another."""
    if vectors.ndim != 2 or len(ids) != len(vectors):
        raise ValueError(f"got {len(ids)} ids, want one for each row of {vectors.shape}")
    if len(ids) and vectors.shape[1] != dimension:
        raise StaleIndexError(
            f"got vectors of {vectors.shape[1]} dimensions, the index holds {dimension}",
            hint=_HINT,
        )


def vector_stamp(kind: str, index: VectorIndex) -> dict[str, str | int | float]:
    """What a snapshot of vectors says about itself."""
    return {
        "kind": kind,
        "model_id": index.model_id,
        "dimension": index.dimension,
        "count": len(index),
    }


def unpack_vectors(snapshot: bytes, kind: str, *, model_id: str, dimension: int) -> Unpacked:
    """A snapshot of vectors, checked against the embedder in use.

    Raises:
        StaleIndexError: damaged, or made by another embedder.
    """
    unpacked = unpack(snapshot, kind=kind)
    made_by: Any = (unpacked.stamp["model_id"], unpacked.stamp["dimension"])
    if made_by != (model_id, dimension):
        raise StaleIndexError(
            f"the vectors were made by {made_by[0]} ({made_by[1]} dimensions), "
            f"the embedder in use is {model_id} ({dimension})",
            hint=_HINT,
        )
    return unpacked
