"""Times of exports, as tz-aware datetimes whose calendar day is right where they were said.

A source that gives an instant (epoch, or ISO in UTC) says nothing about the place: the instant
is put into the owner's zone. A source that gives another offset keeps it. A source without a
zone is taken to be in the owner's zone.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal

_MILLISECONDS_FROM = 1e11
_MICROSECONDS_FROM = 1e14
_LATEST = datetime(9990, 1, 1, tzinfo=UTC).timestamp()
SPACING = timedelta(seconds=10)
"""Between messages of a session of which only the start is known."""


def time_of(value: object, tz: tzinfo) -> datetime | None:
    """The time that a field of an export holds: seconds, milli- or microseconds, or ISO 8601."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        return _from_epoch(value, tz)
    if isinstance(value, str):
        return _from_text(value.strip(), tz)
    return None


def _from_epoch(value: int | float | Decimal, tz: tzinfo) -> datetime | None:
    try:
        seconds = float(value)
    except (OverflowError, ValueError):
        return None
    if seconds >= _MICROSECONDS_FROM:
        seconds /= 1e6
    elif seconds >= _MILLISECONDS_FROM:
        seconds /= 1e3
    if not 0 < seconds < _LATEST:
        return None
    return datetime.fromtimestamp(seconds, tz)


def _from_text(text: str, tz: tzinfo) -> datetime | None:
    if re.fullmatch(r"\d{9,19}(\.\d+)?", text, re.ASCII):
        return _from_epoch(float(text), tz)
    try:
        return placed(datetime.fromisoformat(text), tz)
    except ValueError:
        return None


def placed(moment: datetime, tz: tzinfo) -> datetime | None:
    """The moment in its own zone, or in `tz` where it has none or is an instant in UTC.

    None for years that no chat can come from.
    """
    if not 1970 <= moment.year < 9990:
        return None
    if moment.tzinfo is None:
        return moment.replace(tzinfo=tz)
    if moment.utcoffset() == timedelta(0):
        return moment.astimezone(tz)
    return moment


def parse_with(text: object, patterns: tuple[str, ...], tz: tzinfo) -> datetime | None:
    """The time by the first strptime pattern that fits, in `tz`; None where none does."""
    if not isinstance(text, str):
        return None
    for pattern in patterns:
        try:
            return placed(datetime.strptime(text.strip(), pattern).replace(tzinfo=tz), tz)
        except ValueError:
            continue
    return None


def spaced(start: datetime | None, position: int) -> datetime | None:
    """The time of the message at this position of a session of which only the start is known."""
    return None if start is None else start + position * SPACING
