"""What a deep question may read of a memory: search, layers, raw messages. Handed in, so that
the controller knows no store, no index and no model that makes layers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from localmem.ports import LayerReader
from localmem.recall.route import Route
from localmem.types import (
    EntryId,
    EpisodeId,
    Evidence,
    FoundMessage,
    MessageId,
    SessionId,
    TurnId,
    TurnSummary,
)

CHARACTERS_A_TOKEN = 4
"""How opened text is counted, the same for what was opened and for the whole history."""


@dataclass(frozen=True, slots=True)
class KnownLine:
    """One thing that is known of a participant, with the messages that it rests on."""

    text: str
    messages: tuple[FoundMessage, ...]


@dataclass(frozen=True, slots=True)
class EpisodeText:
    """An episode as it is read. `summary` and the line of each page are L0, "" where there is
    none; `pages` stand in the order of time."""

    id: EpisodeId
    summary: str
    pages: tuple[tuple[str, tuple[FoundMessage, ...]], ...]


@dataclass(frozen=True, slots=True)
class LastingLine:
    """An entry of the long term, with the messages that it rests on."""

    entry: EntryId
    line: KnownLine


@dataclass(frozen=True, slots=True)
class Tiers:
    """The doors to the tiers of a memory that has some.

    `episode_of` names the episodes of messages, `episode` reads one; `lasting` gives the entries
    that are nearest to a question, at most so many, and is None where there are none. `took` is
    told which of these an answer took.
    """

    episode_of: Callable[[Sequence[MessageId]], Mapping[MessageId, EpisodeId]]
    episode: Callable[[EpisodeId], EpisodeText]
    lasting: Callable[[str, int], Sequence[LastingLine]] | None
    took: Callable[[Collection[EntryId]], None]


@dataclass(frozen=True, slots=True)
class Sources:
    """The doors to one memory.

    `search` gives the best messages for a query (the query, how many). `summaries` gives the L0
    lines of turns, `messages` a session's messages in order with their dates, unscored.
    `history_characters` is the length of all that is stored, None where nobody counted.
    `neighbours` gives what the graph leads to from messages (the question, they, how many, by
    which route), with scores up to 1; None where there is no graph. `persona` gives what is known
    of a participant by name: present attributes with what they were before, then topics; None
    where nothing is kept of people. `tiers` is None where no page is in an episode yet.
    """

    search: Callable[[str, int], Sequence[FoundMessage]]
    layers: LayerReader
    messages: Callable[[SessionId], Sequence[Evidence]]
    summaries: Callable[[Sequence[TurnId]], Sequence[TurnSummary]]
    sessions_total: int
    history_characters: int | None = None
    neighbours: (
        Callable[[str, Sequence[MessageId], int, Route | None], Sequence[FoundMessage]] | None
    ) = None
    persona: Callable[[str], Sequence[KnownLine]] | None = None
    tiers: Tiers | None = None


def tokens_of(characters: int) -> int:
    """About how many tokens a text of this length has."""
    return -(-characters // CHARACTERS_A_TOKEN)
