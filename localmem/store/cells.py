"""How values stand in columns where DuckDB has no type of its own for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone

from duckdb import DuckDBPyConnection as Connection

BETWEEN = "\x1f"
"""Stands between the parts of a column that holds several texts."""

DAY = "CASE WHEN {0} = 0 THEN NULL ELSE DATE '0001-01-01' + ({0} - 1)::INTEGER END"
"""SQL that makes a day of a column of `day_number`."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def joined(parts: Iterable[str]) -> str:
    """Several texts as one column; "" for none."""
    return BETWEEN.join(part.replace(BETWEEN, " ") for part in parts)


def parts(column: str) -> tuple[str, ...]:
    """The texts of a column that `joined` made."""
    return tuple(column.split(BETWEEN)) if column else ()


def moment_of(said_at_us: int | None, offset_min: int | None) -> datetime | None:
    """A stored time with the offset of the place where it was said; None for no time."""
    if said_at_us is None:
        return None
    moment = _EPOCH + timedelta(microseconds=said_at_us)
    return moment.astimezone(timezone(timedelta(minutes=offset_min))) if offset_min else moment


def day_number(day: date | None) -> int:
    """A day as a number that `DAY` makes a day of again; 0 for none."""
    return 0 if day is None else day.toordinal()


def changed(result: Connection) -> int:
    """How many rows a statement has changed."""
    row = result.fetchone()
    return 0 if row is None else int(row[0])
