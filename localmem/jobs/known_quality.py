"""How much is known of people, and how much of it its messages bear out: the source check. By rule.

Every item is held against the messages that it names as its sources, whoever made it: its sentence
must stand there, what its value names must stand there or be resolved from there, and so must the
day from which it holds. Reads only; on a sample where the memory is large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from localmem.layers.source import SessionSource
from localmem.layers.support import Grounds, grounds_of, missing_from, shared_share
from localmem.types import Item, ItemKind, Message, MessageId, SessionId

MOST_ITEMS = 3_000
"""Items that are looked at; of a larger memory every second, third, ... is."""

LEAST_SHARED = 0.5
"""Share of an item's content words that its messages must hold."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """An item that its messages do not bear out, and what they lack."""

    item: Item
    reason: str


@dataclass(frozen=True, slots=True)
class KnownQuality:
    """What the source check found among `checked` of all items."""

    checked: int
    unsupported: tuple[Unsupported, ...]

    @property
    def share(self) -> float:
        """Which share is not borne out; 0.0 where nothing was checked."""
        return len(self.unsupported) / self.checked if self.checked else 0.0


def known_quality(
    sources: Mapping[SessionId, SessionSource], items: Sequence[Item], *, most: int = MOST_ITEMS
) -> KnownQuality:
    """Hold items against their messages; sessions are given whole."""
    step = max(1, -(-len(items) // most))
    told: dict[MessageId, tuple[SessionSource, Message]] = {
        message.id: (source, message) for source in sources.values() for message in source.messages
    }
    grounds: dict[MessageId, Grounds] = {}
    found: list[Unsupported] = []
    chosen = items[::step]
    for item in chosen:
        there = [told[number] for number in item.message_ids if number in told]
        reason = _lacking(item, there, grounds)
        if reason:
            found.append(Unsupported(item, reason))
    return KnownQuality(len(chosen), tuple(found))


def _lacking(
    item: Item,
    there: Sequence[tuple[SessionSource, Message]],
    grounds: dict[MessageId, Grounds],
) -> str:
    """What the first message of an item lacks; "" where it bears it out."""
    if not there:
        return "no message"
    if item.missing:
        return f"names {', '.join(item.missing)}"
    source, message = there[0]
    if _flat(item.quote) not in _flat(message.whole_text):
        return "sentence not in the message"
    if message.id not in grounds:
        alone = SessionSource(source.session, (message,), source.dates)
        grounds[message.id] = grounds_of(alone, [0])
    base = grounds[message.id]
    value = f"so {item.value}"  # behind a little word, so that a first name is seen as one
    absent = missing_from(value, base) if item.value else ()
    if absent:
        return f"names {', '.join(absent)}"
    if item.value and shared_share(value, base) < LEAST_SHARED:
        return "words of the value not in the message"
    return "" if _has_day(item, there, base) else "day not in the message"


def _has_day(item: Item, there: Sequence[tuple[SessionSource, Message]], base: Grounds) -> bool:
    """Whether the day from which it holds is said in a source, or is that on which it was said.

    The end of a version before it may be its beginning: such days are those of other messages.
    """
    if item.valid_from is None or item.supersedes is not None:
        return True
    days = [*base.days]
    days += [(one.start, one.end) for source, m in there for one in source.dates_of(m)]
    days += [(m.said_at.date(), m.said_at.date()) for _, m in there if m.said_at is not None]
    reach = timedelta(days=1) if item.kind is ItemKind.EVENT else timedelta(0)
    return any(start <= item.valid_from <= end + reach for start, end in days)


def _flat(text: str) -> str:
    return " ".join(text.split())
