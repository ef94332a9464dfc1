"""Short spans of a sentence that may answer a question: values, objects, dates, names.

Every span is literal. A span stands near the words that the question asks about: a number after
its noun, the object after its verb. Where no such word stands in the sentence there is no span.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localmem.entities import entities
from localmem.recall.wanted import Stems, Wanted
from localmem.types import AnswerType, ResolvedDate

_MOST_OBJECT_WORDS = 12
_LEAST_FRESH = 2
_REACH = 60
"""Characters between an asked word and its value beyond which they are not taken together."""

_BEFORE, _ASIDE = 25, 15
"""What a value costs, in characters, that stands before its word or beside a lesser word."""
_UNSURE = 0.2
_NAMELESS_SUM = 0.5

_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand"
)
_UNIT = (
    r"(?:%|percent|km|kg|g|mg|ml|l|cm|mm|m²|m|miles?|pounds?|lbs|hours?|times|years?|months?"
    r"|weeks?|days?|minutes?|seconds?|people|kids|children|points?|euros?|dollars?|EUR|USD|GHz|MHz"
    r"|GB|MB|TB|Mbit/s|degrees|°C)"
)
_MARK = r"[A-Z]{0,4}\d[\w]*(?:[-./:,]\w*\d\w*)*"
_VALUE = re.compile(
    rf"[$€£]\s?\d[\d.,]*\d?k?|(?<![\w-]){_MARK}(?:\s\d{{3,}}\b)*(?:\s?{_UNIT}(?!\w))?"
    rf"|(?<![\w-])[A-Z]{{1,3}}(?:[-]|\s)\d[\w-]*(?:\s\d{{2,}})*"
    rf"|\b(?:{_NUMBER_WORDS})(?:\s{_UNIT})?\b|\b(?:once|twice)\b"
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)\b")
_SERIES = re.compile(r"(?:, | and | or )(?=[$€£]?\d[\w.,:-]*)")
_MONEY = re.compile(r"[$€£]|(?:euros?|dollars?|EUR|USD)$")
_PLAIN_NUMBER = re.compile(r"^\d[\d.,]*k?$")
_FOR_MONEY = re.compile(
    r"\b(?:for|paid|pay|costs?|price|salary|rent|sold|bought|deposit)\b"
    r"[^.;]{0,24}$",
    re.IGNORECASE,
)
_ABOUT = r"(?:(?:about|over|almost|nearly|around)\s)?"
_DURATION = re.compile(
    rf"\b{_ABOUT}(?:\d+|an?|{_NUMBER_WORDS}|few|several|couple of)(?:\s(?:and a half|more))?"
    r"\s(?:years?|months?|weeks?|days?|hours?|minutes?|decades?)\b",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(?:because|since|so that|due to|thanks to)\b\s.+", re.IGNORECASE)
_CAUSE = re.compile(r"\bcaused?\b", re.IGNORECASE)
_PURPOSE = re.compile(r"\b(?:in order )?to\s[a-z].+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LINK = re.compile(
    r"^\s*(?:up|out|off|on|at|to|for|with|about|of|in|into|from)\b\s*", re.IGNORECASE
)
_EQUALS = re.compile(r"^\s*(?:is|are|was|were|:|=)\s+")
_NO_OBJECT = re.compile(
    r"[^\w$€£\"'“]|$|(?:it|them|him|her|that|this|these|those|me|you|us|but|because|so|when|while"
    r"|which|who|by the way|last|yesterday|today|recently|since|after|before|during|though|as|like"
    r"|and|or|too|there|here|is|are|was|were|sounds?)\b|(?:\w+ly|together|again)\s*(?:[^\w\s]|$)",
    re.IGNORECASE,
)
_LOOSE_END = re.compile(r"(?:\s+(?:and|or|the|a|an|my|of|to|with|too|is|was))+$", re.IGNORECASE)
_OBJECT_END = re.compile(
    r"[.;:!?,()–—\n]|\s-\s|\s(?=(?:but|because|so|when|while|which|who|that|by the way|last"
    r"|yesterday|today|recently|from|in|at|on|since|after|before|during|though|as)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A literal part of a sentence; `near` says how surely it belongs to what was asked (0-1)."""

    text: str
    near: float


def find_span(
    want: Wanted,
    sentence: str,
    dates: Sequence[ResolvedDate],
    begin: int,
    question: str,
    stems: Stems,
) -> Span | None:
    """The best span of the wanted kind; None where the sentence holds none.

    `begin` is where the sentence starts in its message, whose `dates` fall into it. Dates
    themselves are not spans of this function.
    """
    match want.kind:
        case AnswerType.NUMBER:
            return _value(want, sentence, dates, begin, stems)
        case AnswerType.DURATION:
            return _plain(_DURATION, sentence)
        case AnswerType.REASON:
            return _reason(sentence, question, stems)
        case AnswerType.PERSON | AnswerType.PLACE:
            asked = question.casefold()
            fresh = [
                name
                for name in entities(sentence)
                if name.casefold() not in asked and not _is_called(name, sentence)
            ]
            return Span(fresh[0], 1.0) if fresh else None
        case AnswerType.QUOTE:
            return Span(sentence, 1.0)
        case AnswerType.OTHER | AnswerType.LIST:
            return _object(want, sentence, question, stems)
        case _:
            return None


def nearest_date(
    want: Wanted,
    sentence: str,
    dates: Sequence[ResolvedDate],
    begin: int,
    stems: Stems,
    telling: frozenset[str],
) -> ResolvedDate | None:
    """The date of the sentence next to the words that the question shares with it."""
    if len(dates) < 2:
        return dates[0] if dates else None
    anchors = [
        (m.start() + begin, m.end() + begin)
        for m in _WORD.finditer(sentence)
        if stems.of_word(m.group()) in telling
    ]
    if not anchors:
        return dates[0]

    def gap(one: ResolvedDate) -> int:
        return min(
            one.begin - stop if one.begin >= stop else 2 * max(start - one.stop, 0)
            for start, stop in anchors
        )

    return min(dates, key=gap)


def _is_called(name: str, sentence: str) -> bool:
    """Whether the name only calls the listener: "Thanks, Mel!"."""
    return re.search(rf"(?:^|, ){re.escape(name)}(?:[!,?.]|$)", sentence) is not None


def _reason(sentence: str, question: str, stems: Stems) -> Span | None:
    """What follows "because" or "to" where it says more than the question does."""
    asked = stems.of_text(question)
    patterns = ((_REASON, 1.0),) if _CAUSE.search(question) else ((_REASON, 1.0), (_PURPOSE, 0.5))
    for pattern, near in patterns:
        found = _plain(pattern, sentence)
        if found and len(stems.of_text(found.text) - asked) >= _LEAST_FRESH:
            return Span(found.text.rstrip(".!"), near)
    return None


def _plain(pattern: re.Pattern[str], text: str) -> Span | None:
    match = pattern.search(text)
    return Span(match.group().strip(), 1.0) if match else None


def _value(
    want: Wanted, sentence: str, dates: Sequence[ResolvedDate], begin: int, stems: Stems
) -> Span | None:
    """The value next to the asked noun or verb, after it rather than before it."""
    taken = [(d.begin - begin, d.stop - begin) for d in dates]
    values = [
        m
        for m in _VALUE.finditer(sentence)
        if not any(m.start() < stop and start < m.end() for start, stop in taken)
        and not _ORDINAL.match(m.group())
        and not (want.money and not _is_money(m, sentence))
    ]
    if not values:
        return None
    asked = set(want.phrase) | ({want.predicate} if want.predicate else set())
    head = want.phrase[-1] if want.phrase else want.predicate
    anchors = [
        (m.start(), m.end(), stem == head, stem)
        for m in _WORD.finditer(sentence)
        if (stem := stems.of_word(m.group())) and stem in asked
    ]
    if not anchors:
        near = _NAMELESS_SUM if want.money and not want.has_value_noun else _UNSURE
        return Span(_trimmed(values[0].group()), near)
    best, cost = values[0], float("inf")
    for value in values:
        for start, stop, is_head, _ in anchors:
            after = value.start() >= stop
            gap = value.start() - stop if after else start - value.end() + _BEFORE
            gap = max(gap, 0) + (0 if is_head else _ASIDE)
            if gap < cost:
                best, cost = value, gap
    if cost > _REACH:
        return Span(_trimmed(best.group()), _UNSURE)
    named = any(is_head for _, _, is_head, _ in anchors)
    if want.has_value_noun and not named:
        return Span(_with_series(sentence, best), _UNSURE)
    whole = len({stem for *_, stem in anchors}) / max(len(asked), 1)
    return Span(_with_series(sentence, best), 0.6 + 0.4 * whole if named else 0.6)


def _is_money(value: re.Match[str], sentence: str) -> bool:
    said = value.group().strip()
    if _MONEY.search(said):
        return True
    return _PLAIN_NUMBER.match(said) is not None and (
        _FOR_MONEY.search(sentence[: value.start()]) is not None or "," in said[:-1]
    )


def _with_series(sentence: str, value: re.Match[str]) -> str:
    """The value with those that follow it in a series: "6 and 100"."""
    stop = value.end()
    while (link := _SERIES.match(sentence, stop)) and " and " in link.group():
        following = _VALUE.match(sentence, link.end())
        if following is None:
            break
        stop = following.end()
    return _trimmed(sentence[value.start() : stop])


def _trimmed(text: str) -> str:
    return text.strip().rstrip(".,:;")


def _object(want: Wanted, sentence: str, question: str, stems: Stems) -> Span | None:
    """What follows the question's predicate, or its asked noun with "is" or a colon."""
    head = want.predicate or (want.phrase[-1] if want.phrase else "")
    if not head:
        return None
    if sentence.endswith("?") or want.manner:
        return None
    asked = stems.of_text(question)
    for match in _WORD.finditer(sentence):
        if stems.of_word(match.group()) != head:
            continue
        rest = sentence[match.end() :]
        link = _LINK.match(rest) or _EQUALS.match(rest)
        if link is None and not want.predicate:
            continue
        start = link.end() if link else len(rest) - len(rest.lstrip(" "))
        if _NO_OBJECT.match(rest, start):
            continue
        end = _OBJECT_END.search(rest, start + 1)
        said = _LOOSE_END.sub("", rest[start : end.start() if end else len(rest)].strip(" \"'"))
        fresh = stems.of_text(said) - asked
        if fresh and len(said.split()) <= _MOST_OBJECT_WORDS:
            return Span(said, 1.0)
    return None
