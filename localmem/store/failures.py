"""What DuckDB's exceptions mean, said once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from localmem.errors import StoreError

_LOCKED_BY = re.compile(r"Conflicting lock is held in (?P<program>.*?) \(PID (?P<pid>\d+)\)")
_NOT_A_DATABASE = ("not a valid DuckDB database", "Serialization Error", "Corrupt")
_FULL = ("No space left", "disk quota", "Out of disk")


@contextmanager
def translated(memory: Path) -> Iterator[None]:
    """Turn DuckDB's exceptions inside the block into StoreError, the original as the cause."""
    try:
        yield
    except duckdb.Error as error:
        raise as_store_error(memory, error) from error


def as_store_error(memory: Path, error: duckdb.Error) -> StoreError:
    """The StoreError that says what happened to `memory` and what to do about it."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if any(mark in reason for mark in _NOT_A_DATABASE):
        return StoreError(
            f"{memory} is not a readable memory: {reason}",
            hint="name another file with --memory, or restore this one from a backup",
        )
    if any(mark in reason for mark in _FULL):
        return StoreError(
            f"the disk is full, {memory} was left as it was: {reason}",
            hint="free some space and run the command again",
        )
    if isinstance(error, duckdb.FatalException | duckdb.InternalException):
        return StoreError(
            f"the database engine stopped working on {memory}: {reason}",
            hint="start the program again; what was committed is kept",
        )
    return StoreError(
        f"the memory {memory} could not be used: {reason}",
        hint="check that the disk is not full and that the file and its folder are writable",
    )


def foreign_holder(error: duckdb.Error) -> tuple[int, str] | None:
    """Process id and program of another tool that has the file open; None for other errors."""
    found = _LOCKED_BY.search(str(error))
    return (int(found["pid"]), Path(found["program"]).name) if found else None
