"""One language model runs at a time on a machine, whatever the number of processes.

Two llama.cpp processes on two cores slow each other down about sixtyfold. The lock is the
system's lock on a file, so that it ends with the process that held it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

from localmem.errors import ModelError

_POLL_S = 0.05
_WAITER_SEEN_S = 1.0
"""A waiter renews its sign at every poll; an older sign belongs to one that gave up."""

_LEAST_TURN_S = 2.0
"""How long long work keeps the processor before it gives way again."""


class ProcessLock:
    """A reentrant file lock that names its holder. For one thread at a time.

    `patience_s` is how long to wait before ModelError. `on_wait` is told once, after a second, who
    holds it.
    """

    def __init__(
        self,
        path: Path,
        *,
        patience_s: float = 300.0,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self._path = path
        self._patience_s = patience_s
        self._on_wait = on_wait
        self._sign = path.with_name(f"{path.name}.waiting")
        self._file: IO[str] | None = None
        self._depth = 0
        self._turn_began = 0.0

    def __enter__(self) -> ProcessLock:
        if self._depth == 0:
            self._acquire()
        self._depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._release()

    def give_way(self) -> None:
        """Let a process that waits go first, if there is one; for long work, between its steps.

        Does nothing in the first two seconds of a turn, or when the lock is held twice.
        """
        if self._depth != 1 or time.monotonic() - self._turn_began < _LEAST_TURN_S:
            return
        if not self._is_wanted():
            return
        self._release()
        time.sleep(3 * _POLL_S)
        self._acquire()

    def _is_wanted(self) -> bool:
        try:
            return time.time() - self._sign.stat().st_mtime < _WAITER_SEEN_S
        except FileNotFoundError:
            return False

    def _release(self) -> None:
        if self._file is not None:
            _unlock(self._file)
            self._file.close()
            self._file = None

    def _acquire(self) -> None:
        self._path.touch(mode=0o600, exist_ok=True)
        file = self._path.open("r+", encoding="utf-8")
        started = time.monotonic()
        told = False
        try:
            while not _try_lock(file):
                self._sign.touch(mode=0o600)
                waited = time.monotonic() - started
                if waited > self._patience_s:
                    raise ModelError(
                        f"another language model is running: {self._holder()};"
                        f" waited {waited:.0f} s",
                        hint="wait for it to finish, or stop that process",
                    )
                if not told and waited > 1.0 and self._on_wait is not None:
                    self._on_wait(self._holder())
                    told = True
                time.sleep(_POLL_S)
        except BaseException:
            file.close()
            raise
        self._sign.unlink(missing_ok=True)  # others renew theirs at their next poll
        self._file = file
        self._turn_began = time.monotonic()
        self._note_holder(file)

    def _note_holder(self, file: IO[str]) -> None:
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} ({Path(sys.argv[0] or sys.executable).name})")
        file.flush()

    def _holder(self) -> str:
        return self._path.read_text(encoding="utf-8") or "another process"


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[str]) -> bool:
        # A byte far behind the text, because Windows forbids reading locked bytes.
        file.seek(1 << 20)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: IO[str]) -> None:
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(file: IO[str]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
