"""Whether an answer stands in the evidence: its names, numbers and dates, or what follows of it.

Pure. Other words may be the model's own; that no message supports an answer at all is said
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import combinations

from localmem.entities import entities
from localmem.recall.citations import find_support
from localmem.recall.deep.notes import OrganisedNotes
from localmem.recall.deep.question import Question
from localmem.types import AnswerType, SessionId
from localmem.words import Analyser

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SMALL_TEXT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
)
_LONGEST_NUMBER = 5
_MOST_NUMBERS = 60
_INFERS = re.compile(r"\b(?:would|might|may|could|likely|probably)\b", re.IGNORECASE)
_DERIVED = (AnswerType.NUMBER, AnswerType.DURATION)


def is_founded(
    answer: str, question: Question, notes: OrganisedNotes, titles: Mapping[SessionId, str]
) -> bool:
    """Whether the messages hold the answer's names, numbers and dates, and a word of it at all.

    A number may follow from two others by sum or difference, or count what was found. A question
    that asks for an inference ("would she ...") may be answered in words that nobody said.
    """
    if not any(character.isalnum() for character in answer):
        return False
    support = find_support(answer, question.text, notes.sources, titles)
    missing = {word.casefold() for word in support.unsupported}
    if question.want.kind in _DERIVED or question.counts:
        missing -= _derivable(notes)
    if not missing:
        return True
    if any(_NUMBER.search(word) for word in missing) or missing & _names_in(answer):
        return False
    return support.share > 0 or _INFERS.search(question.text) is not None


def _names_in(answer: str) -> frozenset[str]:
    """The terms of the names in an answer; a first word counts only inside a longer name."""
    analyser = Analyser()
    return frozenset(term for name in entities(f"It is {answer}") for term in analyser.terms(name))


def _derivable(notes: OrganisedNotes) -> frozenset[str]:
    """Numbers, as digits and as words, that follow from the notes."""
    found = sorted(set(_numbers(notes)))[:_MOST_NUMBERS]
    numbers = {abs(a - b) for a, b in combinations(found, 2)}
    numbers |= {a + b for a, b in combinations(found, 2)}
    numbers |= set(range(1, max(len(notes.items), len(notes.facts)) + 1))
    words = _SMALL_TEXT.split()
    spelled = {words[number] for number in numbers if number < len(words)}
    return frozenset({str(number) for number in numbers} | spelled)


def _numbers(notes: OrganisedNotes) -> Iterable[int]:
    for one in notes.sources:
        if one.message.said_at is not None:
            yield one.message.said_at.year
        for date in one.dates:
            yield date.start.year
        for value in _NUMBER.findall(one.message.text):
            if value.isdigit() and len(value) <= _LONGEST_NUMBER:
                yield int(value)
