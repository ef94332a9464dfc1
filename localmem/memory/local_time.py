"""The computer's own clock and zone: the only place that asks the system for the time."""

from __future__ import annotations

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path


class SystemClock:
    """The computer's own clock, in the local zone."""

    def now(self) -> datetime:
        return datetime.now(UTC).astimezone()


def system_zone() -> tzinfo:
    """The system's zone, with its rules for summer time where they are known."""
    import zoneinfo

    name = os.environ.get("TZ") or _zone_of_link(Path("/etc/localtime"))
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        fixed = datetime.now(UTC).astimezone().tzinfo
        return fixed if fixed is not None else UTC


def _zone_of_link(link: Path) -> str:
    """The IANA name that the system's link points to; "" where there is none."""
    parts = link.resolve().as_posix().partition("zoneinfo/")
    return parts[2]
