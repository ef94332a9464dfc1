"""What a model is shown for a question: numbered messages, dated, short, inside a token limit.

Remembered text is material to read. It is put between markers that it cannot close itself, and
its dates are written out beside the words. This module chooses nothing by content: the order of
scores decides what is dropped, and what is dropped is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from localmem.dates import annotate, describe_day
from localmem.entities import content_words
from localmem.types import Evidence, Message

OPEN_FENCE = "<memory>"
CLOSE_FENCE = "</memory>"
LONGEST_MESSAGE = 700
"""Characters of one message that are shown; a longer one is cut around its best sentences."""

_FENCE = re.compile(r"<\s*(/?)\s*memory\s*>", re.IGNORECASE)
_SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?…]+[\"'”’)]*(?=\s|$)|[。！？]|(?=\n)|$)")
_CUT = "…"


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message as the model sees it. `number` is how the model and the program name it."""

    number: int
    evidence: Evidence
    text: str


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """The block of evidence of a prompt. `dropped` counts messages that did not fit."""

    messages: tuple[ShownMessage, ...]
    block: str
    dropped: int


def show_evidence(
    evidence: Sequence[Evidence],
    question: str,
    *,
    limit_tokens: int,
    count_tokens: Callable[[str], int],
) -> ShownEvidence:
    """The best messages that fit `limit_tokens` as one fenced block, the best next to the question.

    Messages are given best first; from the end they are dropped until the block fits. The order
    was chosen on 36 development questions, too few to tell it from the order of time for sure.
    """
    kept = list(evidence)
    while True:
        shown = _numbered(kept, question)
        block = _block(shown)
        if not kept or count_tokens(block) <= limit_tokens:
            return ShownEvidence(tuple(shown), block, len(evidence) - len(kept))
        kept.pop()


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text in order, literal, without surrounding space; lines end them too."""
    return tuple(piece for match in _SENTENCE.finditer(text) if (piece := match.group().strip()))


def shown_text(one: Evidence, question: str, *, limit: int = LONGEST_MESSAGE) -> str:
    """A message's words with their dates beside them, cut to what the question is about.

    `limit` characters of the message, and as many of what is attached to it.
    """
    message = one.message
    said = annotate(message.text, one.dates, said_at=message.said_at)
    said = _around_best(said, question, limit)
    if message.attachment_text:
        said = f"{said} [attached: {message.attachment_text[:limit]}]"
    if one.standing:
        said = f"{said} [{one.standing}]"
    return " ".join(unfenced(said).split())


def _numbered(evidence: Sequence[Evidence], question: str) -> list[ShownMessage]:
    return [
        ShownMessage(number, one, shown_text(one, question))
        for number, one in enumerate(reversed(evidence), start=1)
    ]


def _block(shown: Sequence[ShownMessage]) -> str:
    return "\n".join([OPEN_FENCE, *_lines(shown), CLOSE_FENCE])


def _lines(shown: Sequence[ShownMessage]) -> Iterator[str]:
    """Messages under headings that tell on which day they were written."""
    for day, group in groupby(shown, key=lambda one: _day_words(one.evidence.message)):
        yield f"Written {day}:"
        for one in group:
            yield f"[{one.number}] {unfenced(one.evidence.message.speaker)}: {one.text}"


def _day_words(message: Message) -> str:
    return f"on {describe_day(message.said_at.date())}" if message.said_at else "on an unknown day"


def unfenced(text: str) -> str:
    """The text without anything that could be taken for the end of the evidence."""
    return _FENCE.sub(r"(\1memory)", text)


def _around_best(text: str, question: str, limit: int) -> str:
    """The text, or its sentences around the one that shares most words with the question."""
    if len(text) <= limit:
        return text
    wanted = frozenset(content_words(question))
    parts = sentences(text)
    shares = [len(wanted.intersection(content_words(part))) for part in parts]
    best = max(range(len(parts)), key=lambda i: (shares[i], -i))
    first = last = best
    length = len(parts[best])
    while True:
        grown = [i for i in (first - 1, last + 1) if 0 <= i < len(parts)]
        fitting = [i for i in grown if length + len(parts[i]) + 1 <= limit]
        if not fitting:
            break
        pick = max(fitting, key=lambda i: (shares[i], i))
        first, last, length = min(first, pick), max(last, pick), length + len(parts[pick]) + 1
    middle = " ".join(parts[first : last + 1])[:limit]
    head = f"{_CUT} " if first > 0 else ""
    tail = f" {_CUT}" if last < len(parts) - 1 or length > limit else ""
    return f"{head}{middle}{tail}"
