"""Meanings that name their date: seasons, holidays, months, days, years, numbers.

Each takes a `Found` and gives the span of days, or None where the expression cannot be resolved
without guessing. Without a year they are placed by "last", by the verb, or not at all:

- "last summer" is the latest summer that is over; "last March" the latest March that is over;
- a day and month without a year take the year that the verb asks for, else the nearest one;
- seasons are meteorological and of the northern half.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from localmem.dates import spans
from localmem.dates.found import Found, Tense
from localmem.dates.spans import Span

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
    """ "March 3-5", "Jan 16 - Feb 15, 2024": from one day to another, less than a year apart."""
    first = _date(found)
    if first is None:
        return None
    month = found.value("any_month2") if found.has("any_month2") else first.start.month
    last = date(first.start.year, month, found.number("day2"))
    if first.start < last:
        return spans.range_span(first.start, last)
    if not found.has("any_month2"):
        return None
    shifted = -1 if found.has("year") else 1
    moved = (first.start, last) if shifted > 0 else (last, first.start)
    return spans.range_span(moved[0], moved[1].replace(year=moved[1].year + shifted))


def _valid_days(year: int, month: int, day: int) -> list[date]:
    days = []
    for candidate in range(year - 4, year + 5):
        if day <= spans.month_span(candidate, month).end.day:
            days.append(date(candidate, month, day))
    return days


_LONGEST_LOOK_BACK = 240
"""Days. A past verb does not reach further: "we decided on 11 October" said in July looks ahead."""


def _pick_day(days: list[date], today: date, tense: Tense) -> date:
    if tense is Tense.FUTURE:
        return min(day for day in days if day >= today)
    if tense is Tense.PAST:
        last = max(day for day in days if day <= today)
        if (today - last).days <= _LONGEST_LOOK_BACK:
            return last
    return min(days, key=lambda day: (abs((day - today).days), day))


def _yearly(found: Found, in_year: Callable[[int], Span]) -> Span | None:
    """The occurrence that "last", "this", "next" or the tense asks for; None without either."""
    if found.today is None:
        return None
    around = [in_year(found.today.year + shift) for shift in (-2, -1, 0, 1, 2)]
    if found.has("relative"):
        return _related_yearly(found.value("relative"), around, found.today)
    if found.recurring():
        return None
    tense = found.tense()
    if tense is Tense.PAST:
        return [span for span in around if span.start <= found.today][-1]
    if tense is Tense.FUTURE:
        return next(span for span in around if span.end >= found.today)
    return None


def _related_yearly(relative: int, around: list[Span], today: date) -> Span:
    """The last or next one, or for "this" the nearest."""
    if relative < 0:
        return [span for span in around if span.end < today][relative]
    if relative > 0:
        return next(span for span in around if span.start > today)
    return min(around, key=lambda span: _days_between(span, today))


def _days_between(span: Span, day: date) -> int:
    return max((span.start - day).days, (day - span.end).days, 0)


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
    number: int = found.number("decade") if found.has("decade") else found.value("decade_word")
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


NAMED: dict[str, Callable[[Found], Span | None]] = {
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
}
