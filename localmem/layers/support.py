"""Whether a fact or note is borne out by the messages it rests on. By rule, pure.

Its names, numbers and dates must stand in these messages or in the one before, or be resolved
from them; and most of its words must. It judges no meaning: "not" is beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from localmem import dates as dating
from localmem import entities, words
from localmem.layers.rules import called
from localmem.layers.source import SessionSource
from localmem.layers.telling import content_of
from localmem.types import Message, ResolvedDate

LEAST_SHARED = 0.4
"""Share of a note's content words that its grounds must hold; below it the note is invented."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_STEM = 5
_NUMBER_WORDS_TEXT = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
"""
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(_NUMBER_WORDS_TEXT.split())}
_OTHER_NUMBER_WORDS = {"once": "1", "twice": "2", "couple": "2", "dozen": "12", "thirty": "30",
                       "forty": "40", "fifty": "50", "hundred": "100", "first": "1",
                       "second": "2", "third": "3", "half": "50"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a note may draw on: words, numbers and days of its messages, and who speaks."""

    text: str
    stems: frozenset[str]
    parts: frozenset[str]
    numbers: frozenset[str]
    days: tuple[tuple[date, date], ...]
    speakers: tuple[str, ...]
    said_at: datetime | None


def grounds_of(source: SessionSource, places: Iterable[int]) -> Grounds:
    """The grounds of notes on the messages at `places`, each with the message before it."""
    near = sorted({near for place in places for near in (place - 1, place) if near >= 0})
    messages = [source.messages[place] for place in near]
    text = "\n".join(message.whole_text for message in messages)
    people = tuple(called(name) for name in source.speakers)
    all_words = words.words(f"{text}\n{' '.join((*source.speakers, *people))}")
    days = [
        (one.start, one.end)
        for message in messages
        for one in (*source.dates_of(message), *_written(message))
    ]
    numbers = {*_numbers_in(text), *(str(day.year) for several in days for day in several)}
    days += [(m.said_at.date(), m.said_at.date()) for m in messages if m.said_at is not None]
    return Grounds(
        text=text.casefold(),
        stems=frozenset(map(_stem, all_words)),
        parts=frozenset(part for word in all_words for part in re.split(r"[-'’]", word)),
        numbers=frozenset(numbers),
        days=tuple(days),
        speakers=(*source.speakers, *people),
        said_at=messages[-1].said_at if messages else None,
    )


def missing_from(body: str, grounds: Grounds) -> tuple[str, ...]:
    """Names, numbers and dates of a note's body that its grounds do not hold, in this order."""
    found = dating.resolve(body, grounds.said_at)
    bare = _without(body, found)
    absent = [name for name in entities.entities(bare) if not _has_name(name, grounds)]
    absent += [number for number in _digits(bare) if number not in grounds.numbers]
    absent += [one.words for one in found if not _has_date(one, grounds)]
    return tuple(dict.fromkeys(absent))


def stems_of(text: str, speakers: Sequence[str] = ()) -> frozenset[str]:
    """The beginnings of a text's content words, by which texts are compared."""
    return frozenset(map(_stem, content_of(text, speakers)))


def shared_share(body: str, grounds: Grounds) -> float:
    """Which share of a note's content words its grounds hold; 1.0 where it has none."""
    content = content_of(_without(body, dating.resolve(body, grounds.said_at)), grounds.speakers)
    if not content:
        return 1.0
    return sum(_stem(word) in grounds.stems for word in content) / len(content)


def _stem(word: str) -> str:
    """The beginning of a word; one with a digit whole."""
    return word[:_STEM] if word.isalpha() else word


def _has_name(name: str, grounds: Grounds) -> bool:
    parts = [part for word in words.words(name) for part in re.split(r"[-'’]", word)]
    return all(
        part in grounds.parts or _stem(part) in grounds.stems for part in parts if len(part) > 1
    )


def _has_date(one: ResolvedDate, grounds: Grounds) -> bool:
    """Whether a day of the grounds lies in it: "May 2023" is borne out by 7 May 2023."""
    if one.words.casefold() in grounds.text:
        return True
    return any(one.start <= start and end <= one.end for start, end in grounds.days)


def _written(message: Message) -> Sequence[ResolvedDate]:
    """Dates of what is attached: they are not stored."""
    if not message.attachment_text:
        return ()
    return dating.resolve(message.attachment_text, message.said_at)


def _without(body: str, dates: Sequence[ResolvedDate]) -> str:
    for one in reversed(dates):
        body = f"{body[: one.begin]} {body[one.stop :]}"
    return body


def _numbers_in(text: str) -> Iterable[str]:
    yield from _digits(text)
    for word in words.words(text):
        if word in _NUMBER_WORDS:
            yield _NUMBER_WORDS[word]
        elif word in _OTHER_NUMBER_WORDS:
            yield _OTHER_NUMBER_WORDS[word]


def _digits(text: str) -> list[str]:
    return [match.group().replace(",", "").lstrip("0") or "0" for match in _NUMBER.finditer(text)]
