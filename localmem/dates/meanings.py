"""What a matched time expression means: one function for each meaning named in the tables.

Each takes a `Found` and gives the span of days, or None where the expression cannot be resolved
without guessing. Rules that people disagree about are stated where they are decided:

- weeks run Monday to Sunday; a weekend is Saturday and Sunday; seasons are meteorological and
  of the northern half;
- "last Friday" is the Friday before today; "this Friday" the one from today on (with a past verb
  the one up to today); "next Friday" the one of next calendar week; "on Friday" goes by the verb,
  and without any tense it stays unresolved;
- "last summer" is the latest summer that is over; "last March" the latest March that is over;
- a day and month without a year take the year that the verb asks for, else the nearest one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any

from localmem.dates import spans
from localmem.dates.language import Language
from localmem.dates.spans import Span

_SENTENCE_REACH = 240
_SENTENCE_ENDS = ".!?;\n"
_NEXT_WEEK, _LAST_WEEK = 1, -1
_MID_WEEK = 3


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
        """The tense cue nearest to the match in its sentence."""
        begin, stop = self.match.span()
        nearest, tense = _SENTENCE_REACH * 2, self.fallback
        for cue in self.language.tense.finditer(self.lowered, *self.sentence()):
            distance = begin - cue.end() if cue.end() <= begin else cue.start() - stop
            if 0 <= distance < nearest:
                nearest = distance
                tense = Tense.PAST if cue.group("past") is not None else Tense.FUTURE
        return tense


# --- Days and counted units ---------------------------------------------------------------


def _day_word(found: Found) -> Span | None:
    return found.today and spans.day_span(found.today + timedelta(days=found.value("day_word")))


def _ago(found: Found) -> Span | None:
    return _counted(found, -1)


def _ahead(found: Found) -> Span | None:
    return _counted(found, 1)


def _ahead_if_future(found: Found) -> Span | None:
    return _counted(found, 1) if found.tense() is Tense.FUTURE else None


def _counted(found: Found, sign: int) -> Span | None:
    if found.said_at is None or found.today is None:
        return None
    unit = found.unit()
    low, high = found.counts()
    if unit == "hour":
        return spans.day_span((found.said_at + timedelta(hours=sign * low)).date())
    near = spans.unit_span(found.today, unit, sign * low)
    if low == high:
        return near
    far = spans.unit_span(found.today, unit, sign * high)
    return spans.range_span(min(near.start, far.start), max(near.end, far.end))


def _half_year_ago(found: Found) -> Span | None:
    return found.today and spans.unit_span(found.today, "month", -6)


def _reach(found: Found) -> Span | None:
    """ "the past three months", "the next two weeks": from or up to today."""
    if found.today is None or found.unit() == "hour":
        return None
    unit, relative = found.unit(), found.value("relative")
    if unit == "weekend" or relative == 0:
        return None
    if relative > 0 and found.tense() is Tense.PAST:
        return None
    count = found.counts()[1] * relative
    return spans.range_span(found.today, spans.move(found.today, unit, count))


def _recent(found: Found) -> Span | None:
    """ "the other day": within the week before."""
    if found.today is None:
        return None
    return spans.range_span(found.today - timedelta(days=7), found.today - timedelta(days=1))


def _lasting(found: Found) -> Span | None:
    """ "have known her for three years": since then."""
    low, high = found.counts()
    unit = found.unit()
    if found.today is None or low != high or unit in ("hour", "weekend"):
        return None
    begun = spans.unit_span(found.today, unit, -low)
    return Span(begun.start, found.today, begun.granularity, open_end=True)


# --- Weeks, weekends, months, years -------------------------------------------------------


def _unit(found: Found) -> Span | None:
    if found.today is None or found.unit() == "hour":
        return None
    unit, shift = found.unit(), found.value("relative")
    early_in_week = found.today.weekday() <= _MID_WEEK
    if unit == "weekend" and shift == 0 and early_in_week and found.tense() is Tense.PAST:
        shift = _LAST_WEEK
    return spans.unit_span(found.today, unit, shift)


def _unit_before_last(found: Found) -> Span | None:
    return found.today and spans.unit_span(found.today, found.unit(), -2)


def _unit_after_next(found: Found) -> Span | None:
    return found.today and spans.unit_span(found.today, found.unit(), 2)


def _unit_before(found: Found) -> Span | None:
    """ "the week before": before the date named earlier in the text, else before today."""
    unit = found.unit()
    if found.previous is not None:
        return spans.unit_span(found.previous.start, unit, -1)
    if unit not in ("week", "weekend"):
        return None
    return found.today and spans.unit_span(found.today, unit, -1)


def _part(found: Found) -> Span | None:
    """ "end of last month", "early this week"; of the present unit where none is named."""
    if found.today is None:
        return None
    if found.has("relative"):
        shift = found.value("relative")
    elif found.tense() is Tense.PAST:
        return None
    else:
        shift = 0
    whole = spans.unit_span(found.today, found.unit(), shift)
    return spans.part_span(whole, found.value("part"))


def _earlier(found: Found) -> Span | None:
    """ "earlier this year": from its start to today."""
    if found.today is None:
        return None
    whole = spans.unit_span(found.today, found.unit(), 0)
    return spans.range_span(whole.start, found.today)


def _later(found: Found) -> Span | None:
    if found.today is None:
        return None
    whole = spans.unit_span(found.today, found.unit(), 0)
    return spans.range_span(found.today, whole.end)


# --- Weekdays -----------------------------------------------------------------------------


def _weekday(found: Found) -> Span | None:
    if found.today is None:
        return None
    weekday = found.value("weekday")
    if found.has("relative"):
        return spans.day_span(_related_weekday(found, found.today, weekday))
    if found.recurring():
        return None
    tense = found.tense()
    if tense is Tense.PAST:
        return spans.day_span(_weekday_before(found.today, weekday))
    if tense is Tense.FUTURE:
        return spans.day_span(_weekday_after(found.today, weekday))
    return None


def _related_weekday(found: Found, today: date, weekday: int) -> date:
    relative = found.value("relative")
    if relative < 0:
        return _weekday_before(today, weekday) + timedelta(weeks=relative + 1)
    if relative > 0:
        next_monday = spans.unit_span(today, "week", _NEXT_WEEK).start
        return next_monday + timedelta(days=weekday)
    if found.tense() is Tense.PAST:
        return today - timedelta(days=(today.weekday() - weekday) % 7)
    return today + timedelta(days=(weekday - today.weekday()) % 7)


def _coming_weekday(found: Found) -> Span | None:
    return found.today and spans.day_span(_weekday_after(found.today, found.value("weekday")))


def _weekday_of_week(found: Found) -> Span | None:
    if found.today is None:
        return None
    monday = spans.unit_span(found.today, "week", found.value("relative")).start
    return spans.day_span(monday + timedelta(days=found.value("weekday")))


def _weekday_ago(found: Found) -> Span | None:
    """ "two Fridays ago": the second Friday back."""
    low, high = found.counts()
    if found.today is None or low != high:
        return None
    last = _weekday_before(found.today, found.value("weekday"))
    return spans.day_span(last - timedelta(weeks=low - 1))


def _weekday_before(today: date, weekday: int) -> date:
    return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)


def _weekday_after(today: date, weekday: int) -> date:
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


# --- Seasons, months, holidays: things that come once a year ------------------------------


def _season(found: Found) -> Span | None:
    name = found.value("season")
    if found.has("year"):
        return spans.season_span(found.number("year"), name)
    return _yearly(found, lambda year: spans.season_span(year, name))


def _holiday(found: Found) -> Span | None:
    rule = found.value("holiday")
    if found.has("year"):
        return spans.day_span(spans.holiday(found.number("year"), rule))
    return _yearly(found, lambda year: spans.day_span(spans.holiday(year, rule)))


def _month(found: Found) -> Span | None:
    """A month: with its year, with "last", or by tense; the early or late part of it if said."""
    group, number = found.month()
    if found.has("year"):
        whole: Span | None = spans.month_span(found.number("year"), number)
    elif found.has("relative") and not _looks_like_name(found, group):
        return None
    else:
        whole = _yearly(found, lambda year: spans.month_span(year, number))
    if whole is not None and found.has("part"):
        return spans.part_span(whole, found.value("part"))
    return whole


def _looks_like_name(found: Found, group: str) -> bool:
    """Whether a month that is also a common word ("may") is written as a name."""
    if found.match.group(group) not in found.language.capitalised:
        return True
    return found.text[found.match.start(group)].isupper()


def _date(found: Found) -> Span | None:
    """A day and month, with its year or the sensible one."""
    day, (_, month) = found.number("day"), found.month()
    if found.has("year"):
        return spans.day_span(date(found.number("year"), month, day))
    if found.today is None or found.recurring():
        return None
    days = _valid_days(found.today.year, month, day)
    return spans.day_span(_pick_day(days, found.today, found.tense()))


def _bare_date(found: Found) -> Span | None:
    """ "May 3": a number after a month that is also a verb must look like a date."""
    return _date(found) if _looks_like_name(found, found.month()[0]) else None


def _dates(found: Found) -> Span | None:
    """ "March 3-5": from one day of a month to another."""
    first = _date(found)
    if first is None or found.number("day2") <= first.start.day:
        return None
    return spans.range_span(first.start, first.start.replace(day=found.number("day2")))


def _valid_days(year: int, month: int, day: int) -> list[date]:
    days = []
    for candidate in range(year - 4, year + 5):
        if day <= spans.month_span(candidate, month).end.day:
            days.append(date(candidate, month, day))
    return days


def _pick_day(days: list[date], today: date, tense: Tense) -> date:
    if tense is Tense.PAST:
        return max(day for day in days if day <= today)
    if tense is Tense.FUTURE:
        return min(day for day in days if day >= today)
    return min(days, key=lambda day: (abs((day - today).days), day))


def _yearly(found: Found, in_year: Callable[[int], Span]) -> Span | None:
    """The occurrence that "last", "this", "next" or the tense asks for; None without either."""
    if found.today is None:
        return None
    around = [in_year(found.today.year + shift) for shift in (-2, -1, 0, 1, 2)]
    if found.has("relative"):
        return _related_yearly(found, around, found.today)
    if found.recurring():
        return None
    tense = found.tense()
    if tense is Tense.PAST:
        return [span for span in around if span.start <= found.today][-1]
    if tense is Tense.FUTURE:
        return next(span for span in around if span.end >= found.today)
    return None


def _related_yearly(found: Found, around: list[Span], today: date) -> Span:
    relative = found.value("relative")
    if relative < 0:
        return [span for span in around if span.end < today][relative]
    if relative > 0:
        return next(span for span in around if span.start > today)
    holding = [span for span in around if span.start <= today <= span.end]
    if holding:
        return holding[0]
    if found.tense() is Tense.PAST:
        return [span for span in around if span.end < today][-1]
    if found.tense() is Tense.FUTURE:
        return next(span for span in around if span.start > today)
    same_year = [span for span in around if span.start.year == today.year]
    return same_year[0]


# --- Numbers ------------------------------------------------------------------------------


def _day_of_month(found: Found) -> Span | None:
    """ "on the 15th", "the 15th of last month"."""
    if found.today is None:
        return None
    day = found.number("day")
    if found.has("relative"):
        whole = spans.unit_span(found.today, "month", found.value("relative"))
        return spans.day_span(whole.start.replace(day=day))
    tense = found.tense()
    if tense is Tense.NONE or found.recurring():
        return None
    months = (spans.month_span(found.today.year, found.today.month + n) for n in range(-2, 4))
    days = [month.start.replace(day=day) for month in months if day <= month.end.day]
    return spans.day_span(_pick_day(days, found.today, tense))


def _year(found: Found) -> Span | None:
    whole = spans.year_span(found.number("year"))
    return spans.part_span(whole, found.value("part")) if found.has("part") else whole


def _years(found: Found) -> Span | None:
    """ "from 2015 to 2018"."""
    first, last = found.number("year"), found.number("year2")
    if first >= last:
        return None
    return spans.range_span(spans.year_span(first).start, spans.year_span(last).end)


def _decade(found: Found) -> Span | None:
    number = found.number("decade") if found.has("decade") else found.value("decade_word")
    whole = spans.decade_span(number if number > 99 else 1900 + number)
    return spans.part_span(whole, found.value("part")) if found.has("part") else whole


def _numeric(found: Found) -> Span | None:
    """ "2023-04-03", or "3/4/2023" in the language's order unless only the other one is a date."""
    first, second, year = found.number("a"), found.number("b"), found.number("year")
    if year < 100:
        year += 2000
    if found.match.start("year") < found.match.start("a"):
        return spans.day_span(date(year, first, second))
    day, month = (first, second) if found.language.day_first else (second, first)
    if month > 12:
        day, month = month, day
    return spans.day_span(date(year, month, day))


def _nothing(found: Found) -> Span | None:
    """A use of these words that names no date; it keeps other rules from reading one into it."""
    return None


BLOCKS = "nothing"
"""The meaning whose match is spoken for although it names no date."""

MEANINGS: dict[str, Callable[[Found], Span | None]] = {
    "day_word": _day_word,
    "ago": _ago,
    "ahead": _ahead,
    "ahead_if_future": _ahead_if_future,
    "half_year_ago": _half_year_ago,
    "reach": _reach,
    "recent": _recent,
    "lasting": _lasting,
    "unit": _unit,
    "unit_before_last": _unit_before_last,
    "unit_after_next": _unit_after_next,
    "unit_before": _unit_before,
    "part": _part,
    "earlier": _earlier,
    "later": _later,
    "weekday": _weekday,
    "coming_weekday": _coming_weekday,
    "weekday_of_week": _weekday_of_week,
    "weekday_ago": _weekday_ago,
    "season": _season,
    "holiday": _holiday,
    "month": _month,
    "date": _date,
    "bare_date": _bare_date,
    "dates": _dates,
    "day_of_month": _day_of_month,
    "year": _year,
    "years": _years,
    "decade": _decade,
    "numeric": _numeric,
    BLOCKS: _nothing,
}
