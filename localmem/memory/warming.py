"""Letting the language model work ahead, while nothing is asked: now, or in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from localmem.jobs.turns import Turns
from localmem.memory.models import LoadedModels
from localmem.memory.opened import Opened
from localmem.ports import Llm
from localmem.store import Store
from localmem.types import ModelRole, QueueStatus, WarmReport

if TYPE_CHECKING:
    from localmem.jobs.warmer import Warmer
    from localmem.jobs.warming import Wanted, Warming
    from localmem.layers.materialise import Materialiser


@dataclass(eq=False, repr=False)
class WarmingUp:
    """What warms one memory."""

    store: Store
    models: LoadedModels
    layers: Callable[[], Materialiser]
    opened: Opened
    turns: Turns
    _warmers: list[Warmer] = field(default_factory=list)

    def warm(
        self,
        wanted: Wanted | None,
        *,
        on_progress: Callable[[QueueStatus], None] | None,
        stop: Callable[[], bool] | None,
    ) -> WarmReport:
        """Make layers and records, decide claims, name topics: until it is done or `stop` is True.

        Raises:
            ModelError: there is no language model that writes better layers than the rules do.
        """
        from localmem.jobs.deciding import decide_claims
        from localmem.jobs.personas import name_topics, renew_personas

        def stopped() -> bool:
            return (stop is not None and stop()) or self.turns.is_wanted

        def llm() -> Llm:
            return self.models.llm(ModelRole.LAYERS)

        warming = self._warming(wanted)
        report = warming.run(warming.prepare(self.turns, on_change=on_progress, stop_when=stop))
        decide_claims(self.store, llm, stop=stopped)
        if (wanted is None or wanted.records) and not stopped():
            model_id = self.store.active_embedder()
            renew_personas(self.store, self.models.embedder_or_none(model_id) if model_id else None)
            name_topics(self.store, llm, stop=stopped)
        return report

    def warmer(self, wanted: Wanted | None, *, idle_s: float) -> Warmer:
        """The same in a thread of its own, while no question was asked for `idle_s`."""
        from localmem.jobs.warmer import Warmer

        warmer = Warmer(lambda: self._warming(wanted), self.turns.after(idle_s))
        self._warmers.append(warmer)
        return warmer

    def stop(self) -> None:
        """End what warms in the background."""
        for warmer in self._warmers:
            warmer.stop()
        self._warmers.clear()

    def _warming(self, wanted: Wanted | None) -> Warming:
        from localmem.jobs.warming import Wanted, Warming

        self.opened.save()
        model = self.models.for_warming()
        return Warming(self.store, model, self.layers(), wanted or Wanted())
