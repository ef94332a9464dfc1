"""Approximate vector search with hnswlib, for memories too large for the exact matrix.

Needs the extra `hnsw`. Built and searched with one thread, so that the result repeats.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from localmem.errors import MissingExtraError
from localmem.index.blob import pack
from localmem.index.vector import (
    Floats,
    Ints,
    best_ids,
    check_vectors,
    unpack_vectors,
    vector_stamp,
)
from localmem.ports import FloatMatrix

_KIND = "vectors-hnsw"
_LINKS = 16
_EF_BUILD = 100
_EF_SEARCH = 400
_FOUND = 400
_FIRST_CAPACITY = 1024
_SEED = 100


class HnswVectors:
    """A navigable small-world graph over unit vectors; labels are the places in `ids`."""

    def __init__(self, model_id: str, dimension: int) -> None:
        self._model_id = model_id
        self._dimension = dimension
        self._ids = np.zeros(0, np.int64)
        self._alive = np.zeros(0, np.bool_)
        self._graph = _graph(dimension)
        self._graph.init_index(
            max_elements=_FIRST_CAPACITY,
            M=_LINKS,
            ef_construction=_EF_BUILD,
            random_seed=_SEED,
            allow_replace_deleted=False,
        )
        self._graph.set_num_threads(1)

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def ids(self) -> Ints:
        return self._ids[self._alive]

    def __len__(self) -> int:
        return int(self._alive.sum())

    def add(self, ids: Sequence[int], vectors: FloatMatrix) -> None:
        check_vectors(ids, vectors, self._dimension)
        if not len(ids):
            return
        start, needed = len(self._ids), len(self._ids) + len(ids)
        if needed > self._graph.get_max_elements():
            self._graph.resize_index(max(needed, 2 * self._graph.get_max_elements()))
        self._graph.add_items(vectors, np.arange(start, needed), num_threads=1)
        self._ids = np.concatenate([self._ids, np.asarray(ids, np.int64)])
        self._alive = np.concatenate([self._alive, np.ones(len(ids), np.bool_)])

    def remove(self, ids: Iterable[int]) -> None:
        gone = np.isin(self._ids, np.array(sorted(set(ids)), np.int64)) & self._alive
        for label in np.flatnonzero(gone):
            self._graph.mark_deleted(int(label))
        self._alive = self._alive & ~gone

    def scores(self, query: Floats) -> Floats:
        every = np.full(len(self._ids), -np.inf, np.float32)
        labels, found = self._nearest(query, _FOUND)
        floor = found.min() if len(found) else np.float32(0)
        every[:] = floor
        every[labels] = found
        return every[self._alive]

    def search(self, query: Floats, k: int) -> list[tuple[int, float]]:
        labels, found = self._nearest(query, max(4 * k, _FOUND))
        return best_ids(self._ids[labels], found, k)

    def rows_of(self, ids: Iterable[int]) -> tuple[Ints, FloatMatrix]:
        wanted = np.isin(self._ids, np.array(sorted(set(ids)), np.int64)) & self._alive
        places = np.flatnonzero(wanted)
        rows = self._graph.get_items(places) if len(places) else []
        return self._ids[places], np.asarray(rows, np.float32).reshape(-1, self._dimension)

    def to_bytes(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:  # hnswlib saves to files only
            file = Path(folder) / "graph"
            self._graph.save_index(str(file))
            graph = np.frombuffer(file.read_bytes(), np.uint8)
        return pack(
            vector_stamp(_KIND, self), {"ids": self._ids, "alive": self._alive, "graph": graph}
        )

    @classmethod
    def from_bytes(cls, snapshot: bytes, *, model_id: str, dimension: int) -> HnswVectors:
        """The index of a snapshot.

        Raises:
            StaleIndexError: the snapshot is damaged, or was made by another embedder.
        """
        unpacked = unpack_vectors(snapshot, _KIND, model_id=model_id, dimension=dimension)
        index = cls(model_id, dimension)
        index._ids, index._alive = unpacked.arrays["ids"], unpacked.arrays["alive"]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "graph"
            file.write_bytes(unpacked.arrays["graph"].tobytes())
            index._graph = _graph(dimension)
            index._graph.load_index(str(file), max_elements=max(len(index._ids), _FIRST_CAPACITY))
        index._graph.set_num_threads(1)
        return index

    def _nearest(self, query: Floats, k: int) -> tuple[Ints, Floats]:
        """Labels and cosines of the nearest living vectors; k is clamped to their number."""
        k = min(k, len(self))
        if k == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        self._graph.set_ef(max(_EF_SEARCH, k))
        labels, distances = self._graph.knn_query(query, k=k, num_threads=1)
        return labels[0].astype(np.int64), (1 - distances[0]).astype(np.float32)


def _graph(dimension: int) -> Any:
    try:
        import hnswlib
    except ImportError as error:
        raise MissingExtraError("approximate vector search", extra="hnsw") from error
    return hnswlib.Index(space="ip", dim=dimension)
