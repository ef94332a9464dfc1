"""What is known now outranks what was said before: the last stage of every search.

A message of which something no longer holds says so, and stands behind the message that says what
does. Where a question is about a thing of which versions are known, the right one comes first.
Nothing is taken away: what was said stays findable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from localmem.dates import describe_day
from localmem.participants import versions
from localmem.participants.inquiry import Aspect, Inquiry, understand
from localmem.participants.known import (
    Known,
    describe_item,
    subject_words,
    what_is_known,
    what_is_over,
)
from localmem.participants.terms import normal_value, stems_of
from localmem.recall.citations import LONGEST_QUOTE
from localmem.recall.extract import Extract
from localmem.recall.refusal import NOT_FOUND
from localmem.store import Store
from localmem.types import (
    Answer,
    Citation,
    FoundMessage,
    Item,
    ItemKind,
    ItemState,
    MessageId,
    Participant,
    SearchFilter,
    SearchResult,
)

Fetch = Callable[[Sequence[MessageId], float, str], Sequence[FoundMessage]]


@dataclass(frozen=True, slots=True)
class Stale:
    """A version that a message rests on and that no longer holds, with what does, if anything."""

    item: Item
    now: Item | None


@dataclass(frozen=True, slots=True)
class Settled:
    """A search in the order of what holds, with what is known for its query, if anything is.

    `citation` is the message that bears out what is known. `over` are values of what the query
    asks for, where the owner retired the last of them and nothing holds in its place.
    """

    result: SearchResult
    known: Known | None = None
    citation: Citation | None = None
    over: tuple[str, ...] = ()

    @property
    def extract(self) -> Extract | None:
        """What is known as an answer; None where it is not sure."""
        if self.known is None or self.citation is None or not self.known.is_sure:
            return None
        return Extract(self.known.text, found=True, citations=(self.citation,))

    @property
    def remarks(self) -> str:
        """What is known in lines, for a model to read; "" where nothing is."""
        return "\n".join(self.known.lines) if self.known is not None else ""

    def upheld(self, answer: Answer) -> Answer:
        """The answer, unless it is a value that does not hold, or nothing, where one is known."""
        known, citation = self.known, self.citation
        if known is None:
            return self._without_what_is_over(answer)
        if citation is None or not known.is_sure:
            return answer
        if answer.found and not _is_stale(answer.text, known):
            return answer
        notice = f"“{answer.text}” is not what holds" if answer.found else "from what is known"
        return replace(
            answer,
            text=known.text,
            found=True,
            citations=(citation,),
            notices=(*answer.notices, notice),
        )

    def _without_what_is_over(self, answer: Answer) -> Answer:
        """The answer, unless it names a value that is over since the owner retired the last."""
        named = [value for value in self.over if _names(answer.text, value)]
        if not answer.found or not named:
            return answer
        notice = f"“{named[0]}” is not what holds: what did was retired by the owner"
        return replace(
            answer,
            text=NOT_FOUND,
            found=False,
            citations=(),
            notices=(*answer.notices, notice),
        )


@dataclass(frozen=True, slots=True)
class _AtHand:
    """What is known as it was at a generation: people, attributes, and for each message that
    something stale rests on, those versions with their chains."""

    generation: int
    people: Sequence[Participant]
    attributes: Sequence[Item]
    over: Mapping[MessageId, Sequence[tuple[Item, Sequence[Item]]]]


class Standing:
    """The lens of what is known over the searches of one memory. Reads only.

    A program that searches a memory again takes what is known to hand until the memory changes:
    the queries of the store cost more than the search itself. `fetch` gives messages by their ids,
    in that order, with the score and the mode that they are to show.
    """

    def __init__(self, store: Store, fetch: Fetch) -> None:
        self._store = store
        self._fetch = fetch
        self._at_hand: _AtHand | None = None
        self._searched_at: int | None = None

    def _taken_to_hand(self) -> _AtHand | None:
        """What is at hand for the memory as it is; None at the first search of a generation.

        Asked once a search.
        """
        generation = self._store.generation()
        if self._at_hand is not None and self._at_hand.generation == generation:
            return self._at_hand
        if self._searched_at != generation:
            self._searched_at = generation
            return None
        items = self._store.items()
        over: dict[MessageId, list[tuple[Item, Sequence[Item]]]] = {}
        for chain in versions.chains(items):
            for item in chain:
                if _counts(item):
                    for number in item.message_ids:
                        over.setdefault(number, []).append((item, chain))
        attributes = tuple(item for item in items if item.kind is ItemKind.ATTRIBUTE)
        self._at_hand = _AtHand(generation, self._store.participants(), attributes, over)
        return self._at_hand

    def settled(
        self,
        result: SearchResult,
        *,
        most: int,
        asked_at: datetime,
        limits: SearchFilter | None = None,
    ) -> Settled:
        """The result with what holds before what held, at most `most` messages.

        Messages that the search did not find come in only where there are no limits.
        """
        free = limits is None or limits == SearchFilter()
        over: tuple[str, ...] = ()
        with self._store.reading():
            hand = self._taken_to_hand()
            people = self._store.participants() if hand is None else hand.people
            inquiry = understand(result.query, asked_at, people)
            known = None
            if free:
                load = partial(self._attributes, hand)
                known = what_is_known(result.query, inquiry, asked_at, people, load)
                if known is None:
                    over = what_is_over(result.query, inquiry, asked_at, people, load)
            ids = [one.message.id for one in result.found]
            stale = _stale(self._over(ids) if hand is None else hand.over, ids, asked_at)
            citation = self._citation(known) if known is not None else None
            if not result.found or not (stale or known):
                return Settled(result, known, citation, over)
            first = known.message_id if known is not None else None
            order = _order(result, stale, first, inquiry)
            missing = [n for n in order if n not in {o.message.id for o in result.found}]
            added = self._added(missing, result) if free else {}
        at_hand = {**{one.message.id: one for one in result.found}, **added}
        found = [at_hand[number] for number in order if number in at_hand]
        marked = [replace(one, standing=_mark(stale.get(one.message.id, ()))) for one in found]
        settled = replace(result, found=tuple(marked[:most]))
        return Settled(settled, known, citation, over)

    def _citation(self, known: Known) -> Citation:
        """The message that bears out what is known."""
        (one,) = self._fetch([known.message_id], 1.0, "known")
        message, session = one.message, one.session
        quote = known.quote if known.quote and known.quote in message.text else message.text
        return Citation(
            message_id=message.id,
            session_id=session.id,
            session_title=session.title,
            speaker=message.speaker,
            said_at=message.said_at,
            quote=quote[:LONGEST_QUOTE].rstrip(),
        )

    def _attributes(self, hand: _AtHand | None, inquiry: Inquiry) -> Sequence[Item]:
        """The attributes that an inquiry asks for, in the order of their ids."""
        slots = {slot.name for slot in inquiry.slots}
        if hand is None:
            return self._store.items(
                participants=inquiry.about or None, slots=slots, kinds=[ItemKind.ATTRIBUTE]
            )
        return [
            item
            for item in hand.attributes
            if item.slot in slots and (not inquiry.about or item.participant_id in inquiry.about)
        ]

    def _over(
        self, ids: Sequence[MessageId]
    ) -> Mapping[MessageId, Sequence[tuple[Item, Sequence[Item]]]]:
        """The versions that these messages bear out and that no longer hold, with their chains."""
        items = tuple(item for item in self._store.items_of_messages(ids) if _counts(item))
        if not items:
            return {}
        around = self._store.items(
            participants={item.participant_id for item in items},
            slots={item.slot for item in items},
            kinds={item.kind for item in items},
        )
        chain_of = {item.id: chain for chain in versions.chains(around) for item in chain}
        over: dict[MessageId, list[tuple[Item, Sequence[Item]]]] = {}
        for item in items:
            for number in item.message_ids:
                over.setdefault(number, []).append((item, chain_of[item.id]))
        return over

    def _added(
        self, ids: Sequence[MessageId], result: SearchResult
    ) -> Mapping[MessageId, FoundMessage]:
        """Messages that the search did not find, as if it had found them with the best score."""
        score = max(one.hit.score for one in result.found)
        found = self._fetch(ids, score, result.mode) if ids else ()
        return {
            one.message.id: replace(one, hit=replace(one.hit, signals={"known": 1.0}))
            for one in found
        }


def _stale(
    over: Mapping[MessageId, Sequence[tuple[Item, Sequence[Item]]]],
    ids: Sequence[MessageId],
    asked_at: datetime,
) -> Mapping[MessageId, tuple[Stale, ...]]:
    """What of these messages no longer holds, by message."""
    found: dict[MessageId, tuple[Stale, ...]] = {}
    for number in ids:
        for item, chain in over.get(number, ()):
            now = versions.at(chain, asked_at.date())
            if now is None or now.id != item.id:
                found[number] = (*found.get(number, ()), Stale(item, now))
    return found


def _order(
    result: SearchResult,
    stale: Mapping[MessageId, Sequence[Stale]],
    first: MessageId | None,
    inquiry: Inquiry | None,
) -> list[MessageId]:
    """The messages by rank; what holds is put right before what it replaced."""
    order = [one.message.id for one in result.found]
    if inquiry is None or inquiry.aspect is Aspect.NOW:
        asked = stems_of(result.query)
        for number in list(order):
            for one in stale.get(number, ()):
                newer = one.now.message_ids[-1] if one.now is not None else _correction(one.item)
                if newer is not None and asked & stems_of(_told(one.item)):
                    _put_before(order, newer, number)
    if first is not None:
        order = [first, *(number for number in order if number != first)]
    return order


def _put_before(order: list[MessageId], newer: MessageId, older: MessageId) -> None:
    if newer == older:
        return
    place = order.index(older)
    if newer in order:
        if order.index(newer) < place:
            return
        order.remove(newer)
    order.insert(place, newer)


def _counts(item: Item) -> bool:
    """Whether a version ended and it matters: of an attribute, or by the owner's word."""
    if item.holds:
        return False
    by_owner = item.corrected or item.state is ItemState.RETIRED
    return by_owner or (item.kind is ItemKind.ATTRIBUTE and ":" not in item.slot)


def _correction(item: Item) -> MessageId | None:
    """The message that corrects a version which has no other in its place."""
    return item.ended_by if item.corrected else None


def _told(item: Item) -> str:
    return f"{subject_words(item)} {item.quote}"


def _mark(stale: Sequence[Stale]) -> str:
    """What of a message no longer holds, in words."""
    told = []
    for one in stale:
        after = f", now: {describe_item(one.now)}" if one.now is not None else ""
        what = f"{subject_words(one.item)}: {describe_item(one.item)}"
        told.append(f"superseded: {what} {_end_words(one.item)}{after}")
    return "; ".join(told)


def _end_words(item: Item) -> str:
    """How a version ended."""
    if item.corrected:
        return "was corrected"
    if item.state is ItemState.RETIRED:
        return "was retired by the owner"
    return f"ended on {describe_day(item.valid_to)}" if item.valid_to is not None else "ended"


def _is_stale(text: str, known: Known) -> bool:
    """Whether an answer names a value that does not hold, and none that does."""
    holds = any(_names(text, value) for value in known.current)
    return not holds and any(_names(text, value) for value in known.stale)


def _names(text: str, value: str) -> bool:
    """Whether a text holds a value as whole words."""
    return bool(value) and f" {normal_value(value)} " in f" {normal_value(text)} "
