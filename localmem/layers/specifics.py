"""The names, numbers and dates of a text, and how many of them another text has.

By rule, and fast enough for thousands of turns: it tells `doctor` how much of the turns is in
their summaries, and the reverse (the limit that APDMem names itself: what L0 leaves out is not
found through L0). Whether a model's line is borne out is judged more closely in `support`. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from localmem import entities, words
from localmem.dates import describe
from localmem.types import ResolvedDate

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_DIGITS_OF = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())}


def known_words(*texts: str) -> frozenset[str]:
    """The words of some texts, folded, number words also as digits, possessives also bare."""
    found: set[str] = set()
    for text in texts:
        for word in words.words(text):
            found.add(word)
            if word in _DIGITS_OF:
                found.add(_DIGITS_OF[word])
            if word.endswith(("'s", "s'")):
                found.add(word[:-2] if word.endswith("'s") else word[:-1])
            if not word.isalnum():
                found.update(part for part in re.split(r"\W+", word) if part)
    return frozenset(found)


def names_of(text: str) -> tuple[str, ...]:
    """Names, quoted titles and product-like tokens of a text, each once."""
    return tuple(name for name in entities.entities(text) if _parts(name))


def numbers_of(text: str) -> tuple[str, ...]:
    """Numbers written in digits, without thousands separators, each once, in order."""
    found = (match.group().rstrip(".,:") for match in _NUMBER.finditer(text))
    return tuple(dict.fromkeys(word for one in found for word in words.words(one)))


def specifics(text: str, dates: Sequence[ResolvedDate]) -> tuple[tuple[str, ...], ...]:
    """What a text names: one entry each, as the ways in which another text may say it.

    A date is said by its own words or by the day they were resolved to; numbers inside a date do
    not count a second time.
    """
    bare = _without(text, dates)
    found: list[tuple[str, ...]] = [(name,) for name in names_of(bare)]
    found += [(number,) for number in numbers_of(bare)]
    found += [(one.words, describe(one)) for one in dates]
    return tuple(found)


def share_known(wanted: Iterable[tuple[str, ...]], known: frozenset[str]) -> tuple[int, int]:
    """(known, all): of how many entries of `specifics` one way of saying them is known."""
    several = list(wanted)
    held = sum(any(_is_known(way, known) for way in ways) for ways in several)
    return held, len(several)


def _is_known(text: str, known: frozenset[str]) -> bool:
    """Whether all words of a text that carry something are known."""
    return all(part in known for part in _parts(text))


def _parts(text: str) -> list[str]:
    """The words of a name, possessives bare, without the little ones."""
    found = []
    for word in words.words(text):
        bare = word[:-2] if word.endswith("'s") else word
        if bare not in _LITTLE:
            found.append(_DIGITS_OF.get(bare, bare))
    return found


def _without(text: str, dates: Sequence[ResolvedDate]) -> str:
    for one in sorted(dates, key=lambda date: -date.begin):
        text = f"{text[: one.begin]}so{text[one.stop :]}"  # what follows opens no sentence
    return text


_LITTLE = words.stopwords("en") | {"mr", "mrs", "ms", "dr"}
