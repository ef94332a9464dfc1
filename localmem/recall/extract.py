"""The answer of the `instant` depth: a span of the evidence, found without any model.

The order of the search is the prior; sentences are weighed by the question's words that they
hold, rare ones more, and by whether they hold a span of what the question asks for. Weak evidence
gives no answer. Every answer is literal, or a date that was resolved from the cited message.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from localmem.dates import describe, describe_day
from localmem.entities import named_participants
from localmem.recall.citations import LONGEST_QUOTE
from localmem.recall.described import NAMED_KINDS, descriptions, name_of
from localmem.recall.evidence import sentences
from localmem.recall.refusal import Person, person_asked_about
from localmem.recall.spans import Span, find_span, nearest_date
from localmem.recall.wanted import Stems, Wanted, wanted
from localmem.recall.whose import tells_of
from localmem.types import AnswerType, Citation, Evidence, Message, ResolvedDate, Role, SessionId

LEAST_SHARE = 0.1
"""Weighed share of the question's words that the best sentence's message must hold."""
UNNAMED_SHARE = 0.5
"""The same where no message at all names what the question asks for."""

_MOST_LISTED = 2
_MOST_OPTIONS = 8
_LONGEST_ANSWER_WORDS = 30
_MOST_SENTENCES = 40
_NEWS_WEIGHT = 0.2
_MOST_NEWS = 4
_PRIOR_WEIGHT = 0.4
_RANK_DECAY = 0.04
_SPEAKER_BONUS = 0.25
_SPAN_BONUS = 0.6
_MESSAGE_WEIGHT = 0.5
_CONTEXT_WEIGHT = 0.15
_QUESTION_PENALTY = 0.4
_CODE_PENALTY = 0.5
_COURTESY_PENALTY = 0.2
_ASSISTANT_PENALTY = 0.15
_LATEST_BONUS = 0.3
_TENSE_PENALTY = 0.2
_DAY_ONLY = 0.3
_FOCUS = 1.5
_REPORTS = 8
"""How far down the candidates a report of what was planned is looked for."""
_MOVED = timedelta(days=30)
_NEXT_SENTENCE = 25
"""How far into the next sentence a date may stand that belongs to the one before."""
_NEXT_NEAR = 0.7
_NEARLY = 0.75
"""Share of the best score from which another candidate is as good."""
_NO_VALUE_PENALTY = 0.3

_WRITTEN_DAY = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)?\.? (?:January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\b(?: \d{4})?"
)
_RANGE = re.compile(r"\b(\d{1,2})\.?(?: to | until |\s?[-–]\s?)$")
_OPENER = re.compile(
    r"^(?:(?:hey|hi|hello|wow|oh|yeah|yes|no|thanks|thank you|well|so|also|absolutely|sure"
    r"|definitely|haha|ok|okay|aw+)\b(?: \w+)?[,!.]+\s+)+",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"^(?:thanks|thank you|appreciate|congrat\w*|sounds|wow|hey|hi|hello|great|good luck|glad)\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[!=]=|::|->|=>|^```|\w\(\w*\)|\w_\w+[.(\[]|\.\w+_\w|^(?:def|class|import|return|SELECT|FROM)\s"
)
_HEADING_WORDS = 2
_HABIT = re.compile(r"\b(did .+?) use to\b", re.IGNORECASE)
"""A way of asking about former times, of which "use" says nothing."""


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
    span: str
    sure: bool
    score: float
    share: float
    day: date | None = None
    shared: frozenset[str] = frozenset()

    @property
    def said(self) -> date | None:
        """The day on which the message was written."""
        return self.one.message.said_at.date() if self.one.message.said_at else None


@dataclass(frozen=True, slots=True)
class _Asked:
    """The question with what was told from it and from the evidence as a whole."""

    text: str
    want: Wanted
    weights: Mapping[str, float]
    named: Sequence[str]
    stems: Stems
    times: tuple[datetime, datetime] | None

    def share(self, said: frozenset[str]) -> float:
        """The weighed share of the question's words among the words said."""
        total = sum(self.weights.values())
        return sum(w for t, w in self.weights.items() if t in said) / total if total else 0.0


def extract_answer(
    question: str,
    asked_at: datetime,
    evidence: Sequence[Evidence],
    titles: Mapping[SessionId, str],
    *,
    people: Sequence[str] | None = None,
) -> Extract:
    """The best span of the expected type among the evidence (best first), with its citation."""
    want, found = _ranked(question, evidence, people)
    if not found:
        return Extract("", found=False)
    if want.kind is AnswerType.DATE:
        found = _of_person(found, person_asked_about(question, evidence, people))
    chosen = _chosen(found, want)
    if want.kind in NAMED_KINDS:
        chosen = _named(chosen, evidence)
    text = ", ".join(dict.fromkeys(one.span for one in chosen))
    cited = {one.one.message.id: one for one in reversed(chosen)}
    return Extract(
        text=text,
        found=True,
        citations=tuple(_citation(one, titles) for one in reversed(cited.values())),
    )


@dataclass(frozen=True, slots=True)
class DateOption:
    """A date that may answer a when-question: in words, how well its sentence fits, where it is."""

    text: str
    score: float
    evidence: Evidence
    citation: Citation


def date_options(
    question: str,
    evidence: Sequence[Evidence],
    titles: Mapping[SessionId, str],
    *,
    people: Sequence[str] | None = None,
) -> tuple[DateOption, ...]:
    """The different dates of the evidence, the likeliest first; () where no date is asked for or
    nothing in the evidence fits the question."""
    want, found = _ranked(question, evidence, people)
    if want.kind is not AnswerType.DATE:
        return ()
    first = {one.span: one for one in reversed(found) if one.sure}
    options = sorted(first.values(), key=lambda one: -one.score)[:_MOST_OPTIONS]
    return tuple(
        DateOption(one.span, one.score, one.one, _citation(one, titles)) for one in options
    )


def _ranked(
    question: str, evidence: Sequence[Evidence], people: Sequence[str] | None
) -> tuple[Wanted, list[_Candidate]]:
    """What is wanted, and the sentences that may hold it, best first; none where all are weak."""
    stems = Stems()
    speakers = people if people is not None else sorted({e.message.speaker for e in evidence})
    named = named_participants(question, speakers)
    said = [stems.of_text(_whole(one.message)) for one in evidence]
    names = frozenset(term for name in named for term in stems.of_text(name))
    want = wanted(question, stems)
    terms = stems.of_text(_HABIT.sub(r"\1", question))
    if want.kind is AnswerType.DATE:
        terms -= frozenset(want.phrase)
    if want.is_class and _is_unnamed(want, said):
        terms -= {want.phrase[-1]}
    asked = _Asked(
        text=question,
        want=want,
        weights=_weights((terms - names) or terms, {*want.phrase, want.predicate}, said),
        named=named,
        stems=stems,
        times=_times(evidence),
    )
    found = sorted(_candidates(evidence, said, asked), key=lambda one: -one.score)
    return want, [] if not found or _is_weak(found[0], want, said) else found


def _whole(message: Message) -> str:
    return f"{message.text} {message.attachment_text}"


def _weights(
    terms: frozenset[str], focus: Collection[str], said: Sequence[frozenset[str]]
) -> dict[str, float]:
    """Each word of the question with how much it tells: rare among the evidence, more."""
    count = len(said) + 1
    return {
        term: math.log(1 + count / (0.5 + sum(term in words for words in said)))
        * (_FOCUS if term in focus else 1.0)
        for term in sorted(terms)
    }


def _is_weak(best: _Candidate, want: Wanted, said: Sequence[frozenset[str]]) -> bool:
    """Whether the best sentence is no answer: too little shared, or no such value in it."""
    if want.is_value and (want.phrase or want.money) and not best.sure:
        return True
    return best.share < (UNNAMED_SHARE if _is_unnamed(want, said) else LEAST_SHARE)


def _is_unnamed(want: Wanted, said: Sequence[frozenset[str]]) -> bool:
    """Whether no message names the noun that the question asks for."""
    head = want.phrase[-1] if want.phrase else ""
    return bool(head) and not any(head in words for words in said)


def _times(evidence: Sequence[Evidence]) -> tuple[datetime, datetime] | None:
    times = [one.message.said_at for one in evidence if one.message.said_at is not None]
    return (min(times), max(times)) if times else None


def _candidates(
    evidence: Sequence[Evidence], said: Sequence[frozenset[str]], asked: _Asked
) -> Iterator[_Candidate]:
    places = {(e.message.session_id, e.message.ordinal): i for i, e in enumerate(evidence)}
    priors = _priors(evidence)
    for rank, one in enumerate(evidence):
        message = one.message
        before = places.get((message.session_id, message.ordinal - 1))
        around = said[rank] | (said[before] if before is not None else frozenset())
        base = _base(asked, one, priors[rank] - _RANK_DECAY * rank)
        base += _MESSAGE_WEIGHT * asked.share(said[rank])
        base += _CONTEXT_WEIGHT * asked.share(around)
        begin = 0
        for sentence in (sentences(message.text) or (message.attachment_text,))[:_MOST_SENTENCES]:
            begin = max(message.text.find(sentence, begin), 0)
            yield from _of_sentence(asked, one, sentence, begin, base, asked.share(around))


def _priors(evidence: Sequence[Evidence]) -> list[float]:
    """The scores of the search between 0 and the weight of the prior."""
    scores = [one.score for one in evidence]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    width = high - low
    return [_PRIOR_WEIGHT * ((s - low) / width if width > 0 else 0.0) for s in scores]


def _base(asked: _Asked, one: Evidence, prior: float) -> float:
    """What speaks for a message whatever its words are."""
    message = one.message
    score = prior + _SPEAKER_BONUS * (message.speaker in asked.named)
    if message.role is Role.ASSISTANT:
        score -= _ASSISTANT_PENALTY
    if asked.want.latest and asked.times and message.said_at is not None:
        first, last = asked.times
        width = (last - first).total_seconds()
        score += _LATEST_BONUS * ((message.said_at - first).total_seconds() / width if width else 0)
    return score


def _of_sentence(
    asked: _Asked, one: Evidence, sentence: str, begin: int, base: float, share: float
) -> Iterator[_Candidate]:
    words = asked.stems.of_text(sentence)
    here = asked.share(words)
    score = base + here
    score += _NEWS_WEIGHT * min(len(words - asked.weights.keys()), _MOST_NEWS) / _MOST_NEWS
    if sentence.endswith("?"):
        score -= _QUESTION_PENALTY
    if _COURTESY.match(sentence):
        score -= _COURTESY_PENALTY
    dates = _dates_in(one, begin, begin + len(sentence))
    span: Span | None = None
    if _CODE.search(sentence):
        score -= _CODE_PENALTY
    elif asked.want.kind is AnswerType.DATE:
        span = _date_span(asked, one, sentence, begin, dates)
    else:
        span = find_span(asked.want, sentence, dates, begin, asked.text, asked.stems)
    if span is not None:
        score += _SPAN_BONUS * span.near
    elif asked.want.is_value:
        score -= _NO_VALUE_PENALTY
    sure = span is not None and span.near >= _DAY_ONLY
    shown = span.text if span is not None and sure else _told(sentence)
    if shown and (sure or len(shown.split()) > _HEADING_WORDS):
        day = dates[0].start if dates and span is not None else None
        shared = words & asked.weights.keys()
        yield _Candidate(one, sentence, shown, sure, score, max(here, share), day, shared)


def _dates_in(one: Evidence, begin: int, stop: int) -> list[ResolvedDate]:
    return [date for date in one.dates if begin <= date.begin < stop]


def _date_span(
    asked: _Asked, one: Evidence, sentence: str, begin: int, dates: Sequence[ResolvedDate]
) -> Span | None:
    """The date of a sentence, else the day on which it was said."""
    message = one.message
    telling = frozenset(asked.weights)
    found = nearest_date(asked.want, sentence, dates, begin, asked.stems, telling)
    if found is not None:
        near = 1.0 - _TENSE_PENALTY * _wrong_tense(asked.want, found, message)
        return Span(_described(found, message), near)
    stop = begin + len(sentence)
    if not sentence.endswith("?") and (after := _dates_in(one, stop, stop + _NEXT_SENTENCE)):
        return Span(_described(after[0], message), _NEXT_NEAR)
    if written := _WRITTEN_DAY.search(sentence):
        return Span(written.group(), 1.0)
    if message.said_at is None or asked.want.future:
        return None
    return Span(describe_day(message.said_at.date()), _DAY_ONLY)


def _described(found: ResolvedDate, message: Message) -> str:
    """The date in words, with the first day of a range that is written before it."""
    words = describe(found, said_at=message.said_at)
    first = _RANGE.search(message.text[: found.begin])
    return f"{first.group(1)} to {words}" if first and words[0].isdigit() else words


def _wrong_tense(want: Wanted, found: ResolvedDate, message: Message) -> bool:
    said: date | None = message.said_at.date() if message.said_at else None
    return want.future and said is not None and found.end < said


def _chosen(found: Sequence[_Candidate], want: Wanted) -> list[_Candidate]:
    """One span; for a list, the spans of the sentences that are nearly as good as the best."""
    if want.kind is AnswerType.LIST:
        close = [one for one in found if one.score >= _NEARLY * found[0].score]
        return close[:_MOST_LISTED]
    if want.kind is AnswerType.DATE and not want.future:
        return [_happened(found)]
    return [found[0]]


def _of_person(found: list[_Candidate], person: Person | None) -> list[_Candidate]:
    """The dates of the person asked about, where one is nearly as likely as the best of all."""
    if person is None:
        return found
    own = [
        one
        for one in found
        if tells_of(one.sentence, one.one.message.speaker, person.name, person.people)
    ]
    return own if own and own[0].score >= _NEARLY * found[0].score else found


def _happened(found: Sequence[_Candidate]) -> _Candidate:
    """The best candidate; where it is a plan, the later report of the same thing."""
    plan = found[0]
    if plan.day is None or plan.said is None or plan.day <= plan.said:
        return plan
    for one in found[1:_REPORTS]:
        if one.day is None or one.said is None or not plan.shared & one.shared:
            continue
        if plan.said < one.said and one.day <= one.said and abs(one.day - plan.day) <= _MOVED:
            return one
    return plan


def _named(chosen: list[_Candidate], evidence: Sequence[Evidence]) -> list[_Candidate]:
    """The name of what the chosen sentence only describes, where its speaker names it elsewhere.

    Both sentences are cited: what was described, and what it is called.
    """
    best = chosen[0]
    if best.sure:
        return chosen
    for description in descriptions(best.sentence):
        named = name_of(description, best.one.message.speaker, evidence)
        if named is not None:
            name, there = named
            sentence = next((s for s in sentences(there.message.text) if name in s), name)
            return [
                replace(best, span=name),
                replace(best, one=there, sentence=sentence, span=name),
            ]
    return chosen


def _told(sentence: str) -> str:
    """The whole sentence, literal, without its greeting; cut where it is very long."""
    said = _OPENER.sub("", sentence).strip().split()
    return " ".join(said[:_LONGEST_ANSWER_WORDS]).strip(" .!?,:")


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
