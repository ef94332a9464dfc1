"""What somebody said that bears on a question, sentence by sentence, in few tokens.

For questions that want to know a person rather than find a passage: what they like and no longer
like, what they tried, why something changed. One sentence of many messages tells more of that than
a few whole messages, and an assistant's long replies tell nothing of it. What is known to hold
stands first; then the sentences in the order in which they were said, so that the last one on a
matter is the latest. Nothing is rephrased. This module searches nothing: it is given what a search
found and what is known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from localmem.dates import annotate, describe_day
from localmem.participants.known import describe_item, subject_words
from localmem.participants.terms import stems_of
from localmem.recall.evidence import CLOSE_FENCE, OPEN_FENCE, sentences, unfenced
from localmem.store import Store
from localmem.types import (
    FoundMessage,
    Item,
    ItemKind,
    ItemState,
    MessageId,
    ParticipantId,
    Role,
    SearchResult,
)

LONGEST_SENTENCE = 400
"""Characters of one sentence that are shown."""
MOST_MESSAGES = 30
"""Messages of people, best first, whose sentences are looked at."""
_KNOWN_SHARE = 0.25
"""Of the tokens, for attributes that only touch on the question."""
_ABOUT = 2.0
_OPENS = 0.3
_FURTHER = 0.8
"""Weights beside a message's own fit (0 to 1): words shared with the question, opening a message,
and what each further sentence of it keeps. Of about twenty settings these left most of what the
right replies to 178 questions of PersonaMem took from the user's words in 800 tokens."""
_LEAST_STEMS = 2
_SAME = 0.8


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence as it stands in its message from `begin` on, at `place` among its sentences."""

    found: FoundMessage
    place: int
    begin: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class OwnWords:
    """A block for a model to read: lines on what holds, then sentences in the order of time.

    `left_out` counts sentences that did not fit.
    """

    block: str
    known: tuple[str, ...]
    said: tuple[Said, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    said: Said
    stems: frozenset[str]


def own_words(
    question: str,
    found: Sequence[FoundMessage],
    *,
    known: Sequence[str] = (),
    limit_tokens: int,
    count_tokens: Callable[[str], int],
) -> OwnWords:
    """The sentences of people that bear most on a question, as many as `limit_tokens` hold.

    `found` is best first; what assistants said in it is passed over. `known` are lines on what
    holds: they come first, and are left out from the end where they alone do not fit. Where nothing
    fits, the block is "".
    """
    people = [one for one in found if one.message.role is Role.USER][:MOST_MESSAGES]
    lines = list(known)
    while lines and count_tokens(_block(lines, ())) > limit_tokens:
        lines.pop()
    room = limit_tokens - count_tokens(_block(lines, ()))
    ranked = _ranked(_candidates(question, people))
    chosen = _fitting(ranked, room, count_tokens)
    block = _block(lines, chosen)
    while chosen and count_tokens(block) > limit_tokens:  # headings and dates were not counted yet
        chosen.pop()
        block = _block(lines, chosen)
    in_time = sorted(chosen, key=_by_time)
    empty = not lines and not chosen
    return OwnWords("" if empty else block, tuple(lines), tuple(in_time), len(ranked) - len(chosen))


def in_own_words(
    store: Store,
    result: SearchResult,
    *,
    known: Sequence[str] = (),
    limit_tokens: int,
    count_tokens: Callable[[str], int],
) -> OwnWords:
    """The same from a search of a memory: with what is known of those whose words were found.

    `known` are lines that answer the question outright; attributes that it names, and what the
    owner pinned or said, follow them.
    """
    people = [one.message for one in result.found if one.message.role is Role.USER]
    names = {message.participant_id: message.speaker for message in people}
    attributes = store.items(participants=names, kinds=[ItemKind.ATTRIBUTE]) if names else ()
    lines = list(lines_on(_about(result.query, attributes), names))
    while lines and count_tokens("\n".join(lines)) > _KNOWN_SHARE * limit_tokens:
        lines.pop(0)
    return own_words(
        result.query,
        result.found,
        known=tuple(dict.fromkeys((*known, *lines))),
        limit_tokens=limit_tokens,
        count_tokens=count_tokens,
    )


def lines_on(items: Sequence[Item], names: Mapping[ParticipantId, str]) -> tuple[str, ...]:
    """Attributes that hold, one to a line, with whose, day and reason.

    "Ana, home: Bergen (since 2 May 2026), because …". `names` are those of the items' people.
    """
    return tuple(
        dict.fromkeys(
            f"{names[item.participant_id]}, {subject_words(item)}: {describe_item(item)}"
            + (f" (since {describe_day(item.valid_from)})" if item.valid_from is not None else "")
            + (f", because {item.reason}" if item.reason else "")
            for item in items
            if item.kind is ItemKind.ATTRIBUTE and item.holds and ":" not in item.slot
        )
    )


# --- Choosing -----------------------------------------------------------------------------


def _candidates(question: str, people: Sequence[FoundMessage]) -> list[_Candidate]:
    """All sentences of these messages with their scores."""
    parted = [
        (one, place, begin, text, stems)
        for one in people
        for place, (begin, text) in enumerate(_placed(one.message.text))
        if len(stems := stems_of(text)) >= _LEAST_STEMS
    ]
    rarity = _rarity([stems for *_, stems in parted])
    asked = stems_of(question)
    most = sum(rarity.get(stem, 0.0) for stem in asked) or 1.0
    standing = _from_0_to_1([one.hit.score for one in people])
    place_of = {one.message.id: number for number, one in enumerate(people)}
    return [
        _Candidate(
            Said(
                one,
                place,
                begin,
                text,
                standing[place_of[one.message.id]]
                + _ABOUT * sum(rarity[stem] for stem in stems & asked) / most
                + _OPENS * (place == 0),
            ),
            stems,
        )
        for one, place, begin, text, stems in parted
    ]


def _placed(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text with where they begin in it."""
    begin = 0
    for sentence in sentences(text):
        begin = text.index(sentence, begin)
        yield begin, sentence
        begin += len(sentence)


def _ranked(candidates: Sequence[_Candidate]) -> list[Said]:
    """Best first; further sentences of a message count less, those that repeat another not."""
    best_first = sorted(candidates, key=lambda one: (-one.said.score, *_by_time(one.said)))
    taken: Counter[MessageId] = Counter()
    weighed: list[tuple[float, _Candidate]] = []
    for one in best_first:
        number = one.said.found.message.id
        weighed.append((one.said.score * _FURTHER ** taken[number], one))
        taken[number] += 1
    ranked: list[_Candidate] = []
    for _, one in sorted(weighed, key=lambda pair: (-pair[0], *_by_time(pair[1].said))):
        if not any(_repeats(one.stems, other.stems) for other in ranked):
            ranked.append(one)
    return [one.said for one in ranked]


def _fitting(ranked: Sequence[Said], room: int, count_tokens: Callable[[str], int]) -> list[Said]:
    """The best that fit; a long one that does not lets shorter ones behind it in."""
    chosen: list[Said] = []
    for one in ranked:
        tokens = count_tokens(f"- {_told([one])}\n")
        if tokens <= room:
            chosen.append(one)
            room -= tokens
    return chosen


def _by_time(one: Said) -> tuple[float, int, int]:
    """Messages with a time in its order, others as they were stored."""
    moment = one.found.message.said_at
    return (
        moment.timestamp() if moment is not None else -math.inf,
        one.found.message.id,
        one.place,
    )


def _rarity(texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """How much a word tells among these sentences: the logarithm of how few hold it."""
    counts = Counter(stem for stems in texts for stem in stems)
    return {stem: math.log(1 + len(texts) / (1 + count)) for stem, count in counts.items()}


def _from_0_to_1(scores: Sequence[float]) -> list[float]:
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def _about(question: str, attributes: Sequence[Item]) -> list[Item]:
    """Those that the question names in full, or that the owner's word keeps."""
    asked = stems_of(question)
    return [
        item
        for item in attributes
        if item.by_owner or item.state is ItemState.PINNED or stems_of(subject_words(item)) <= asked
    ]


def _repeats(stems: frozenset[str], other: frozenset[str]) -> bool:
    return len(stems & other) >= _SAME * min(len(stems), len(other))


# --- Telling ------------------------------------------------------------------------------


def _block(known: Sequence[str], chosen: Sequence[Said]) -> str:
    lines = [OPEN_FENCE]
    if known:
        lines += ["Known to hold now:", *(f"- {unfenced(line)}" for line in known)]
    lines += _lines(sorted(chosen, key=_by_time))
    return "\n".join([*lines, CLOSE_FENCE])


def _lines(said: Sequence[Said]) -> Iterator[str]:
    """Sentences message by message, under headings that tell the day or the order of sessions.

    One speaker stands in the headings, several in the lines.
    """
    sessions = list(dict.fromkeys(one.found.session.id for one in said))
    speakers = {one.found.message.speaker for one in said}
    by = f" by {unfenced(next(iter(speakers)))}" if len(speakers) == 1 else ""
    for when, group in groupby(said, key=lambda one: _when(one, sessions)):
        yield f"Said{by}{when}:"
        for _, of_message in groupby(group, key=lambda one: one.found.message.id):
            told = list(of_message)
            name = "" if by else f"{unfenced(told[0].found.message.speaker)}: "
            yield f"- {name}{_told(told)}"


def _when(one: Said, sessions: Sequence[int]) -> str:
    if one.found.message.said_at is not None:
        return f" on {describe_day(one.found.message.said_at.date())}"
    number = sessions.index(one.found.session.id)
    return f" in conversation {number + 1}" if len(sessions) > 1 else ""


def _told(said: Sequence[Said]) -> str:
    """Sentences of one message; "…" where something between them is left out."""
    parts: list[str] = []
    for number, one in enumerate(said):
        if number and one.place > said[number - 1].place + 1:
            parts.append("…")
        parts.append(_dated(one))
    standing = said[0].found.standing
    return unfenced(" ".join([*parts, f"[{standing}]"] if standing else parts))


def _dated(one: Said) -> str:
    """A sentence with its dates written beside the words, cut where it is very long."""
    message, stop = one.found.message, one.begin + len(one.text)
    inside = [
        replace(date, begin=date.begin - one.begin, stop=date.stop - one.begin)
        for date in one.found.dates
        if one.begin <= date.begin and date.stop <= stop
    ]
    flat = " ".join(annotate(one.text, inside, said_at=message.said_at).split())
    return flat if len(flat) <= LONGEST_SENTENCE else f"{flat[:LONGEST_SENTENCE].rstrip()}…"
