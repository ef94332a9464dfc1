"""The doors of one memory to its episodes and its long term. Reads; what is read is counted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from localmem.recall.deep.sources import EpisodeText, KnownLine, LastingLine, Tiers
from localmem.recall.finder import Finder
from localmem.recall.lasting_search import LastingSearch
from localmem.store import Store
from localmem.types import (
    EntryId,
    EpisodeId,
    FoundMessage,
    LastingKind,
    MessageId,
    PageId,
    Role,
)

_EPISODE, _LASTING = "episode", "lasting"
"""The modes of messages that stand in an episode or behind an entry; no search has scored them."""
_MOST_SOURCES = 4
"""Messages that stand behind an entry when it is shown."""


def open_tiers(
    store: Store,
    finder: Finder,
    lasting: LastingSearch,
    *,
    on_episode: Callable[[EpisodeId], None],
    on_entries: Callable[[Collection[EntryId]], None],
    without: Collection[MessageId] = (),
) -> Tiers | None:
    """The doors; None where no page is in an episode yet.

    What the memory itself replied is no evidence, nor are the messages of `without`.
    """
    with store.reading():
        if store.tier_mark()[0] == 0:
            return None
        lasts = any(one.kind is not LastingKind.WISH for one in store.lasting())

    def episode_of(ids: Sequence[MessageId]) -> Mapping[MessageId, EpisodeId]:
        return store.episodes_of(ids)

    def episode(number: EpisodeId) -> EpisodeText:
        on_episode(number)
        return _episode_text(store, finder, number, frozenset(without))

    def nearest(question: str, most: int) -> Sequence[LastingLine]:
        found = lasting.nearest(question, k=most)
        sources = {one.id: one.sources[:_MOST_SOURCES] for one in found}
        numbers = list(dict.fromkeys(n for its in sources.values() for n in its))
        behind = {one.message.id: one for one in finder.fetched(numbers, 0.0, _LASTING)}
        return [
            LastingLine(one.id, KnownLine(one.text, tuple(behind[n] for n in sources[one.id])))
            for one in found
        ]

    return Tiers(
        episode_of=episode_of, episode=episode, lasting=nearest if lasts else None, took=on_entries
    )


def _episode_text(
    store: Store, finder: Finder, number: EpisodeId, without: Collection[MessageId]
) -> EpisodeText:
    """An episode with the L0 line of each page's first turn.

    Raises:
        RecordNotFoundError: there is no such episode.
    """
    with store.reading():
        pages = [decision.page_id for decision, _ in store.episode_pages(number)]
        (stored,) = store.episodes([number])
        ids = store.page_messages(pages)
        said = {
            one.message.id: one
            for one in finder.fetched([n for its in ids.values() for n in its], 0.0, _EPISODE)
        }
        turns = [said[its[0]].message.turn_id for its in ids.values() if its]
        sentences = {one.turn_id: one.sentence for one in store.summaries(turns)}
    lines: dict[PageId, str] = {}
    told: list[tuple[str, tuple[FoundMessage, ...]]] = []
    for page in pages:
        messages = tuple(
            said[n]
            for n in ids.get(page, ())
            if n not in without and said[n].message.role is not Role.REPLY
        )
        if messages:
            lines[page] = sentences.get(messages[0].message.turn_id, "")
            told.append((lines[page], messages))
    central = [p for p in (stored.central_page, stored.last_page) if p is not None]
    summary = " ".join(dict.fromkeys(line for p in central if (line := lines.get(p, ""))))
    return EpisodeText(number, summary, tuple(told))
