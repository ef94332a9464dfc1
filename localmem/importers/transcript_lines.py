"""Single lines of a written-down chat: who speaks, when, and what. Pure; knows no files.

The order of day and month is not decided here: a `Stamp` keeps the numbers as they stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum

from localmem.importers.times import time_of

_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SPACES = re.compile("[\u00a0\u202f\u2009]")
_NUMBER_DATE = r"(?P<a>\d{1,4})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<c>\d{2,4})"
_CLOCK = r"(?P<h>\d{1,2})[:.](?P<m>\d{2})(?:[:.](?P<s>\d{2})(?:\.\d+)?)?"
_HALF = r"(?:\s?(?P<half>[ap])\.?\s?m\.?)?"
_ZONE = r"(?P<zone>Z|[+-]\d{2}:?\d{2})?"
_STAMP = rf"{_NUMBER_DATE}(?:(?:,?\s+|T|,)(?:at\s+|um\s+)?{_CLOCK}{_HALF}{_ZONE})?"
_WHOLE_STAMP = re.compile(_STAMP, re.IGNORECASE)
_LEADING = re.compile(
    rf"(?:\[{_STAMP}\]\s*-?\s*|{_STAMP.replace('?P<', '?P<x_').replace('?P=', '?P=x_')}"
    r"(?:\s+-\s+|:\s+|\s+))",
    re.IGNORECASE,
)
_BOLD = re.compile(
    r"(?:\*\*|__)(?P<name>[^*_:]{1,60}?)(?P<in>:)?(?:\*\*|__)"
    r"(?:\s*[(\[](?P<stamp>[^)\]]{4,40})[)\]])?\s*(?P<out>:)?\s*(?P<rest>.*)"
)
_HEADING = re.compile(
    r"#{1,6}\s+(?P<name>[^(\[]{1,60}?)(?:\s*[(\[](?P<stamp>.{4,40})[)\]])?\s*:?\s*"
)
_NAME = r"[^\W\d_][\w .'’&-]{0,39}?"
_PLAIN = re.compile(
    rf"(?P<name>{_NAME})(?:\s*[(\[](?P<stamp>[^)\]]{{4,40}})[)\]])?:(?:\s+(?P<rest>.*)|)"
)
_STAMPED = re.compile(r"(?:~\s?)?(?P<name>[^:]{1,60}?):(?:\s+(?P<rest>.*)|)")
_SAID = re.compile(r"\s+said$", re.IGNORECASE)


class Style(StrEnum):
    """How a transcript marks who speaks."""

    STAMPED = "stamped"
    BOLD = "bold"
    HEADING = "heading"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Stamp:
    """A written time. `first`, `second` are day and month in an order that the file decides.

    `moment` is set instead where the time was written in ISO order.
    """

    first: int
    second: int
    year: int
    clock: tuple[int, int, int] = (0, 0, 0)
    moment: datetime | None = None

    def at(self, *, day_first: bool, tz: tzinfo) -> datetime | None:
        """The time, or None where there is no such day."""
        if self.moment is not None:
            return self.moment
        day, month = (self.first, self.second) if day_first else (self.second, self.first)
        try:
            return datetime(self.year, month, day, *self.clock, tzinfo=tz)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Header:
    """A line that begins a message. `style` tells by which mark it was known."""

    style: Style
    name: str
    text: str
    stamp: Stamp | None = None


def tidy(line: str) -> str:
    """The line without invisible direction marks, and with plain spaces."""
    if line.isascii():
        return line
    return _SPACES.sub(" ", _MARKS.sub("", line))


def header_of(line: str, tz: tzinfo) -> Header | None:
    """The header that a tidied line is, or None for a line of text."""
    leading = _LEADING.match(line)
    stamp = _stamp(leading, tz) if leading else None
    rest = line[leading.end() :] if leading and stamp else line
    for style, pattern in ((Style.BOLD, _BOLD), (Style.HEADING, _HEADING)):
        match = pattern.fullmatch(rest)
        if match and (style is Style.HEADING or match["in"] or match["out"]):
            return _header(style, match, stamp, tz)
    match = (_STAMPED if stamp else _PLAIN).fullmatch(rest)
    return _header(Style.STAMPED if stamp else Style.PLAIN, match, stamp, tz) if match else None


def stamped(line: str, tz: tzinfo) -> bool:
    """Whether a line starts with a time, so that it belongs to no message before it."""
    leading = _LEADING.match(line)
    return leading is not None and _stamp(leading, tz) is not None


def _header(style: Style, match: re.Match[str], stamp: Stamp | None, tz: tzinfo) -> Header:
    groups = match.groupdict()
    own = stamp_of(groups.get("stamp") or "", tz)
    name = _SAID.sub("", groups["name"].strip(" ~"))
    return Header(style, name, groups.get("rest") or "", stamp or own)


def stamp_of(text: str, tz: tzinfo) -> Stamp | None:
    """The time that a text is as a whole."""
    match = _WHOLE_STAMP.fullmatch(text.strip())
    return _stamp(match, tz) if match else None


def _stamp(match: re.Match[str], tz: tzinfo) -> Stamp | None:
    groups = match.groupdict()
    prefix = "" if groups.get("a") else "x_"
    a, b, c = (groups[prefix + key] for key in "abc")
    clock = _clock(*(groups[prefix + key] for key in ("h", "m", "s", "half")))
    if clock is None:
        return None
    if len(a) == 4:
        return _iso((int(a), int(b), int(c)), clock, groups[prefix + "zone"], tz)
    if len(a) > 2 or len(c) == 3 or not (1 <= int(a) <= 31 and 1 <= int(b) <= 31):
        return None
    year = int(c) if len(c) == 4 else 2000 + int(c)
    if not 1970 <= year < 2200 or (int(a) > 12 and int(b) > 12):
        return None
    return Stamp(int(a), int(b), year, clock)


def _iso(
    day: tuple[int, int, int], clock: tuple[int, int, int], zone: str | None, tz: tzinfo
) -> Stamp | None:
    written = "{:04}-{:02}-{:02}".format(*day) + "T{:02}:{:02}:{:02}".format(*clock) + (zone or "")
    moment = time_of(written, tz)
    return None if moment is None else Stamp(day[2], day[1], day[0], clock, moment)


def _clock(
    hours: str | None, minutes: str | None, seconds: str | None, half: str | None
) -> tuple[int, int, int] | None:
    """Hours, minutes, seconds; midnight where no time is written, None for an impossible one."""
    if hours is None or minutes is None:
        return (0, 0, 0)
    hour = int(hours)
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.casefold() == "p" else 0)
    clock = (hour, int(minutes), int(seconds or 0))
    return clock if clock[0] < 24 and clock[1] < 60 and clock[2] < 60 else None
