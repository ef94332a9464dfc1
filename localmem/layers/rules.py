"""L2 without a model: the telling sentences of a message as self-contained notes.

Nothing is rephrased beyond person and date, so that nothing can be wrong that was not said.
Milliseconds a session: these notes are never stored, they are made whenever they are wanted.
"""

from __future__ import annotations

from dataclasses import replace

from localmem import dates as dating
from localmem.layers.source import SessionSource, stamp
from localmem.layers.telling import (
    Told,
    attached,
    dates_within,
    orders_in,
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


def rule_notes(source: SessionSource, place: int) -> tuple[TurnNote, ...]:
    """L2 of the message at `place` by rule; () where it tells nothing."""
    message = source.messages[place]
    provenance = Provenance(MODEL_ID, RULES_VERSION, source.note_sha(place))
    return tuple(
        TurnNote(message.id, position, text, (), provenance)
        for position, text in enumerate(_texts(source, message))
    )


def called(name: str) -> str:
    """How notes call a participant."""
    return UNNAMED if name == _UNNAMED_OWNER else name


def _texts(source: SessionSource, message: Message) -> list[str]:
    head = stamp(message)
    who = called(message.speaker)
    told = telling_sentences(source, message)
    texts = [f"{head} {_told(source, message, sentence)}" for sentence in told]
    shown = attached(message)
    if shown and not orders_in(message):
        texts.append(f"{head} {who[:1].upper()}{who[1:]} shared {_shortened(shown)}")
    texts += [
        f"{head} {who[:1].upper()}{who[1:]} wrote: “{_shortened(plain_sentence(order))}”"
        for order in orders_in(message)
    ]
    return list(dict.fromkeys(texts))


def _told(source: SessionSource, message: Message, told: Told) -> str:
    said = message.text[told.begin : told.stop]
    inside = [
        replace(one, begin=one.begin - told.begin, stop=one.stop - told.begin)
        for one in dates_within(source.dates_of(message), told.begin, told.stop)
    ]
    dated = plain_sentence(dating.annotate(said, inside, said_at=message.said_at))
    other = source.addressee(message)
    who = called(message.speaker)
    if told.is_question:
        return f"{who[:1].upper()}{who[1:]} asked: {_shortened(dated)}"
    return _shortened(in_third_person(dated, who, None if other is None else called(other)))


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_NOTE:
        return text
    return text[:_LONGEST_NOTE].rsplit(" ", 1)[0] + "…"
