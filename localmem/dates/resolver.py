"""Find the time expressions of a text and resolve them against the time of its message.

Pure: a text and a time in, dates out. Never the present: a message of ten years ago that says
"yesterday" means a day ten years ago, on the calendar of the place where it was said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import date, datetime

from localmem.dates.found import Found, Tense
from localmem.dates.language import Language, Rule, all_cues, guess_language, language_table
from localmem.dates.named import NAMED
from localmem.dates.relative import RELATIVE
from localmem.dates.spans import Span
from localmem.types import ResolvedDate

_TOKEN = re.compile(r"\w+")
_SINCE_REACH = 24
_CUE_REACH = 120
_SHORT_TEXT = 2 * _CUE_REACH
_BLOCKS = (
    "nothing"  # a use of these words that names no date: other rules must not read one into it
)
_SLASH_DATE = re.compile(r"\d/\d")


def resolve(
    text: str, said_at: datetime | None, *, language: str | None = None
) -> tuple[ResolvedDate, ...]:
    """The dates that a message's text names, in their order, never overlapping.

    Relative words resolve against the calendar day of `said_at` in its own offset; with None
    only absolute dates resolve. `language` is a code of `LANGUAGES`, or None to tell it from
    the words. What cannot be resolved without a guess is left out.

    Raises:
        ValueError: there is no table for `language`.
    """
    return _resolve(text, said_at, language, Tense.NONE)


def resolve_question(
    text: str, asked_at: datetime | None, *, language: str | None = None
) -> tuple[ResolvedDate, ...]:
    """As `resolve`, for a question: what shows no tense is taken for the past."""
    return _resolve(text, asked_at, language, Tense.PAST)


def _resolve(
    text: str, said_at: datetime | None, code: str | None, fallback: Tense
) -> tuple[ResolvedDate, ...]:
    lowered = _lower(text)
    tokens = _TOKEN.findall(lowered)
    if _SLASH_DATE.search(lowered) is not None:
        tokens.append("/")
    cues = all_cues() if code is None else language_table(code).rules_by_cue.keys()
    if cues.isdisjoint(tokens):
        return ()
    table = language_table(code if code is not None else guess_language(tokens))
    matches = _matches(lowered, tokens, table)
    return tuple(_accepted(text, lowered, said_at, table, matches, fallback))


def _lower(text: str) -> str:
    """Lower case, position for position, with plain apostrophes."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return lowered.replace("\u2019", "'")


def _matches(
    lowered: str, tokens: Iterable[str], table: Language
) -> list[tuple[str, re.Match[str]]]:
    """Every rule's matches, the leftmost first and of these the longest."""
    cues = table.rules_by_cue.keys() & set(tokens)
    rules: dict[int, tuple[Rule, list[str]]] = {}
    for cue in cues:
        for rule in table.rules_by_cue[cue]:
            rules.setdefault(id(rule), (rule, []))[1].append(cue)
    if len(lowered) <= _SHORT_TEXT:
        found = [
            (rule.meaning, match)
            for rule, _ in rules.values()
            for match in rule.pattern.finditer(lowered)
        ]
    else:
        places = _places(lowered, cues)
        found = [
            (rule.meaning, match)
            for rule, own in rules.values()
            for begin, stop in _windows([place for cue in own for place in places[cue]])
            for match in rule.pattern.finditer(lowered, begin, stop)
        ]
    return sorted(found, key=_leftmost_longest)


def _places(lowered: str, cues: Collection[str]) -> dict[str, list[int]]:
    """Where each cue stands."""
    places: dict[str, list[int]] = {cue: [] for cue in cues}
    for token in _TOKEN.finditer(lowered):
        if token.group() in places:
            places[token.group()].append(token.start())
    if "/" in places:
        places["/"] = [match.start() for match in _SLASH_DATE.finditer(lowered)]
    return places


def _windows(places: list[int]) -> Iterable[tuple[int, int]]:
    """Stretches of a long text around a rule's cues: no expression reaches further from its cue."""
    begin, stop = -1, -1
    for place in sorted(places):
        if place - _CUE_REACH > stop:
            if stop >= 0:
                yield begin, stop
            begin = max(0, place - _CUE_REACH)
        stop = place + _CUE_REACH
    if stop >= 0:
        yield begin, stop


def _leftmost_longest(one: tuple[str, re.Match[str]]) -> tuple[int, int, int, str]:
    meaning, match = one
    begin, stop = _place(match)
    return begin, -stop, -len(match.group()), meaning


def _place(match: re.Match[str]) -> tuple[int, int]:
    """Where the expression stands; a group `said` leaves out words that only frame it."""
    return match.span("said" if "said" in match.re.groupindex else 0)


def _accepted(
    text: str,
    lowered: str,
    said_at: datetime | None,
    table: Language,
    matches: list[tuple[str, re.Match[str]]],
    fallback: Tense,
) -> Iterable[ResolvedDate]:
    free_from = 0
    previous: Span | None = None
    for meaning, match in matches:
        begin, stop = _place(match)
        if begin < free_from:
            continue
        found = Found(match, text, lowered, table, said_at, previous, fallback)
        span = _span(meaning, found)
        if span is not None:
            resolved = _since(found, span, begin, stop)
            previous, free_from = span, stop
            yield resolved
        elif meaning == _BLOCKS:
            free_from = stop


def _span(meaning: str, found: Found) -> Span | None:
    try:
        if meaning in NAMED:
            return NAMED[meaning](found)
        if meaning == _BLOCKS or found.today is None:
            return None
        return RELATIVE[meaning](found, found.today)
    except (ValueError, OverflowError):
        # 30 February, or a year outside the calendar: no date, so nothing to resolve.
        return None


def _since(found: Found, span: Span, begin: int, stop: int) -> ResolvedDate:
    """The resolved date; with "since" before it, open at its end."""
    since = found.language.since.search(found.lowered, max(0, begin - _SINCE_REACH), begin)
    end, open_end = span.end, span.open_end
    if since is not None:
        begin, open_end = since.start(), True
        end = max(span.end, found.today or date.min)
    words = found.text[begin:stop]
    return ResolvedDate(words, begin, stop, span.start, end, span.granularity, open_end)
