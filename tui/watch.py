"""Whether the memory changed: a look at the file, and only then one into it.

Other programs write the same file. A look at size and time costs a few microseconds, so that it
can be done twice a second; the memory is opened only after the file has changed.
"""

from __future__ import annotations

from pathlib import Path

_Stamp = tuple[int, int, int]


class FileWatch:
    """Remembers how the memory's files looked."""

    def __init__(self, memory: Path) -> None:
        self._files = (memory, memory.with_name(memory.name + ".wal"))
        self._seen = self._look()

    def has_changed(self) -> bool:
        """Whether the files look other than the last time."""
        now = self._look()
        changed = now != self._seen
        self._seen = now
        return changed

    def _look(self) -> tuple[_Stamp | None, ...]:
        return tuple(_stamp(file) for file in self._files)


def _stamp(file: Path) -> _Stamp | None:
    """Inode, size and time of a file; None where it is not there."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
