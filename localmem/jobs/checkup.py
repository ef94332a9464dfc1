"""What `doctor` looks at: the memory's open work and gaps. Reads only; models are told apart by
their files, not loaded."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from localmem.store import Store
from localmem.types import Finding, MemoryStats, Verdict

_WASTED_SHARE = 0.5
_WASTED_BYTES = 50_000_000
_PRIVATE_MASK = 0o077


def examine_memory(store: Store) -> tuple[Finding, ...]:
    """The findings about one memory file, in a fixed order."""
    with store.reading():
        stats = store.stats()
        imports = store.list_imports()
        owner = store.owner()
    found = [*_file_findings(store.path, stats), *_work_findings(stats)]
    completed = {(i.path, i.source) for i in imports if i.complete}
    unfinished = [
        i for i in imports if not (i.complete or i.undone) and (i.path, i.source) not in completed
    ]
    if unfinished:
        numbers = ", ".join(str(report.import_id) for report in unfinished)
        found.append(
            Finding(
                Verdict.PROBLEM,
                "imports",
                f"import {numbers} was interrupted; what it stored is whole",
                "run the same localmem import again: it adds what is missing",
            )
        )
    if stats.messages and owner is None:
        found.append(
            Finding(
                Verdict.NOTICE,
                "owner",
                "nobody is known as the owner of this memory",
                "import again with --me NAME",
            )
        )
    return tuple(found)


def is_wasteful(stats: MemoryStats) -> bool:
    """Whether so much of the file is unused that it should be written anew."""
    wasted = stats.unused_bytes
    return wasted > _WASTED_BYTES and wasted > _WASTED_SHARE * stats.file_bytes


def _file_findings(path: Path, stats: MemoryStats) -> Iterator[Finding]:
    megabytes = stats.file_bytes / 1e6
    yield Finding(
        Verdict.OK,
        "memory",
        f"{path}, {megabytes:.1f} MB, {stats.messages:,} messages in {stats.sessions:,} sessions",
    )
    if stat.S_IMODE(path.stat().st_mode) & _PRIVATE_MASK:
        yield Finding(
            Verdict.PROBLEM, "privacy", "other users can read the memory", f"chmod 600 {path}"
        )
    if is_wasteful(stats):
        yield Finding(
            Verdict.NOTICE,
            "size",
            f"{stats.unused_bytes / 1e6:.0f} MB of the file are unused",
            "localmem work rewrites the file",
        )


def _work_findings(stats: MemoryStats) -> Iterator[Finding]:
    if stats.turns_without_summary:
        yield Finding(
            Verdict.NOTICE,
            "summaries",
            f"{stats.turns_without_summary:,} turns have no summary yet",
            "localmem work",
        )
    if stats.messages_without_vectors:
        yield Finding(
            Verdict.NOTICE,
            "vectors",
            f"{stats.messages_without_vectors:,} messages have no vector; "
            "search finds those by their words only",
            "localmem work",
        )
    if stats.without_time:
        yield Finding(
            Verdict.NOTICE,
            "times",
            f"{stats.without_time:,} messages have no time, so their relative dates stay open",
            "nothing to do where the source has none",
        )
    if stats.messages and not (stats.turns_without_summary or stats.messages_without_vectors):
        yield Finding(Verdict.OK, "derived", "every turn has its summary, every message its vector")
