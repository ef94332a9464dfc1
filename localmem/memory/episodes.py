"""Episodes of one memory: placing what is new, and looking at what is where."""

from __future__ import annotations

from dataclasses import dataclass

from localmem.config import Config
from localmem.memory.models import LoadedModels
from localmem.memory.telling import OnProgress, Teller
from localmem.store import Store
from localmem.types import (
    ConsolidateReport,
    EntryId,
    EpisodeId,
    EpisodeView,
    LastingView,
    TiersView,
)


@dataclass(frozen=True, slots=True)
class Episodes:
    """The tiers of one memory."""

    store: Store
    config: Config
    models: LoadedModels

    def consolidate(
        self,
        *,
        most_messages: int | None,
        on_progress: OnProgress | None,
        gate: str | None = None,
    ) -> ConsolidateReport:
        """Place what has vectors and is in no page yet; nothing where no vectors are.

        Then the long term takes in what is known of the owner. `gate` stands for the configured.
        """
        from localmem.jobs.consolidating import MOST_MESSAGES, Settings, consolidate
        from localmem.jobs.lasting import renew_lasting

        model_id = self.store.active_embedder()
        if model_id is None:
            pending = self.store.tier_counts().pending
            return ConsolidateReport(0, 0, 0, 0, pending, 0.0)
        told = Teller(on_progress)
        most = MOST_MESSAGES if most_messages is None else most_messages
        total = min(most, self.store.tier_counts().pending)
        report = consolidate(
            self.store,
            model_id,
            settings=Settings(gate or self.config.tiers.gate, self.config.tiers.structure),
            most_messages=most,
            on_done=told.of("episodes", total, "messages"),
        )
        renew_lasting(self.store)
        return report

    def view(self, most: int) -> TiersView:
        """What is where and why."""
        from localmem.jobs.episode_views import tiers_view

        return tiers_view(self.store, most=most)

    def episode(self, episode_id: EpisodeId) -> EpisodeView:
        """One episode with its pages.

        Raises:
            RecordNotFoundError: there is no such episode.
        """
        from localmem.jobs.episode_views import episode_view

        return episode_view(self.store, episode_id)

    def lasting(self, entry_id: EntryId) -> LastingView:
        """One entry of the long term with its sources.

        Raises:
            RecordNotFoundError: there is no such entry.
        """
        from localmem.jobs.lasting_views import lasting_view

        return lasting_view(self.store, entry_id)
