"""Three independent routers: is a claim new, does it change something, or is it known already?

Rules R0 to R8 in their order (AdaMem, sections 3.1 and B.2, E): the clear cases by rule; what is
left is one constrained choice of a model, and without one the claim is added and marked as a
possible duplicate. Relatedness comes first: a claim can change only the one item that it is
about. Pure; similarity is that of content words, because it must cost nothing at import.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from localmem.participants.phrasing import plain_clauses, spelled
from localmem.participants.slots import table
from localmem.participants.terms import normal_value, stems_of
from localmem.types import Claim, Cue, Item, ItemKind, ItemState, Modality

SAME_WORDS = 0.8
"""R1: Jaccard of content words from which two facts are one."""
SAME_MEANING = 0.92
"""R1: the same as a cosine."""
FLIP = 0.85
"""R5: cosine from which an opposite is about the same. Higher than for vectors (0.75): many
sentences that share words, one of them with a "not", tell of two things."""
RELATED = 0.60
"""R4, R5: cosine that a change of an item needs."""
UNRELATED = 0.55
"""R7: cosine below which a claim is new."""
MOST_NEIGHBOURS = 5

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


class RouteAction(StrEnum):
    """What a router does with a claim."""

    ADD = "add"
    UPDATE = "update"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An item near a claim. `cosine` and `jaccard` are of their content words.

    `shares` tells whether they have an entity, a head or a name in common.
    """

    item: Item
    cosine: float
    jaccard: float
    shares: bool


@dataclass(frozen=True, slots=True)
class Routing:
    """A router's verdict with the rule that gave it.

    `target` is the item that is updated or confirmed. `closes`: the update ends the target and
    nothing takes its place. `past`: the claim is older than the target and becomes a closed
    version before it. `counts`: an ignored claim confirms its target. `undecided`: no rule was
    sure, and no model has said otherwise.
    """

    action: RouteAction
    rule: str
    target: Item | None = None
    closes: bool = False
    past: bool = False
    counts: bool = True
    undecided: bool = False


Decide = Callable[[Claim, Sequence[Neighbour]], Routing | None]
"""A verdict for the cases that no rule is sure of; None where there is none yet."""


def no_decision(claim: Claim, nearest: Sequence[Neighbour]) -> Routing | None:
    """For a memory without a language model."""
    return None


def route(claim: Claim, nearest: Sequence[Neighbour], decide: Decide = no_decision) -> Routing:
    """What to do with a claim, given the nearest items of its participant and store."""
    routers = {
        ItemKind.ATTRIBUTE: route_attribute,
        ItemKind.FACT: route_fact,
        ItemKind.EVENT: route_event,
    }
    known = _known(claim, nearest)
    if known is not None:
        return known
    return routers[claim.kind](claim, [one for one in nearest if _may_touch(claim, one)], decide)


def route_attribute(claim: Claim, nearest: Sequence[Neighbour], decide: Decide) -> Routing:
    """The router of attributes: R1 to R5 within the slot, R7 outside of it."""
    same_slot = [one for one in nearest if same_subject(claim, one.item)]
    holding = [one for one in same_slot if one.item.holds]
    equal = [one for one in same_slot if same_value(claim, one.item)]
    if claim.cue is Cue.END:
        return _end_of_attribute(claim, holding, equal)
    if claim.modality is Modality.PAST:
        held = next((one for one in equal if one.item.holds), None)
        if held is not None and _says_over(claim):
            return Routing(RouteAction.UPDATE, "R4", held.item, closes=True)
        if equal:
            return Routing(RouteAction.IGNORE, "R1", equal[-1].item)
        return Routing(RouteAction.ADD, "R2", holding[0].item if holding else None, past=True)
    flipped = next((one for one in holding if _same_words(claim, one.item)), None)
    equal_now = [one for one in equal if one.item.holds]
    if equal_now:
        return Routing(RouteAction.IGNORE, "R1", equal_now[-1].item)
    if flipped is not None and flipped.item.positive is not claim.positive:
        return _newer(claim, flipped.item, "R5")
    slot = table().slot(claim.slot)
    if slot is not None and slot.many:
        replaced = next((one for one in holding if _replaces(claim, one.item)), None)
        if replaced is not None:
            return _newer(claim, replaced.item, "R5")
        if slot.is_plan:
            return _plan(claim, holding)
        return Routing(RouteAction.ADD, "R3")
    if holding:
        return _newer(claim, holding[0].item, "R2")
    return Routing(RouteAction.ADD, "R7")


def route_fact(claim: Claim, nearest: Sequence[Neighbour], decide: Decide) -> Routing:
    """The router of facts."""
    for one in nearest:
        if claim.cue is Cue.END and one.item.holds:
            continue
        if one.item.positive is claim.positive and _same_fact(claim, one):
            return Routing(RouteAction.IGNORE, "R1", one.item)
    return _changed(claim, nearest, decide)


def route_event(claim: Claim, nearest: Sequence[Neighbour], decide: Decide) -> Routing:
    """The router of events: one that happens again is another event (R6)."""
    for one in nearest:
        if _same_event(claim, one):
            return Routing(RouteAction.IGNORE, "R1", one.item)
    again = [one for one in nearest if one.item.entity == claim.entity]
    if claim.cue is Cue.NONE and again and not _overlap(claim, again[0].item):
        return Routing(RouteAction.ADD, "R6")
    return _changed(claim, nearest, decide)


def neighbour(claim: Claim, item: Item) -> Neighbour:
    """How near an item is to a claim."""
    left, right = claim_stems(claim), item_stems(item)
    both = len(left & right)
    cosine = both / math.sqrt(len(left) * len(right)) if both else 0.0
    jaccard = both / len(left | right) if both else 0.0
    heads = bool(claim.entity) and claim.entity == item.entity
    return Neighbour(item, cosine, jaccard, heads or _share_a_name(claim, item))


def _share_a_name(claim: Claim, item: Item) -> bool:
    if not claim.names or not item.names:
        return False
    return not {n.casefold() for n in claim.names}.isdisjoint(n.casefold() for n in item.names)


def claim_stems(claim: Claim) -> frozenset[str]:
    """The content of a claim: of an attribute its entity and value, else its sentence."""
    return _stems(claim)


def item_stems(item: Item) -> frozenset[str]:
    """The content of an item."""
    return _stems(item)


def same_subject(claim: Claim, item: Item) -> bool:
    """Whether both answer the same question: the same slot and the same thing in it."""
    return claim.slot == item.slot and _same_entity(claim, item)


def same_value(claim: Claim, item: Item) -> bool:
    """Whether a claim says what an item says, with the same sign."""
    return claim.positive is item.positive and _same_words(claim, item)


# --- The rules ----------------------------------------------------------------------------


def _known(claim: Claim, nearest: Sequence[Neighbour]) -> Routing | None:
    """R0: text out of a memory, a question, or the very sentence again from the same message."""
    if claim.modality in (Modality.RECALLED, Modality.QUESTION):
        return Routing(RouteAction.IGNORE, "R0", counts=False)
    for one in nearest:
        again = claim.message_id in one.item.message_ids
        if again and one.item.quote == claim.quote and same_value(claim, one.item):
            return Routing(RouteAction.IGNORE, "R0", one.item, counts=False)
    return None


def _may_touch(claim: Claim, one: Neighbour) -> bool:
    """R0b: what is wished, planned, or said about somebody else touches only its own like."""
    apart = claim.slot.partition(":")[0] if ":" in claim.slot else ""
    theirs = one.item.slot.partition(":")[0] if ":" in one.item.slot else ""
    return apart == theirs and one.item.state is not ItemState.RETIRED


def _end_of_attribute(
    claim: Claim, holding: Sequence[Neighbour], equal: Sequence[Neighbour]
) -> Routing:
    """R4: the slot's value is over. Without such a value there is nothing to end."""
    target = next((one for one in holding if not claim.value), None)
    if target is None:
        target = next((one for one in equal if one.item.holds), None)
    if target is None:
        near = [one for one in holding if one.cosine >= RELATED]
        target = max(near, key=lambda one: one.cosine, default=None)
    if target is None:
        return Routing(RouteAction.IGNORE, "R4", counts=False)
    return Routing(RouteAction.UPDATE, "R4", target.item, closes=True)


def _says_over(claim: Claim) -> bool:
    """Whether the clause with the value says that it once was so: "I used to live in Rome"."""
    over = table().lexicon.over
    value = claim.value.casefold()
    clauses = plain_clauses(spelled(claim.quote))
    return any(value in clause.casefold() and over.search(clause) for clause in clauses)


def _newer(claim: Claim, item: Item, rule: str) -> Routing:
    """R2, R5: a later claim is the new version, an earlier one a closed version before it."""
    if claim.said_at is not None and item.said_at is not None and claim.said_at < item.said_at:
        return Routing(RouteAction.ADD, rule, item, past=True)
    return Routing(RouteAction.UPDATE, rule, item)


def _replaces(claim: Claim, item: Item) -> bool:
    return bool(claim.old_value) and normal_value(claim.old_value) == normal_value(item.value)


def _plan(claim: Claim, holding: Sequence[Neighbour]) -> Routing:
    """A plan that is told again, perhaps with other days, or another plan."""
    near = max(holding, key=lambda one: (one.cosine, -one.item.id), default=None)
    if near is None or near.cosine < RELATED:
        return Routing(RouteAction.ADD, "R3")
    moved = bool(claim.entity) and claim.entity != near.item.entity
    if claim.cue is Cue.CHANGE and moved:
        return _newer(claim, near.item, "R5")
    if near.cosine >= SAME_MEANING or near.jaccard >= SAME_WORDS:
        return Routing(RouteAction.IGNORE, "R1", near.item)
    return Routing(RouteAction.ADD, "R3")


def _changed(claim: Claim, nearest: Sequence[Neighbour], decide: Decide) -> Routing:
    """R4, R5, R7, R8 for facts and events."""
    holding = [one for one in nearest if one.item.holds]
    near = max(holding, key=lambda one: (one.cosine, -one.item.id), default=None)
    if near is None:
        return Routing(RouteAction.ADD, "R7")
    if claim.modality is Modality.PAST and claim.cue is not Cue.CHANGE:
        return Routing(RouteAction.ADD, "R7")
    if claim.cue is Cue.END and near.cosine >= RELATED and near.shares:
        return Routing(RouteAction.UPDATE, "R4", near.item, closes=True)
    if claim.positive is not near.item.positive and near.cosine >= FLIP:
        return _newer(claim, near.item, "R5")
    related = near.cosine >= RELATED and near.shares
    if claim.cue is Cue.CHANGE and related and _differs(claim, near.item):
        return _newer(claim, near.item, "R5")
    if near.cosine < UNRELATED or not near.shares:
        return Routing(RouteAction.ADD, "R7")
    decided = decide(claim, holding)
    if decided is not None:
        return decided
    return Routing(RouteAction.ADD, "R8", near.item, undecided=True)


def _same_fact(claim: Claim, one: Neighbour) -> bool:
    if one.jaccard < SAME_WORDS and one.cosine < SAME_MEANING:
        return False
    return not _differs(claim, one.item)


def _same_event(claim: Claim, one: Neighbour) -> bool:
    item = one.item
    if item.entity != claim.entity or set(claim.names) != set(item.names):
        return False
    return _overlap(claim, item) and one.cosine >= RELATED


def _overlap(claim: Claim, item: Item) -> bool:
    """Whether two events may be at one time; the day of telling stands in for a missing date."""
    first, last = _days(claim)
    other_first, other_last = _days(item)
    if first is None or other_first is None or last is None or other_last is None:
        return True
    return first <= other_last and other_first <= last


def _days(one: Claim | Item) -> tuple[int | None, int | None]:
    start = one.valid_from or (one.said_at.date() if one.said_at is not None else None)
    if start is None:
        return None, None
    end = one.valid_to.toordinal() - 1 if one.valid_to is not None else start.toordinal()
    return start.toordinal(), end


def _differs(claim: Claim, item: Item) -> bool:
    """Whether both name different numbers, names or days."""
    if set(_NUMBER.findall(claim.quote)) != set(_NUMBER.findall(item.quote)):
        return True
    if {n.casefold() for n in claim.names} != {n.casefold() for n in item.names}:
        return True
    return claim.valid_from is not None and claim.valid_from != item.valid_from


def _same_entity(claim: Claim, item: Item) -> bool:
    slot = table().slot(claim.slot)
    if slot is not None and (slot.is_plan or (slot.many and not (claim.entity and item.entity))):
        return True
    if claim.slot == "prefers":
        return _same_choice(claim, item)
    return claim.entity == item.entity


def _same_choice(claim: Claim, item: Item) -> bool:
    """A preference between two things is about the same choice where a thing is."""
    left, right = stems_of(claim.entity), stems_of(item.entity)
    if left == right:
        return True
    among = " over " in claim.value or " over " in item.value
    named = stems_of(f"{claim.entity} {claim.value}") & stems_of(f"{item.entity} {item.value}")
    return among and bool(named) and bool(left) and bool(right)


def _same_words(claim: Claim, item: Item) -> bool:
    return normal_value(claim.value) == normal_value(item.value)


def _stems(one: Claim | Item) -> frozenset[str]:
    if one.kind is not ItemKind.ATTRIBUTE:
        return stems_of(one.quote)
    return stems_of(one.value if one.slot == "plan" else f"{one.entity} {one.value}")
