"""How often sessions are opened, counted here and stored now and then: warming goes by it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

from localmem.errors import StoreError
from localmem.store import Store
from localmem.types import SessionId

_log = logging.getLogger(__name__)


class OpenedSessions:
    """The sessions opened since the last save."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts: Counter[SessionId] = Counter()

    def add(self, sessions: Iterable[SessionId]) -> None:
        """Each of these was opened once more."""
        self._counts.update(sessions)

    def save(self) -> None:
        """Store the counts; a memory that cannot be written counts none."""
        opened, self._counts = self._counts, Counter()
        if not opened:
            return
        try:
            self._store.count_opened(opened)
        except StoreError as error:  # busy, read-only, no room: nothing that a reader should feel
            _log.info("the sessions that were opened are not counted: %s", error.message)
