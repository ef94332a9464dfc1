"""What `doctor` looks at: the memory's open work and gaps. Reads only; models are told apart by
their files, not loaded."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from localmem.jobs.coverage import SummaryQuality, summary_quality
from localmem.jobs.freshness import session_sources, stale_among
from localmem.jobs.known_quality import KnownQuality, known_quality
from localmem.layers.source import SessionSource
from localmem.paths import shortened
from localmem.store import Store
from localmem.types import Finding, ItemCounts, MemoryStats, SessionId, Verdict
from localmem.wording import counted

_WASTED_SHARE = 0.5
_WASTED_BYTES = 50_000_000
_PRIVATE_MASK = 0o077
_POOR_COVERAGE = 0.6
_MANY_UNSUPPORTED = 0.05
_TITLE_CHARACTERS = 30


def examine_memory(store: Store) -> tuple[Finding, ...]:
    """The findings about one memory file, in a fixed order."""
    with store.reading():
        stats = store.stats()
        imports = store.list_imports()
        owner = store.owner()
        orphans = store.orphans()
        known = store.item_counts()
        sources = session_sources(store)
        quality = known_quality(sources, store.items()) if known.items else KnownQuality(0, ())
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
    found += _orphan_findings(orphans)
    found += _known_findings(known, quality)
    return (*found, *_episode_findings(store), *_layer_findings(store, sources))


def _episode_findings(store: Store) -> Iterator[Finding]:
    """Whether the gate knows this memory's own scores yet, and what waits to be placed."""
    with store.reading():
        counts = store.tier_counts()
        known = store.tier_state()
    if not counts.pages:
        return
    if counts.pending:
        yield Finding(
            Verdict.NOTICE,
            "episodes",
            f"{counted(counts.pending, 'message is', 'messages are')} in no page of an episode yet",
            "localmem work",
        )
    pages = counted(counts.placed, "page is", "pages are")
    placed = f"{pages} in {counted(counts.episodes, 'episode')}"
    if known is not None and known[1].fit == 0 and known[1].settings.startswith("beta"):
        placed += "; the gate goes by its prior until it has seen 40 scores"
    yield Finding(Verdict.OK, "episodes", placed)


def _known_findings(counts: ItemCounts, quality: KnownQuality) -> Iterator[Finding]:
    """How much is known of people, and how much of it the messages do not bear out."""
    unread = "messages are not read yet for what they tell"
    if counts.pending:
        yield Finding(
            Verdict.NOTICE,
            "known",
            counted(counts.pending, "message is not read yet for what it tells", unread)
            + " of people",
            "localmem work",
        )
    if not counts.items:
        return
    missed = len(quality.unsupported)
    looked = "" if quality.checked == counts.items else f" of {quality.checked:,} looked at"
    name = "is not borne out by its" if missed == 1 else "are not borne out by their"
    rate = 100 * counts.items / max(counts.from_people, 1)
    yield Finding(
        Verdict.NOTICE if quality.share > _MANY_UNSUPPORTED else Verdict.OK,
        "known",
        f"{counted(counts.items, 'thing is', 'things are')} known of people "
        f"({counted(counts.holding, 'holds', 'hold')} now), {rate:.0f} for each 100 of their "
        f"messages; {missed:,}{looked} ({quality.share:.1%}) {name} message",
        "localmem history TOPIC shows them; localmem retire ID" if missed else "",
    )


def is_wasteful(stats: MemoryStats) -> bool:
    """Whether so much of the file is unused that it should be written anew."""
    wasted = stats.unused_bytes
    return wasted > _WASTED_BYTES and wasted > _WASTED_SHARE * stats.file_bytes


def _file_findings(path: Path, stats: MemoryStats) -> Iterator[Finding]:
    megabytes = stats.file_bytes / 1e6
    yield Finding(
        Verdict.OK,
        "memory",
        f"{shortened(path)}, {megabytes:.1f} MB, {counted(stats.messages, 'message')} in "
        f"{counted(stats.sessions, 'session')}",
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
            f"{counted(stats.turns_without_summary, 'turn has', 'turns have')} no summary yet",
            "localmem work",
        )
    if stats.messages_without_vectors:
        yield Finding(
            Verdict.NOTICE,
            "vectors",
            f"{counted(stats.messages_without_vectors, 'message has', 'messages have')} no "
            "vector; search finds those by their words only",
            "localmem work",
        )
    if stats.without_time:
        yield Finding(
            Verdict.NOTICE,
            "times",
            f"{counted(stats.without_time, 'message has', 'messages have')} no time, so their "
            "relative dates stay open",
            "nothing to do where the source has none",
        )
    if stats.messages and not (stats.turns_without_summary or stats.messages_without_vectors):
        yield Finding(Verdict.OK, "derived", "every turn has its summary, every message its vector")


def _orphan_findings(orphans: Mapping[str, int]) -> Iterator[Finding]:
    """Rows that belong to nothing; there should never be one."""
    if not orphans:
        return
    places = ", ".join(f"{count:,} in {place}" for place, count in orphans.items())
    yield Finding(
        Verdict.PROBLEM,
        "orphans",
        f"rows belong to nothing that is stored: {places}",
        "localmem work removes those that were derived",
    )


def _layer_findings(store: Store, sources: Mapping[SessionId, SessionSource]) -> Iterator[Finding]:
    """How well L0 stands for the turns, what is out of date, what could not be read."""
    with store.reading():
        summaries = store.all_summaries()
        with_facts = store.sessions_with_facts()
        unread = len(store.unread_replies())
    quality = summary_quality(list(sources.values()), summaries)
    if quality.coverage is not None:
        yield _quality_finding(quality, quality.coverage)
    stale = len(stale_among(with_facts, sources))
    if stale:
        yield Finding(
            Verdict.NOTICE,
            "layers",
            f"the facts of {counted(stale, 'session')} were made before a change",
            "localmem warm --layer L1, or they are made when they are wanted",
        )
    if unread:
        yield Finding(
            Verdict.NOTICE,
            "replies",
            f"{counted(unread, 'reply', 'replies')} of the language model could not be read; "
            "none became memory",
            "a larger model errs less: localmem models list",
        )


def _quality_finding(quality: SummaryQuality, coverage: float) -> Finding:
    poor = coverage < _POOR_COVERAGE
    faithful = f", {quality.faithfulness:.0%} the reverse" if quality.faithfulness else ""
    looked = f"{quality.turns:,} of {counted(quality.turns_total, 'turn')}"
    worst = ", ".join(
        f"{one.session.id}{_quoted(one.session.title)} {one.coverage:.0%}"
        for one in quality.worst
        if one.coverage < 1.0
    )
    least = f"; least in sessions {worst}" if worst else ""
    return Finding(
        Verdict.NOTICE if poor else Verdict.OK,
        "summary quality",
        f"{coverage:.0%} of the names, numbers and dates of a turn are in its summary{faithful} "
        f"(means over {looked}){least}",
        "localmem warm --layer L0" if poor else "",
    )


def _quoted(title: str) -> str:
    return f" “{title[:_TITLE_CHARACTERS]}”" if title else ""
