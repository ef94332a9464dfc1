"""Vectors of the facts that a model made, so that search finds their messages by them."""

from __future__ import annotations

import numpy as np

from localmem.ports import Embedder
from localmem.store import FactTexts, FactVectors, Store

_SESSIONS_A_BATCH = 40
"""About a thousand facts."""


def derive_fact_vectors(store: Store, embedder: Embedder) -> int:
    """Make the vectors of all facts that lack them; how many facts got one.

    The memory is held only while a batch is read and stored, never while the embedder works.
    """
    made = 0
    while pending := store.facts_without_vectors(embedder.model_id, _SESSIONS_A_BATCH):
        store.put_fact_vectors(_embedded(pending, embedder))
        made += sum(len(one.facts) for one in pending)
    return made


def _embedded(several: tuple[FactTexts, ...], embedder: Embedder) -> list[FactVectors]:
    pieces = [
        (place, fact.position, piece)
        for place, one in enumerate(several)
        for fact in one.facts
        for piece in embedder.split(fact.text)
    ]
    rows = np.zeros((0, embedder.dimension), np.float32)
    if pieces:
        rows = np.asarray(embedder.embed_passages([text for _, _, text in pieces]), np.float32)
    places = np.array([place for place, _, _ in pieces], np.int64)
    positions = np.array([position for _, position, _ in pieces], np.int32)
    return [
        FactVectors(
            one.session_id,
            one.mark,
            embedder.model_id,
            positions[places == place],
            np.ascontiguousarray(rows[places == place]),
        )
        for place, one in enumerate(several)
    ]
