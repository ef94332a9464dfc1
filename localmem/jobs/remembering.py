"""Records of messages and the items of participants: made by rule, at once, with no model.

Works through whatever is pending in batches that are each stored at once. Items are made anew for
the groups that got or lost claims, from all their claims in the order of time, so that neither the
order of imports nor an interruption makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from localmem.participants.deciding import by_decisions
from localmem.participants.folding import fold
from localmem.participants.record import record_of
from localmem.store import Store
from localmem.store.decisions import Decision
from localmem.store.items import CORRECTIONS
from localmem.store.records import Unrecorded
from localmem.types import MessageRecord, Participant

_MESSAGES_A_BATCH = 2_000

OnDone = Callable[[int], None]


def derive_items(store: Store, *, on_done: OnDone | None = None) -> int:
    """Make records of all messages that lack one, then the items; how many records were made."""
    made = 0
    while pending := store.unrecorded(_MESSAGES_A_BATCH):
        store.put_records(_records(store, pending))
        made += len(pending)
        if on_done is not None:
            on_done(made)
    renew_items(store)
    return made


def renew_items(store: Store) -> int:
    """Make the items of all groups that are out of date; how many groups were."""
    if not store.stale_claims():
        return 0
    with store.writing():  # what is forgotten meanwhile must not come back as an item
        stale = store.stale_claims()
        rulings = store.rulings()
        decided = _by_claim(store.decisions())
        store.put_items(
            {
                group: fold(claims, rulings.get(group.participant_id, ()), by_decisions(decided))
                for group, claims in stale.items()
            }
        )
    return len(stale)


def _records(store: Store, pending: Sequence[Unrecorded]) -> list[MessageRecord]:
    ids = [one.message_id for one in pending]
    with store.reading():
        messages = store.messages(ids)
        dates = store.dates_of(ids)
        people: Sequence[Participant] = ()
        if any(one.source == CORRECTIONS for one in pending):
            people = store.participants()
    return [
        record_of(
            message,
            dates.get(message.id, ()),
            in_assistant_chat=one.in_assistant_chat,
            people=people,
            by_owner=one.source == CORRECTIONS,
        )
        for one, message in zip(pending, messages, strict=True)
    ]


def _by_claim(decisions: Sequence[Decision]) -> Mapping[tuple[int, int], Decision]:
    return {(int(one.message_id), one.position): one for one in decisions}
