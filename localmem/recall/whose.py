"""Of whom a sentence tells, in a chat among people: of who says it, of who hears it, of a third.

By rule, from pronouns, names and who speaks. A name that only calls somebody ("Thanks, Mira!") says
nothing of them. Pure. In a group, whom "you" means cannot be told: it may mean anybody.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from localmem.recall.evidence import sentences
from localmem.types import Message

_LEAST_SHORT_NAME = 3
"""Letters of a name that stand for it when somebody is called by them."""
_I = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b|\b(?:i|we)['’](?:m|re|ve|ll|d)\b", re.IGNORECASE
)
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_LED_BY_YOU = re.compile(
    r"^\W*(?:\w+(?:['’]\w+)?\W+){0,3}?(?:you|yours?|yourself)\b", re.IGNORECASE
)
_OF_BOTH = re.compile(r"\b(?:we both|both of us|let['’]s|together)\b", re.IGNORECASE)
_CALL = (
    r"(?:hey|hi|hello|yo|dear|thanks|thank you|wow|oh|yeah|yes|yep|no|nah|sure|ok|okay|well|so|and"
    r"|but|congrats|bye|great|definitely|absolutely|totally|cool|nice)"
)


@dataclass(frozen=True, slots=True)
class Told:
    """The sentences of a message that tell of one person, and those that tell of somebody else.

    A sentence may be among both.
    """

    of_person: tuple[str, ...]
    of_others: tuple[str, ...]


def told_by(message: Message, person: str, people: Collection[str]) -> Told:
    """A message's sentences by whom they tell of; what is attached is its speaker's."""
    mine: list[str] = []
    others: list[str] = []
    for sentence in sentences(message.text):
        of_person, of_others = _whose(sentence, message.speaker == person, person, people)
        if of_person:
            mine.append(sentence)
        if of_others:
            others.append(sentence)
    if message.attachment_text:
        (mine if message.speaker == person else others).append(message.attachment_text)
    return Told(tuple(mine), tuple(others))


def tells_of(sentence: str, speaker: str, person: str, people: Collection[str]) -> bool:
    """Whether a sentence that `speaker` said tells of the person."""
    return _whose(sentence, speaker == person, person, people)[0]


def questions_in(text: str) -> tuple[str, ...]:
    """The sentences that ask something."""
    return tuple(one for one in sentences(text) if one.rstrip().endswith("?"))


def _whose(sentence: str, is_own: bool, person: str, people: Collection[str]) -> tuple[bool, bool]:
    """Whether it tells of the person, and whether it tells of somebody else."""
    bare = _without_calls(sentence, people)
    asks = sentence.rstrip().endswith("?")
    first = _I.search(bare) is not None
    if is_own:
        speaks_of_hearer = asks or bare != sentence or _LED_BY_YOU.search(bare) is not None
        return (False, True) if speaks_of_hearer and not first else (True, False)
    to_you = _YOU.search(bare) is not None
    if to_you or _names(bare, person) or _OF_BOTH.search(bare):
        return True, first and to_you and not asks
    return False, True


def _names(text: str, person: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(person.split()[0])}(?!\w)", text) is not None


def _without_calls(sentence: str, people: Collection[str]) -> str:
    """The sentence without the names by which it only calls somebody."""
    names = "|".join(_called(people))
    if not names:
        return sentence
    begin = rf"^\W*(?:{_CALL}\W+){{0,3}}(?:{names})\s*[,!?.…:;–-]+"
    end = rf",\s*(?:{names})\s*(?=[.!?…]*\s*$)"
    return re.sub(end, "", re.sub(begin, "", sentence, flags=re.IGNORECASE), flags=re.IGNORECASE)


def _called(people: Collection[str]) -> Sequence[str]:
    """All that people may be called by: full names, first names, the beginnings of first names."""
    forms: dict[str, None] = {}
    for name in people:
        if not name.strip():
            continue
        first = name.split()[0]
        shorter = [first[:length] for length in range(len(first), _LEAST_SHORT_NAME - 1, -1)]
        forms |= dict.fromkeys(re.escape(form) for form in (name, first, *shorter))
    return sorted(forms, key=lambda form: (-len(form), form))
