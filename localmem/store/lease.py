"""When this process may use the memory file, and its connection for as long as it may.

DuckDB lets one process write and shuts all others out meanwhile. So the file is open only inside
`hold`, or for a short idle time after it while nobody else waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection as Connection

from localmem.errors import StoreError, StoreLockedError
from localmem.store import database
from localmem.store.failures import foreign_holder, translated
from localmem.store.turnstile import Turnstile

_WATCH_EVERY_S = 0.02
_FOREIGN_PAUSE_S = 0.02


class Lease:
    """The right of this process to the memory, shared by its threads one at a time."""

    def __init__(self, path: Path, *, patience_s: float, idle_s: float) -> None:
        self._path = path
        self._patience_s = patience_s
        self._idle_s = idle_s
        self._turnstile = Turnstile(path)
        # Two locks, as between processes: a thread that has just worked queues behind the others.
        self._thread_turn = threading.Lock()
        self._thread_lock = threading.RLock()
        self._owner: int | None = None
        self._depth = 0
        self._writable = False
        self._connection: Connection | None = None
        self._idle_until = 0.0
        self._watcher: threading.Thread | None = None
        self._closed = False
        self._hurry = threading.local()

    @contextmanager
    def hold(self, *, write: bool) -> Iterator[Connection]:
        """The open connection. Nested blocks share it; only the outermost one waits.

        Raises:
            StoreLockedError: the turn did not come within the patience.
            StoreError: reading was begun, and writing is asked for inside it.
        """
        self._enter_thread()
        try:
            with translated(self._path):
                connection = self._begin(write)
                try:
                    yield connection
                except BaseException:
                    self._end(may_stay_open=False)  # the engine may be the one that failed
                    raise
                self._end(may_stay_open=self._idle_s > 0)
        finally:
            if self._depth == 0:
                self._owner = None
            self._thread_lock.release()

    @contextmanager
    def lingering(self, seconds: float) -> Iterator[None]:
        """Inside, the file stays open so long between two uses, while nobody else waits for it."""
        before, self._idle_s = self._idle_s, max(self._idle_s, seconds)
        try:
            yield
        finally:
            self._idle_s = before
            with self._thread_lock:
                if before <= 0 and self._depth == 0 and self._connection is not None:
                    with translated(self._path):
                        self._let_go()

    @contextmanager
    def hurried(self, seconds: float) -> Iterator[None]:
        """Inside, this thread waits at most so long for its turn."""
        self._hurry.seconds = seconds
        try:
            yield
        finally:
            del self._hurry.seconds

    def close(self) -> None:
        """Give everything back. Blocks that run in other threads finish first."""
        with self._thread_lock:
            self._closed = True
            if self._depth == 0:
                with translated(self._path):
                    self._let_go()

    def rewrite(self) -> None:
        """Write the file anew, without the bytes of deleted rows. Only inside `hold(write=True)`.

        Raises:
            StoreError: the disk is too full for a copy; the memory is as before.
        """
        connection, self._connection = self.connection, None
        database.close(connection)
        database.rewrite(self._path)
        self._connection = database.open_for_writing(self._path)

    @property
    def connection(self) -> Connection:
        """The connection of the block that runs now."""
        if self._connection is None:
            raise StoreError("the memory is used outside of reading() or writing()")
        return self._connection

    def _enter_thread(self) -> None:
        if self._owner == threading.get_ident():
            # Who waits at the turn waits for us: inside our own block we must not queue there.
            self._thread_lock.acquire()
            return
        patience_s = self._patience()
        if not self._thread_turn.acquire(timeout=patience_s):
            raise self._turnstile.refuse(patience_s)
        try:
            if not self._thread_lock.acquire(timeout=patience_s):
                raise self._turnstile.refuse(patience_s)
            self._owner = threading.get_ident()
        finally:
            self._thread_turn.release()

    def _patience(self) -> float:
        return min(self._patience_s, getattr(self._hurry, "seconds", self._patience_s))

    def _begin(self, write: bool) -> Connection:
        if self._closed:
            raise StoreError(f"{self._path} was closed", hint="open the memory again")
        if self._depth == 0:
            self._obtain(write)
        elif write and not self._writable:
            raise StoreError(
                "writing() was asked for inside reading()", hint="begin with writing()"
            )
        self._depth += 1
        return self.connection

    def _end(self, *, may_stay_open: bool) -> None:
        self._depth -= 1
        if self._depth:
            return
        if self._connection is None or not may_stay_open or self._turnstile.is_wanted():
            self._let_go()
            return
        self._idle_until = time.monotonic() + self._idle_s
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, daemon=True)
            self._watcher.start()

    def _obtain(self, write: bool) -> None:
        if self._connection is not None:
            if (self._writable or not write) and not self._turnstile.is_wanted():
                return
            self._let_go()
        if not write and self._open_shared():
            return
        self._enter_and_open(write=True)
        if not write:  # the file was made or brought up to date; now read like everybody
            self._let_go()
            if not self._open_shared():
                raise StoreError(f"{self._path} was changed by another program while it was opened")

    def _open_shared(self) -> bool:
        """Open for reading; False where the file must first be made or migrated."""
        self._enter_and_open(write=False)
        if self._connection is None:
            self._turnstile.leave()
            return False
        return True

    def _enter_and_open(self, *, write: bool) -> None:
        self._turnstile.enter(shared=not write, patience_s=self._patience())
        try:
            self._connection = self._open_despite_others(write)
        except BaseException:
            self._turnstile.leave()
            raise
        self._writable = write

    def _open_despite_others(self, write: bool) -> Connection | None:
        """Open the file; wait where a program that knows nothing of our queue has it open."""
        started = time.monotonic()
        while True:
            try:
                if write:
                    return database.open_for_writing(self._path)
                return database.open_for_reading(self._path)
            except duckdb.IOException as error:
                holder = foreign_holder(error)
                waited_s = time.monotonic() - started
                if holder is None:
                    raise
                if waited_s >= self._patience():
                    pid, program = holder
                    raise StoreLockedError(
                        str(self._path), pid=pid, command=program, waited_s=waited_s
                    ) from error
            time.sleep(_FOREIGN_PAUSE_S)

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                database.close(connection)
        finally:
            self._turnstile.leave()

    def _watch(self) -> None:
        """Give the idle memory back when its time is over or somebody waits for it."""
        while True:
            time.sleep(_WATCH_EVERY_S)
            if not self._thread_lock.acquire(blocking=False):
                continue
            try:
                if self._depth:
                    continue
                if self._connection is not None and not self._is_over():
                    continue
                self._watcher = None
                self._let_go()
                return
            finally:
                self._thread_lock.release()

    def _is_over(self) -> bool:
        return time.monotonic() >= self._idle_until or self._turnstile.is_wanted()
