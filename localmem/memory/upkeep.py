"""Making what is missing beside the raw text, and keeping the file tidy."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localmem.errors import ModelNotFoundError, StoreError
from localmem.memory.models import LoadedModels
from localmem.memory.telling import OnProgress, Teller
from localmem.ports import Embedder
from localmem.store import Store
from localmem.types import ParticipantId, WorkReport

if TYPE_CHECKING:
    from localmem.recall.finder import Finder

_log = logging.getLogger(__name__)
FEW_MESSAGES = 100
"""So many get their vectors at once; more are left to `work`."""


@dataclass(eq=False, repr=False)
class Upkeep:
    """The upkeep of one memory."""

    store: Store
    models: LoadedModels
    finder: Finder

    def work(self, *, vectors: bool, items: bool, on_progress: OnProgress | None) -> WorkReport:
        """Make what is missing: L0 with dates, items, vectors, index snapshots.

        Raises:
            ModelNotFoundError: vectors are wanted and there is no embedder.
        """
        from localmem.jobs.deriving import derive_layer0, derive_vectors
        from localmem.jobs.remembering import derive_items

        started = time.perf_counter()
        tell = Teller(on_progress)
        made = 0
        with self.store.lingering():
            before = self.store.stats()
            summaries = derive_layer0(
                self.store, on_done=tell.of("summaries", before.turns_without_summary, "turns")
            )
            if items:
                derive_items(self.store, on_done=tell.of("facts", before.messages, "messages"))
            if vectors:
                embedder = self.models.memory_embedder()
                pending = self.store.count_without_vectors(embedder.model_id)
                made = derive_vectors(
                    self.store, embedder, on_done=tell.of("vectors", pending, "messages")
                )
            self.finder.save_snapshots()
            return self._report(summaries, made, started)

    def mend(self) -> None:
        """Take away what belongs to nothing."""
        if self.store.orphans():
            self.store.remove_orphans()

    def reindex(self, name: str | None, *, on_progress: OnProgress | None) -> WorkReport:
        """Make all vectors anew with an embedder (None: the one in use), then swap at once.

        Raises:
            ModelNotFoundError: the embedder is not on this machine.
        """
        from localmem.jobs.deriving import derive_layer0, derive_vectors

        started = time.perf_counter()
        new = self.models.new_embedder(name)
        summaries = derive_layer0(self.store)
        tell = Teller(on_progress)
        pending = self.store.count_without_vectors(new.model_id)
        made = derive_vectors(self.store, new, on_done=tell.of("vectors", pending, "messages"))
        self.store.set_active_embedder(new.model_id)
        for model_id in self.store.vector_models():
            if model_id != new.model_id:
                self.store.drop_vectors(model_id)
        self.models.swap_embedder(new)
        self.finder.forget()
        self.finder.save_snapshots()
        return self._report(summaries, made, started)

    def settle(self) -> None:
        """After messages went or changed hands: items, what lasts, and the index."""
        from localmem.jobs.deriving import derive_layer0
        from localmem.jobs.remembering import derive_items

        self.finder.forget()
        derive_layer0(self.store)
        derive_items(self.store)
        self.renew_lasting()
        self.finder.save_snapshots()

    def renew_lasting(self) -> None:
        """What lasts follows what is known at once, where pages were consolidated before.

        Where all pages went with what was forgotten, entries may be left.
        """
        from localmem.jobs.lasting import renew_lasting

        if self.store.tier_mark()[0] or self.store.lasting():
            renew_lasting(self.store)

    def regroup(self, only: ParticipantId | None = None) -> None:
        """Persona snapshots that are out of date made anew, of all or of one participant.

        A memory that cannot be written keeps those it has.
        """
        from localmem.jobs.personas import renew_personas

        try:
            stale = self.store.stale_personas()
            if stale if only is None else only in stale:
                renew_personas(self.store, self.embedder_here(), only=only)
        except StoreError as error:  # busy, read-only, no room: a persona can be read all the same
            _log.info("persona snapshots are not stored: %s", error.message)

    def embedder_here(self) -> Embedder | None:
        """The embedder of this memory's vectors, where it has one that is on this machine."""
        model_id = self.store.active_embedder()
        return self.models.embedder_or_none(model_id) if model_id is not None else None

    def take_in_few(self) -> None:
        """What a few new messages need to be found and known of: L0, items, vectors.

        Without an embedder on this machine they are found by words alone; searches say so.
        """
        from localmem.jobs.deriving import derive_layer0
        from localmem.jobs.remembering import derive_items

        derive_layer0(self.store)
        derive_items(self.store)
        self.embed_new()

    def embed_new(self) -> None:
        """Vectors for a few new messages; a memory without an embedder gets the one in use."""
        if self.store.active_embedder() is None:
            try:
                self.models.memory_embedder()
            except ModelNotFoundError as error:
                _log.info("no vectors are made: %s", error.message)
        self.embed_few()

    def embed_few(self) -> None:
        """Vectors for a few new messages, where the memory has an embedder that is here."""
        from localmem.jobs.deriving import derive_vectors

        embedder = self.embedder_here()
        if embedder is None:
            return
        if self.store.count_without_vectors(embedder.model_id) <= FEW_MESSAGES:
            derive_vectors(self.store, embedder)

    def embed_facts(self) -> None:
        """Vectors for facts that a model made, where the memory has an embedder that is here."""
        from localmem.jobs.embedding_facts import derive_fact_vectors

        embedder = self.embedder_here()
        if embedder is not None:
            derive_fact_vectors(self.store, embedder)

    def _report(self, summaries: int, vectors: int, started: float) -> WorkReport:
        """What was done; a file much of which is unused is written anew before."""
        from localmem.jobs.checkup import is_wasteful

        stats = self.store.stats()
        if is_wasteful(stats):
            self.store.compact()
        return WorkReport(
            summaries_made=summaries,
            vectors_made=vectors,
            summaries_open=stats.turns_without_summary,
            vectors_open=stats.messages_without_vectors,
            seconds=time.perf_counter() - started,
        )
