"""Say a resolved date in words, and write it beside the words it was resolved from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from localmem.types import Granularity, ResolvedDate

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
_SEASONS = {3: "spring", 6: "summer", 9: "autumn", 12: "winter"}
_HAS_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")


def describe(resolved: ResolvedDate, *, said_at: datetime | None = None) -> str:
    """The date in words, for a person or a model: "7 May 2023", "June 2023", "since 2016".

    With `said_at`, the week or weekend before it is told from there: "the week before
    9 June 2023". Otherwise a week is its days: "29 May to 4 June 2023".
    """
    if resolved.open_end:
        return f"since {_since_when(resolved)}"
    unit = resolved.granularity
    if said_at is not None and unit in (Granularity.WEEK, Granularity.WEEKEND):
        days_after = (said_at.date() - resolved.end).days
        if 1 <= days_after <= 7:
            return f"the {unit.value} before {describe_day(said_at.date())}"
    return _closed(resolved)


def describe_day(day: date) -> str:
    """ "7 May 2023"."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def annotate(text: str, dates: Sequence[ResolvedDate], *, said_at: datetime | None = None) -> str:
    """The text with each date in brackets after its words; words with a year in them stay alone.

    `dates` must be those resolved from this text. The original words are kept:
    "I went yesterday (7 May 2023) to the sea".
    """
    pieces: list[str] = []
    written = 0
    for resolved in sorted(dates, key=lambda one: one.begin):
        pieces.append(text[written : resolved.stop])
        written = resolved.stop
        if not is_absolute(resolved):
            pieces.append(f" ({describe(resolved, said_at=said_at)})")
    return "".join([*pieces, text[written:]])


def is_absolute(resolved: ResolvedDate) -> bool:
    """Whether the words name their year themselves."""
    return _HAS_YEAR.search(resolved.words) is not None


def _since_when(resolved: ResolvedDate) -> str:
    start = resolved.start
    if resolved.granularity in (Granularity.MONTH, Granularity.YEAR, Granularity.DECADE):
        return _unit_words(start, resolved.granularity)
    if resolved.granularity is Granularity.SEASON:
        return _season_words(start)
    if resolved.granularity is Granularity.WEEKEND:
        return f"the weekend of {describe_day(start)}"
    return describe_day(start)


def _closed(resolved: ResolvedDate) -> str:
    start, end = resolved.start, resolved.end
    match resolved.granularity:
        case Granularity.DAY:
            return describe_day(start)
        case Granularity.WEEKEND:
            return f"the weekend of {describe_day(start)}"
        case Granularity.SEASON:
            return _season_words(start)
        case Granularity.MONTH | Granularity.YEAR | Granularity.DECADE:
            return _unit_words(start, resolved.granularity)
        case _:
            return _range_words(start, end)


def _unit_words(start: date, granularity: Granularity) -> str:
    if granularity is Granularity.MONTH:
        return f"{_MONTHS[start.month - 1]} {start.year}"
    return f"the {start.year}s" if granularity is Granularity.DECADE else str(start.year)


def _season_words(start: date) -> str:
    season = _SEASONS[start.month]
    if season == "winter":
        return f"winter {start.year}/{(start.year + 1) % 100:02}"
    return f"{season} {start.year}"


def _range_words(start: date, end: date) -> str:
    if start == end:
        return describe_day(start)
    if start.day == 1 and _ends_month(end):
        return _month_range_words(start, end)
    if start.year != end.year:
        return f"{describe_day(start)} to {describe_day(end)}"
    if start.month != end.month:
        return f"{start.day} {_MONTHS[start.month - 1]} to {describe_day(end)}"
    return f"{start.day} to {describe_day(end)}"


def _month_range_words(start: date, end: date) -> str:
    if start.month == 1 and end.month == 12:
        return f"{start.year} to {end.year}" if start.year != end.year else str(start.year)
    first, last = _MONTHS[start.month - 1], _MONTHS[end.month - 1]
    if start.year != end.year:
        return f"{first} {start.year} to {last} {end.year}"
    return f"{first} to {last} {end.year}" if first != last else f"{last} {end.year}"


def _ends_month(day: date) -> bool:
    return day == date.max or (day + timedelta(days=1)).day == 1
