"""Which stored layers still belong to what the memory holds. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from localmem.layers.source import SessionSource
from localmem.store import Store
from localmem.types import Provenance, SessionId


def session_sources(store: Store) -> dict[SessionId, SessionSource]:
    """All sessions as the layers read them, in one go."""
    with store.reading():
        sessions = {session.id: session for session in store.sessions()}
        dates = store.all_dates()
        messages = store.shown_messages()
    grouped = groupby(messages, key=lambda message: message.session_id)
    return {
        number: SessionSource(sessions[number], tuple(found), dates) for number, found in grouped
    }


def fresh_facts(store: Store, model_id: str) -> frozenset[SessionId]:
    """Sessions whose stored L1 was made by this model from what the session holds now."""
    stale = set(stale_facts(store))
    made = store.sessions_with_facts()
    return frozenset(n for n, by in made.items() if n not in stale and by.model_id == model_id)


def stale_facts(store: Store) -> tuple[SessionId, ...]:
    """Sessions whose stored L1 was made from an older state of theirs."""
    made = store.sessions_with_facts()
    return stale_among(made, session_sources(store)) if made else ()


def stale_among(
    made: Mapping[SessionId, Provenance], sources: Mapping[SessionId, SessionSource]
) -> tuple[SessionId, ...]:
    """Those of the sessions that have changed since their L1 was made."""
    stale = (n for n, by in made.items() if n in sources and sources[n].sha() != by.source_sha)
    return tuple(sorted(stale))
