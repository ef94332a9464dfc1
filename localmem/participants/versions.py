"""Chains of versions: what held when, what came before, why it changed. Pure.

A chain is all versions of one subject of one participant, in the order in which they held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from localmem.participants.slots import table
from localmem.participants.terms import normal_value
from localmem.types import Claim, Item, ItemId, ItemKind, ItemState

Subject = tuple[int, str, str, str]
"""Participant, kind, slot and entity: what two versions of one thing have in common."""

_BETWEEN = "\x1f"


def subject_of(one: Item | Claim) -> Subject:
    """What an item or claim is a version of; a many-valued slot has a subject for each value."""
    key = one.entity
    if one.kind is not ItemKind.ATTRIBUTE:
        key = one.quote
    else:
        slot = table().slot(one.slot)
        if slot is not None and slot.many:
            key = f"{one.entity}{_BETWEEN}{normal_value(one.value)}"
    return int(one.participant_id), one.kind.value, one.slot, key


def chains(items: Iterable[Item]) -> tuple[tuple[Item, ...], ...]:
    """The items by chain, each in the order in which its versions held.

    Versions that supersede each other belong together, whatever their subjects.
    """
    by_id = {item.id: item for item in items}
    heads: dict[Subject, ItemId] = {}
    found: dict[ItemId, list[Item]] = {}
    for item in sorted(by_id.values(), key=lambda one: one.id):
        first = _first(item, by_id)
        head = heads.setdefault(subject_of(first), first.id)
        found.setdefault(head, []).append(item)
    return tuple(in_order(chain) for chain in found.values())


def in_order(chain: Iterable[Item]) -> tuple[Item, ...]:
    """Versions as they held, the corrected before what took their place."""
    return tuple(
        sorted(
            chain,
            key=lambda one: (
                one.valid_from is not None,
                one.valid_from or date.min,
                not one.corrected,
                one.holds,
                one.id,
            ),
        )
    )


def at(chain: Sequence[Item], day: date) -> Item | None:
    """The version that held on a day; None where none is known to.

    One that ended on a day that nobody told held on none.
    """
    held = [
        one
        for one in chain
        if not one.corrected
        and one.state is not ItemState.RETIRED
        and (one.holds or one.valid_to is not None)
        and (one.valid_from is None or one.valid_from <= day)
        and (one.valid_to is None or day < one.valid_to)
    ]
    return max(held, key=lambda one: (one.valid_from or date.min, one.holds), default=None)


def current(chain: Sequence[Item]) -> Item | None:
    """The version that holds now; None where the last one ended."""
    held = [one for one in chain if one.holds]
    return held[-1] if held else None


def before(chain: Sequence[Item], item: Item | None) -> Item | None:
    """The version before one, those left out that the owner called wrong; of None, the last."""
    told = [one for one in chain if not one.corrected]
    if item is None:
        return told[-1] if told else None
    earlier = told[: next((n for n, one in enumerate(told) if one.id == item.id), 0)]
    different = [one for one in earlier if normal_value(one.value) != normal_value(item.value)]
    return different[-1] if different else None


def reason_of(chain: Sequence[Item], item: Item) -> str:
    """Why a version came: its own reason, else why the one before it ended."""
    if item.reason:
        return item.reason
    earlier = before(chain, item)
    return earlier.end_reason if earlier is not None else ""


def _first(item: Item, by_id: Mapping[ItemId, Item]) -> Item:
    """The oldest version that a version leads back to."""
    seen = {item.id}
    while item.supersedes is not None and item.supersedes in by_id:
        item = by_id[item.supersedes]
        if item.id in seen:
            break
        seen.add(item.id)
    return item
