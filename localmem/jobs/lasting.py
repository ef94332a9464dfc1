"""The long term takes in what is known of the owner: items that were made by rule, if they last.

A memory's now is its newest message, as everywhere in the tiers.

Made anew each time from the items as they are now, so that what was corrected, retired or forgotten
doesn't linger. An entry that is still there keeps its number, its uses and its pin. (FluxMem, 3.2;
the kinds by rule are ours.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from localmem.store import Store
from localmem.tiers.longterm import is_eligible, keep, take_in
from localmem.types import (
    EntryId,
    EpisodeId,
    Item,
    ItemId,
    ItemKind,
    ItemState,
    LastingEntry,
    LastingKind,
    MessageId,
)

_KINDS = (ItemKind.ATTRIBUTE, ItemKind.FACT)
_FIRST_PERSON = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours"
    r"|ich|mich|mir|mein\w*|wir|uns\w*|yo|mi|mis|nosotros|je|mon|ma|mes|nous|notre|nos)\b",
    re.IGNORECASE,
)


def renew_lasting(store: Store) -> None:
    """Bring the entries of profile, facts and knowledge up to the owner's items; wishes stay."""
    with store.reading():
        seen, known = store.generation(), store.lasting()
        owner = store.owner()
        items = () if owner is None else store.items(participants=[owner.id], kinds=_KINDS)
        sources = {number for item in items for number in item.message_ids}
        episode_of = store.episodes_of(sources)
        episodes = store.episodes(set(episode_of.values()))
        support = Support(episode_of, {one.id: one.opened for one in episodes})
        ended = [s.ended_at for s in store.sessions() if s.ended_at is not None]
    now = max(ended, default=None)
    wishes = [one for one in known if one.kind is LastingKind.WISH]
    made = _kept_numbers(entries_of(items, support, known, now), known)
    kept = keep([*wishes, *made], now).entries
    if kept != known:
        store.put_lasting(kept, seen=seen)


@dataclass(frozen=True, slots=True)
class Support:
    """What speaks for keeping it: the episodes of messages, and how often each was opened."""

    episode_of: Mapping[MessageId, EpisodeId]
    opened: Mapping[EpisodeId, int] = field(default_factory=dict)

    def episodes(self, item: Item) -> frozenset[EpisodeId]:
        """The episodes that support an item."""
        return frozenset(
            self.episode_of[number] for number in item.message_ids if number in self.episode_of
        )

    def is_waiting(self, item: Item) -> bool:
        """Whether a message of an item is in no episode yet, or not again after one went."""
        return any(number not in self.episode_of for number in item.message_ids)

    def uses(self, item: Item) -> int:
        """How often they were opened; the owner's own word on it counts as one use."""
        return sum(self.opened.get(one, 0) for one in self.episodes(item)) + item.by_owner


def entries_of(
    items: Sequence[Item],
    support: Support,
    known: Sequence[LastingEntry],
    now: datetime | None,
) -> list[LastingEntry]:
    """The entries that the items make, numbered from 1: of each thing that lasts the version that
    holds, and those before it that lasted. How often an episode was opened counts as use. An entry
    that was there stays until all of its messages are in their episodes.

    A thing whose present version the owner retired, or that just ended, makes none.
    """
    before = {(one.kind, one.text.casefold()): one for one in known}
    made: list[LastingEntry] = []
    for number, chain in enumerate(_chains(items)):
        slot = f"{chain[0].slot} {chain[0].entity} {number}" if len(chain) > 1 else ""
        entries: list[LastingEntry] = []
        for item in chain:
            one = _entry(item, slot, len(support.episodes(item)))
            was = before.get((one.kind, one.text.casefold()))
            if was is not None:
                one = replace(one, used=was.used, pinned=one.pinned or was.pinned)
            judged = replace(one, used=one.used + support.uses(item))
            stays = one.pinned or (was is not None and support.is_waiting(item))
            if stays or is_eligible(judged, now) or (entries and item is chain[-1]):
                entries.append(one)
        made += entries
    numbered = [replace(one, id=EntryId(n)) for n, one in enumerate(made, 1)]
    return take_in([], numbered)


def kind_of(item: Item) -> LastingKind:
    """An attribute is of the profile; a fact in which nobody speaks of themselves is knowledge."""
    if item.kind is ItemKind.ATTRIBUTE:
        return LastingKind.PROFILE
    own = _FIRST_PERSON.search(item.quote) is not None
    return LastingKind.FACT if own else LastingKind.KNOWLEDGE


def _chains(items: Sequence[Item]) -> list[list[Item]]:
    """Each thing that holds now with its earlier versions, oldest first."""
    by_id: dict[ItemId, Item] = {item.id: item for item in items}
    chains = []
    for item in items:
        if not item.holds or item.corrected or item.duplicate_of is not None:
            continue
        chain = [item]
        while (before := chain[-1].supersedes) is not None and before in by_id:
            earlier = by_id[before]
            if earlier in chain:
                break
            chain.append(earlier)
        chains.append([one for one in reversed(chain) if not one.corrected])
    return chains


def _entry(item: Item, slot: str, supporting: int) -> LastingEntry:
    """The entry of one version, without a number yet. Its words are those of its first source."""
    return LastingEntry(
        EntryId(0),
        kind_of(item),
        item.quote,
        slot,
        item.value.casefold(),
        item.said_at,
        item.last_said_at or item.said_at,
        item.message_ids,
        supporting=supporting,
        confirmations=max(1, len(item.message_ids)),
        pinned=item.state is ItemState.PINNED,
    )


def _kept_numbers(
    made: Sequence[LastingEntry], known: Sequence[LastingEntry]
) -> list[LastingEntry]:
    """The entries with the numbers that they had; new ones get new numbers."""
    had = {(one.kind, one.text.casefold()): one.id for one in known}
    last = max((one.id for one in known), default=0)
    number_of: dict[EntryId, EntryId] = {}
    for one in made:
        number = had.get((one.kind, one.text.casefold()))
        if number is None or number in number_of.values():
            last += 1
            number = EntryId(last)
        number_of[one.id] = number
    return [
        replace(
            one,
            id=number_of[one.id],
            superseded_by=None if one.superseded_by is None else number_of[one.superseded_by],
        )
        for one in made
    ]
