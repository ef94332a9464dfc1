"""Meanings that count from the day of the message: one function for each name in the tables.

Each takes a `Found` and the day, and gives the span of days, or None where the expression cannot
be resolved without guessing. Where people disagree, the rule is this:

- weeks run Monday to Sunday; a weekend is Saturday and Sunday; in English "last week" said on a
  Sunday is the seven days before;
- "last Friday" is the Friday before today; "this Friday" the one from today on, or with a past
  verb the one of this calendar week that is over; "next Friday" the one of next calendar week;
  "on Friday" goes by the verb, and without any tense it stays unresolved;
- "two weeks ago" is the whole week that holds that day, "two years ago" the whole year.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from localmem.dates import spans
from localmem.dates.found import Found, Tense
from localmem.dates.spans import Span
from localmem.types import Granularity

_TUESDAY, _THURSDAY, _SUNDAY = 1, 3, 6
_NEXT_WEEK = 1

# --- Days and counted units ---------------------------------------------------------------


def _day_word(found: Found, today: date) -> Span | None:
    return spans.day_span(today + timedelta(days=found.value("day_word")))


def _ago(found: Found, today: date) -> Span | None:
    return _counted(found, today, -1)


def _ahead(found: Found, today: date) -> Span | None:
    return _counted(found, today, 1)


def _ahead_if_future(found: Found, today: date) -> Span | None:
    return _counted(found, today, 1) if found.tense() is Tense.FUTURE else None


def _ahead_unless_past(found: Found, today: date) -> Span | None:
    return None if found.tense() is Tense.PAST else _counted(found, today, 1)


def _counted(found: Found, today: date, sign: int) -> Span | None:
    if found.said_at is None:
        return None
    unit = found.unit()
    low, high = found.counts()
    if unit == "hour":
        return spans.day_span((found.said_at + timedelta(hours=sign * low)).date())
    near = spans.unit_span(today, unit, sign * low)
    if low == high:
        return near
    far = spans.unit_span(today, unit, sign * high)
    return spans.range_span(min(near.start, far.start), max(near.end, far.end))


def _half_year_ago(found: Found, today: date) -> Span | None:
    return spans.unit_span(today, "month", -6)


def _reach(found: Found, today: date) -> Span | None:
    """ "the past three months", "the next two weeks": from or up to today."""
    if found.unit() == "hour":
        return None
    unit, relative = found.unit(), found.value("relative")
    if unit == "weekend" or relative == 0:
        return None
    if relative > 0 and found.tense() is Tense.PAST:
        return None
    count = found.counts()[1] * relative
    return spans.range_span(today, spans.move(today, unit, count))


def _recent(found: Found, today: date) -> Span | None:
    """ "the other day": within the week before."""
    return spans.range_span(today - timedelta(days=7), today - timedelta(days=1))


def _lasting(found: Found, today: date) -> Span | None:
    """ "have known her for three years": since then."""
    low, high = found.counts()
    unit = found.unit()
    if low != high or unit in ("hour", "weekend"):
        return None
    begun = spans.unit_span(today, unit, -low)
    return Span(begun.start, today, begun.granularity, open_end=True)


# --- Weeks, weekends, months, years -------------------------------------------------------


def _unit(found: Found, today: date) -> Span | None:
    unit, shift = found.unit(), found.value("relative")
    if unit == "weekend" and shift == 0 and today.weekday() <= _THURSDAY:
        return _this_weekend(found, today)
    if unit == "week" and shift == -1 and _week_just_ended(found, today):
        return Span(today - timedelta(days=7), today - timedelta(days=1), Granularity.WEEK)
    return spans.unit_span(today, unit, shift)


def _this_weekend(found: Found, today: date) -> Span | None:
    """The coming one; told in the past early in the week, the one just over; midweek, unclear."""
    if found.shown_tense() is not Tense.PAST:
        return spans.weekend_span(today)
    return spans.unit_span(today, "weekend", -1) if today.weekday() <= _TUESDAY else None


def _week_just_ended(found: Found, today: date) -> bool:
    """Whether "last week" is the one that ended yesterday: on Sundays, where weeks start then."""
    return found.language.sunday_starts_week and today.weekday() == _SUNDAY


def _unit_before_last(found: Found, today: date) -> Span | None:
    return spans.unit_span(today, found.unit(), -2)


def _unit_after_next(found: Found, today: date) -> Span | None:
    return spans.unit_span(today, found.unit(), 2)


def _unit_before(found: Found, today: date) -> Span | None:
    """ "the week before": before the date named earlier in the text, else before today."""
    unit = found.unit()
    if found.previous is not None:
        return spans.unit_span(found.previous.start, unit, -1)
    if unit not in ("week", "weekend"):
        return None
    return spans.unit_span(today, unit, -1)


def _part(found: Found, today: date) -> Span | None:
    """ "end of last month", "early this week"; of the present unit where none is named."""
    if found.has("relative"):
        shift = found.value("relative")
    elif found.tense() is Tense.PAST:
        return None
    else:
        shift = 0
    whole = spans.unit_span(today, found.unit(), shift)
    return spans.part_span(whole, found.value("part"))


def _earlier(found: Found, today: date) -> Span | None:
    """ "earlier this year": from its start to today."""
    whole = spans.unit_span(today, found.unit(), 0)
    return spans.range_span(whole.start, today)


def _later(found: Found, today: date) -> Span | None:
    whole = spans.unit_span(today, found.unit(), 0)
    return spans.range_span(today, whole.end)


# --- Weekdays -----------------------------------------------------------------------------


def _weekday(found: Found, today: date) -> Span | None:
    weekday = found.weekday()
    if found.has("relative"):
        return spans.day_span(_related_weekday(found, today, weekday))
    if found.recurring():
        return None
    tense = found.tense()
    if tense is Tense.PAST:
        return spans.day_span(_weekday_before(today, weekday))
    if tense is Tense.FUTURE:
        return spans.day_span(_weekday_after(today, weekday))
    return None


def _related_weekday(found: Found, today: date, weekday: int) -> date:
    relative: int = found.value("relative")
    if relative < 0:
        return _weekday_before(today, weekday) + timedelta(weeks=relative + 1)
    if relative > 0:
        next_monday = spans.unit_span(today, "week", _NEXT_WEEK).start
        return next_monday + timedelta(days=weekday)
    if today.weekday() > weekday and found.shown_tense() is Tense.PAST:
        return _weekday_before(today, weekday)
    return today + timedelta(days=(weekday - today.weekday()) % 7)


def _coming_weekday(found: Found, today: date) -> Span | None:
    return spans.day_span(_weekday_after(today, found.weekday()))


def _weekday_of_week(found: Found, today: date) -> Span | None:
    monday = spans.unit_span(today, "week", found.value("relative")).start
    return spans.day_span(monday + timedelta(days=found.weekday()))


def _weekday_ago(found: Found, today: date) -> Span | None:
    """ "two Fridays ago": the second Friday back."""
    low, high = found.counts()
    if low != high:
        return None
    last = _weekday_before(today, found.weekday())
    return spans.day_span(last - timedelta(weeks=low - 1))


def _weekday_before(today: date, weekday: int) -> date:
    return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)


def _weekday_after(today: date, weekday: int) -> date:
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


RELATIVE: dict[str, Callable[[Found, date], Span | None]] = {
    "day_word": _day_word,
    "ago": _ago,
    "ahead": _ahead,
    "ahead_if_future": _ahead_if_future,
    "ahead_unless_past": _ahead_unless_past,
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
}
