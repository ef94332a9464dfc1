"""Keeps a retriever in step with the memory: from stored bytes, from the rows, by what is new."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from localmem.errors import StaleIndexError
from localmem.index.fusion import FusionWeights, load_weights
from localmem.index.vector import ExactVectors
from localmem.recall.retrieve import Retriever
from localmem.store import Changes, Store
from localmem.types import IndexSnapshot, MessageId, Participant, Session, SessionId

_log = logging.getLogger(__name__)
_WORD_PARTS = ("rows", "keywords")
_GRAPH = "vectors"
"""Stored for an approximate index alone: an exact one is the vectors themselves."""
_REPLAY_SHARE = 0.2
"""A snapshot that lacks more than this share of the rows is made anew."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A retriever, and the state of the memory that it stands for."""

    retriever: Retriever
    sessions: Mapping[SessionId, Session]
    generation: int
    model_id: str | None
    people: tuple[Participant, ...] = ()


class LoadedIndex:
    """The index of one memory in this process. Not for several threads at once.

    `weights` is the name of the weights by which the retriever fuses its signals.
    """

    def __init__(self, store: Store, weights: str) -> None:
        self._store = store
        self._weights_name = weights
        self._weights: FusionWeights | None = None
        self.loaded: Loaded | None = None
        self._dates_at: int | None = None
        self._summaries_at: int | None = None

    def forget(self) -> None:
        """Drop what is loaded."""
        self.loaded = self._dates_at = self._summaries_at = None

    def current(self) -> Loaded:
        """What is loaded, brought up to the memory's generation. Inside `reading()`."""
        generation = self._store.generation()
        if self.loaded is None:
            self.loaded = self._from_snapshot() or self._from_rows()
        elif self.loaded.generation != generation:
            changes = self._store.changes_since(self.loaded.generation)
            self.loaded = (
                self._from_rows() if changes.reload else self._replayed(self.loaded, changes)
            )
        return self.loaded

    def save(self, loaded: Loaded) -> None:
        """Store the index as bytes with the generation it stands for, for the next start."""
        content = loaded.retriever.snapshot()
        vectors = loaded.retriever.vectors
        with self._store.writing():
            for name in _WORD_PARTS:
                self._store.put_snapshot(
                    IndexSnapshot(name, loaded.generation, "", 0, content[name])
                )
            if vectors is not None and not isinstance(vectors, ExactVectors):
                self._store.put_snapshot(
                    IndexSnapshot(
                        _GRAPH,
                        loaded.generation,
                        vectors.model_id,
                        vectors.dimension,
                        content[_GRAPH],
                    )
                )

    def with_dates(self, loaded: Loaded) -> None:
        """Let the retriever know the dates that messages tell of."""
        if self._dates_at != loaded.generation:
            loaded.retriever.add_dates(self._store.all_dates())
            self._dates_at = loaded.generation

    def with_summaries(self, loaded: Loaded) -> None:
        """L0 lines are read by one mode alone, so they are indexed when it is first used."""
        if self._summaries_at != loaded.generation:
            loaded.retriever.add_summaries(self._store.all_summaries())
            self._summaries_at = loaded.generation

    def _from_snapshot(self) -> Loaded | None:
        """The stored index with what came since; None where it is missing, damaged or too old."""
        model_id = self._store.active_embedder()
        try:
            parts = [self._store.get_snapshot(name) for name in _WORD_PARTS]
            graph = self._store.get_snapshot(_GRAPH, model_id=model_id) if model_id else None
            stored = [part for part in (*parts, graph) if part is not None]
            generations = {part.generation for part in stored}
            if None in parts or len(generations) != 1:
                return None
            (generation,) = generations
            changes = self._store.changes_since(generation)
            if changes.reload:
                return None
            retriever = Retriever.from_snapshot(
                {part.name: part.content for part in stored},
                model_id=graph.model_id if graph else "",
                dimension=graph.dimension if graph else 0,
                weights=self._fusion_weights(),
            )
        except StaleIndexError as error:
            _log.warning("the stored index is made anew: %s", error.message)
            return None
        if len(changes.messages) > _REPLAY_SHARE * (len(retriever) + 1):
            return None
        loaded = Loaded(
            retriever, self._sessions(), generation, model_id, self._store.participants()
        )
        loaded = self._replayed(loaded, changes, with_vectors=graph is not None)
        if graph is None:
            self._add_all_vectors(retriever, model_id)
        return loaded

    def _from_rows(self) -> Loaded:
        retriever = Retriever(weights=self._fusion_weights())
        sessions, model_id = self._sessions(), self._store.active_embedder()
        retriever.add_messages(self._store.shown_messages(), sessions)
        self._add_all_vectors(retriever, model_id)
        self._dates_at = self._summaries_at = None
        generation, people = self._store.generation(), self._store.participants()
        return Loaded(retriever, sessions, generation, model_id, people)

    def _replayed(self, loaded: Loaded, changes: Changes, *, with_vectors: bool = True) -> Loaded:
        sessions, people = loaded.sessions, loaded.people
        if len(changes.messages):
            sessions, people = self._sessions(), self._store.participants()
            new = self._store.shown_messages(after_generation=loaded.generation)
            loaded.retriever.add_messages(new, sessions)
        if with_vectors and len(changes.vectors):
            loaded.retriever.add_vectors(
                changes.vectors.model_id,
                _message_ids(changes.vectors.message_ids),
                changes.vectors.rows,
            )
        self._dates_at = None
        return replace(loaded, sessions=sessions, people=people, generation=changes.generation)

    def _add_all_vectors(self, retriever: Retriever, model_id: str | None) -> None:
        if model_id is None:
            return
        columns = self._store.vectors(model_id)
        if len(columns):
            retriever.add_vectors(model_id, _message_ids(columns.message_ids), columns.rows)

    def _sessions(self) -> Mapping[SessionId, Session]:
        return {session.id: session for session in self._store.sessions()}

    def _fusion_weights(self) -> FusionWeights:
        if self._weights is None:
            self._weights = load_weights(self._weights_name)
        return self._weights


def _message_ids(ids: NDArray[np.int64]) -> list[MessageId]:
    return [MessageId(number) for number in ids.tolist()]
