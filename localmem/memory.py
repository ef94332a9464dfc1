"""Memory: one memory file with its models, as front ends and programs use it. Wiring only.

with Memory.open() as memory:
    memory.import_(Path("conversations.json"))
    print(memory.ask("When did I move?").text)
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from localmem import paths
from localmem.config import Config, load_config
from localmem.errors import (
    ModelError,
    ModelNotFoundError,
    RecordNotFoundError,
    StoreError,
    UsageError,
)
from localmem.jobs.turns import Turns
from localmem.ports import Clock, Embedder, Llm
from localmem.shelf import ModelShelf
from localmem.store import Store
from localmem.types import (
    Answer,
    Budget,
    ConversationKind,
    Correction,
    Depth,
    ErasureReceipt,
    ExportReport,
    Finding,
    ForgetPlan,
    ForgetTarget,
    ImportedConversation,
    ImportId,
    ImportReport,
    ItemHistory,
    ItemId,
    ItemSources,
    Layer,
    MemoryStats,
    ModelRole,
    Participant,
    PeopleChange,
    PersonOverview,
    PersonView,
    Progress,
    QueueStatus,
    RulingKind,
    SearchFilter,
    SearchResult,
    Session,
    SessionId,
    SessionView,
    SplitChoice,
    TraceStep,
    WarmReport,
    WorkReport,
)

if TYPE_CHECKING:
    from localmem.importers import Export
    from localmem.jobs.warmer import Warmer
    from localmem.jobs.warming import Wanted, Warming
    from localmem.layers.cache import LayerModel
    from localmem.layers.materialise import Materialiser
    from localmem.recall.answer import Asked
    from localmem.recall.deep import Limits, Sources
    from localmem.recall.routing import Routes
    from localmem.recall.standing import Settled

_log = logging.getLogger(__name__)

OnProgress = Callable[[Progress], None]

_LAYER_SECONDS = 15.0
"""What making a layer of one session may take while a question waits."""


_FEW_MESSAGES = 100
"""So many get their vectors at once; more are left to `work`."""


class SystemClock:
    """The computer's own clock, in the local zone."""

    def now(self) -> datetime:
        return datetime.now(UTC).astimezone()


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to read an export.

    `tz` None means the system's zone; `question_id` selects one question's history of a
    LongMemEval file. `later` leaves vectors and what is known of people to `work`;
    `allow_again` takes in what was forgotten.
    """

    format: str | None = None
    tz: tzinfo | None = None
    me: str | None = None
    later: bool = False
    question_id: str | None = None
    allow_again: bool = False


@dataclass(frozen=True, slots=True)
class _DeepCall:
    """A question that goes deep; `before` is the answer that was not good enough."""

    asked: Asked
    limits: SearchFilter
    budget: Budget
    on_token: Callable[[str], None] | None
    on_step: Callable[[TraceStep], None] | None
    before: Answer | None = None


class ModelSource(Protocol):
    """Where a memory's models come from: the shelf, or what a program brings."""

    def embedder(self, name: str | None = None) -> Embedder: ...

    def embedder_of(self, model_id: str | None) -> Embedder: ...

    def llm(self, role: ModelRole = ModelRole.ANSWER) -> Llm:
        """The language model of a role, loaded.

        Raises:
            ModelError: there is none, or it could not be loaded.
        """
        ...

    def llm_key(self, role: ModelRole = ModelRole.ANSWER) -> str:
        """What tells the language models of two roles apart; loads nothing.

        Raises:
            ModelError: there is none.
        """
        ...

    def passes(self, ability: str, role: ModelRole) -> bool:
        """Whether a role's model has shown an ability in its self-test; loads nothing."""
        ...

    def reads_well(self, role: ModelRole = ModelRole.ANSWER) -> bool:
        """Whether what a role's model writes is better than what rules make; loads nothing."""
        ...

    def examine(self, embedder_id: str | None) -> tuple[Finding, ...]:
        """Findings about the models, for `doctor`."""
        ...


class Memory:
    """One memory. Safe for threads; several programs may have it open at once."""

    def __init__(self, store: Store, *, config: Config, clock: Clock, models: ModelSource) -> None:
        """Use `Memory.open`; this constructor is for programs that bring their own models."""
        from localmem.recall.finder import Finder
        from localmem.recall.standing import Standing

        self._store = store
        self._config = config
        self._clock = clock
        self._models = models
        self._embedder: Embedder | None = None
        self._llms: dict[str, Llm] = {}
        self._models_lock = threading.RLock()
        self._turns = Turns()
        self._warmers: list[Warmer] = []
        self._uses: Counter[SessionId] = Counter()
        self._finder = Finder(
            store,
            self._embedder_or_none,
            weights=config.search.weights,
            routes=config.search.routes,
        )
        self._standing = Standing(store)
        self._layers: Materialiser | None = None

    @classmethod
    def open(
        cls,
        path: Path | None = None,
        *,
        create: bool = True,
        config: Config | None = None,
        clock: Clock | None = None,
        idle_s: float = 0.0,
    ) -> Memory:
        """The memory at `path`, by default this user's; models are loaded when first needed.

        `idle_s` keeps the file open that long after each use while no other program waits.

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
        for warmer in self._warmers:
            warmer.stop()
        self._warmers.clear()
        self._count_opened()
        for owned in (*self._llms.values(), self._embedder, self._store):
            if owned is not None:
                owned.close()
        self._llms.clear()
        self._embedder = None

    @property
    def path(self) -> Path:
        return self._store.path

    @property
    def layers(self) -> Materialiser:
        """L1 and L2 of sessions, made on the first request."""
        from localmem.layers.materialise import Materialiser

        with self._models_lock:
            if self._layers is None:
                self._layers = Materialiser(self._store, self._layer_model)
            return self._layers

    @property
    def store(self) -> Store:
        """The rows themselves, for programs that need more than this facade gives."""
        return self._store

    # --- Importing ------------------------------------------------------------------------

    def import_(
        self,
        path: Path,
        options: ImportOptions | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> ImportReport:
        """Import a chat history; what is known already is left alone.

        Raw text is stored before anything is derived from it.

        Raises:
            ImportFormatError: the file is in no known format.
            ModelNotFoundError: there is no embedder and `later` is False; nothing was stored.
        """
        from localmem.jobs.importing import store_export

        options = options or ImportOptions()
        if not options.later:
            self._memory_embedder()
        export = self._opened(path, options, on_progress)
        report = store_export(
            self._store,
            export,
            shown_path=str(path),
            started_at=self._clock.now(),
            gap=timedelta(hours=self._config.store.session_gap_h),
            allow_again=options.allow_again,
        )
        if export.owner_name and export.among_people():
            self._store.set_owner(export.owner_name)
        soon = not options.later
        self.work(on_progress=on_progress, vectors=soon, items=soon)
        return report

    def plan_import(
        self,
        path: Path,
        options: ImportOptions | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> ImportReport:
        """What `import_` would do. Stores nothing.

        Raises:
            ImportFormatError: the file is in no known format.
        """
        from localmem.jobs.importing import plan_export

        options = options or ImportOptions()
        export = self._opened(path, options, on_progress)
        if not self._store.path.exists():
            return plan_export(export, _none_of, _none_of)
        forgotten = _none_of if options.allow_again else self._store.count_forgotten
        return plan_export(export, self._store.count_known, forgotten)

    def imports(self) -> tuple[ImportReport, ...]:
        """All imports, newest first."""
        return self._store.list_imports()

    def undo_import(self, import_id: ImportId) -> ErasureReceipt:
        """Take an import back: its messages and all that was derived from them leave the file.

        Raises:
            RecordNotFoundError: there is no such import, or it was taken back already.
        """
        undone = {report.import_id for report in self._store.list_imports() if report.undone}
        if import_id in undone:
            raise RecordNotFoundError(f"import {import_id} was taken back already")
        receipt = self._store.undo_import(import_id)
        self._settle()
        return receipt

    def plan_forget(self, target: ForgetTarget) -> ForgetPlan:
        """What `forget` would do. Changes nothing.

        Raises:
            UsageError, RecordNotFoundError: the target names nothing, or what is not here.
        """
        return self._store.plan_forget(target)

    def forget(self, target: ForgetTarget, *, confirm: str = "") -> ErasureReceipt:
        """Forget messages, sessions, a person or an import, and all that was made from them.

        Their bytes leave the file, and importing the same export does not bring them back. To
        forget the owner, `confirm` must be their name.

        Raises:
            UsageError, RecordNotFoundError: the target names nothing, or what is not here; or it
                is the owner and `confirm` is not their name.
        """
        receipt = self._store.forget(target, confirm=confirm)
        self._settle()
        return receipt

    # --- People ---------------------------------------------------------------------------

    def people(self) -> tuple[PersonOverview, ...]:
        """Everybody who speaks, in numbers: the owner, then those who said the most."""
        return self._store.people()

    def person(self, name: str) -> PersonView:
        """Who somebody is, by name, alias or id.

        Raises:
            RecordNotFoundError, UsageError: nobody is called so, or several are.
        """
        return self._store.person(name)

    def add_alias(self, name: str, alias: str) -> Participant:
        """Give somebody one more name.

        Raises:
            RecordNotFoundError, UsageError: nobody or several are called `name`, or somebody else
                is called `alias`.
        """
        return self._store.add_alias(name, alias)

    def merge_people(self, kept: str, gone: str) -> PeopleChange:
        """Make two one, called as the first; `split_person` without a choice takes it back.

        Raises:
            RecordNotFoundError, UsageError: a name is nobody's or several people's, or both are
                one, or one is an assistant.
        """
        change = self._store.merge_people(kept, gone)
        self._settle()
        return change

    def split_person(self, name: str, choice: SplitChoice, new_name: str) -> PeopleChange:
        """Give a part of what somebody said to somebody else, or take back a merge.

        Raises:
            RecordNotFoundError, UsageError: nobody or several are called so, or the choice holds
                none or all of what they said.
        """
        change = self._store.split_person(name, choice, new_name)
        self._settle()
        return change

    # --- What is known ----------------------------------------------------------------------

    def correct(self, text: str, *, instead_of: ItemId | None = None) -> Correction:
        """Say what is so. It outranks what it corrects: the item named, else what it is about.

        Raises:
            UsageError: there is nothing said, or a name in it is that of several people.
            RecordNotFoundError: there is no such item.
        """
        from localmem.jobs import correcting

        done = correcting.correct(
            self._store, text, made_at=self._clock.now(), instead_of=instead_of
        )
        self._embed_few()
        return done

    def retire(self, number: ItemId) -> ItemHistory:
        """Let an item count no more.

        Raises:
            RecordNotFoundError, UsageError: there is no such item, or it does not hold any more.
        """
        from localmem.jobs import correcting

        return correcting.order(self._store, number, RulingKind.RETIRE, made_at=self._clock.now())

    def pin(self, number: ItemId) -> ItemHistory:
        """Let an item stay, whatever messages say later.

        Raises:
            RecordNotFoundError, UsageError: there is no such item, or it does not hold any more.
        """
        from localmem.jobs import correcting

        return correcting.order(self._store, number, RulingKind.PIN, made_at=self._clock.now())

    def why(self, number: ItemId) -> ItemSources:
        """The messages that an item rests on, with its history.

        Raises:
            RecordNotFoundError: there is no such item.
        """
        from localmem.jobs import correcting

        return correcting.why(self._store, number)

    def history(self, topic: str, *, limit: int = 10) -> tuple[ItemHistory, ...]:
        """Every version of what is known of a topic, with dates and reasons; the closest first.

        Raises:
            UsageError: the topic is empty.
        """
        from localmem.jobs import correcting

        return correcting.history(self._store, topic, most=limit)

    def _embed_few(self) -> None:
        """Vectors for a few new messages, where the memory has an embedder that is here."""
        from localmem.jobs.deriving import derive_vectors

        model_id = self._store.active_embedder()
        embedder = self._embedder_or_none(model_id) if model_id is not None else None
        if embedder is None:
            return
        if self._store.count_without_vectors(embedder.model_id) <= _FEW_MESSAGES:
            derive_vectors(self._store, embedder)

    def _settle(self) -> None:
        """After messages went or changed hands: what can be made anew by rule, and the index."""
        from localmem.jobs.deriving import derive_layer0
        from localmem.jobs.remembering import derive_items

        self._finder.forget()
        derive_layer0(self._store)
        derive_items(self._store)
        self._finder.save_snapshots()

    # --- Upkeep ---------------------------------------------------------------------------

    def work(
        self, *, on_progress: OnProgress | None = None, vectors: bool = True, items: bool = True
    ) -> WorkReport:
        """Make what is missing: L0 with dates, items, vectors, index snapshots; keep the file tidy.

        Raises:
            ModelNotFoundError: vectors are wanted and there is no embedder.
        """
        from localmem.jobs.deriving import derive_layer0, derive_vectors
        from localmem.jobs.remembering import derive_items

        started = time.perf_counter()
        before = self._store.stats()
        if self._store.orphans():
            self._store.remove_orphans()
        tell = _Teller(on_progress)
        summaries = derive_layer0(
            self._store, on_done=tell.of("summaries", before.turns_without_summary, "turns")
        )
        if items:
            derive_items(self._store, on_done=tell.of("facts", before.messages, "messages"))
        made = 0
        if vectors:
            embedder = self._memory_embedder()
            pending = self._store.count_without_vectors(embedder.model_id)
            made = derive_vectors(
                self._store, embedder, on_done=tell.of("vectors", pending, "messages")
            )
        self._finder.save_snapshots()
        self._keep_small()
        return self._work_report(summaries, made, time.perf_counter() - started)

    def reindex(
        self, *, embedder: str | None = None, on_progress: OnProgress | None = None
    ) -> WorkReport:
        """Make all vectors anew from stored text, beside the ones in use, then swap at once.

        Raises:
            ModelNotFoundError: the embedder is not on this machine.
        """
        from localmem.jobs.deriving import derive_layer0, derive_vectors

        started = time.perf_counter()
        new = self._models.embedder(embedder)
        summaries = derive_layer0(self._store)
        tell = _Teller(on_progress)
        pending = self._store.count_without_vectors(new.model_id)
        made = derive_vectors(self._store, new, on_done=tell.of("vectors", pending, "messages"))
        self._store.set_active_embedder(new.model_id)
        for model_id in self._store.vector_models():
            if model_id != new.model_id:
                self._store.drop_vectors(model_id)
        self._swap_embedder(new)
        self._finder.forget()
        self._finder.save_snapshots()
        self._keep_small()
        return self._work_report(summaries, made, time.perf_counter() - started)

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
        from localmem.jobs.deciding import decide_claims

        warming = self._warming(wanted)
        report = warming.run(warming.prepare(self._turns, on_change=on_progress, stop_when=stop))
        decide_claims(
            self._store,
            lambda: self._loaded_llm(ModelRole.LAYERS),
            stop=lambda: (stop is not None and stop()) or self._turns.is_wanted,
        )
        return report

    def warmer(self, wanted: Wanted | None = None, *, idle_s: float = 20.0) -> Warmer:
        """The same in a thread of its own, for programs that stay open; `start` begins it.

        It works only while no question was asked for `idle_s`; `close` stops it.
        """
        from localmem.jobs.warmer import Warmer

        warmer = Warmer(lambda: self._warming(wanted), self._turns.after(idle_s))
        self._warmers.append(warmer)
        return warmer

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
        return self._settled(query, k, mode, limits, asked_at or self._clock.now()).result

    def _settled(
        self,
        query: str,
        k: int | None,
        mode: str | None,
        limits: SearchFilter | None,
        moment: datetime,
    ) -> Settled:
        """A search, and what is known for it: what holds stands before what held."""
        from localmem.recall.standing import Settled

        if not query.strip():
            raise UsageError("there is nothing to look for", hint="say it in words")
        with self._turns.question():
            most = k or self._config.search.results
            result = self._finder.search(
                query,
                k=most,
                mode=mode or self._config.search.mode,
                limits=limits or SearchFilter(),
                asked_at=moment,
            )
            if mode is not None and mode != self._config.search.mode:
                return Settled(result)  # asked for by name, to compare: as the mode ranks it
            return self._standing.settled(result, most=most, asked_at=moment, limits=limits)

    def ask(
        self,
        question: str,
        *,
        depth: Depth | None = None,
        budget: Budget | None = None,
        limits: SearchFilter | None = None,
        asked_at: datetime | None = None,
        on_token: Callable[[str], None] | None = None,
        on_step: Callable[[TraceStep], None] | None = None,
    ) -> Answer:
        """Answer a question from the memory, with citations; "not found" is an answer.

        `on_step` hears each step of a deep question as it is done.

        Raises:
            ModelError: the depth needs a language model and none could be used.
        """
        from localmem.recall.answer import Asked, answer_question
        from localmem.recall.depth import is_doubtful

        moment = asked_at or self._clock.now()
        settled = self._settled(question, self._config.ask.evidence, None, limits, moment)
        asked = replace(
            Asked.from_search(settled.result, moment),
            people=self._people(settled.result),
            remarks=settled.remarks,
            known=settled.extract,
        )
        wanted = depth or Depth(self._config.ask.depth)
        spending = budget or self._budget()
        deep = _DeepCall(asked, limits or SearchFilter(), spending, on_token, on_step)
        with self._turns.question(), self._models_lock:
            chosen, llm, notices = self._reader(wanted, asked)
            if chosen is Depth.DEEP:
                return self._opened_for(settled.upheld(self._ask_deeply(deep)))
            answer = answer_question(
                replace(asked, notices=(*asked.notices, *notices)),
                depth=chosen,
                llm=llm,
                budget=spending,
                on_token=on_token,
            )
            goes_on = wanted is Depth.AUTO and chosen is Depth.DIRECT and is_doubtful(answer)
            if goes_on and answer.complete and self._steers():
                answer = self._ask_deeply(replace(deep, before=answer))
            return self._opened_for(settled.upheld(answer))

    def doors(
        self,
        *,
        asked_at: datetime,
        limits: SearchFilter | None = None,
        routes: Routes | None = None,
    ) -> Sources:
        """What a deep question may read of this memory; `answer_deeply` takes it."""
        from localmem.recall.deep.doors import open_doors

        return open_doors(
            self._store,
            self._finder,
            self.layers,
            asked_at=asked_at,
            limits=limits,
            mode=self._config.search.mode,
            routes=routes,
            settle=lambda found, most: (
                self._standing.settled(found, most=most, asked_at=asked_at, limits=limits).result
            ),
        )

    def _ask_deeply(self, call: _DeepCall) -> Answer:
        from localmem.recall.deep import DeepModels, DeepOptions, DeepQuestion, answer_deeply

        asked, before = call.asked, call.before
        models, notices = self._deep_models()
        question = DeepQuestion(
            text=asked.question,
            asked_at=asked.asked_at,
            people=asked.people or (),
            draft=before.text if before is not None and before.found else "",
            notices=(*asked.notices, *notices),
            spent_s=before.trace.seconds if before is not None else asked.search_seconds,
        )
        return answer_deeply(
            question,
            self.doors(asked_at=asked.asked_at, limits=call.limits),
            DeepModels(**models, reasons=self._reasons()),
            DeepOptions(
                call.budget,
                self._deep_limits(),
                on_token=call.on_token,
                on_step=call.on_step,
            ),
        )

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

        told = _Teller(on_progress)
        with self._turns.question():
            view = session_view(
                self._store,
                self.layers,
                session_id,
                layer,
                seconds=seconds,
                on_done=lambda done, total: told("reading", done, total, "messages"),
            )
        self._uses[session_id] += 1
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

        told = _Teller(on_progress)
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

        return (*examine_memory(self._store), *self._models.examine(self._store.active_embedder()))

    # --- Models ---------------------------------------------------------------------------

    def _memory_embedder(self) -> Embedder:
        """The embedder of this memory's vectors; a memory without gets the one in use.

        Raises:
            ModelNotFoundError: it is not on this machine.
        """
        model_id = self._store.active_embedder()
        embedder = self._loaded_embedder(model_id)
        if model_id is None:
            self._store.set_active_embedder(embedder.model_id)
        return embedder

    def _embedder_or_none(self, model_id: str) -> Embedder | None:
        """The embedder with this id; None where it is not on this machine (search says so)."""
        try:
            return self._loaded_embedder(model_id)
        except ModelNotFoundError:
            return None

    def _loaded_embedder(self, model_id: str | None) -> Embedder:
        with self._models_lock:
            loaded = self._embedder
            if loaded is None or (model_id is not None and loaded.model_id != model_id):
                self._swap_embedder(self._models.embedder_of(model_id))
            assert self._embedder is not None  # noqa: S101  # just set, for the type checker
            return self._embedder

    def _swap_embedder(self, new: Embedder) -> None:
        if self._embedder is not None:
            self._embedder.close()
        self._embedder = new

    def _opened(self, path: Path, options: ImportOptions, on_progress: OnProgress | None) -> Export:
        from localmem.importers import open_export

        tell = _Teller(on_progress)
        return open_export(
            path,
            tz=options.tz or _system_zone(),
            me=options.me,
            format=options.format,
            question_id=options.question_id,
            on_bytes=lambda done, total: tell("reading", done, total, "bytes"),
        )

    def _reader(self, depth: Depth, asked: Asked) -> tuple[Depth, Llm | None, tuple[str, ...]]:
        """The depth that is really taken, the model for it, and what is to be said about that."""
        from localmem.recall.depth import choose_depth

        if depth is Depth.INSTANT:
            return depth, None, ()
        if depth is Depth.DIRECT:
            return depth, self._loaded_llm(), ()
        if depth is Depth.DEEP:
            return depth, None, ()
        try:
            chosen = choose_depth(
                asked, reads_well=self._models.reads_well(), steers=self._steers()
            )
            return chosen, self._loaded_llm() if chosen is Depth.DIRECT else None, ()
        except ModelError as error:
            return Depth.INSTANT, None, (f"{error.message}: answered without a language model",)

    def _steers(self) -> bool:
        """Whether the controller's model has shown that it can lead a search."""
        return self._has_passed("controller", ModelRole.CONTROLLER)

    def _reasons(self) -> bool:
        """Whether the models that note and answer may write more than a few words."""
        roles = (ModelRole.NOTES, ModelRole.ANSWER)
        return all(
            self._has_passed(name, role) for name in ("json", "whole_session") for role in roles
        )

    def _has_passed(self, ability: str, role: ModelRole) -> bool:
        """Whether a role's model is here and has shown an ability."""
        try:
            return self._models.passes(ability, role)
        except ModelError:
            return False

    def _deep_limits(self) -> Limits:
        """A model that reads whole sessions may make a session's layer while a question waits."""
        from localmem.recall.deep import Limits

        reads_sessions = self._has_passed("whole_session", ModelRole.LAYERS)
        return Limits(layer_seconds=_LAYER_SECONDS if reads_sessions else 0.0)

    def _deep_models(self) -> tuple[dict[str, Llm], tuple[str, ...]]:
        """The models of a deep question by role, and what is to be said about them."""
        models: dict[str, Llm] = {}
        try:
            models["answer"] = self._loaded_llm()
            models["notes"] = self._loaded_llm(ModelRole.NOTES)
            if self._steers():
                models["controller"] = self._loaded_llm(ModelRole.CONTROLLER)
        except ModelError as error:
            without = f"{error.message}: " + (
                "went on with fewer models" if models else "answered without a language model"
            )
            return models, (without,)
        return models, ()

    def _loaded_llm(self, role: ModelRole = ModelRole.ANSWER) -> Llm:
        """The language model of a role; one that has several roles is loaded once."""
        with self._models_lock:
            key = self._models.llm_key(role)
            if key not in self._llms:
                self._llms[key] = self._models.llm(role)
            return self._llms[key]

    def _layer_model(self) -> LayerModel | None:
        """The model that writes layers; None where its writing is worse than what rules make."""
        from localmem.layers.cache import LayerModel

        whole_session = self._models.passes("whole_session", ModelRole.LAYERS)
        if not (whole_session or self._models.reads_well(ModelRole.LAYERS)):
            return None
        return LayerModel(self._loaded_llm(ModelRole.LAYERS), whole_session)

    def _warming(self, wanted: Wanted | None) -> Warming:
        from localmem.jobs.warming import Wanted, Warming, WarmModel

        self._count_opened()
        windows = self._models.passes("whole_session", ModelRole.LAYERS)
        key = self._models.llm_key(ModelRole.LAYERS)
        if not (windows or self._models.reads_well(ModelRole.LAYERS)):
            raise ModelError(
                f"{key} writes no better layers than the rules do: nothing was made",
                hint="take a larger model: localmem models list",
            )
        if "://" in key:  # the server alone knows the name of its model
            key = self._loaded_llm(ModelRole.LAYERS).model_id
        model = WarmModel(key, windows, lambda: self._loaded_llm(ModelRole.LAYERS))
        return Warming(self._store, model, self.layers, wanted or Wanted())

    def _opened_for(self, answer: Answer) -> Answer:
        """The answer, its sessions counted as opened."""
        self._uses.update({citation.session_id for citation in answer.citations})
        return answer

    def _count_opened(self) -> None:
        """Store how often sessions were opened; a memory that cannot be written counts none."""
        opened, self._uses = self._uses, Counter()
        if not opened:
            return
        try:
            self._store.count_opened(opened)
        except StoreError as error:  # busy, read-only, no room: nothing that a reader should feel
            _log.info("the sessions that were opened are not counted: %s", error.message)

    def _budget(self) -> Budget:
        seconds = self._config.ask.seconds
        return Budget(seconds=seconds or None)

    @staticmethod
    def _people(result: SearchResult) -> tuple[str, ...]:
        """Who takes part in the chats among people that were found."""
        among = (f for f in result.found if f.session.kind is ConversationKind.PEOPLE)
        return tuple(sorted({f.message.speaker for f in among}))

    def _keep_small(self) -> None:
        """Write the file anew where much of it is unused."""
        from localmem.jobs.checkup import is_wasteful

        if is_wasteful(self._store.stats()):
            self._store.compact()

    def _work_report(self, summaries: int, vectors: int, seconds: float) -> WorkReport:
        stats = self._store.stats()
        return WorkReport(
            summaries_made=summaries,
            vectors_made=vectors,
            summaries_open=stats.turns_without_summary,
            vectors_open=stats.messages_without_vectors,
            seconds=seconds,
        )


def _make_folder(memory: Path) -> None:
    try:
        memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"the folder of {memory} cannot be made: {error.strerror}",
            hint="name another file with --memory",
        ) from error


def _none_of(conversation: ImportedConversation) -> int:
    return 0


class _Teller:
    """Tells a caller how far the stages of a long operation are."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress

    def __call__(self, stage: str, done: int, total: int | None, unit: str) -> None:
        if self._on_progress is not None:
            self._on_progress(Progress(stage, done, total, unit))

    def of(self, stage: str, total: int, unit: str) -> Callable[[int], None]:
        """A callback that takes the number done."""
        return lambda done: self(stage, done, max(total, done), unit)


def _system_zone() -> tzinfo:
    """The system's zone, with its rules for summer time where they are known."""
    import zoneinfo

    name = os.environ.get("TZ") or _zone_of_link(Path("/etc/localtime"))
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        fixed = datetime.now(UTC).astimezone().tzinfo
        return fixed if fixed is not None else UTC


def _zone_of_link(link: Path) -> str:
    """The IANA name that the system's link points to; "" where there is none."""
    parts = link.resolve().as_posix().partition("zoneinfo/")
    return parts[2]


def _newest_first(sessions: Sequence[Session]) -> list[Session]:
    dated = [s for s in sessions if s.started_at is not None]
    undated = [s for s in sessions if s.started_at is None]
    return [*reversed(dated), *undated]
