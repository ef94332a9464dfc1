"""Whether a line answers the question as far as rules can see: its words, and a span of the kind.

APDMem leaves sufficiency to a large model's reflection; without one, a line is telling when it
holds at least half of the question's content words (more where the question may need several
facts) and a span of the asked kind that the question does not hold itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localmem.recall.deep.question import Question
from localmem.recall.deep.state import Line
from localmem.recall.evidence import sentences
from localmem.recall.spans import find_span
from localmem.types import AnswerType, Evidence, Layer

LEAST_SHARE = 0.5
COMPOUND_SHARE = 0.75
_LEAST_NEAR = 0.2


def judged(line: Line, question: Question, *, speaker: str = "") -> Line:
    """The line with its share of the question's words, and whether it is telling.

    `speaker` counts as a word of what they said.
    """
    words = question.stems.of_text(f"{speaker} {line.text}")
    share = len(words & question.terms) / len(question.terms) if question.terms else 0.0
    least = COMPOUND_SHARE if question.compound else LEAST_SHARE
    telling = share >= least and span_of(line, question) is not None
    return replace(line, share=share, telling=telling)


def message_line(one: Evidence, question: Question) -> Line:
    """A message as a line."""
    message = one.message
    line = Line(
        text=message.whole_text,
        session_id=message.session_id,
        layer=Layer.RAW,
        message_ids=(message.id,),
        said_at=message.said_at,
        dates=one.dates,
    )
    return judged(line, question, speaker=message.speaker)


def span_of(line: Line, question: Question) -> str | None:
    """The span of the asked kind in a line; None where there is none beyond the question's words.

    Where any statement is an answer (yes or no), it is the line.
    """
    if question.verbatim and line.layer is not Layer.RAW:
        return None
    kind = question.want.kind
    if kind is AnswerType.DATE:
        return next((date.words for date in line.dates), None)
    if kind is AnswerType.YES_NO:
        return line.text
    begin = 0
    for sentence in sentences(line.text):
        begin = max(line.text.find(sentence, begin), 0)
        span = find_span(question.want, sentence, line.dates, begin, question.text, question.stems)
        if span is None or span.near < _LEAST_NEAR:
            continue
        if question.stems.of_text(span.text) - question.terms or not question.terms:
            return span.text
    return None


def is_sufficient(lines: Sequence[Line], question: Question, parts: Sequence[str]) -> bool:
    """Whether each part of the question has a telling line. A wide question never has enough."""
    if question.is_wide:
        return False
    if not parts:
        return any(line.telling for line in lines)
    return all(any(_covers(line, question, part) for line in lines) for part in parts)


def _covers(line: Line, question: Question, part: str) -> bool:
    wanted = question.stems.of_text(part)
    held = question.stems.of_text(line.text)
    return bool(wanted) and len(wanted & held) / len(wanted) > LEAST_SHARE
