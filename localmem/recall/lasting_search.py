"""What lasts of the owner, wishes aside, by similarity with a question (FluxMem, 4.1.3).

There are a hundred at most, so that their vectors are made when a question first asks for them and
kept until the entries change. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from localmem.ports import Embedder, FloatMatrix
from localmem.store import Store
from localmem.tiers.longterm import nearest
from localmem.types import LastingEntry, LastingKind


@dataclass(frozen=True, slots=True)
class _Embedded:
    """Texts of entries with their unit vectors, float32 (n, dim)."""

    model_id: str
    texts: tuple[str, ...]
    rows: FloatMatrix


class LastingSearch:
    """The long term of one memory, searched. `embedder_of` gives None where there is none."""

    def __init__(self, store: Store, embedder_of: Callable[[str], Embedder | None]) -> None:
        self._store = store
        self._embedder_of = embedder_of
        self._embedded: _Embedded | None = None

    def nearest(self, question: str, *, k: int) -> tuple[LastingEntry, ...]:
        """The `k` entries that hold, wishes aside, and are nearest to a question.

        The latest where no embedder is on this machine.
        """
        entries = [
            one
            for one in self._store.lasting()
            if one.kind is not LastingKind.WISH and one.superseded_by is None
        ]
        if not entries:
            return ()
        model_id = self._store.active_embedder()
        embedder = self._embedder_of(model_id) if model_id is not None else None
        if embedder is None:
            return tuple(reversed(entries))[:k]
        rows = self._rows(embedder, tuple(one.text for one in entries))
        found = nearest(entries, rows, embedder.embed_query(question), k=k)
        return tuple(entry for entry, _ in found)

    def _rows(self, embedder: Embedder, texts: tuple[str, ...]) -> FloatMatrix:
        known = self._embedded
        if known is None or (known.model_id, known.texts) != (embedder.model_id, texts):
            known = _Embedded(embedder.model_id, texts, embedder.embed_passages(texts))
            self._embedded = known
        return known.rows
