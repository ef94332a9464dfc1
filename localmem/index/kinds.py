"""Which vector index holds the vectors: exact, or a graph where the extra is installed."""

from __future__ import annotations

from localmem.index.vector import ExactVectors, VectorIndex


def approximate(vectors: VectorIndex) -> VectorIndex:
    """The same vectors in an HNSW graph where the extra is installed, else as they are."""
    import importlib.util

    if not isinstance(vectors, ExactVectors) or importlib.util.find_spec("hnswlib") is None:
        return vectors
    from localmem.index.hnsw import HnswVectors

    graph = HnswVectors(vectors.model_id, vectors.dimension)
    graph.add(vectors.ids.tolist(), vectors.matrix)
    return graph


def vectors_of(snapshot: bytes, model_id: str, dimension: int) -> VectorIndex:
    """The index of a snapshot, of the kind that was stored.

    Raises:
        StaleIndexError: it is damaged, or another embedder made the vectors.
    """
    from localmem.index.blob import kind_of

    if kind_of(snapshot) == "vectors-hnsw":
        from localmem.index.hnsw import HnswVectors

        return HnswVectors.from_bytes(snapshot, model_id=model_id, dimension=dimension)
    return ExactVectors.from_bytes(snapshot, model_id=model_id, dimension=dimension)
