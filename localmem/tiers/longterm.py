"""What lasts: at most a hundred entries, kept by use, recency and confidence. Pure.

An entry stays while it passes all three; one that fails leaves only when there are too many.
What contradicts is settled by time: the later word holds, the earlier stays readable as what was
said before. Pinned entries never leave. (FluxMem, equation 6; the three measures are ours.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from localmem.ports import FloatMatrix
from localmem.tiers.utility import utility
from localmem.types import EntryId, LastingEntry

MOST_ENTRIES = 100
LEAST_USAGE = 2
LEAST_RECENCY = 0.1
LEAST_CONFIDENCE = 0.4
_FADES_IN_DAYS = 365.0
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Kept:
    """The entries that stay, by id, and those that left, the first to leave first."""

    entries: tuple[LastingEntry, ...]
    left: tuple[LastingEntry, ...]


def usage(entry: LastingEntry) -> int:
    """Supporting episodes and answers that took it."""
    return entry.supporting + entry.used


def recency(entry: LastingEntry, now: datetime | None) -> float:
    """exp(-days / 365) since it was last said; 1 where no time is known. Memory's time is now."""
    if entry.last_said_at is None or now is None:
        return 1.0
    return math.exp(-max(0.0, (now - entry.last_said_at).total_seconds() / _DAY_S) / _FADES_IN_DAYS)


def confidence(entry: LastingEntry) -> float:
    """confirmations / (confirmations + contradictions + 1)."""
    return entry.confirmations / (entry.confirmations + entry.contradictions + 1)


def is_eligible(entry: LastingEntry, now: datetime | None) -> bool:
    """Whether it passes all three measures."""
    return (
        usage(entry) >= LEAST_USAGE
        and recency(entry, now) >= LEAST_RECENCY
        and confidence(entry) >= LEAST_CONFIDENCE
    )


def take_in(entries: Sequence[LastingEntry], new: Iterable[LastingEntry]) -> list[LastingEntry]:
    """The entries after new ones came, one after the other in the order of time.

    The same slot and value (without a slot: the same kind and text) confirms: counts add up,
    sources join. The same slot with another value contradicts: the later one holds, the earlier is
    superseded by it and counts a contradiction. Ids of new entries must be unused.
    """
    known = list(entries)
    for one in sorted(new, key=lambda entry: (_moment(entry.said_at), entry.id)):
        same = next((place for place, old in enumerate(known) if _says_the_same(old, one)), None)
        if same is not None:
            known[same] = _confirmed(known[same], one)
            # Said again, it holds again, whatever was said in between.
            _settle(known, same)
        else:
            known.append(one)
            _settle(known, len(known) - 1)
    return known


def keep(
    entries: Sequence[LastingEntry], now: datetime | None, *, most: int = MOST_ENTRIES
) -> Kept:
    """At most `most` entries. Those leave first that fail a measure, then the least useful.

    Superseded entries leave before those that hold. Pinned ones never leave, even if there are
    more of them than `most`.
    """
    surplus = len(entries) - most
    if surplus <= 0:
        return Kept(tuple(sorted(entries, key=lambda e: e.id)), ())
    useful = utilities(entries, now)
    order = sorted(
        (place for place, entry in enumerate(entries) if not entry.pinned),
        key=lambda place: (
            entries[place].superseded_by is None,
            is_eligible(entries[place], now),
            float(useful[place]),
            entries[place].id,
        ),
    )
    gone = order[:surplus]
    left = tuple(entries[place] for place in gone)
    stays = [entry for place, entry in enumerate(entries) if place not in set(gone)]
    return Kept(tuple(sorted(stays, key=lambda e: e.id)), left)


def utilities(entries: Sequence[LastingEntry], now: datetime | None) -> NDArray[np.float64]:
    """U of each entry, float64 (n,): its uses, its episodes, how long ago it was said."""
    days = [
        (now - entry.last_said_at).total_seconds() / _DAY_S
        if now is not None and entry.last_said_at is not None
        else math.nan
        for entry in entries
    ]
    return utility(
        np.array([entry.used for entry in entries], np.float64),
        np.array([entry.supporting for entry in entries], np.float64),
        np.array(days, np.float64),
    )


def nearest(
    entries: Sequence[LastingEntry], rows: FloatMatrix, vector: NDArray[np.float32], *, k: int
) -> list[tuple[LastingEntry, float]]:
    """The k entries that hold and are most similar to a question; rows float32 (n, dim), unit."""
    cosines = (rows @ vector).tolist() if len(entries) else []
    holding = [
        (entry, float(cosine))
        for entry, cosine in zip(entries, cosines, strict=True)
        if entry.superseded_by is None
    ]
    return sorted(holding, key=lambda found: (-found[1], found[0].id))[:k]


def _says_the_same(old: LastingEntry, new: LastingEntry) -> bool:
    if old.kind is not new.kind or old.slot != new.slot:
        return False
    return old.value == new.value if new.slot else old.text.casefold() == new.text.casefold()


def _confirmed(old: LastingEntry, new: LastingEntry) -> LastingEntry:
    later = max(old.last_said_at, new.last_said_at, key=_moment)
    is_new = not set(new.sources) <= set(old.sources)
    return replace(
        old,
        last_said_at=later,
        sources=tuple(dict.fromkeys((*old.sources, *new.sources))),
        supporting=old.supporting + (new.supporting if is_new else 0),
        confirmations=old.confirmations + (new.confirmations if is_new else 0),
        pinned=old.pinned or new.pinned,
    )


def _settle(known: list[LastingEntry], place: int) -> None:
    """Among the entries of one slot the one said last holds; the others name it.

    What contradicts an entry is each other value that was said later.
    """
    one = known[place]
    if not one.slot:
        return
    rivals = [p for p, e in enumerate(known) if e.slot == one.slot and e.kind is one.kind]
    rivals.sort(key=lambda p: (_moment(known[p].last_said_at), known[p].id))
    holder = known[rivals[-1]].id
    for number, p in enumerate(rivals, 1):
        later = len(rivals) - number
        after: EntryId | None = holder if later else None
        known[p] = replace(known[p], superseded_by=after, contradictions=later)


def _moment(when: datetime | None) -> float:
    return when.timestamp() if when is not None else -math.inf
