"""The DuckDB file: making, opening, closing and rewriting it. Callers hold the lease."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection as Connection

from localmem.errors import StoreError
from localmem.store import meta
from localmem.store.migrations import LATEST, MIGRATIONS, check_version, migrate, version_of
from localmem.store.private_files import owner_only_files
from localmem.store.transactions import transaction

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",  # nothing of a memory lands in another file
    "threads": "2",
}

_MAGIC, _MAGIC_AT = b"DUCK", 8
"""Where a DuckDB file says what it is."""


def open_for_reading(path: Path) -> Connection | None:
    """A connection that several processes may have at once; None where a writer must go first.

    Raises:
        SchemaTooNewError, StoreError: the file is not one for this program.
    """
    if not _exists(path):
        return None
    connection = _connect(path, read_only=True)
    try:
        version = version_of(connection)
        check_version(path, version)
    except BaseException:
        connection.close()
        raise
    if version < LATEST:
        connection.close()
        return None
    return connection


def open_for_writing(path: Path) -> Connection:
    """The only connection to the memory, which is made or migrated where needed.

    Raises:
        SchemaTooNewError, StoreError: the file is not one for this program.
    """
    if not _exists(path):
        _create(path)
    connection = _open_migrated(path)
    if meta.get(connection, meta.REWRITE_PENDING) is None:
        return connection
    # A program died between erasing rows and erasing their bytes.
    close(connection)
    rewrite(path)
    return _open_migrated(path)


def close(connection: Connection) -> None:
    """Write what is pending into the file and close it."""
    with owner_only_files():
        connection.close()


def rewrite(path: Path) -> None:
    """Copy the live rows to a new file and put it in the place of the old one.

    DuckDB leaves the bytes of deleted rows in its file; in the copy they are gone. A crash leaves
    the old file, still marked for rewriting.
    """
    copy = path.with_name(path.name + ".rewrite")
    _remove(copy)
    try:
        _copy_live_rows(path, copy)
        _replace(copy, path)
    except BaseException:
        _remove(copy)
        raise


def _copy_live_rows(path: Path, copy: Path) -> None:
    with owner_only_files():
        connection = duckdb.connect(":memory:", config=_SETTINGS)
        try:
            connection.execute(f"ATTACH {_literal(path)} AS old (READ_ONLY)")
            connection.execute(f"ATTACH {_literal(copy)} AS new")
            connection.execute("COPY FROM DATABASE old TO new")
            connection.execute("DELETE FROM new.meta WHERE key = ?", [meta.REWRITE_PENDING])
            connection.execute("DETACH old")
            connection.execute("CHECKPOINT new")
            connection.execute("DETACH new")
        finally:
            connection.close()


def _open_migrated(path: Path) -> Connection:
    connection = _connect(path, read_only=False)
    try:
        check_version(path, version_of(connection))
        migrate(connection, MIGRATIONS)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Make the memory under another name first, so that a crash leaves no half-made file."""
    new = path.with_name(path.name + ".new")
    _remove(new)
    _remove(_wal(path))
    connection = _connect(new, read_only=False)
    try:
        migrate(connection, MIGRATIONS)
        with transaction(connection):
            meta.put(connection, meta.GENERATION, 0)
    finally:
        close(connection)
    _replace(new, path)


def _connect(path: Path, *, read_only: bool) -> Connection:
    _demand_database(path)
    with owner_only_files():
        connection = duckdb.connect(str(path), read_only=read_only, config=_SETTINGS)
    connection.execute("SET enable_external_access = false")
    # Where Python was started without a file, DuckDB draws on stdout what takes over two seconds.
    connection.execute("SET enable_progress_bar = false")
    return connection


def _demand_database(path: Path) -> None:
    """Refuse a file of another kind before DuckDB looks for an extension that could read it.

    Raises:
        StoreError: it is not a DuckDB database.
    """
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            head = file.read(_MAGIC_AT + len(_MAGIC))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read: {error.strerror}", hint="name another file with --memory"
        ) from error
    if head and head[_MAGIC_AT:] != _MAGIC:
        raise StoreError(
            f"{path} is not a memory of localmem", hint="name another file with --memory"
        )


def _replace(new: Path, path: Path) -> None:
    """Put a closed database in the place of another; neither may have a .wal left.

    Raises:
        StoreError: the system refused, or a .wal would be lost or taken for that of the new file.
    """
    for file in (new, path):
        if _wal(file).exists():
            raise StoreError(f"{file} was not closed cleanly, it is left as it is")
    try:
        descriptor = os.open(new, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        new.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path} could not be written: {error.strerror}",
            hint="check that the disk is not full and that the folder is writable",
        ) from error


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _wal(path).unlink(missing_ok=True)


def _wal(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


def _exists(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
