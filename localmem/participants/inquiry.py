"""Questions that what is known about somebody answers: what is X now, before, on a day, and why.

By rule. It must rather miss a question than take one for another: what it does not recognise goes
the ordinary way, through search. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cache

from localmem.dates import resolve_question
from localmem.entities import entities, expected_answer_type, named_participants
from localmem.participants.slots import Slot, table
from localmem.participants.terms import normal_value, stems_of
from localmem.types import AnswerType, Granularity, Item, ItemKind, Participant, ParticipantId

_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our|i'm|i’m)\b", re.IGNORECASE)
_ASSISTANT = re.compile(r"\b(?:you|your)\b", re.IGNORECASE)
_PRESENT = re.compile(
    r"\b(?:is|are|am|do|does|have|has|now|current|currently|still|these days|today|latest)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:did|was|were|had)\b", re.IGNORECASE)
_YES_NO = re.compile(r"\s*(?:so |and |but )?(?:is|are|am|do|does|did|has|have)\b", re.IGNORECASE)
_YES_NO_ONLY = ("likes", "habit", "plan")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_NOT_ASKED = (AnswerType.DATE, AnswerType.DURATION, AnswerType.QUOTE)
_OPENERS_TEXT = """
    what where who which when why how do does did is are am was were has have the at in for on tell
    and so still
"""
_OPENERS = frozenset(_OPENERS_TEXT.split())


class Aspect(StrEnum):
    """What a question wants to know of a chain of versions."""

    NOW = "now"
    BEFORE = "before"
    AT = "at"
    WHY = "why"


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question in terms of participants and slots.

    `text` is the question without names, `stems` its content words. `about` are the participants
    it may mean; () where it names nobody. `day` is given for AT.
    """

    text: str
    aspect: Aspect
    about: tuple[ParticipantId, ...]
    slots: tuple[Slot, ...]
    stems: frozenset[str]
    day: date | None = None


def understand(question: str, asked_at: datetime, people: Sequence[Participant]) -> Inquiry | None:
    """What a question asks about somebody; None where it is not of this kind."""
    here = table()
    why = here.lexicon.asks_why.search(question) is not None
    if not why and expected_answer_type(question) in _NOT_ASKED and not _is_set(question):
        return None
    asked = tuple(slot for slot in here.slots if slot.asked.search(question))
    if not why and _is_set(question):
        asked = tuple(slot for slot in asked if slot.general or slot.name == "birthday")
    if not why and not _YES_NO.match(question):
        asked = tuple(slot for slot in asked if slot.name not in _YES_NO_ONLY)
    about = _about(question, people)
    if not asked or about is None:
        return None
    day = _day(question, asked_at)
    if why:
        aspect = Aspect.WHY
    elif here.lexicon.asks_before.search(question):
        aspect = Aspect.BEFORE
    elif day is not None:
        aspect = Aspect.AT
    elif _PAST.search(question) and not _PRESENT.search(question):
        return None
    else:
        aspect = Aspect.NOW
    text = _without(question, [one.words for one in resolve_question(question, asked_at)])
    text = _without(text, sorted(_names(people), key=len, reverse=True))
    return Inquiry(text, aspect, about, asked, _stems(text), day)


def matching(inquiry: Inquiry, chains: Sequence[Sequence[Item]]) -> list[Sequence[Item]]:
    """The chains that a question is about and about nothing else: those that fit it best."""
    fits = [(_fit(inquiry, chain), chain) for chain in chains if _is_all(inquiry, chain)]
    best = max((fit for fit, _ in fits), default=0.0)
    return [chain for fit, chain in fits if fit == best and fit > 0.0]


def _is_all(inquiry: Inquiry, chain: Sequence[Item]) -> bool:
    """Whether a question asks for nothing beyond a chain: every word of it has its place there."""
    slot = next((one for one in inquiry.slots if one.name == chain[0].slot), None)
    if slot is None:
        return False
    rest = inquiry.text if slot.general else slot.asked.sub(" ", inquiry.text)
    told = " ".join(f"{item.entity} {item.value}" for item in chain)
    left = stems_of(rest) - stems_of(told) - _generic()
    return not left - {part[:5] for part in subject_parts(slot)}


def subject_parts(slot: Slot) -> frozenset[str]:
    """The words by which a slot itself is called."""
    return frozenset((*slot.label.lower().split(), slot.name))


@cache
def _generic() -> frozenset[str]:
    """The stems of words that any such question may hold."""
    return stems_of(" ".join(table().lexicon.generic)) | stems_of(" ".join(_OPENERS))


def _fit(inquiry: Inquiry, chain: Sequence[Item]) -> float:
    """How well a chain fits: 0 where it is about something else."""
    first = chain[0]
    slot = next((one for one in inquiry.slots if one.name == first.slot), None)
    if slot is None or first.kind is not ItemKind.ATTRIBUTE:
        return 0.0
    if slot.is_plan:
        planned = stems_of(first.value)
        shared = len(planned & inquiry.stems - _PLAN_WORDS)
        return float(shared) if shared and 2 * shared >= len(planned) else 0.0
    needed = stems_of(first.entity)
    named = len(needed & inquiry.stems)
    value = max((len(stems_of(item.value) & inquiry.stems) for item in chain), default=0)
    if slot.name == "prefers":
        return 1.0 + named + value
    if slot.name == "likes":
        return 1.0 + value if value else 0.0
    if slot.name == "habit":
        return 1.0 + value if value else 0.0
    if needed:
        return 2.0 + named if needed <= inquiry.stems else 0.0
    if slot.general:
        return 0.0
    return 1.5 + 0.1 * value


def _stems(question: str) -> frozenset[str]:
    """The content of a question, with what else its words may be called."""
    others = table().lexicon.synonyms
    more = [others[word] for word in question.lower().strip("?").split() if word in others]
    return stems_of(f"{question} {' '.join(more)}")


_PLAN_WORDS = stems_of("plan plans planned planning cancel cancelled still happening")


def _names(people: Sequence[Participant]) -> list[str]:
    """Whole names and their parts."""
    whole = [name for person in people for name in (person.name, *person.aliases)]
    return [*whole, *(part for name in whole for part in name.split())]


def _without(text: str, parts: Iterable[str]) -> str:
    for part in parts:
        text = re.sub(rf"(?<!\w){re.escape(part)}(?:['’]s?)?(?!\w)", " ", text, flags=re.IGNORECASE)
    return text


def _about(question: str, people: Sequence[Participant]) -> tuple[ParticipantId, ...] | None:
    """Whom a question may mean: the named, else the owner; None where that is nobody known."""
    humans = [person for person in people if not person.is_assistant]
    by_name = {name: person for person in humans for name in (person.name, *person.aliases)}
    named = named_participants(question, tuple(by_name))
    found = {by_name[name].id for name in named} or _sharing(question, humans)
    if found:
        return tuple(sorted(found))
    owner = next((person for person in humans if person.is_owner), None)
    if _FIRST_PERSON.search(question):
        return (owner.id,) if owner is not None else None
    if _ASSISTANT.search(question) or re.search(
        r"\b(?:he|she|his|her|they|their)\b", question, re.I
    ):
        return None
    return ()


def _sharing(question: str, people: Sequence[Participant]) -> set[ParticipantId]:
    """Everybody with a first name that the question holds and that several have."""
    words = {word.casefold().removesuffix("'s").removesuffix("’s") for word in question.split()}
    words |= {word.strip("?!.,") for word in words}
    return {
        person.id
        for person in people
        for name in (person.name, *person.aliases)
        if name.split() and name.split()[0].casefold() in words
    }


def names_somebody_else(
    question: str, people: Sequence[Participant], known: Collection[str]
) -> bool:
    """Whether a question names what is neither a participant nor part of what is known."""
    own = {
        part.casefold() for p in people for name in (p.name, *p.aliases) for part in name.split()
    }
    values = " ".join(normal_value(value) for value in known)
    for name in entities(question):
        parts = [part.casefold().removesuffix("'s").removesuffix("’s") for part in name.split()]
        told = [part for part in parts if part not in own and part not in _OPENERS]
        if any(part not in values and not _YEAR.search(part) for part in told):
            return True
    return False


def _day(question: str, asked_at: datetime) -> date | None:
    """The day that a question is about: of a month or year its middle."""
    found = [one for one in resolve_question(question, asked_at) if not _is_now(one.words)]
    if not found:
        return None
    one = found[0]
    if one.granularity is Granularity.DAY:
        return one.start
    return one.start + (min(one.end, asked_at.date()) - one.start) // 2


def _is_now(words: str) -> bool:
    return words.casefold() in ("today", "now", "tonight", "currently")


def _is_set(question: str) -> bool:
    """Whether a question with "when" asks for an appointment rather than for what happened."""
    return re.match(r"\s*when (?:is|are|was|were)\b", question, re.IGNORECASE) is not None
