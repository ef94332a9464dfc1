"""The doors of one memory for one question: finder, store and layers as `Sources`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from localmem.layers.source import without_replies
from localmem.participants.personas import persona_of
from localmem.ports import LayerReader
from localmem.recall.deep.sources import KnownLine, Sources
from localmem.recall.finder import Finder
from localmem.recall.route import Route
from localmem.recall.routing import Routes
from localmem.store import Store
from localmem.types import (
    Evidence,
    FoundMessage,
    MessageId,
    Persona,
    PersonaLine,
    SearchFilter,
    SearchResult,
    SessionId,
    TurnId,
    TurnSummary,
)

_PERSONA = "persona"
"""The mode of a message that stands behind a persona; no search has scored it."""
_MOST_LINES = 200
_MOST_SOURCES = 4


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
    without: Collection[MessageId] = (),
) -> Sources:
    """Doors to a memory as it is asked at a time, within the limits of a search.

    `settle` puts what holds before what held, among so many messages. `without` are messages that
    hold the question itself; what the memory itself replied to its owner stays out anyway.
    """
    within = limits or SearchFilter()

    def search(query: str, most: int) -> Sequence[FoundMessage]:
        result = finder.search(
            query,
            k=most + len(without),
            mode=mode,
            limits=within,
            asked_at=asked_at,
            routes=routes,
            evidence_only=True,
        )
        result = replace(
            result, found=tuple(one for one in result.found if one.message.id not in without)[:most]
        )
        return (settle(result, most) if settle is not None else result).found

    def messages(session_id: SessionId) -> Sequence[Evidence]:
        with store.reading():
            said = [
                one
                for one in without_replies(store.session_messages(session_id))
                if one.id not in without
            ]
            dates = store.dates_of([message.id for message in said])
        return [Evidence(message, dates.get(message.id, ()), 0.0) for message in said]

    def summaries(turn_ids: Sequence[TurnId]) -> Sequence[TurnSummary]:
        return store.summaries(turn_ids)

    def neighbours(
        query: str, found: Sequence[MessageId], most: int, route: Route | None
    ) -> Sequence[FoundMessage]:
        return finder.neighbours(query, found, most=most, route=route)

    def persona(name: str) -> Sequence[KnownLine]:
        with store.reading():
            lines = _known_lines(persona_of(store, store.find_participant(name).id))
            numbers = list(dict.fromkeys(n for line in lines for n in line.message_ids))
            messages = {one.message.id: one for one in finder.fetched(numbers, 0.0, _PERSONA)}
        return [
            KnownLine(line.text, tuple(messages[number] for number in line.message_ids))
            for line in lines
        ]

    return Sources(
        search=search,
        layers=layers,
        messages=messages,
        summaries=summaries,
        sessions_total=len(store.sessions()),
        history_characters=store.shown_characters(),
        neighbours=None if routes in (Routes.OFF, Routes.NO_GRAPH) else neighbours,
        persona=persona,
    )


def _known_lines(persona: Persona) -> list[PersonaLine]:
    """Attributes first, then what topics tell of preferences, then topics; `_MOST_LINES` at most.

    Each line says whose it is, what it belongs to, and rests on at most `_MOST_SOURCES` messages.
    """
    whose = persona.participant.name
    found: list[PersonaLine] = []
    for snapshot in persona.aspects:
        found += [replace(one, text=f"{whose}: {one.text}") for one in snapshot.lines]
    for snapshot in persona.topics:
        found += [
            replace(one, text=f"{whose}, {snapshot.name}: {one.text}")
            for one in (*snapshot.descriptors, *snapshot.lines)
        ]
    return [
        replace(one, message_ids=one.message_ids[:_MOST_SOURCES])
        for one in found[:_MOST_LINES]
        if one.message_ids
    ]
