"""What searching needs: vectors, index snapshots, and what changed since when. Wiring only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localmem.store import derived, fact_pages, meta, reads, snapshots, vectors
from localmem.store.columns import Changes, VectorColumns
from localmem.store.facade.held import Held
from localmem.types import IndexSnapshot, Message, MessageId, StoredVectors


class IndexRows(Held):
    """Vectors, snapshots, and the generation."""

    def messages_without_vectors(self, model_id: str, limit: int) -> tuple[Message, ...]:
        """Shown messages with text that have no vector of this model, oldest first."""
        with self._lease.hold(write=False) as connection:
            pending = vectors.pending(connection, model_id)[:limit]
            return reads.messages(connection, [MessageId(int(number)) for number in pending])

    def count_without_vectors(self, model_id: str) -> int:
        with self._lease.hold(write=False) as connection:
            return len(vectors.pending(connection, model_id))

    def put_vectors(self, batch: StoredVectors, *, blank: Sequence[MessageId] = ()) -> None:
        """Store vectors, in place of those that the messages had from this model.

        `blank` are messages in which the embedder found nothing to embed.

        Raises:
            StoreError: the bytes do not fit the counts, or the model has another dimension here.
        """
        with self._transaction() as connection:
            vectors.put(connection, batch, blank)

    def vectors(self, model_id: str) -> VectorColumns:
        """All vectors of a model, one float32 matrix."""
        with self._lease.hold(write=False) as connection:
            return vectors.get(connection, model_id, 0)

    def vector_models(self) -> Mapping[str, int]:
        """The models that have vectors here, with their dimension."""
        with self._lease.hold(write=False) as connection:
            return vectors.models(connection)

    def drop_vectors(self, model_id: str) -> None:
        with self._transaction() as connection:
            vectors.drop(connection, model_id)
            fact_pages.drop(connection, model_id)

    def active_embedder(self) -> str | None:
        """Model id of the vectors that search uses."""
        with self._lease.hold(write=False) as connection:
            return meta.get(connection, meta.ACTIVE_EMBEDDER)

    def set_active_embedder(self, model_id: str) -> None:
        """Let search use the vectors of this model from now on."""
        with self._transaction() as connection:
            if meta.get(connection, meta.ACTIVE_EMBEDDER) != model_id:
                meta.put(connection, meta.ACTIVE_EMBEDDER, model_id)
                meta.forbid_replay(connection, meta.bump_generation(connection))

    def generation(self) -> int:
        """Counts the changes of what search would return; 0 for an empty memory.

        While the file stays open nobody else can write it, so that one look at it is enough.
        """
        with self._lease.hold(write=False) as connection:
            known = self._generation
            if known is None or known[0] is not connection:
                known = self._generation = (connection, meta.get_int(connection, meta.GENERATION))
            return known[1]

    def changes_since(self, generation: int) -> Changes:
        """What came since `generation`, with the vectors of the embedder in use."""
        with self._lease.hold(write=False) as connection:
            values = meta.get_all(connection)
            now = int(values.get(meta.GENERATION, 0))
            must_reload = generation < int(values.get(meta.REPLAY_FLOOR, 0))
            after = now if must_reload else generation
            model_id = values.get(meta.ACTIVE_EMBEDDER, "")
            return Changes(
                generation=now,
                reload=must_reload,
                messages=reads.message_columns(connection, after),
                vectors=vectors.get(connection, model_id, after),
                summaries=derived.summaries_after(connection, after),
            )

    def put_snapshot(self, snapshot: IndexSnapshot) -> None:
        """Store an index in place of the one of the same name and model."""
        with self._transaction() as connection:
            snapshots.put(connection, snapshot)

    def get_snapshot(self, name: str, *, model_id: str = "") -> IndexSnapshot | None:
        """The stored index; None where there is none.

        Raises:
            StaleIndexError: its bytes were damaged; build it anew.
        """
        with self._lease.hold(write=False) as connection:
            return snapshots.get(connection, name, model_id)
