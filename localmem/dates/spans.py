"""Calendar arithmetic: days to intervals of whole days. Knows no language and no text."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date, timedelta

from localmem.types import Granularity

_SATURDAY = 5
_MONTHS_A_YEAR = 12
_SEASON_FIRST_MONTH = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


@dataclass(frozen=True, slots=True)
class Span:
    """An interval of calendar days, both ends included."""

    start: date
    end: date
    granularity: Granularity
    open_end: bool = False


def day_span(day: date) -> Span:
    """The day alone."""
    return Span(day, day, Granularity.DAY)


def range_span(start: date, end: date) -> Span:
    """An inexact interval; its ends may come in any order."""
    return Span(min(start, end), max(start, end), Granularity.RANGE)


def week_span(day: date) -> Span:
    """Monday to Sunday around the day."""
    monday = day - timedelta(days=day.weekday())
    return Span(monday, monday + timedelta(days=6), Granularity.WEEK)


def weekend_span(day: date) -> Span:
    """Saturday and Sunday of the day's week."""
    saturday = day + timedelta(days=_SATURDAY - day.weekday())
    return Span(saturday, saturday + timedelta(days=1), Granularity.WEEKEND)


def month_span(year: int, month: int) -> Span:
    """The whole month; `month` may lie outside 1-12 and then carries into the year."""
    carry, index = divmod(month - 1, _MONTHS_A_YEAR)
    year, month = year + carry, index + 1
    last = calendar.monthrange(year, month)[1]
    return Span(date(year, month, 1), date(year, month, last), Granularity.MONTH)


def year_span(year: int) -> Span:
    """1 January to 31 December."""
    return Span(date(year, 1, 1), date(year, 12, 31), Granularity.YEAR)


def decade_span(first_year: int) -> Span:
    """Ten whole years."""
    return Span(date(first_year, 1, 1), date(first_year + 9, 12, 31), Granularity.DECADE)


def season_span(year: int, season: str) -> Span:
    """The meteorological season of the northern half; winter runs into the year after."""
    first = _SEASON_FIRST_MONTH[season]
    start, end = month_span(year, first).start, month_span(year, first + 2).end
    return Span(start, end, Granularity.SEASON)


def unit_span(day: date, unit: str, shift: int) -> Span:
    """The day, week, weekend, month or year that lies `shift` units from the one around `day`."""
    if unit == "day":
        return day_span(day + timedelta(days=shift))
    if unit == "week":
        return week_span(day + timedelta(weeks=shift))
    if unit == "weekend":
        return weekend_span(day + timedelta(weeks=shift))
    if unit == "month":
        return month_span(day.year, day.month + shift)
    if unit == "year":
        return year_span(day.year + shift)
    raise ValueError(f"no such unit of time: {unit}")


def move(day: date, unit: str, count: int) -> date:
    """The same day `count` units later; the last of the month where that month is shorter."""
    if unit in ("month", "year"):
        months = count * (_MONTHS_A_YEAR if unit == "year" else 1)
        target = month_span(day.year, day.month + months)
        return target.start.replace(day=min(day.day, target.end.day))
    return day + timedelta(days=count * (1 if unit == "day" else 7))


def part_span(whole: Span, part: str) -> Span:
    """The early, middle or late third of a span: of whole months in a year or decade."""
    if whole.granularity in (Granularity.YEAR, Granularity.DECADE):
        months = 12 * (whole.end.year - whole.start.year + 1)
        first, count = _third(months, part)
        begun = month_span(whole.start.year, 1 + first).start
        return range_span(begun, month_span(whole.start.year, first + count).end)
    first, count = _third((whole.end - whole.start).days + 1, part)
    begun = whole.start + timedelta(days=first)
    return range_span(begun, begun + timedelta(days=count - 1))


def _third(length: int, part: str) -> tuple[int, int]:
    """Offset and length of a third; the middle takes what the rounding leaves."""
    third = max(1, round(length / 3))
    if part == "early":
        return 0, third
    if part == "late":
        return length - third, third
    return third, max(1, length - 2 * third)


def easter(year: int) -> date:
    """Western Easter Sunday, by the anonymous Gregorian computus."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)


def holiday(year: int, rule: str) -> date:
    """The day of a holiday: "12-25", "easter-2" or "11/3/4" (the 4th Thursday of November)."""
    if rule.startswith("easter"):
        return easter(year) + timedelta(days=int(rule.removeprefix("easter") or 0))
    if "/" in rule:
        month, weekday, nth = (int(part) for part in rule.split("/"))
        return _nth_weekday(year, month, weekday, nth)
    month, day = (int(part) for part in rule.split("-"))
    return date(year, month, day)


def _nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    """The nth such weekday of the month; nth 0 is the last one."""
    whole = month_span(year, month)
    if nth == 0:
        return whole.end - timedelta(days=(whole.end.weekday() - weekday) % 7)
    ahead = (weekday - whole.start.weekday()) % 7
    return whole.start + timedelta(days=ahead + 7 * (nth - 1))
