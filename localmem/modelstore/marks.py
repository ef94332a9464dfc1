"""Hashes of model files: computed at a pull or check, remembered for quick looks afterwards.

A mark beside the models says which size and modification time a file had when its hash was
computed, so that opening a model need not read hundreds of megabytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localmem.errors import ModelError

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Mark:
    """What was known of a file when its hash was computed."""

    sha256: str
    size: int
    modified_ns: int


def sha256_of(path: Path, *, on_bytes: Callable[[int], None] | None = None) -> str:
    """The hash of a whole file; `on_bytes` gets the bytes read so far."""
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            done += len(block)
            if on_bytes is not None:
                on_bytes(done)
    return digest.hexdigest()


class MarkBook:
    """The marks of one models folder, in one JSON file; keys are paths below the folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "hashes.json"

    def known(self, key: str) -> Mark | None:
        """The mark of this key, kept even when its file is gone."""
        return self._read().get(key)

    def current(self, key: str, path: Path) -> Mark | None:
        """The mark, if the file still has the size and time that the mark says."""
        mark = self.known(key)
        if mark is None or not path.is_file():
            return None
        stat = path.stat()
        same = (stat.st_size, stat.st_mtime_ns) == (mark.size, mark.modified_ns)
        return mark if same else None

    def record(self, key: str, path: Path, sha256: str) -> None:
        """Remember the hash that was computed of this file."""
        stat = path.stat()
        marks = self._read() | {key: Mark(sha256, stat.st_size, stat.st_mtime_ns)}
        lines = {
            name: {"sha256": mark.sha256, "size": mark.size, "modified_ns": mark.modified_ns}
            for name, mark in sorted(marks.items())
        }
        write_private(self._path, json.dumps(lines, indent=1))

    def _read(self) -> dict[str, Mark]:
        if not self._path.is_file():
            return {}
        try:
            tree = json.loads(self._path.read_text(encoding="utf-8"))
            return {name: Mark(**fields) for name, fields in tree.items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{self._path} is damaged: {error}",
                hint=f"delete {self._path} and run: localmem models check",
            ) from error


def write_private(path: Path, text: str) -> None:
    """Write a text file with mode 0600 through a temporary name."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.touch(mode=0o600)
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
