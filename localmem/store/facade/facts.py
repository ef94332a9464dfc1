"""What search reads of stored facts: their words with their sources, and their vectors. Wiring."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from localmem.store import fact_pages, meta
from localmem.store.facade.held import Held
from localmem.store.fact_pages import FactTexts, FactVectors
from localmem.types import SessionId


class FactRows(Held):
    """L1 as search reads it."""

    def facts_mark(self) -> int:
        """Counts the changes of stored L1 and of its vectors."""
        with self._lease.hold(write=False) as connection:
            return meta.get_int(connection, fact_pages.FACTS_MARK)

    def fact_marks(self) -> Mapping[SessionId, int]:
        """The sessions that have L1, each with a mark that another making of it does not have."""
        with self._lease.hold(write=False) as connection:
            return fact_pages.marks(connection)

    def fact_texts(self, sessions: Collection[SessionId]) -> tuple[FactTexts, ...]:
        """The words of the facts of sessions; sessions without L1 are absent."""
        with self._lease.hold(write=False) as connection:
            return fact_pages.texts(connection, sessions)

    def fact_vectors(
        self, sessions: Collection[SessionId], model_id: str
    ) -> tuple[FactVectors, ...]:
        """The vectors of the facts of sessions by one embedder, where they were made."""
        with self._lease.hold(write=False) as connection:
            return fact_pages.pages(connection, sessions, model_id)

    def facts_without_vectors(self, model_id: str, limit: int) -> tuple[FactTexts, ...]:
        """The facts of sessions that have no vectors of an embedder; at most `limit` sessions."""
        with self._lease.hold(write=False) as connection:
            pending = fact_pages.without_page(connection, model_id)[:limit]
            return fact_pages.texts(connection, pending)

    def put_fact_vectors(self, several: Sequence[FactVectors]) -> None:
        """Store vectors of facts; those of facts that were made anew meanwhile are left out."""
        with self._transaction() as connection:
            for vectors in several:
                fact_pages.put_page(connection, vectors)
