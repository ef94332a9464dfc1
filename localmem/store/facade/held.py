"""The memory file and who may use it now: held for reading or for writing, then given back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from duckdb import DuckDBPyConnection as Connection

from localmem.store.lease import Lease
from localmem.store.transactions import transaction

_PATIENCE_S = 10.0


class Held:
    """The memory file with its lease; what is read and written stands in the classes above."""

    def __init__(self, path: Path, *, patience_s: float = _PATIENCE_S, idle_s: float = 0.0) -> None:
        """Nothing is opened yet. The file is made when it is first used.

        `patience_s`: how long to wait for other processes before StoreLockedError.
        """
        self.path = path.resolve()  # rewriting must replace the file, not a link to it
        self._lease = Lease(self.path, patience_s=patience_s, idle_s=idle_s)
        self._generation: tuple[Connection, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back; later calls raise StoreError."""
        self._lease.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the memory for reading, together with other readers.

        Raises:
            StoreLockedError: a writer kept it for longer than the patience.
        """
        with self._lease.hold(write=False):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the memory alone. Not inside `reading()`.

        Raises:
            StoreLockedError: others kept it for longer than the patience.
        """
        with self._lease.hold(write=True):
            yield

    @contextmanager
    def lingering(self, seconds: float = 1.0) -> Iterator[None]:
        """Keep the file open so long between two uses in this block, while nobody else waits."""
        with self._lease.lingering(seconds):
            yield

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._lease.hold(write=True) as connection:
            self._generation = None
            with transaction(connection):
                yield connection
