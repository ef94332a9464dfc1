"""What a deep question may read of a memory: search, layers, raw messages. Handed in, so that
the controller knows no store, no index and no model that makes layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localmem.ports import LayerReader
from localmem.recall.route import Route
from localmem.types import Evidence, FoundMessage, MessageId, SessionId, TurnId, TurnSummary

CHARACTERS_A_TOKEN = 4
"""How opened text is counted, the same for what was opened and for the whole history."""


@dataclass(frozen=True, slots=True)
class KnownLine:
    """One thing that is known of a participant, with the messages that it rests on."""

    text: str
    messages: tuple[FoundMessage, ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """The doors to one memory.

    `search` gives the best messages for a query (the query, how many). `summaries` gives the L0
    lines of turns, `messages` a session's messages in order with their dates, unscored.
    `history_characters` is the length of all that is stored, None where nobody counted.
    `neighbours` gives what the graph leads to from messages (the question, they, how many, by
    which route), with scores up to 1; None where there is no graph. `persona` gives what is known
    of a participant by name: present attributes with what they were before, then topics; None
    where nothing is kept of people.
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


def tokens_of(characters: int) -> int:
    """About how many tokens a text of this length has."""
    return -(-characters // CHARACTERS_A_TOKEN)
