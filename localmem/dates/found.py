"""A matched time expression with all that its meaning may depend on: words, day, tense.

It reads the sentence around the match; it knows no meanings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any

from localmem.dates.language import Language
from localmem.dates.spans import Span

_SENTENCE_REACH = 240
_SENTENCE_ENDS = ".!?;\n"


class Tense(Enum):
    """Where a sentence places what it tells."""

    PAST = -1
    NONE = 0
    FUTURE = 1


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern's match with everything its meaning may depend on.

    `lowered` is the text in lower case, position for position; `today` the message's own local
    day or None; `previous` the date resolved before this one in the text; `fallback` the tense
    to assume where the sentence shows none.
    """

    match: re.Match[str]
    text: str
    lowered: str
    language: Language
    said_at: datetime | None
    previous: Span | None
    fallback: Tense

    @property
    def today(self) -> date | None:
        return None if self.said_at is None else self.said_at.date()

    def has(self, group: str) -> bool:
        """Whether the pattern has this group and it took part in the match."""
        return self.match.groupdict().get(group) is not None

    def value(self, group: str) -> Any:
        """The table's value for the words in a group ("friday" -> 4)."""
        words = re.sub(r"\s+", " ", self.match.group(group))
        return self.language.words[group.rstrip("12")][words]

    def unit(self) -> str:
        """The unit named, in either unit group."""
        return str(self.value("unit" if self.has("unit") else "long_unit"))

    def weekday(self) -> int:
        """The weekday named, 0 for Monday, in either weekday group."""
        return int(self.value("weekday" if self.has("weekday") else "short_weekday"))

    def month(self) -> tuple[str, int]:
        """The month's group and number."""
        group = "month" if self.has("month") else "any_month"
        return group, self.value(group)

    def number(self, group: str) -> int:
        return int(self.match.group(group))

    def counts(self) -> tuple[int, int]:
        """Least and greatest count: (3, 3) for "three", (2, 5) for "a few"; (1, 1) if absent."""
        lows, highs = zip(*(self._count(name) for name in ("count", "count2")), strict=True)
        return min(low for low in lows if low), max(highs)

    def _count(self, group: str) -> tuple[int, int]:
        if not self.has(group):
            return (1, 1) if group == "count" else (0, 0)
        words = self.match.group(group)
        if words.isdecimal():
            return int(words), int(words)
        low, high = self.value(group)
        return low, high

    def sentence(self) -> tuple[int, int]:
        """Where the sentence around the match begins and stops."""
        begin, stop = self.match.span()
        first = max(0, begin - _SENTENCE_REACH)
        last = min(len(self.lowered), stop + _SENTENCE_REACH)
        starts = [self.lowered.rfind(mark, first, begin) for mark in _SENTENCE_ENDS]
        ends = [self.lowered.find(mark, stop, last) for mark in _SENTENCE_ENDS]
        return max(first, max(starts) + 1), min([last, *(end for end in ends if end >= 0)])

    def recurring(self) -> bool:
        """Whether the sentence tells of something that comes again and again."""
        return self.language.recurring.search(self.lowered, *self.sentence()) is not None

    def tense(self) -> Tense:
        """The tense that the sentence shows, else the one to assume."""
        shown = self.shown_tense()
        return self.fallback if shown is Tense.NONE else shown

    def shown_tense(self) -> Tense:
        """The tense cue nearest to the match in its sentence; NONE without any."""
        begin, stop = self.match.span()
        nearest, tense = _SENTENCE_REACH * 2, Tense.NONE
        for cue in self.language.tense.finditer(self.lowered, *self.sentence()):
            distance = begin - cue.end() if cue.end() <= begin else cue.start() - stop
            if 0 <= distance < nearest:
                nearest = distance
                tense = Tense.PAST if cue.group("past") is not None else Tense.FUTURE
        return tense
