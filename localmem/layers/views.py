"""A session at one of its four layers, as front ends and exports show it."""

from __future__ import annotations

from localmem.layers.materialise import Materialiser, OnDone
from localmem.store import Store
from localmem.types import Layer, SessionId, SessionView


def session_view(
    store: Store,
    layers: Materialiser,
    session_id: SessionId,
    layer: Layer,
    *,
    seconds: float | None = None,
    on_done: OnDone | None = None,
) -> SessionView:
    """The session at `layer`; FACTS and NOTES are made where they are not there yet.

    Raises:
        RecordNotFoundError: there is no such session.
    """
    if layer is Layer.FACTS:
        facts = layers.facts(session_id, seconds=seconds, on_done=on_done)
        session = store.session(session_id)
        return SessionView(session, layer, facts=facts.facts, notices=facts.notices)
    if layer is Layer.NOTES:
        notes = layers.notes(session_id, seconds=seconds, on_done=on_done)
        with store.reading():
            session = store.session(session_id)
            messages = store.session_messages(session_id)
        return SessionView(
            session, layer, messages=messages, notes=notes.notes, notices=notes.notices
        )
    with store.reading():
        session = store.session(session_id)
        if layer is Layer.SUMMARY:
            return SessionView(session, layer, summaries=store.session_summaries(session_id))
        messages = store.session_messages(session_id)
        dates = store.dates_of([message.id for message in messages])
    return SessionView(session, layer, messages=messages, dates=dates)
