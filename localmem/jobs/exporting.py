"""A memory as a folder of Markdown: one file for each session, and an index.

Only files that an export made are ever overwritten or removed; each says so in its first line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from localmem.errors import UsageError
from localmem.layers.markdown import index_markdown, session_markdown
from localmem.layers.materialise import Materialiser
from localmem.layers.views import session_view
from localmem.store import Store
from localmem.types import ExportReport, Layer, Session

MARK = "<!-- written by localmem export: changes to this file are lost at the next export -->"
INDEX = "index.md"

OnDone = Callable[[int, int], None]

_UNSAFE = re.compile(r"[^\w-]+")
_LONGEST_SLUG = 40
_NEW = ".localmem-new"


def export_markdown(
    store: Store,
    layers: Materialiser,
    folder: Path,
    *,
    make: bool = False,
    on_done: OnDone | None = None,
) -> ExportReport:
    """Write all sessions with their four layers; an earlier export is brought up to date.

    Facts and notes are those in the cache, and the rules' where there are none; with `make` the
    language model makes what is missing. Files of sessions that are gone are removed.

    Raises:
        UsageError: a file of another kind stands where one would be written.
    """
    sessions = store.sessions()
    names = {_file_name(session): session for session in sessions}
    _make_folder(folder)
    foreign = [name for name in (*names, INDEX) if _is_foreign(folder / name)]
    if foreign:
        raise UsageError(
            f"{folder / foreign[0]} was not written by an export",
            hint="name an empty folder, or move that file away",
        )
    written = by_rule = 0
    for done, (name, session) in enumerate(names.items(), start=1):
        page, is_by_rule = _page(store, layers, session, make=make)
        written += _write(folder / name, page)
        by_rule += is_by_rule
        if on_done is not None:
            on_done(done, len(names))
    _write(folder / INDEX, f"{MARK}\n\n{index_markdown(names.items())}")
    removed = _remove_others(folder, {*names, INDEX})
    return ExportReport(folder, len(names), written, len(names) - written, removed, by_rule=by_rule)


def _page(store: Store, layers: Materialiser, session: Session, *, make: bool) -> tuple[str, bool]:
    """The page of a session, and whether something in it was made by rule."""
    seconds = None if make else 0.0
    views = [session_view(store, layers, session.id, layer, seconds=seconds) for layer in Layer]
    return f"{MARK}\n\n{session_markdown(views)}", any(view.notices for view in views)


def _file_name(session: Session) -> str:
    day = session.started_at.strftime("%Y-%m-%d") if session.started_at else "undated"
    slug = _UNSAFE.sub("-", session.title.lower()).strip("-_")[:_LONGEST_SLUG].strip("-_")
    return f"{day}-session-{session.id}{f'-{slug}' if slug else ''}.md"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(
            f"the folder {folder} cannot be made: {error.strerror}", hint="name another folder"
        ) from error


def _is_foreign(file: Path) -> bool:
    return file.exists() and not _is_ours(file)


def _is_ours(file: Path) -> bool:
    if not file.is_file() or file.is_symlink():
        return False
    with file.open(encoding="utf-8", errors="replace") as opened:
        return opened.readline().rstrip("\n") == MARK


def _write(file: Path, text: str) -> bool:
    """Put the text into the file, whole or not at all, for the owner alone; whether it changed."""
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return False
    new = file.with_name(file.name + _NEW)
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
        new.replace(file)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise UsageError(
            f"{file} could not be written: {error.strerror}",
            hint="check that the disk is not full and that the folder is writable",
        ) from error
    return True


def _remove_others(folder: Path, kept: set[str]) -> int:
    """Remove pages of sessions that are no longer there under this name."""
    gone = [file for file in _pages(folder) if file.name not in kept]
    for file in gone:
        file.unlink()
    return len(gone)


def _pages(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.glob("*.md")) if _is_ours(file))
