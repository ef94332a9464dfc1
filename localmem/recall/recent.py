"""The last pages of a running conversation as what an answer is written with, and may rest on."""

from __future__ import annotations

from collections.abc import Sequence

from localmem.recall.evidence import NOTHING_BESIDE, Beside
from localmem.recall.said import is_evidence
from localmem.store import Store
from localmem.types import OWN_CHAT, Evidence, Message, RecentPage


def recent_beside(store: Store, pages: Sequence[RecentPage]) -> Beside:
    """The pages with their dates: all of it to be shown, and what of it counts as evidence.

    What the owner told counts by itself, the newest first; a reply by the messages that it rests
    on. What was forgotten meanwhile is not among them.
    """
    if not pages:
        return NOTHING_BESIDE
    said = [message.id for page in pages for message in page.messages]
    cited = [number for page in pages for number in page.cited]
    with store.reading():
        left = store.messages_left(list(dict.fromkeys((*said, *cited))))
        dates = store.dates_of(list(left))
        sessions = store.sessions_of(list({message.session_id for message in left.values()}))

    def shown(message: Message) -> Evidence:
        return Evidence(message, dates.get(message.id, ()), 0.0)

    recent = [shown(left[number]) for number in said if number in left]
    told = [one for one in recent if is_evidence(one.message, OWN_CHAT)]
    behind = dict.fromkeys(n for n in cited if n in left and n not in said)
    return Beside(
        recent=tuple(recent),
        sources=(*reversed(told), *(shown(left[number]) for number in behind)),
        titles={session.id: session.title for session in sessions},
    )
