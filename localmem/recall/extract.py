"""The answer of the `instant` depth: a span of the evidence, found without any model.

The sentence that shares most with the question is taken, and from it the span of the type that
the question asks for. Weak evidence gives no answer. Every answer is literal, or a date that was
resolved from the cited message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from localmem.dates import describe, describe_day
from localmem.entities import entities, expected_answer_type, named_participants
from localmem.recall.citations import LONGEST_QUOTE
from localmem.recall.evidence import sentences
from localmem.types import AnswerType, Citation, Evidence, ResolvedDate, SessionId
from localmem.words import Analyser

LEAST_SHARE = 0.25
"""Share of the question's telling words that the best sentence or its message must hold."""

_MOST_LISTED = 4
_LONGEST_ANSWER_WORDS = 16
_NEWS_WEIGHT = 0.2
_MOST_NEWS = 4
_RANK_DECAY = 0.1
_SPEAKER_BONUS = 0.25
_TYPE_BONUS = 0.3
_MESSAGE_WEIGHT = 0.8
_QUESTION_PENALTY = 0.4
_NAMES_TYPES = frozenset({AnswerType.PERSON, AnswerType.PLACE})

_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand"
)
_NUMBER = re.compile(
    rf"[$€£]\s?\d[\d.,]*\d?k?|\b\d[\d.,]*(?:\s?%|\s?(?:km|miles?|hours?|times?|years?|months?|weeks?"
    rf"|days?|minutes?|people|kids|children))?\b|\b(?:{_NUMBER_WORDS}|once|twice)\b"
    r"(?:\s(?:times?|years?|months?|weeks?|days?|hours?|kids|children|people|dogs|cats))?",
    re.IGNORECASE,
)
_ABOUT = r"(?:(?:about|over|almost|nearly|around)\s)?"
_DURATION = re.compile(
    rf"\b{_ABOUT}(?:\d+|an?|{_NUMBER_WORDS}|few|several|couple of)(?:\s(?:and a half|more))?"
    r"\s(?:years?|months?|weeks?|days?|hours?|minutes?|decades?)\b",
    re.IGNORECASE,
)
_CLAUSE_BREAK = re.compile(r"\s*(?:[;:–—]|,\s(?=(?:and|but|so|which|who|because)\b)|\s-\s|!|\?)\s*")
_REASON = re.compile(r"\b(?:because|since|so that|due to|thanks to)\b\s.+", re.IGNORECASE)
_PURPOSE = re.compile(r"\b(?:in order )?to\s[a-z].+")
_OPENER = re.compile(
    r"^(?:(?:hey|hi|hello|wow|oh|yeah|yes|no|thanks|thank you|well|so|and|but|also|absolutely|sure"
    r"|definitely|haha|ok|okay|aw+)\b[,!. ]*(?:\w+[,!]\s)?)+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Extract:
    """An extracted answer; `text` is "" and `found` False where the evidence is weak."""

    text: str
    found: bool
    citations: tuple[Citation, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence of the evidence with what it offers for the question."""

    one: Evidence
    sentence: str
    dates: tuple[ResolvedDate, ...]
    span: str
    score: float
    share: float


def extract_answer(
    question: str,
    asked_at: datetime,
    evidence: Sequence[Evidence],
    titles: Mapping[SessionId, str],
    *,
    people: Sequence[str] | None = None,
) -> Extract:
    """The best span of the expected type among the evidence (best first), with its citation."""
    kind = expected_answer_type(question)
    speakers = people if people is not None else sorted({e.message.speaker for e in evidence})
    named = named_participants(question, speakers)
    analyser = Analyser()
    wanted = frozenset(analyser.terms(question))
    names = frozenset(term for name in named for term in analyser.terms(name))
    telling = (wanted - names) or wanted
    found = sorted(
        _candidates(evidence, question, kind, telling, named, analyser),
        key=lambda one: -one.score,
    )
    if not found or found[0].share < LEAST_SHARE:
        return Extract("", found=False)
    chosen = _chosen(found, kind)
    text = ", ".join(dict.fromkeys(one.span for one in chosen))
    cited = {one.one.message.id: one for one in reversed(chosen)}
    return Extract(
        text=text,
        found=True,
        citations=tuple(_citation(one, titles) for one in reversed(cited.values())),
    )


def _candidates(
    evidence: Sequence[Evidence],
    question: str,
    kind: AnswerType,
    telling: frozenset[str],
    named: Sequence[str],
    analyser: Analyser,
) -> Iterator[_Candidate]:
    for rank, one in enumerate(evidence):
        message = one.message
        whole = frozenset(analyser.terms(f"{message.text} {message.attachment_text}"))
        in_message = len(whole & telling) / len(telling) if telling else 0.0
        prior = _SPEAKER_BONUS * (message.speaker in named) - _RANK_DECAY * rank
        begin = 0
        for sentence in sentences(message.text) or (message.attachment_text,):
            begin = max(message.text.find(sentence, begin), 0)
            dates = tuple(d for d in one.dates if begin <= d.begin < begin + len(sentence))
            span = _span(kind, sentence, dates, one, question)
            said = frozenset(analyser.terms(sentence))
            here = len(telling & said) / max(len(telling), 1)
            news = min(len(said - telling), _MOST_NEWS) / _MOST_NEWS
            score = here + _MESSAGE_WEIGHT * in_message + prior + _TYPE_BONUS * bool(span)
            score += _NEWS_WEIGHT * news
            if sentence.endswith("?"):
                score -= _QUESTION_PENALTY
            shown = span or _clause(sentence, telling, analyser)
            if shown:
                yield _Candidate(one, sentence, dates, shown, score, max(here, in_message))


def _chosen(found: Sequence[_Candidate], kind: AnswerType) -> list[_Candidate]:
    """One span; for a list, the spans of the sentences that are nearly as good as the best."""
    if kind is not AnswerType.LIST:
        return [found[0]]
    close = [one for one in found if one.score >= 0.75 * found[0].score]
    return close[:_MOST_LISTED]


def _span(
    kind: AnswerType,
    sentence: str,
    dates: Sequence[ResolvedDate],
    one: Evidence,
    question: str,
) -> str:
    """The span of the expected type in a sentence; "" where it holds none."""
    message = one.message
    match kind:
        case AnswerType.DATE:
            if dates:
                return describe(dates[0], said_at=message.said_at)
            return describe_day(message.said_at.date()) if message.said_at else ""
        case AnswerType.DURATION:
            return _first(_DURATION, sentence)
        case AnswerType.NUMBER:
            return _first(_NUMBER, sentence)
        case AnswerType.REASON:
            return (_first(_REASON, sentence) or _first(_PURPOSE, sentence)).rstrip(".!")
        case AnswerType.PERSON | AnswerType.PLACE:
            asked = question.casefold()
            fresh = [n for n in entities(sentence) if n.casefold() not in asked]
            return fresh[0] if fresh else ""
        case AnswerType.QUOTE:
            return sentence
        case _:
            return ""


def _clause(sentence: str, telling: frozenset[str], analyser: Analyser) -> str:
    """The part of a sentence that goes on from what the question holds, literal and short."""
    plain = _OPENER.sub("", sentence).strip()
    parts = [part.strip(" .!?,") for part in _CLAUSE_BREAK.split(plain) if part.strip(" .!?,")]
    if not parts:
        return ""
    shares = [len(telling.intersection(analyser.terms(part))) for part in parts]
    best = max(range(len(parts)), key=lambda i: (shares[i], -i))
    words = parts[best].split()
    return " ".join(words[:_LONGEST_ANSWER_WORDS]).strip(" .!?,")


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group().strip() if match else ""


def _citation(chosen: _Candidate, titles: Mapping[SessionId, str]) -> Citation:
    message = chosen.one.message
    return Citation(
        message_id=message.id,
        session_id=message.session_id,
        session_title=titles.get(message.session_id, ""),
        speaker=message.speaker,
        said_at=message.said_at,
        quote=chosen.sentence[:LONGEST_QUOTE].rstrip(),
    )
