"""An entry of the long term as it is shown: with the messages that it rests on."""

from __future__ import annotations

from localmem.errors import RecordNotFoundError
from localmem.store import Store
from localmem.types import EntryId, FoundMessage, Hit, LastingView


def lasting_view(store: Store, entry_id: EntryId) -> LastingView:
    """An entry with its sources, oldest first.

    Raises:
        RecordNotFoundError: there is no such entry.
    """
    with store.reading():
        entry = next((one for one in store.lasting() if one.id == entry_id), None)
        if entry is None:
            raise RecordNotFoundError(
                f"there is no long-term entry {entry_id}", hint="localmem tiers lists them"
            )
        messages = store.messages(entry.sources)
        sessions = store.sessions_of([message.session_id for message in messages])
        dates = store.dates_of(entry.sources)
    found = tuple(
        FoundMessage(Hit(one.id, 1.0, "source"), one, session, dates.get(one.id, ()))
        for one, session in zip(messages, sessions, strict=True)
    )
    return LastingView(entry, found)
