"""Who may use a memory file now: a lock among processes that is fair and survives kill -9.

Two small files stand beside the memory. `.turn` is held by whoever waits at the front, `.lock`
by whoever works (one writer, or several readers). A process that has just worked must pass
`.turn` again, so it cannot overtake one that waits; and a worker that keeps the memory open while
idle sees at `.turn` that somebody wants it. Both are locks of the operating system: they vanish
with their process, whatever is written in the files. The files are never deleted, because two
processes could then lock two different files of one name.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from localmem.errors import StoreError, StoreLockedError

_LONGEST_PAUSE_S = 0.008
_SHORTEST_PAUSE_S = 0.001
_NOTE_BYTES = 200
_LOCK_BYTE = 1 << 30  # Windows locks bytes, and locked bytes cannot be read: lock one far away

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int, *, shared: bool) -> bool:
        os.lseek(descriptor, _LOCK_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCK_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int, *, shared: bool) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class Turnstile:
    """The place where processes queue for one memory file. Not for concurrent threads."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._turn_path = memory.with_name(memory.name + ".turn")
        self._lock_path = memory.with_name(memory.name + ".lock")
        self._held: int | None = None

    def enter(self, *, shared: bool, patience_s: float) -> None:
        """Wait for the right to work, at most `patience_s`.

        Raises:
            StoreLockedError: it did not come within the patience.
            StoreError: the files of the lock cannot be made here.
        """
        started = time.monotonic()
        until = started + patience_s
        turn = self._wait_for(self._turn_path, (started, until), shared=False)
        try:
            self._held = self._wait_for(self._lock_path, (started, until), shared=shared)
        finally:
            _unlock(turn)
            os.close(turn)
        with suppress(OSError):  # on a full disk the note is missing, and that is all
            _write_note(self._held)

    def leave(self) -> None:
        """Give the right back; nothing happens where it is not held."""
        if self._held is None:
            return
        os.ftruncate(self._held, 0)
        _unlock(self._held)
        os.close(self._held)
        self._held = None

    def is_wanted(self) -> bool:
        """Whether another process (or another Store of this one) waits at the front."""
        descriptor = self._open(self._turn_path)
        try:
            if not _try_lock(descriptor, shared=True):
                return True
            _unlock(descriptor)
            return False
        finally:
            os.close(descriptor)

    def refuse(self, waited_s: float) -> StoreLockedError:
        """The error that names who holds the memory, as far as it is known."""
        pid, command = _read_note(self._lock_path)
        return StoreLockedError(str(self._memory), pid=pid, command=command, waited_s=waited_s)

    def _wait_for(self, path: Path, span: tuple[float, float], *, shared: bool) -> int:
        descriptor = self._open(path)
        started, until = span
        while not _try_lock(descriptor, shared=shared):
            now = time.monotonic()
            if now >= until:
                os.close(descriptor)
                raise self.refuse(now - started)
            time.sleep(self._pause_s((until - now) / (until - started)))
        return descriptor

    def _pause_s(self, left: float) -> float:
        """Who has waited longer asks more often: nobody's patience ends in the queue.

        `left` is the share of the patience that is left, 0 to 1.
        """
        return _SHORTEST_PAUSE_S + left * (_LONGEST_PAUSE_S - _SHORTEST_PAUSE_S)

    def _open(self, path: Path) -> int:
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError as error:
            raise StoreError(
                f"the folder {path.parent} does not exist", hint="create it, or name another file"
            ) from error
        except OSError as error:
            raise StoreError(
                f"cannot use the memory {self._memory}: {path.name} cannot be opened "
                f"({error.strerror})",
                hint="the memory's folder must be writable for you",
            ) from error


def _write_note(descriptor: int) -> None:
    """Note who works here. Arguments are left out: they may hold what somebody asked."""
    words = [Path(sys.argv[0]).name or "python"] if sys.argv else ["python"]
    if len(sys.argv) > 1 and sys.argv[1].isalpha():
        words.append(sys.argv[1])
    note = f"{os.getpid()}\n{' '.join(words)}".encode(errors="replace")[:_NOTE_BYTES]
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, note)


def _read_note(path: Path) -> tuple[int | None, str]:
    try:
        pid, _, command = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    except OSError:
        return None, ""
    return (int(pid), command) if pid.isdecimal() else (None, "")
