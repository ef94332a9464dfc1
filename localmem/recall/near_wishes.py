"""The owner's standing wishes that have to do with a question. Reads only; nothing is carried out.

What a wish asks for is for the model that writes an answer to know, as a thing that was said. No
depth, tool or step is chosen by it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from localmem.ports import Embedder, FloatMatrix
from localmem.store import Store
from localmem.tiers.longterm import nearest
from localmem.types import LastingEntry, LastingKind

MOST_WISHES = 3
LEAST_COSINE = 0.3
"""Below it a wish has nothing to do with a question."""


class NearWishes:
    """The wishes of one memory, nearest to a question first. Safe for threads.

    `embedder_of` gives the embedder with a model id, or None where it is not on this machine. A
    program that asks again embeds only wishes that are new.
    """

    def __init__(self, store: Store, embedder_of: Callable[[str], Embedder | None]) -> None:
        self._store = store
        self._embedder_of = embedder_of
        self._rows: dict[tuple[str, str], FloatMatrix] = {}
        self._lock = threading.Lock()

    def near(self, question: str) -> tuple[LastingEntry, ...]:
        """At most three that have to do with the question; () where no embedder tells."""
        found = (self._ranked(question) or ())[:MOST_WISHES]
        return tuple(one for one, cosine in found if cosine >= LEAST_COSINE)

    def nearest(self, question: str, k: int) -> tuple[LastingEntry, ...]:
        """The `k` nearest that hold, however far; the newest where no embedder is."""
        found = self._ranked(question)
        if found is None:
            return tuple(reversed(self._entries()))[:k]
        return tuple(one for one, _ in found[:k])

    def _entries(self) -> list[LastingEntry]:
        return [one for one in self._store.lasting() if one.kind is LastingKind.WISH]

    def _ranked(self, question: str) -> list[tuple[LastingEntry, float]] | None:
        """All that hold with their cosines, the nearest first; None where no embedder is here."""
        entries = self._entries()
        if not entries:
            return []
        model_id = self._store.active_embedder()
        embedder = self._embedder_of(model_id) if model_id is not None else None
        if embedder is None:
            return None
        rows = self._embedded(entries, embedder)
        return nearest(entries, rows, embedder.embed_query(question), k=len(entries))

    def _embedded(self, entries: list[LastingEntry], embedder: Embedder) -> FloatMatrix:
        """float32 (n, dim), unit rows in the order of the entries."""
        import numpy as np

        keys = [(embedder.model_id, one.text) for one in entries]
        with self._lock:
            new = list(dict.fromkeys(key for key in keys if key not in self._rows))
            if new:
                rows = embedder.embed_passages([text for _, text in new])
                self._rows |= dict(zip(new, rows, strict=True))
            self._rows = {key: self._rows[key] for key in keys}
            return np.stack([self._rows[key] for key in keys])
