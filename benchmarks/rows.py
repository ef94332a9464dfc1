"""The rows of a run: a line of JSON each, written as they come.

So a run can go on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row")


def rows_beside(out: Path, *, resume: bool) -> Path:
    """OUT's neighbour .jsonl, made ready: begun anew, or without a last line that was cut off."""
    path = out.with_suffix(".jsonl")
    if not resume:
        path.unlink(missing_ok=True)
    elif path.exists():
        path.write_text("".join(_whole_lines(path)), encoding="utf-8")
    return path


def read_rows(path: Path, make: Callable[[Mapping[str, Any]], Row]) -> list[Row]:
    """The rows of a file, in its order; none where there is no file, a cut last line left out."""
    return [make(json.loads(line)) for line in _whole_lines(path)] if path.exists() else []


def write_row(out: TextIO, row: DataclassInstance) -> None:
    """Append a row, so that it is on the disk before the next is begun."""
    out.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
    out.flush()


def _whole_lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [line for line in lines if line.endswith("\n")]
