"""The part of `Memory` that holds its tiers: the running conversation, episodes, what lasts.

Wiring only.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from localmem.config import Config
from localmem.memory.models import LoadedModels
from localmem.memory.opened import Opened
from localmem.memory.telling import OnProgress, Teller
from localmem.memory.upkeep import FEW_MESSAGES, Upkeep
from localmem.ports import Clock
from localmem.store import Store
from localmem.types import (
    ConsolidateReport,
    EntryId,
    EpisodeId,
    EpisodeView,
    LastingEntry,
    LastingView,
    SessionId,
    TiersView,
)

if TYPE_CHECKING:
    from localmem.memory.asking import Asking
    from localmem.memory.conversation import Conversation
    from localmem.recall.lasting_search import LastingSearch


class HoldingTiers:
    """How one talks to a memory, and looks at what it holds where."""

    _store: Store
    _config: Config
    _clock: Clock
    _models: LoadedModels
    _opened: Opened
    _asking: Asking
    _upkeep: Upkeep
    _wishes: LastingSearch
    _lasting: LastingSearch

    # --- Short term -----------------------------------------------------------------------

    def conversation(
        self, session_id: SessionId | None = None, *, new: bool = False
    ) -> Conversation:
        """A running conversation, with its last pages in the context of every answer.

        It goes on with that session; without one, with the session with this memory that was
        spoken in last, unless the silence since then begins a new session (`store.session_gap_h`
        of the configuration) or `new` is asked for.

        Raises:
            RecordNotFoundError: there is no such session, or it was imported.
        """
        from localmem.jobs.talking import Sitting, pages_of, running
        from localmem.memory.conversation import Conversation
        from localmem.tiers.shortterm import ShortTerm, replayed

        gap = timedelta(hours=self._config.store.session_gap_h)
        if session_id is None and not new:
            last = running(self._store, self._clock.now(), gap)
            session_id = None if last is None else last.id
        sitting, term = Sitting(self._store, gap), ShortTerm()
        if session_id is not None:
            sitting.talk_id = self._store.talk_id(session_id)
            term = replayed(pages_of(self._store, session_id))
        return Conversation(
            store=self._store,
            asking=self._asking,
            clock=self._clock,
            sitting=sitting,
            term=term,
            embed=self._upkeep.embed_new,
            settle=self._upkeep.take_in_few,
            place=self._place_few,
        )

    def _place_few(self) -> None:
        """Place new pages in episodes, unless so many wait that it would take long."""
        if self._store.tier_counts().pending <= FEW_MESSAGES:
            self.consolidate()

    # --- Mid term -------------------------------------------------------------------------

    def consolidate(
        self,
        *,
        most_messages: int | None = None,
        on_progress: OnProgress | None = None,
        gate: str | None = None,
    ) -> ConsolidateReport:
        """Place pages of new messages in episodes, and take in what lasts; `work` does it too.

        Nothing is placed where there are no vectors. A later call goes on there. `gate` stands for
        the configured one.

        Raises:
            UsageError: there is no gate or structure of the name.
        """
        from localmem.jobs.consolidating import MOST_MESSAGES, Settings, consolidate
        from localmem.jobs.lasting import renew_lasting

        pending = self._store.tier_counts().pending
        model_id = self._store.active_embedder()
        if model_id is None:
            return ConsolidateReport(0, 0, 0, 0, pending, 0.0)
        most = MOST_MESSAGES if most_messages is None else most_messages
        report = consolidate(
            self._store,
            model_id,
            settings=Settings(gate or self._config.tiers.gate, self._config.tiers.structure),
            most_messages=most,
            on_done=Teller(on_progress).of("episodes", min(most, pending), "messages"),
        )
        renew_lasting(self._store)
        return report

    def tiers(self, *, limit: int = 20) -> TiersView:
        """What is where and why: the running conversation, pages, the gate, what lasts.

        Of the episodes, the `limit` most useful.
        """
        from localmem.jobs.episode_views import tiers_view

        view = tiers_view(self._store, most=limit)
        return replace(view, recent=self.conversation().pages)

    def episode(self, episode_id: EpisodeId) -> EpisodeView:
        """One episode: its pages, and why each is in it.

        Raises:
            RecordNotFoundError: there is no such episode.
        """
        from localmem.jobs.episode_views import episode_view

        view = episode_view(self._store, episode_id)
        self._opened.add_episode(episode_id)
        return view

    # --- Long term ------------------------------------------------------------------------

    def lasting(self, entry_id: EntryId) -> LastingView:
        """One entry of the long term with the messages that it rests on.

        Raises:
            RecordNotFoundError: there is no such entry.
        """
        from localmem.jobs.lasting_views import lasting_view

        return lasting_view(self._store, entry_id)

    def wishes(self, question: str, *, k: int = 3) -> tuple[LastingEntry, ...]:
        """How the owner said they want things done, as far as it bears on a question; as data."""
        return self._wishes.nearest(question, k=k)

    def what_lasts(self, question: str, *, k: int = 3) -> tuple[LastingEntry, ...]:
        """What lasts of the owner, and bears on a question: profile, facts, knowledge."""
        return self._lasting.nearest(question, k=k)

    def pin_lasting(self, entry: EntryId, *, pinned: bool = True) -> LastingEntry:
        """Let an entry of the long term stay whatever comes, or let it go again.

        Raises:
            RecordNotFoundError: there is no such entry.
        """
        return self._store.pin_lasting(entry, pinned=pinned)
