"""The facade: one memory file with its models. Wiring only; the work is done in the rooms below.

with Memory.open() as memory:
    memory.import_(Path("conversations.json"))
    print(memory.ask("When did I move?").text)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from localmem import paths
from localmem.config import Config, load_config
from localmem.errors import StoreError
from localmem.jobs.turns import Turns
from localmem.memory.asking import Asking, Query, Question
from localmem.memory.front_ends import ServingFrontEnds
from localmem.memory.keeping import KeepingMessages
from localmem.memory.knowing import KnowingPeople
from localmem.memory.local_time import SystemClock
from localmem.memory.models import LoadedModels, ModelSource
from localmem.memory.opened import Opened
from localmem.memory.telling import OnProgress, Teller
from localmem.memory.tiering import HoldingTiers
from localmem.memory.upkeep import Upkeep
from localmem.memory.warming import WarmingUp
from localmem.ports import Clock
from localmem.shelf import ModelShelf
from localmem.store import Store
from localmem.types import (
    Answer,
    Budget,
    Depth,
    ExportReport,
    Finding,
    Layer,
    MemoryStats,
    QueueStatus,
    SearchFilter,
    SearchResult,
    Session,
    SessionId,
    SessionView,
    TraceStep,
    WarmReport,
    WorkReport,
)

if TYPE_CHECKING:
    from localmem.jobs.warmer import Warmer
    from localmem.jobs.warming import Wanted
    from localmem.layers.materialise import Materialiser
    from localmem.recall.deep import Sources
    from localmem.recall.own_words import OwnWords
    from localmem.recall.routing import Routes


_LOOKED_AT = 60
"""Messages that are found for `own_words`; those of assistants among them are passed over."""


class Memory(KeepingMessages, KnowingPeople, HoldingTiers, ServingFrontEnds):
    """One memory. Safe for threads; several programs may have it open at once."""

    def __init__(self, store: Store, *, config: Config, clock: Clock, models: ModelSource) -> None:
        """Use `Memory.open`; this constructor is for programs that bring their own models."""
        from localmem.recall.finder import Finder
        from localmem.recall.lasting_search import OF_THE_OWNER, WISHES, LastingSearch
        from localmem.recall.standing import Standing

        self._store = store
        self._config = config
        self._clock = clock
        self._models = LoadedModels(models, store)
        self._turns = Turns()
        self._opened = Opened(store)
        self._layers: Materialiser | None = None
        finder = Finder(
            store,
            self._models.embedder_or_none,
            weights=config.search.weights,
            routes=config.search.routes,
            facts=config.search.facts,
            episodes=config.search.episodes,
        )
        self._upkeep = Upkeep(store, self._models, finder)
        self._warming = WarmingUp(
            store, self._models, lambda: self.layers, self._opened, self._turns
        )
        embedder_of = self._models.embedder_or_none
        self._wishes = LastingSearch(store, embedder_of, WISHES)
        self._lasting = LastingSearch(store, embedder_of, OF_THE_OWNER)
        self._asking = Asking(
            store=store,
            finder=finder,
            wishes=self._wishes,
            lasting=self._lasting,
            standing=Standing(store, finder.fetched),
            models=self._models,
            layers=lambda: self.layers,
            opened=self._opened,
            turns=self._turns,
            config=config,
        )

    @classmethod
    def open(
        cls,
        path: Path | None = None,
        *,
        create: bool = True,
        config: Config | None = None,
        clock: Clock | None = None,
        idle_s: float = 2.0,
    ) -> Memory:
        """The memory at `path`, by default this user's; models are loaded when first needed.

        `idle_s` keeps the file open that long after each use, while no other program waits for it.

        Raises:
            StoreError: there is no memory and `create` is False.
            ConfigError: the configuration is wrong.
        """
        where = path or paths.default_memory()
        if not create and not where.exists():
            raise StoreError(f"there is no memory at {where}", hint="localmem import EXPORT")
        config = config or load_config(paths.config_file())
        _make_folder(where)
        return cls(
            Store(where, patience_s=config.store.patience_s, idle_s=idle_s),
            config=config,
            clock=clock or SystemClock(),
            models=ModelShelf.open(config),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file and the models back; what warms in the background stops first."""
        self._warming.stop()
        self._opened.save()
        self._models.close()
        self._store.close()

    @property
    def path(self) -> Path:
        return self._store.path

    @property
    def layers(self) -> Materialiser:
        """L1 and L2 of sessions, made on the first request."""
        from localmem.layers.materialise import Materialiser

        with self._models.lock:
            if self._layers is None:
                self._layers = Materialiser(
                    self._store, self._models.for_layers, on_facts=self._embed_facts
                )
            return self._layers

    @property
    def store(self) -> Store:
        """The rows themselves, for programs that need more than this facade gives."""
        return self._store

    # --- Upkeep ---------------------------------------------------------------------------

    def work(
        self,
        *,
        on_progress: OnProgress | None = None,
        vectors: bool = True,
        items: bool = True,
        gate: str | None = None,
    ) -> WorkReport:
        """Make what is missing: L0 with dates, items, vectors, episodes, snapshots; tidy up.

        `gate` stands for the configured one; where another made the episodes, all are made anew.

        Raises:
            ModelNotFoundError: vectors are wanted and there is no embedder.
            UsageError: there is no such gate.
        """
        self._upkeep.mend()
        report = self._upkeep.work(vectors=vectors, items=items, on_progress=on_progress)
        if vectors:
            self._embed_facts()
            placed = self.consolidate(on_progress=on_progress, gate=gate)
            report = replace(report, pages_placed=placed.pages)
        return report

    def reindex(
        self, *, embedder: str | None = None, on_progress: OnProgress | None = None
    ) -> WorkReport:
        """Make all vectors anew from stored text, beside the ones in use, then swap at once.

        Raises:
            ModelNotFoundError: the embedder is not on this machine.
        """
        report = self._upkeep.reindex(embedder, on_progress=on_progress)
        self._embed_facts()
        return report

    def warm(
        self,
        wanted: Wanted | None = None,
        *,
        on_progress: Callable[[QueueStatus], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> WarmReport:
        """Let the language model make layers ahead, for the sessions most likely to be wanted.

        It gives way to questions of other threads and processes; what is finished is stored at
        once, so that a later call goes on there. `stop` ends it where it says True.

        Raises:
            ModelError: there is no language model that writes better layers than the rules do.
        """
        return self._warming.warm(wanted, on_progress=on_progress, stop=stop)

    def warmer(self, wanted: Wanted | None = None, *, idle_s: float = 20.0) -> Warmer:
        """The same in a thread of its own, for programs that stay open; `start` begins it.

        It works only while no question was asked for `idle_s`; `close` stops it.
        """
        return self._warming.warmer(wanted, idle_s=idle_s)

    # --- Finding and asking -----------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        mode: str | None = None,
        limits: SearchFilter | None = None,
        asked_at: datetime | None = None,
    ) -> SearchResult:
        """The best `k` messages for a query. No language model is used.

        Raises:
            UsageError: the query is empty, or the mode is unknown.
            RecordNotFoundError: the filter names a participant who is not in this memory.
        """
        moment = asked_at or self._clock.now()
        return self._asking.search(Query(query, moment, k, mode, limits)).result

    def ask(
        self,
        question: str,
        *,
        depth: Depth | None = None,
        budget: Budget | None = None,
        limits: SearchFilter | None = None,
        asked_at: datetime | None = None,
        earlier: Sequence[str] = (),
        on_found: Callable[[SearchResult], None] | None = None,
        on_token: Callable[[str], None] | None = None,
        on_step: Callable[[TraceStep], None] | None = None,
    ) -> Answer:
        """Answer a question from the memory, with citations; "not found" is an answer.

        `earlier` are the questions of this conversation so far, as their answers have them, so that
        this one may lean on the last ("and when was that?").
        `on_found` hears what was found, before the answer's first word; `on_step` hears each step
        of a deep question as it is done. What one of them raises ends the call.

        Raises:
            ModelError: the depth needs a language model and none could be used.
        """
        return self._asking.ask(
            Question(
                question,
                asked_at or self._clock.now(),
                depth=depth,
                budget=budget,
                limits=limits,
                earlier=earlier,
                on_found=on_found,
                on_token=on_token,
                on_step=on_step,
            )
        )

    def own_words(
        self,
        question: str,
        *,
        limit_tokens: int,
        count_tokens: Callable[[str], int],
        limits: SearchFilter | None = None,
        asked_at: datetime | None = None,
    ) -> OwnWords:
        """What people said that bears on a question, in their own sentences, for a model to read.

        The block is at most `limit_tokens` long as `count_tokens` counts them; "" for nothing.

        Raises:
            UsageError, RecordNotFoundError: as a search does.
        """
        moment = asked_at or self._clock.now()
        query = Query(question, moment, k=_LOOKED_AT, limits=limits, evidence_only=True)
        return self._asking.own_words(query, limit_tokens=limit_tokens, count_tokens=count_tokens)

    def doors(
        self,
        *,
        asked_at: datetime,
        limits: SearchFilter | None = None,
        routes: Routes | None = None,
    ) -> Sources:
        """What a deep question may read of this memory; `answer_deeply` takes it."""
        return self._asking.doors(asked_at=asked_at, limits=limits, routes=routes)

    # --- Looking --------------------------------------------------------------------------

    def sessions(
        self, *, limit: int | None = None, source: str | None = None
    ) -> tuple[Session, ...]:
        """Sessions, newest first; those without a time come last."""
        newest_first = _newest_first(self._store.sessions())
        chosen = [s for s in newest_first if source is None or s.source == source]
        return tuple(chosen[:limit])

    def show(
        self,
        session_id: SessionId,
        *,
        layer: Layer = Layer.RAW,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> SessionView:
        """A session at one layer; FACTS and NOTES are made where they are not there yet.

        `seconds` bounds what a language model may take for that (0: none is used).

        Raises:
            RecordNotFoundError: there is no such session.
        """
        from localmem.layers.views import session_view

        told = Teller(on_progress)
        with self._turns.question():
            view = session_view(
                self._store,
                self.layers,
                session_id,
                layer,
                seconds=seconds,
                on_done=lambda done, total: told("reading", done, total, "messages"),
            )
        self._opened.add([session_id])
        return view

    def export_markdown(
        self, folder: Path, *, make: bool = False, on_progress: OnProgress | None = None
    ) -> ExportReport:
        """Write the memory as Markdown, a file for each session; again, to bring it up to date.

        `make` lets the language model make facts and notes that are missing.

        Raises:
            UsageError: a file of another kind stands where one would be written.
        """
        from localmem.jobs.exporting import export_markdown

        told = Teller(on_progress)
        return export_markdown(
            self._store,
            self.layers,
            folder,
            make=make,
            on_done=lambda done, total: told("sessions", done, total, "sessions"),
        )

    def stats(self) -> MemoryStats:
        """What the memory holds, in numbers."""
        return self._store.stats()

    def doctor(self) -> tuple[Finding, ...]:
        """What is missing, damaged or slow, each with its cure."""
        from localmem.jobs.checkup import examine_memory

        return (*examine_memory(self._store), *self._models.examine())

    def _embed_facts(self) -> None:
        """Where facts are searched, they are found by their vectors too."""
        if self._config.search.facts == "on":
            self._upkeep.embed_facts()


def _make_folder(memory: Path) -> None:
    try:
        memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"the folder of {memory} cannot be made: {error.strerror}",
            hint="name another file with --memory",
        ) from error


def _newest_first(sessions: Sequence[Session]) -> list[Session]:
    dated = [s for s in sessions if s.started_at is not None]
    undated = [s for s in sessions if s.started_at is None]
    return [*reversed(dated), *undated]
