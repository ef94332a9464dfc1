"""What lasts of the owner, by similarity with a question (FluxMem, 4.1.3). Reads only.

There are a hundred entries at most, so that their vectors are made when a question first asks for
them and kept while they stay. Nothing is stored, and no wish is carried out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection

from localmem.ports import Embedder, FloatMatrix
from localmem.store import Store
from localmem.tiers.longterm import nearest
from localmem.types import LastingEntry, LastingKind

WISHES = frozenset({LastingKind.WISH})
OF_THE_OWNER = frozenset(LastingKind) - WISHES
MOST_WISHES = 3
LEAST_COSINE = 0.3
"""Below it a wish has nothing to do with a question."""


class LastingSearch:
    """The entries of some kinds, searched. Safe for threads.

    `embedder_of` gives the embedder with a model id, or None where it is not on this machine. A
    program that asks again embeds only entries that are new.
    """

    def __init__(
        self,
        store: Store,
        embedder_of: Callable[[str], Embedder | None],
        kinds: Collection[LastingKind],
    ) -> None:
        self._store = store
        self._embedder_of = embedder_of
        self._kinds = kinds
        self._rows: dict[tuple[str, str], FloatMatrix] = {}
        self._lock = threading.Lock()

    def near(self, question: str) -> tuple[LastingEntry, ...]:
        """At most three that have to do with the question; () where no embedder tells."""
        found = (self._ranked(question) or ())[:MOST_WISHES]
        return tuple(one for one, cosine in found if cosine >= LEAST_COSINE)

    def nearest(self, question: str, *, k: int) -> tuple[LastingEntry, ...]:
        """The `k` nearest that hold, however far; the newest where no embedder is."""
        found = self._ranked(question)
        if found is None:
            return tuple(reversed(self._entries()))[:k]
        return tuple(one for one, _ in found[:k])

    def _entries(self) -> list[LastingEntry]:
        kept = (one for one in self._store.lasting() if one.superseded_by is None)
        return [one for one in kept if one.kind in self._kinds]

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
