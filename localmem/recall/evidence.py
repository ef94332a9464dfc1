"""What a model is shown for a question: numbered messages, dated, short, inside a token limit.

Remembered text is material to read. It is put between markers that it cannot close itself, and
its dates are written out beside the words. This module chooses nothing by content: the order of
scores decides what is dropped, and what is dropped is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from localmem.dates import annotate, describe_day
from localmem.entities import content_words
from localmem.tiers.wishes import told_within
from localmem.types import Evidence, LastingEntry, Message, SessionId

OPEN_FENCE = "<memory>"
CLOSE_FENCE = "</memory>"
LONGEST_MESSAGE = 700
"""Characters of one message that are shown; a longer one is cut around its best sentences."""

MOST_WISH_TOKENS = 60
"""What all wishes together may add to a prompt."""

_FENCE = re.compile(r"<\s*(/?)\s*memory\s*>", re.IGNORECASE)
_SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?…]+[\"'”’)]*(?=\s|$)|[。！？]|(?=\n)|$)")
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Beside:
    """What an answer is written with beside the evidence that was found for it.

    `recent` are the messages of the last pages of the running conversation, replies included, in
    the order in which they were said: they are always shown. `sources` is what an answer may rest
    on because of them: what the owner said in them, and what the replies rest on; `titles` are
    those of their sessions. `wishes` are the owner's standing wishes that are near to the question,
    the nearest first.
    """

    recent: tuple[Evidence, ...] = ()
    sources: tuple[Evidence, ...] = ()
    wishes: tuple[LastingEntry, ...] = ()
    titles: Mapping[SessionId, str] = field(default_factory=dict)

    def joined(self, found: Sequence[Evidence]) -> list[Evidence]:
        """The evidence that was found (best first), then the sources that are not among it."""
        known = {one.message.id for one in found}
        least = min((one.score for one in found), default=0.0)
        added = [one for one in self.sources if one.message.id not in known]
        return [*found, *(replace(one, score=least) for one in added)]

    def may_cite(self, one: Evidence) -> bool:
        """Whether an answer may rest on a message that was shown."""
        shown_only = {page.message.id for page in self.recent}
        return one.message.id not in shown_only - {source.message.id for source in self.sources}


NOTHING_BESIDE = Beside()


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message as the model sees it. `number` is how the model and the program name it."""

    number: int
    evidence: Evidence
    text: str


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """The block of evidence of a prompt. `dropped` counts messages that did not fit.

    `wishes` are those that the block tells, `wish_tokens` what they take of it.
    """

    messages: tuple[ShownMessage, ...]
    block: str
    dropped: int
    wishes: tuple[LastingEntry, ...] = ()
    wish_tokens: int = 0


def show_evidence(
    evidence: Sequence[Evidence],
    question: str,
    *,
    limit_tokens: int,
    count_tokens: Callable[[str], int],
    beside: Beside = NOTHING_BESIDE,
) -> ShownEvidence:
    """The best messages that fit `limit_tokens` as one fenced block, the best next to the question.

    Messages are given best first; from the end they are dropped until the block fits. The order
    was chosen on 36 development questions, too few to tell it from the order of time for sure.
    The pages of a running conversation come last, and go only after all others; wishes come first.
    """
    wishes = told_within(beside.wishes, MOST_WISH_TOKENS, count_tokens)
    told = [unfenced(" ".join(line.split())) for _, line in wishes]
    recent = list(beside.recent)
    held = {one.message.id for one in recent}
    kept = [one for one in evidence if one.message.id not in held]
    total = len(kept) + len(recent)
    while True:
        shown = _numbered([*reversed(recent), *kept], question)
        block = _block(shown, told)
        left = len(kept) + len(recent)
        if not left or count_tokens(block) <= limit_tokens:
            return ShownEvidence(
                tuple(shown),
                block,
                total - left,
                tuple(entry for entry, _ in wishes),
                count_tokens("\n".join(told)) if told else 0,
            )
        if kept:
            kept.pop()
        else:
            recent.pop(0)


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


def _block(shown: Sequence[ShownMessage], told: Sequence[str]) -> str:
    return "\n".join([OPEN_FENCE, *told, *_lines(shown), CLOSE_FENCE])


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
