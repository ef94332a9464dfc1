"""Taking an export into a memory, or only saying what that would do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from localmem.memory.local_time import system_zone
from localmem.memory.telling import OnProgress, Teller
from localmem.ports import Clock
from localmem.store import Store
from localmem.types import ImportedConversation, ImportReport

if TYPE_CHECKING:
    from localmem.importers import Export


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to read an export.

    `tz` None means the system's zone; `question_id` selects one question's history of a
    LongMemEval file. `later` leaves vectors and what is known of people to `work`;
    `allow_again` takes in what was forgotten.
    """

    format: str | None = None
    tz: tzinfo | None = None
    me: str | None = None
    later: bool = False
    question_id: str | None = None
    allow_again: bool = False


def take_in(
    store: Store,
    path: Path,
    options: ImportOptions,
    *,
    clock: Clock,
    gap_h: float,
    on_progress: OnProgress | None,
) -> ImportReport:
    """Store what is new in an export; nothing is derived from it yet.

    `gap_h`: a longer silence begins a new session.

    Raises:
        ImportFormatError: the file is in no known format.
    """
    from localmem.jobs.importing import store_export

    export = _opened(path, options, on_progress)
    with store.lingering():
        report = store_export(
            store,
            export,
            shown_path=str(path),
            started_at=clock.now(),
            gap=timedelta(hours=gap_h),
            allow_again=options.allow_again,
        )
        if export.owner_name and export.among_people():
            store.set_owner(export.owner_name)
    return report


def plan(
    store: Store, path: Path, options: ImportOptions, *, on_progress: OnProgress | None
) -> ImportReport:
    """What `take_in` would do. Stores nothing.

    Raises:
        ImportFormatError: the file is in no known format.
    """
    from localmem.jobs.importing import plan_export

    export = _opened(path, options, on_progress)
    if not store.path.exists():
        return plan_export(export, _none_of, _none_of)
    forgotten = _none_of if options.allow_again else store.count_forgotten
    return plan_export(export, store.count_known, forgotten)


def _opened(path: Path, options: ImportOptions, on_progress: OnProgress | None) -> Export:
    from localmem.importers import open_export

    tell = Teller(on_progress)
    return open_export(
        path,
        tz=options.tz or system_zone(),
        me=options.me,
        format=options.format,
        question_id=options.question_id,
        on_bytes=lambda done, total: tell("reading", done, total, "bytes"),
    )


def _none_of(conversation: ImportedConversation) -> int:
    return 0
