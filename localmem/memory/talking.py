"""The part of `Memory` that holds conversations with its owner. Wiring only."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from localmem.config import Config
from localmem.memory.asking import Asking
from localmem.memory.episodes import Episodes
from localmem.memory.upkeep import FEW_MESSAGES, Upkeep
from localmem.ports import Clock
from localmem.store import Store
from localmem.types import SessionId

if TYPE_CHECKING:
    from localmem.memory.conversation import Conversation


class Talking:
    """How one talks to a memory."""

    _store: Store
    _config: Config
    _clock: Clock
    _asking: Asking
    _upkeep: Upkeep
    _episodes: Episodes

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
            self._episodes.consolidate(most_messages=None, on_progress=None)
