"""Pages and episodes. Wiring only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from localmem.store import lasting, meta, tier_pages, tiers, vectors
from localmem.store.facade.held import Held
from localmem.types import (
    EntryId,
    EpisodeId,
    GateState,
    LastingEntry,
    MergeDecision,
    MessageId,
    PageId,
    SessionId,
    StoredEpisode,
    TierCounts,
)


class TierRows(Held):
    """What consolidation reads and writes."""

    def unpaged(self) -> Mapping[SessionId, Sequence[MessageId]]:
        """Shown messages that are in no page yet, by session, in the order of the session."""
        with self._lease.hold(write=False) as connection:
            return tier_pages.unpaged(connection)

    def tier_state(self) -> tuple[str, GateState] | None:
        """The embedder that the episodes rest on, and where the gate stopped; None before."""
        with self._lease.hold(write=False) as connection:
            return tiers.state(connection)

    def episodes(self, wanted: Iterable[EpisodeId] | None = None) -> tuple[StoredEpisode, ...]:
        """All episodes or these, by id."""
        with self._lease.hold(write=False) as connection:
            return tiers.episodes(connection, wanted)

    def last_tier_ids(self) -> tuple[int, int]:
        """The ids of page and episode that were handed out last."""
        with self._lease.hold(write=False) as connection:
            return tiers.last_ids(connection)

    def put_consolidated(self, made: tiers.Consolidated, *, seen: int) -> bool:
        """Store a batch whole. False: messages were removed since `seen`, nothing was stored."""
        with self._transaction() as connection:
            if meta.has_lost_since(connection, seen):
                return False
            tiers.put(connection, made)
            return True

    def put_episodes(self, changed: Sequence[StoredEpisode]) -> None:
        """Store episodes in place of what they were."""
        with self._transaction() as connection:
            tiers.put_episodes(connection, changed)

    def episode_pages(self, episode_id: EpisodeId) -> list[tuple[MergeDecision, SessionId]]:
        """The decisions on an episode's pages with their sessions, oldest page first.

        Raises:
            RecordNotFoundError: there is no such episode.
        """
        with self._lease.hold(write=False) as connection:
            return tier_pages.pages_of(connection, episode_id)

    def page_messages(self, page_ids: Iterable[PageId]) -> Mapping[PageId, tuple[MessageId, ...]]:
        """The shown messages of pages in the order in which they were said."""
        with self._lease.hold(write=False) as connection:
            return tier_pages.messages_of(connection, page_ids)

    def newest_pages(self, most: int) -> Mapping[EpisodeId, Sequence[PageId]]:
        """The newest `most` pages of every episode, oldest first."""
        with self._lease.hold(write=False) as connection:
            return tier_pages.newest_pages(connection, most)

    def tier_mark(self) -> tuple[int, int, int]:
        """Changes with every change of which page is in which episode."""
        with self._lease.hold(write=False) as connection:
            return tier_pages.mark(connection)

    def episodes_of(self, messages: Collection[MessageId]) -> Mapping[MessageId, EpisodeId]:
        """The episode of each of these messages that is in one."""
        with self._lease.hold(write=False) as connection:
            return tier_pages.episodes_of(connection, messages)

    def put_lasting(self, kept: Sequence[LastingEntry], *, seen: int) -> bool:
        """Store these entries in place of all. False: messages were removed since `seen`."""
        with self._transaction() as connection:
            if meta.has_lost_since(connection, seen):
                return False
            lasting.put(connection, kept)
            return True

    def episode_of_messages(self) -> Mapping[int, int]:
        """The episode of each message that is in one."""
        with self._lease.hold(write=False) as connection:
            return tier_pages.episode_of_messages(connection)

    def episode_members(
        self, wanted: Iterable[EpisodeId]
    ) -> Mapping[EpisodeId, Sequence[tuple[MessageId, ...]]]:
        """The shown messages of each page of these episodes, oldest page first."""
        with self._lease.hold(write=False) as connection:
            return tier_pages.members(connection, wanted)

    def related_episodes(self) -> Mapping[EpisodeId, Sequence[EpisodeId]]:
        """The episodes that the gate found akin to pages of each, the most often first."""
        with self._lease.hold(write=False) as connection:
            return tier_pages.related(connection)

    def lasting(self) -> tuple[LastingEntry, ...]:
        """The entries of the long term, by id."""
        with self._lease.hold(write=False) as connection:
            return lasting.entries(connection)

    def pin_lasting(self, entry: EntryId, *, pinned: bool) -> LastingEntry:
        """Pin an entry of the long term, or let it go again; how it stands now.

        Raises:
            RecordNotFoundError: there is no such entry.
        """
        with self._transaction() as connection:
            return lasting.pin(connection, entry, pinned=pinned)

    def tier_counts(self) -> TierCounts:
        """How much is where."""
        with self._lease.hold(write=False) as connection:
            return tiers.counts(connection)

    def clear_tiers(self) -> None:
        """Remove all pages and episodes; consolidation makes them anew."""
        with self._transaction() as connection:
            tiers.clear(connection)

    def ids_without_vectors(self, model_id: str) -> frozenset[MessageId]:
        """Shown messages with text that have no vector of this model."""
        with self._lease.hold(write=False) as connection:
            return frozenset(map(MessageId, vectors.pending(connection, model_id).tolist()))

    def vectors_of(
        self, model_id: str, message_ids: Sequence[MessageId]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows of these messages' pieces: whose each is, int64 (n,), and float32 (n, dim)."""
        with self._lease.hold(write=False) as connection:
            return vectors.pieces_of(connection, model_id, message_ids)
