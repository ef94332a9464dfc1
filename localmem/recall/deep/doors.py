"""The doors of one memory for one question: finder, store and layers as `Sources`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from localmem.ports import LayerReader
from localmem.recall.deep.sources import Sources
from localmem.recall.finder import Finder
from localmem.recall.routing import Routes
from localmem.store import Store
from localmem.types import (
    Evidence,
    FoundMessage,
    MessageId,
    SearchFilter,
    SearchResult,
    SessionId,
    TurnId,
    TurnSummary,
)


def open_doors(
    store: Store,
    finder: Finder,
    layers: LayerReader,
    *,
    asked_at: datetime,
    limits: SearchFilter | None = None,
    mode: str = "learned",
    settle: Callable[[SearchResult, int], SearchResult] | None = None,
    routes: Routes | None = None,
) -> Sources:
    """Doors to a memory as it is asked at a time, within the limits of a search.

    `settle` puts what holds before what held, among so many messages.
    """
    within = limits or SearchFilter()

    def search(query: str, most: int) -> Sequence[FoundMessage]:
        result = finder.search(
            query, k=most, mode=mode, limits=within, asked_at=asked_at, routes=routes
        )
        return (settle(result, most) if settle is not None else result).found

    def messages(session_id: SessionId) -> Sequence[Evidence]:
        with store.reading():
            said = store.session_messages(session_id)
            dates = store.dates_of([message.id for message in said])
        return [Evidence(message, dates.get(message.id, ()), 0.0) for message in said]

    def summaries(turn_ids: Sequence[TurnId]) -> Sequence[TurnSummary]:
        return store.summaries(turn_ids)

    def neighbours(query: str, found: Sequence[MessageId], most: int) -> Sequence[FoundMessage]:
        return finder.neighbours(query, found, most=most)

    return Sources(
        search=search,
        layers=layers,
        messages=messages,
        summaries=summaries,
        sessions_total=len(store.sessions()),
        history_characters=store.shown_characters(),
        neighbours=None if routes in (Routes.OFF, Routes.NO_GRAPH) else neighbours,
    )
