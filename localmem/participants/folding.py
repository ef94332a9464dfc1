"""Claims into items: each claim in the order of time through its router, and what follows.

The order of import does not matter, because all claims of a store are taken in the order in which
they were said. The owner's orders take part at the time when they were given. Pure.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from localmem.participants.routers import (
    MOST_NEIGHBOURS,
    Decide,
    Neighbour,
    RouteAction,
    Routing,
    claim_stems,
    item_stems,
    neighbour,
    no_decision,
    route,
)
from localmem.participants.slots import table
from localmem.participants.terms import key_of, normal_value
from localmem.participants.versions import Subject, subject_of
from localmem.types import (
    Claim,
    Cue,
    Item,
    ItemId,
    ItemKind,
    ItemState,
    MessageId,
    Modality,
    Ruling,
    RulingKind,
)

_EARLIEST = datetime.min.replace(tzinfo=UTC)
_ID_BITS = 40
_ID_MASK = (1 << _ID_BITS) - 1
_COMMON = 150
"""Items that share a word: beyond so many the word tells nothing about nearness."""
_CORRECTS = 0.5
"""Cosine from which a correction without a slot is about an item."""


def fold(
    claims: Iterable[Claim], rulings: Sequence[Ruling] = (), decide: Decide = no_decision
) -> tuple[Item, ...]:
    """The items of one store of one participant, or of one slot of it, by id."""
    folding = _Folding(decide, rulings)
    told = list(claims)
    told_by = {claim.message_id for claim in told}
    ordered: list[tuple[tuple[datetime, int, int], Claim | Ruling]] = [
        ((claim.said_at or _EARLIEST, int(claim.message_id), claim.position), claim)
        for claim in told
    ]
    ordered += [
        ((one.made_at, 0, -1), one)
        for one in rulings
        if one.kind is not RulingKind.REPLACE or one.message_id not in told_by
    ]
    for _, one in sorted(ordered, key=lambda pair: pair[0]):
        if isinstance(one, Ruling):
            folding.obey(one)
        else:
            folding.take(one)
    return folding.items()


@dataclass(slots=True)
class _Index:
    """Items by subject, slot and word, so that a claim meets only what may be near it."""

    by_subject: dict[Subject, list[ItemId]]
    by_slot: dict[tuple[int, str], list[ItemId]]
    by_stem: dict[str, list[ItemId]]


class _Folding:
    def __init__(self, decide: Decide, rulings: Sequence[Ruling]) -> None:
        self._decide = decide
        self._replaced = {
            (one.message_id, one.key_sha) for one in rulings if one.kind is RulingKind.REPLACE
        }
        self._replaced_keys = {key for _, key in self._replaced}
        self._items: dict[ItemId, Item] = {}
        self._index = _Index({}, {}, {})
        self._wrong: set[tuple[Subject, str]] = set()
        self._count = 0

    def items(self) -> tuple[Item, ...]:
        return tuple(self._items[number] for number in sorted(self._items))

    def obey(self, ruling: Ruling) -> None:
        """What the owner ordered about the version that they meant, where it holds."""
        for item in self.items():
            if not item.holds or key_of(item) != ruling.key_sha:
                continue
            self._put(_ordered(item, ruling))

    def take(self, claim: Claim) -> None:
        """One claim through its router."""
        if claim.by_owner:
            self._correct(claim)
            return
        if self._is_wrong(claim):
            return
        routing = route(claim, self._nearest(claim), self._decide)
        target = routing.target
        pinned = target is not None and target.state is ItemState.PINNED
        if pinned and routing.action is RouteAction.UPDATE:
            return  # the owner has said that this stays
        self._apply(claim, routing)

    # --- Applying -------------------------------------------------------------------------

    def _apply(self, claim: Claim, routing: Routing) -> None:
        if routing.action is RouteAction.IGNORE:
            if routing.target is not None and routing.counts:
                self._confirm(claim, routing.target)
        elif routing.action is RouteAction.UPDATE and routing.target is not None:
            if routing.closes:
                self._close(claim, routing.target)
            else:
                self._supersede(claim, routing.target)
        elif routing.past:
            self._add_past(claim)
        else:
            last = self._last_version(claim)
            duplicate = routing.target.id if routing.undecided and routing.target else None
            self._add(claim, supersedes=last, duplicate_of=duplicate)

    def _add(
        self, claim: Claim, *, supersedes: Item | None = None, duplicate_of: ItemId | None = None
    ) -> Item:
        item = self._item(claim, start=_start(claim, supersedes))
        if supersedes is not None:
            item = replace(item, supersedes=supersedes.id)
        return self._put(replace(item, duplicate_of=duplicate_of))

    def _add_past(self, claim: Claim) -> None:
        """A closed version: it ends when the first known one begins, if nothing else is said."""
        known = [one for one in self._versions(claim) if one.valid_from is not None]
        first = min((one.valid_from for one in known if one.valid_from), default=None)
        end = claim.valid_to or first or _said_on(claim)
        start = claim.valid_from
        if start is None and claim.modality is not Modality.PAST:
            start = _said_on(claim)
        if start is not None and end is not None and end < start:
            end = start
        item = self._item(claim, start=start)
        self._put(replace(item, state=ItemState.SUPERSEDED, valid_to=end))

    def _confirm(self, claim: Claim, item: Item) -> None:
        if claim.message_id in item.message_ids:
            return
        self._put(
            replace(
                item,
                confirmations=item.confirmations + 1,
                message_ids=(*item.message_ids, claim.message_id),
                last_said_at=claim.said_at or item.last_said_at,
                reason=item.reason or claim.reason,
            )
        )

    def _close(self, claim: Claim, item: Item) -> None:
        if claim.message_id in item.message_ids and not claim.value:
            return  # "I joined Globex after I quit my job"
        end = _start(claim, item)
        self._put(
            replace(
                item,
                state=ItemState.SUPERSEDED,
                valid_to=end,
                end_reason=claim.reason,
                ended_by=claim.message_id,
            )
        )

    def _supersede(self, claim: Claim, item: Item) -> None:
        start = _start(claim, item)
        self._put(
            replace(
                item,
                state=ItemState.SUPERSEDED,
                valid_to=start,
                end_reason=claim.reason,
                ended_by=claim.message_id,
            )
        )
        self._put(replace(self._item(claim, start=start), supersedes=item.id))

    # --- The owner ------------------------------------------------------------------------

    def _correct(self, claim: Claim) -> None:
        """A correction: without a day and a word of change, what it corrects was never so.

        What it tells of former times leaves the present alone, unless it was given for an item.
        """
        named = self._named(claim)
        target = named or self._corrected(claim)
        routing = route(claim, self._nearest(claim), no_decision)
        leaves = routing.action is RouteAction.IGNORE or routing.closes
        if target is None or leaves or (routing.past and named is None):
            self._apply(claim, routing)
            self._mark_owner(claim)
            return
        if claim.cue is Cue.CHANGE or claim.valid_from is not None:
            self._supersede(claim, target)
            return
        self._wrong.add((subject_of(target), normal_value(target.value)))
        end = target.valid_from or _said_on(claim)
        self._put(
            replace(
                target,
                state=ItemState.SUPERSEDED,
                valid_to=end,
                corrected=True,
                end_reason=claim.reason,
                ended_by=claim.message_id,
            )
        )
        self._put(replace(self._item(claim, start=end), supersedes=target.id))

    def _named(self, claim: Claim) -> Item | None:
        """The item that the owner gave a correction for, where it holds."""
        for item in self.items():
            if (claim.message_id, key_of(item)) in self._replaced and item.holds:
                return item
        return None

    def _corrected(self, claim: Claim) -> Item | None:
        """What a correction is about that was given for no item: what holds in its slot."""
        holding = [one for one in self._versions(claim) if one.holds]
        slot = table().slot(claim.slot)
        if claim.kind is ItemKind.ATTRIBUTE and slot is not None and not slot.many:
            different = [o for o in holding if normal_value(o.value) != normal_value(claim.value)]
            return different[-1] if different else None
        return None

    def _mark_owner(self, claim: Claim) -> None:
        for item in self.items():
            if claim.message_id in item.message_ids and not item.by_owner:
                self._put(replace(item, by_owner=True))

    def _is_wrong(self, claim: Claim) -> bool:
        """Whether a claim only repeats what the owner has called wrong."""
        wrong = (subject_of(claim), normal_value(claim.value)) in self._wrong
        return wrong and claim.kind is ItemKind.ATTRIBUTE and claim.cue is Cue.NONE

    # --- Looking up -------------------------------------------------------------------------

    def _nearest(self, claim: Claim) -> list[Neighbour]:
        """The items that a claim may be about: of its slot and subject, and the most similar."""
        own = self._versions(claim)
        if claim.kind is ItemKind.ATTRIBUTE and not claim.value:
            own = [self._items[n] for n in self._index.by_slot.get(_slot_of(claim), ())]
        near = {item.id: item for item in own}
        shared: Counter[ItemId] = Counter()
        for stem in claim_stems(claim):
            listed = self._index.by_stem.get(stem, ())
            if len(listed) <= _COMMON:
                shared.update(listed)
        # Most stems shared first, then the lower id, as one number that sorts without a key.
        best = heapq.nlargest(
            4 * MOST_NEIGHBOURS, [(count << _ID_BITS) - number for number, count in shared.items()]
        )
        ranked = sorted(
            (neighbour(claim, self._items[ItemId(-one & _ID_MASK)]) for one in best),
            key=lambda one: (-one.cosine, one.item.id),
        )
        found = [one for one in ranked if one.item.id not in near][:MOST_NEIGHBOURS]
        return [*(neighbour(claim, item) for item in near.values()), *found]

    def _versions(self, claim: Claim) -> list[Item]:
        """What is known of the claim's subject, in the order in which it was said."""
        if claim.slot == "prefers":
            return [self._items[number] for number in self._index.by_slot.get(_slot_of(claim), ())]
        return [self._items[n] for n in self._index.by_subject.get(subject_of(claim), ())]

    def _last_version(self, claim: Claim) -> Item | None:
        """The version before a new one, where the one before it has ended."""
        if claim.kind is not ItemKind.ATTRIBUTE or claim.slot == "prefers":
            return None
        known = [one for one in self._versions(claim) if not one.corrected]
        return known[-1] if known else None

    # --- Making -----------------------------------------------------------------------------

    def _item(self, claim: Claim, *, start: date | None) -> Item:
        self._count += 1
        is_event = claim.kind is ItemKind.EVENT
        return Item(
            id=ItemId(claim.number or self._count),
            kind=claim.kind,
            participant_id=claim.participant_id,
            slot=claim.slot,
            entity=claim.entity,
            value=claim.value,
            quote=claim.quote,
            said_at=claim.said_at,
            last_said_at=claim.said_at,
            message_ids=(claim.message_id,),
            positive=claim.positive,
            valid_from=start,
            valid_to=claim.valid_to if is_event else None,
            reason=claim.reason,
            names=claim.names,
            by_owner=claim.by_owner,
            missing=claim.missing,
        )

    def _put(self, item: Item) -> Item:
        if item.id not in self._items:
            for place in self._places(item):
                place.append(item.id)
        self._items[item.id] = item
        return item

    def _places(self, item: Item) -> Iterator[list[ItemId]]:
        index = self._index
        yield index.by_subject.setdefault(subject_of(item), [])
        yield index.by_slot.setdefault(_slot_of(item), [])
        for stem in item_stems(item):
            yield index.by_stem.setdefault(stem, [])


def _ordered(item: Item, ruling: Ruling) -> Item:
    """An item as the owner wants it: pinned, retired, or replaced by what they said elsewhere."""
    day = ruling.made_at.date()
    if ruling.kind is RulingKind.PIN:
        return replace(item, state=ItemState.PINNED)
    if ruling.kind is RulingKind.RETIRE:
        return replace(item, state=ItemState.RETIRED, valid_to=day)
    return replace(
        item,
        state=ItemState.SUPERSEDED,
        valid_to=day,
        corrected=True,
        ended_by=ruling.message_id,
    )


def _slot_of(one: Claim | Item) -> tuple[int, str]:
    return int(one.participant_id), one.slot


def _said_on(claim: Claim) -> date | None:
    return claim.said_at.date() if claim.said_at is not None else None


def _start(claim: Claim, before: Item | None) -> date | None:
    """When a claim's version begins: on the day it names, unless the one before began later."""
    named = claim.valid_from
    said = _said_on(claim)
    if named is None:
        return said
    if claim.kind is ItemKind.ATTRIBUTE and before is not None and before.valid_from is not None:
        return named if named > before.valid_from else said
    return named


def sources(item: Item) -> tuple[MessageId, ...]:
    """The messages that an item rests on, with the one that ended it."""
    ended = (item.ended_by,) if item.ended_by is not None else ()
    return tuple(dict.fromkeys((*item.message_ids, *ended)))
