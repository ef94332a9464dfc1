"""What was opened, counted here and stored now and then: warming and what stays go by it.

Sessions and episodes that were read or cited, and entries of the long term that an answer took.
Counts and nothing else: not when, not for which question.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

from localmem.errors import StoreError
from localmem.store import Store
from localmem.store.usage import Uses
from localmem.types import Answer, EntryId, EpisodeId, MessageId, SessionId

_log = logging.getLogger(__name__)
_PATIENCE_S = 0.3
"""How long storing the counts may wait for other programs; after that they are not counted."""


class Opened:
    """What was opened since the last save."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sessions: Counter[SessionId] = Counter()
        self._cited: list[frozenset[MessageId]] = []
        self._episodes: Counter[EpisodeId] = Counter()
        self._entries: Counter[EntryId] = Counter()

    def add(self, sessions: Iterable[SessionId]) -> None:
        """Each of these was opened once more."""
        self._sessions.update(sessions)

    def add_answer(self, answer: Answer) -> None:
        """An answer counts for the sessions and the episodes of the messages that it cites, and for
        the wishes that it was written with."""
        self.add_entries({one.id for one in answer.wishes})
        self.add({citation.session_id for citation in answer.citations})
        if answer.citations:
            self._cited.append(frozenset(one.message_id for one in answer.citations))

    def add_episode(self, episode: EpisodeId) -> None:
        """An episode was read."""
        self._episodes[episode] += 1

    def add_entries(self, entries: Iterable[EntryId]) -> None:
        """An answer took these entries of the long term."""
        self._entries.update(entries)

    def save(self) -> None:
        """Store the counts; a memory that is in use or cannot be written counts none."""
        uses = Uses(self._sessions, self._cited, self._episodes, self._entries)
        self._sessions, self._cited = Counter(), []
        self._episodes, self._entries = Counter(), Counter()
        if not any((uses.sessions, uses.cited, uses.episodes, uses.entries)):
            return
        try:
            self._store.count_opened(uses, patience_s=_PATIENCE_S)
        except StoreError as error:  # busy, read-only, no room: nothing that a reader should feel
            _log.info("what was opened is not counted: %s", error.message)
