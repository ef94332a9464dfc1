"""What is known for a question: the version that answers it, in words, with what it replaced.

Pure: items in, words out. The words are the person's own values; nothing is rephrased.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from localmem.dates import describe_day
from localmem.participants import versions
from localmem.participants.inquiry import Aspect, Inquiry, matching, names_somebody_else
from localmem.participants.slots import table
from localmem.participants.terms import normal_value
from localmem.types import Item, ItemState, MessageId, Participant, ParticipantId

_MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class Known:
    """An answer out of what is known.

    `item` is the version that answers, `message_id` the message to cite and `quote` its sentence.
    `stale` are values that do not hold for the question, `current` those that do. `lines` tell the
    whole chain, for a model to read.
    """

    text: str
    item: Item
    message_id: MessageId
    quote: str
    current: tuple[str, ...]
    stale: tuple[str, ...]
    lines: tuple[str, ...]
    chain: tuple[Item, ...]
    is_sure: bool = True


def what_is_known(
    question: str,
    inquiry: Inquiry | None,
    asked_at: datetime,
    people: Sequence[Participant],
    load: Callable[[Inquiry], Sequence[Item]],
) -> Known | None:
    """The answer to a question about what somebody's things are, were, and why they changed.

    `inquiry` is what `understand` made of the question. `load` gives the attributes of its
    participants (all where it names none) and slots.
    """
    if inquiry is None:
        return None
    found = matching(inquiry, versions.chains(load(inquiry)))
    if not found:
        return None
    told = [value for chain in found for one in chain for value in (one.value, one.entity)]
    if names_somebody_else(question, people, told):
        return None
    whose = {chain[0].participant_id for chain in found}
    names = {person.id: person.name for person in people}
    answers = [
        one
        for chain in found
        if (one := _answer(inquiry, chain, asked_at.date(), names[chain[0].participant_id]))
    ]
    if not answers:
        return None
    if len(whose) > 1:
        return _of_several(answers, names)
    return answers[0] if len(answers) == 1 else _joined(answers)


def what_is_over(
    question: str,
    inquiry: Inquiry | None,
    asked_at: datetime,
    people: Sequence[Participant],
    load: Callable[[Inquiry], Sequence[Item]],
) -> tuple[str, ...]:
    """Values of what a question asks to be so now, where the owner retired the last of them.

    The rest as for `what_is_known`.
    """
    if inquiry is None or inquiry.aspect is not Aspect.NOW:
        return ()
    found = matching(inquiry, versions.chains(load(inquiry)))
    if any(versions.at(one, asked_at.date()) or versions.current(one) for one in found):
        return ()
    told = [item for chain in found for item in chain]
    if names_somebody_else(question, people, [v for one in told for v in (one.value, one.entity)]):
        return ()
    if not any(one.state is ItemState.RETIRED for one in told):
        return ()
    return tuple(dict.fromkeys(one.value for one in told if one.value))


def describe_item(item: Item) -> str:
    """What an item says, in a few words: its value, or its sentence."""
    if not item.value:
        return item.quote
    return item.value if item.positive else f"not {item.value}"


def subject_words(item: Item) -> str:
    """What an item is about: "home", "rent", "favourite band"."""
    slot = table().slot(item.slot)
    label = slot.label if slot is not None else ""
    prefix = item.slot.partition(":")[0] if ":" in item.slot else ""
    about = " ".join(part for part in (label, item.entity) if part) or item.kind.value
    return f"{prefix}: {about}" if prefix else about


def period_words(item: Item) -> str:
    """When an item held: "2 February 2026 to 1 March 2026", "since 1 March 2026"."""
    start = describe_day(item.valid_from) if item.valid_from is not None else ""
    if item.valid_to is None:
        return f"since {start}" if start else ""
    end = describe_day(item.valid_to)
    return f"{start} to {end}" if start else f"until {end}"


# --- One chain ----------------------------------------------------------------------------


def _answer(inquiry: Inquiry, chain: Sequence[Item], today: date, name: str) -> Known | None:
    if inquiry.aspect is Aspect.WHY:
        return _why(inquiry, chain, name)
    if inquiry.aspect is Aspect.BEFORE:
        return _before(inquiry, chain, today, name)
    day = inquiry.day if inquiry.aspect is Aspect.AT and inquiry.day is not None else today
    item = versions.at(chain, day)
    if item is None and inquiry.aspect is Aspect.NOW:
        item = versions.current(chain)
        return _ended(chain, name) if item is None else _known(item, chain, name)
    return None if item is None else _known(item, chain, name)


def _why(inquiry: Inquiry, chain: Sequence[Item], name: str) -> Known | None:
    """The reason of the change that a question names, else of the last one that has one."""
    changed = [one for one in chain if not one.corrected]
    named = [
        one
        for one in changed
        if normal_value(one.value)
        and all(part[:5] in inquiry.stems for part in normal_value(one.value).split())
    ]
    for item in (*named, *reversed(changed)):
        reason = versions.reason_of(changed, item) or item.end_reason
        if reason:
            source = item.message_ids[0]
            if not item.reason and item.end_reason == reason and item.ended_by is not None:
                source = item.ended_by
            return Known(
                text=reason,
                item=item,
                message_id=source,
                quote=reason,
                current=(reason,),
                stale=(),
                lines=_lines(chain, name),
                chain=tuple(chain),
            )
    return None


def _before(inquiry: Inquiry, chain: Sequence[Item], today: date, name: str) -> Known | None:
    """The version before the one that holds, or before the one that the question names."""
    named = [
        one
        for one in chain
        if normal_value(one.value)
        and all(part[:5] in inquiry.stems for part in normal_value(one.value).split())
    ]
    after = named[-1] if named else versions.at(chain, today) or versions.current(chain)
    item = versions.before(chain, after)
    if item is None:
        return None
    return _known(item, chain, name)


def _ended(chain: Sequence[Item], name: str) -> Known | None:
    """What to say where the last version ended and nothing took its place."""
    last = versions.before(chain, None)
    if last is None or last.state is ItemState.RETIRED:
        return None
    source = last.ended_by if last.ended_by is not None else last.message_ids[-1]
    until = f" (until {describe_day(last.valid_to)})" if last.valid_to is not None else ""
    why = f", because {last.end_reason}" if last.end_reason else ""
    return Known(
        text=f"no longer {last.value}{until}{why}",
        item=last,
        message_id=source,
        quote="",
        current=("no longer", "cancelled", "canceled", "none", "nothing", "off", "not any"),
        stale=(last.value,),
        lines=_lines(chain, name),
        chain=tuple(chain),
    )


def _known(item: Item, chain: Sequence[Item], name: str) -> Known:
    stale = [
        one.value
        for one in chain
        if normal_value(one.value) != normal_value(item.value) and one.value
    ]
    return Known(
        text=_value(item),
        item=item,
        message_id=item.message_ids[0],
        quote=item.quote,
        current=(item.value,),
        stale=tuple(dict.fromkeys(stale)),
        lines=_lines(chain, name),
        chain=tuple(chain),
        is_sure=item.supported,
    )


def _value(item: Item) -> str:
    if item.slot == "likes":
        return f"yes, {item.value}" if item.positive else f"no longer: dislikes {item.value}"
    return item.value


def _lines(chain: Sequence[Item], name: str) -> tuple[str, ...]:
    """A chain for a model to read: what holds first, then what was before."""
    subject = subject_words(chain[0])
    lines = []
    for item in reversed([one for one in chain if one.state is not ItemState.RETIRED]):
        word = "wrong, says the owner" if item.corrected else "now" if item.holds else "before"
        because = f", because {item.reason}" if item.reason else ""
        lines.append(
            f"{name}, {subject}, {word}: {describe_item(item)} ({period_words(item)}){because}"
        )
    return tuple(lines)


# --- Several chains -------------------------------------------------------------------------


def _joined(answers: Sequence[Known]) -> Known:
    """Several things of one person: all that hold."""
    chosen = sorted(answers, key=lambda one: one.item.id)[:_MOST_LISTED]
    first = chosen[0]
    return Known(
        text=", ".join(dict.fromkeys(one.text for one in chosen)),
        item=first.item,
        message_id=first.message_id,
        quote=first.quote,
        current=tuple(value for one in chosen for value in one.current),
        stale=(),
        lines=tuple(line for one in chosen for line in one.lines),
        chain=tuple(item for one in chosen for item in one.chain),
    )


def _of_several(answers: Sequence[Known], names: Mapping[ParticipantId, str]) -> Known:
    """Several people whom the question may mean: each with their own, none mixed up."""
    joined = _joined(answers)
    told = [f"{names[one.item.participant_id]}: {one.text}" for one in answers]
    return Known(
        text="; ".join(dict.fromkeys(told)),
        item=joined.item,
        message_id=joined.message_id,
        quote=joined.quote,
        current=joined.current,
        stale=(),
        lines=joined.lines,
        chain=joined.chain,
        is_sure=False,
    )
