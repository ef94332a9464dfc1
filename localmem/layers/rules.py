"""L2 without a model: the telling sentences of a message as self-contained notes.

Nothing is rephrased beyond person and date, so that nothing can be wrong that was not said.
Milliseconds a session: these notes are never stored, they are made whenever they are wanted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localmem import dates as dating
from localmem.layers.source import SessionSource, stamp
from localmem.layers.telling import (
    Told,
    attached,
    dates_within,
    order_in,
    plain_sentence,
    telling_sentences,
)
from localmem.layers.third_person import in_third_person
from localmem.types import Message, Provenance, TurnNote

MODEL_ID = "rules"
RULES_VERSION = "1"
"""Goes into the provenance."""

UNNAMED = "the user"
"""How notes call an owner who gave no name."""

_UNNAMED_OWNER = "Me"
_LONGEST_NOTE = 600
"""Characters of one sentence that a note takes; a longer one is cut at a word and marked."""


_LEANS = re.compile(
    r"^(?:(?:and|but|so|plus|also|then|or|because|since|now)\b,? )?(?:it|they|she|he|this|that"
    r"|these|those|there|one|his|her|their|its|such|both|all|some|then|afterwards|since then"
    r"|which|who|and|but|because)(?:['’]\w+)?\b",
    re.IGNORECASE,
)
_MOST_JOINED_WORDS = 45


@dataclass(frozen=True, slots=True)
class Statement:
    """What a message tells in one sentence, without its "Ana, 3 May 2021:".

    `is_open`: it begins with a word that points out of the message ("they", "that's why"), so that
    a model may make more of it.
    """

    text: str
    is_open: bool = False


def rule_notes(source: SessionSource, place: int) -> tuple[TurnNote, ...]:
    """L2 of the message at `place` by rule; () where it tells nothing."""
    message = source.messages[place]
    provenance = Provenance(MODEL_ID, RULES_VERSION, source.note_sha(place))
    return tuple(
        TurnNote(message.id, position, f"{stamp(message)} {told.text}", (), provenance)
        for position, told in enumerate(statements_of(source, place))
    )


def statements_of(source: SessionSource, place: int) -> tuple[Statement, ...]:
    """What the message at `place` tells, in its order, each once; an order as a quotation."""
    message = source.messages[place]
    who = capitalised(called(message.speaker))
    found = _joined(
        [_statement(source, message, told) for told in telling_sentences(source, message)]
    )
    order = order_in(message)
    shown = attached(message)
    if order:
        wrote = f"{who} wrote: “{_shortened(plain_sentence(order))}”"
        found.append(Statement(wrote))
    elif shown:
        found.append(Statement(f"{who} shared {_shortened(shown)}"))
    return tuple({told.text: told for told in found}.values())


def is_open(text: str) -> bool:
    """Whether a text begins with a word that points to what was said before it."""
    return _LEANS.match(text) is not None


def called(name: str) -> str:
    """How notes call a participant."""
    return UNNAMED if name == _UNNAMED_OWNER else name


def capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def _statement(source: SessionSource, message: Message, told: Told) -> Statement:
    said = message.text[told.begin : told.stop]
    inside = [
        replace(one, begin=one.begin - told.begin, stop=one.stop - told.begin)
        for one in dates_within(source.dates_of(message), told.begin, told.stop)
    ]
    dated = plain_sentence(dating.annotate(said, inside, said_at=message.said_at))
    who = called(message.speaker)
    if told.is_question:
        return Statement(f"{capitalised(who)} asked: {_shortened(dated)}")
    other = source.addressee(message)
    text = _shortened(in_third_person(dated, who, None if other is None else called(other)))
    return Statement(text, is_open(text))


def _joined(statements: Sequence[Statement]) -> list[Statement]:
    """Statements with those that go on about the same put behind them: alone "It was new" tells
    nothing."""
    joined: list[Statement] = []
    for told in statements:
        before = joined[-1] if joined else None
        if before is not None and told.is_open and _fit(before.text, told.text):
            joined[-1] = Statement(f"{before.text} {told.text}", before.is_open)
        else:
            joined.append(told)
    return joined


def _fit(before: str, after: str) -> bool:
    return before.count(" ") + after.count(" ") + 2 <= _MOST_JOINED_WORDS


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_NOTE:
        return text
    return text[:_LONGEST_NOTE].rsplit(" ", 1)[0] + "…"
