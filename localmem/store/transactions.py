"""One transaction: all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
from duckdb import DuckDBPyConnection as Connection

from localmem.store.private_files import owner_only_files


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Commit at the end of the block; undo everything where it fails."""
    connection.execute("BEGIN TRANSACTION")
    try:
        yield
    except BaseException:
        _roll_back(connection)
        raise
    with owner_only_files():
        connection.execute("COMMIT")


@contextmanager
def rehearsal(connection: Connection) -> Iterator[None]:
    """Undo everything at the end of the block: what is learnt there is what would have happened."""
    connection.execute("BEGIN TRANSACTION")
    try:
        yield
    finally:
        _roll_back(connection)


def _roll_back(connection: Connection) -> None:
    try:
        connection.execute("ROLLBACK")
    except duckdb.TransactionException:
        return  # the failure itself has already ended the transaction
