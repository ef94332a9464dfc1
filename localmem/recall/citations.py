"""Which messages support an answer, and which of its words none of them says.

Every name, number, date and content word of an answer must stand in a cited message or be a date
resolved from it. This module reads words only; it calls no model and never changes an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localmem.dates import annotate, resolve
from localmem.recall.evidence import sentences
from localmem.types import Citation, Evidence, Message, ResolvedDate, SessionId
from localmem.words import Analyser

MOST_CITATIONS = 4
LONGEST_QUOTE = 300
_QUESTION_WEIGHT = 0.6
_RANK_WEIGHT = 0.2
_DAY_WEIGHT = 0.9
"""What the day of writing counts as support for a date, against a date that the text names."""

_FREE_WORDS_TEXT = """
    yes no not likely unlikely probably presumably possibly maybe perhaps somewhat both neither
    one two three four five six seven eight nine ten approximately around about nearly since
    before after week weekend day month year time because would enjoy
"""
_NUMBERS_TEXT = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
"""
_NUMBER_WORDS = tuple(_NUMBERS_TEXT.split())


@dataclass(frozen=True, slots=True)
class Support:
    """What stands behind an answer.

    `sources` are the cited messages, the most telling first. `unsupported` holds the answer's
    words that no evidence says, stemmed. `share` is the part of the answer that is supported, 1.0
    for an answer without words of its own.
    """

    citations: tuple[Citation, ...]
    sources: tuple[Evidence, ...]
    unsupported: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True)
class _Claim:
    """What an answer says: its own terms, its dates, and the question's terms."""

    terms: frozenset[str]
    dates: tuple[ResolvedDate, ...]
    asked: frozenset[str]
    free: frozenset[str]


def find_support(
    answer: str,
    question: str,
    evidence: Sequence[Evidence],
    titles: Mapping[SessionId, str],
) -> Support:
    """The fewest messages that together say the most of the answer, with literal quotes.

    `evidence` is best first. Words that the question already holds need no support, unless the
    answer has no others.
    """
    analyser = Analyser()
    claim = _claim(answer, question, analyser)
    held = [_terms_of(one, analyser) for one in evidence]
    needed = set(claim.terms)
    open_dates = list(claim.dates)
    chosen: list[int] = []
    while len(chosen) < MOST_CITATIONS:
        gains = [
            _gain(needed, open_dates, evidence[i], held[i]) if i not in chosen else 0.0
            for i in range(len(evidence))
        ]
        if not gains or max(gains) <= 0:
            break
        best = max(
            range(len(gains)),
            key=lambda i: (
                gains[i] and gains[i] + _closeness(claim.asked, held[i], i, len(evidence))
            ),
        )
        chosen.append(best)
        needed -= held[best]
        open_dates = [d for d in open_dates if _date_support(d, evidence[best]) == 0]
    free = claim.free
    missing = tuple(sorted(needed - free)) + tuple(d.words for d in open_dates)
    total = len(claim.terms - free) + len(claim.dates)
    sources = tuple(evidence[i] for i in chosen)
    return Support(
        citations=tuple(cite(one, answer, question, titles) for one in sources),
        sources=sources,
        unsupported=missing,
        share=1.0 - len(missing) / total if total else 1.0,
    )


def cite(one: Evidence, answer: str, question: str, titles: Mapping[SessionId, str]) -> Citation:
    """The message as a citation, quoting the sentence that says most of the answer."""
    message = one.message
    return Citation(
        message_id=message.id,
        session_id=message.session_id,
        session_title=titles.get(message.session_id, ""),
        speaker=message.speaker,
        said_at=message.said_at,
        quote=_quote(one, answer, question),
    )


def _claim(answer: str, question: str, analyser: Analyser) -> _Claim:
    dates = resolve(answer, None)
    rest = answer
    for found in sorted(dates, key=lambda one: one.begin, reverse=True):
        rest = rest[: found.begin] + " " + rest[found.stop :]
    asked = frozenset(analyser.terms(question))
    free = frozenset(analyser.terms(_FREE_WORDS_TEXT))
    terms = frozenset(_as_digits(term) for term in analyser.terms(rest))
    own = terms - asked
    return _Claim(own or (terms if not dates else frozenset()), dates, asked, free)


def _terms_of(one: Evidence, analyser: Analyser) -> frozenset[str]:
    message = one.message
    said = annotate(message.text, one.dates, said_at=message.said_at)
    text = f"{message.speaker}\n{said}\n{message.attachment_text}"
    return frozenset(_as_digits(term) for term in analyser.terms(text))


def _as_digits(term: str) -> str:
    return str(_NUMBER_WORDS.index(term)) if term in _NUMBER_WORDS else term


def _gain(
    needed: set[str], dates: Sequence[ResolvedDate], one: Evidence, held: frozenset[str]
) -> float:
    return len(needed & held) + sum(_date_support(date, one) for date in dates)


def _date_support(wanted: ResolvedDate, one: Evidence) -> float:
    """1.0 where the message names that date, less where it was only written then, else 0."""
    for named in one.dates:
        inside = wanted.start <= named.start and named.end <= wanted.end
        around = named.start <= wanted.start and wanted.end <= named.end
        if inside or around:
            return 1.0
    said_at = one.message.said_at
    if said_at is not None and wanted.start <= said_at.date() <= wanted.end:
        return _DAY_WEIGHT
    return 0.0


def _closeness(asked: frozenset[str], held: frozenset[str], rank: int, count: int) -> float:
    """Under 1, so that it only decides between messages that say equally much."""
    share = len(asked & held) / len(asked) if asked else 0.0
    return _QUESTION_WEIGHT * share + _RANK_WEIGHT * (1 - rank / count)


def _quote(one: Evidence, answer: str, question: str) -> str:
    message = one.message
    said = message.text if message.text.strip() else message.attachment_text
    analyser = Analyser()
    wanted, asked = set(analyser.terms(answer)), set(analyser.terms(question))
    dated = _dated_words(message, one.dates)
    best, best_score = said.strip(), -1.0
    for sentence in sentences(said):
        terms = set(analyser.terms(sentence))
        dates = any(words in sentence for words in dated) if resolve(answer, None) else False
        score = len(terms & wanted) + 0.5 * len(terms & asked) + dates
        if score > best_score:
            best, best_score = sentence, score
    return best[:LONGEST_QUOTE].rstrip()


def _dated_words(message: Message, dates: Sequence[ResolvedDate]) -> list[str]:
    return [message.text[date.begin : date.stop] for date in dates]
