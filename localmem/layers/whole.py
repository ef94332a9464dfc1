"""L1 and L2 of a whole session at once, the paper's way (APDMem, Figures 5 and 6).

For models that passed the self-test `whole_session`. The session's text is the prompt's prefix,
so that the second layer, and later questions on it, reuse what the first has evaluated. Longer
sessions go in windows. Each line cites its messages by number; the program checks the citation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from localmem import dates as dating
from localmem.layers.choosing import MOST_FACTS
from localmem.layers.draft import (
    Failure,
    Line,
    Work,
    dated,
    tidy,
    unfenced,
)
from localmem.layers.extractive import prose_of
from localmem.layers.people import about_the_same, nearest
from localmem.layers.rules import called, statements_of
from localmem.layers.source import SessionSource
from localmem.layers.support import LEAST_SHARED, Grounds, grounds_of, missing_from, shared_share
from localmem.layers.telling import attached, content_of, order_in
from localmem.layers.third_person import in_third_person
from localmem.layers.windows import grouped, text_windows
from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.types import Completion, Message

FACTS_PROMPT = "list_facts"
NOTES_PROMPT = "list_notes"
WINDOW_CHARACTERS = 12_000

_FACT_TOKENS = 1_000
_NOTE_TOKENS = 1_600
_CITED = re.compile(r"\s*[\[(]([\d ,;]+)[\])]\s*\.?\s*$")
_HEAD = re.compile(r"^(?:\[?\d+[\].)]?\s+)?[^\W\d_][^:()\n]{0,40}\([^)\n]{4,30}\):\s+")
"""The beginning of a message's line in the prompt, which a model may repeat."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Cited:
    """A line with the places of the messages it rests on, the most telling first."""

    line: Line
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """What one window gave; the model went through the places before `read_up_to`."""

    places: range
    lines: tuple[Cited, ...]
    read_up_to: int
    failure: Failure | None = None


def prompt_sha(name: str) -> str:
    """The provenance of what this path makes."""
    return load_prompt(name).sha


def tells(source: SessionSource, place: int) -> bool:
    """Whether a message tells anything, and does not try to give a model orders."""
    return not order_in(source.messages[place]) and bool(statements_of(source, place))


def list_facts(llm: Llm, source: SessionSource, work: Work) -> Iterator[Listed]:
    """L1 of the session, window by window.

    Raises:
        GenerationError: the engine failed.
    """
    windows = session_windows(llm, source)
    return _listed(llm, source, windows, work, FACTS_PROMPT)


def list_notes(
    llm: Llm, source: SessionSource, wanted: Collection[int], work: Work
) -> Iterator[Listed]:
    """L2 of the windows that hold a wanted place; a line rests on one message.

    Raises:
        GenerationError: the engine failed.
    """
    windows = [w for w in session_windows(llm, source) if any(place in w for place in wanted)]
    return _listed(llm, source, windows, work, NOTES_PROMPT)


def session_windows(llm: Llm, source: SessionSource) -> list[range]:
    """The places of each window: at most 12,000 characters, and what fits the model."""
    texts = [_numbered(source, place) for place in range(len(source.messages))]
    instructions = max(
        llm.count_tokens(load_prompt(name).text) for name in (FACTS_PROMPT, NOTES_PROMPT)
    )
    room = llm.context_tokens - instructions - _NOTE_TOKENS // 2
    tokens = [llm.count_tokens(text) + 2 for text in texts]

    def fits(begin: int, stop: int) -> bool:
        characters = sum(len(text) + 1 for text in texts[begin:stop])
        return characters <= WINDOW_CHARACTERS and sum(tokens[begin:stop]) <= room

    return grouped([len(text) for text in texts], fits)


def _listed(
    llm: Llm, source: SessionSource, windows: Sequence[range], work: Work, name: str
) -> Iterator[Listed]:
    max_tokens = _FACT_TOKENS if name == FACTS_PROMPT else _NOTE_TOKENS
    for places in windows:
        read: list[Listed] = []
        for text in _window_texts(llm, source, places):
            work.check()
            # Through complete_many, because it alone can be stopped between two steps.
            (reply,) = llm.complete_many(
                [load_prompt(name).messages(session=text)],
                max_tokens=max_tokens,
                grammar=_grammar(name),
                reply_prefixes=["- "],
                on_step=work.check,
            )
            work.tally.add(reply)
            read.append(_read(source, places, name, reply))
        yield _together(read)


def _together(read: Sequence[Listed]) -> Listed:
    """The pieces of one window as one; it failed where all of them did."""
    lines = tuple(line for one in read for line in one.lines)
    failure = None if lines else next((one.failure for one in read if one.failure), None)
    return Listed(read[0].places, lines, read[-1].read_up_to, failure)


def _window_texts(llm: Llm, source: SessionSource, places: range) -> list[str]:
    """The window's text; a single message that is too long for the model goes in pieces."""
    text = "\n".join(_numbered(source, place) for place in places)
    room = max(llm.context_tokens - _NOTE_TOKENS, llm.context_tokens // 2)
    most = WINDOW_CHARACTERS
    while len(places) == 1 and (len(text) > most or llm.count_tokens(text) > room):
        pieces = text_windows(text, most)
        if all(llm.count_tokens(piece) <= room for piece in pieces):
            head = f"[{places[0] + 1}] {called(source.messages[places[0]].speaker)}: "
            return [pieces[0], *(f"{head}… {piece}" for piece in pieces[1:])]
        most = most * 3 // 4
    return [text]


def _numbered(source: SessionSource, place: int) -> str:
    """A message as the model sees it: numbered, dated, without code and without orders."""
    message = source.messages[place]
    day = "" if message.said_at is None else f" ({dating.describe_day(message.said_at.date())})"
    return f"[{place + 1}] {unfenced(called(message.speaker))}{day}: {_shown(source, message)}"


def _shown(source: SessionSource, message: Message) -> str:
    if order_in(message):
        return "…"
    prose = prose_of(message.text, most=None)
    said = " ".join(
        dating.annotate(prose, source.dates_of(message), said_at=message.said_at).split()
    )
    shown = attached(message)
    return unfenced(f"{said} (shared: {shown})" if shown else said)


def _grammar(name: str) -> str:
    """Bullets that end in citations; the first one's "- " is the reply's prefix."""
    more = f"{{0,{MOST_FACTS - 1}}}" if name == FACTS_PROMPT else "*"
    return (
        f'root ::= line ("\\n- " line){more}\n'
        'line ::= [^\\n\\[\\]]+ "[" number (", " number){0,3} "]"\n'
        "number ::= [1-9] [0-9]{0,3}"
    )


def _read(source: SessionSource, places: range, name: str, reply: Completion) -> Listed:
    lines = f"- {reply.text}".split("\n")
    if not reply.finished and len(lines) > 1:
        lines.pop()
    one_each = name == NOTES_PROMPT
    grounds = {place: grounds_of(source, [place]) for place in places}
    cited = [
        found
        for line in lines
        if (found := _cited(source, grounds, line, one_each=one_each)) is not None
    ]
    if not cited:
        failure = Failure("no line of it tells something of the session", reply.text)
        return Listed(places, (), places.start, failure)
    last = max(place for one in cited for place in one.places)
    return Listed(places, tuple(cited), places.stop if reply.finished else last)


def _cited(
    source: SessionSource, grounds: dict[int, Grounds], line: str, *, one_each: bool
) -> Cited | None:
    body = _HEAD.sub("", tidy(_CITED.sub("", line)))
    if not body:
        return None
    places = _places(body, grounds, _named(line, grounds), one_each=one_each)
    if not places:
        return None
    message = source.messages[places[0]]
    other = source.addressee(message)
    told = in_third_person(
        body, called(message.speaker), None if other is None else called(other), explain=False
    )
    if not _right_people(source, places, told):
        return None
    whole = grounds_of(source, places)
    told = dated(told, whole)
    if shared_share(told, whole) < LEAST_SHARED:
        return None
    return Cited(Line(told, missing_from(told, whole)), places)


def _right_people(source: SessionSource, places: Sequence[int], line: str) -> bool:
    """Whether one of the messages has a statement about the people that the line is about."""
    people = [called(name) for name in source.speakers]
    for place in places:
        told = nearest(line, statements_of(source, place))
        writer = called(source.messages[place].speaker)
        if told is not None and about_the_same(told, line, people, writer):
            return True
    return False


def _named(line: str, grounds: dict[int, Grounds]) -> tuple[int, ...]:
    """The places that a line cites and that its window has."""
    cited = _CITED.search(line)
    numbers = _NUMBER.findall(cited.group(1)) if cited else []
    return tuple(dict.fromkeys(p for n in numbers if (p := int(n) - 1) in grounds))


def _places(
    body: str, grounds: dict[int, Grounds], named: Sequence[int], *, one_each: bool
) -> tuple[int, ...]:
    """The messages that a line rests on: those cited, unless another one fits clearly better."""
    shares = {place: shared_share(body, one) for place, one in grounds.items()}
    if not content_of(body) or not shares:
        return tuple(named[:1] if one_each else named)
    best = max(shares, key=lambda place: (shares[place], -place))
    trusted = [place for place in named if shares[place] >= LEAST_SHARED]
    if not trusted:
        return (best,) if shares[best] >= LEAST_SHARED else ()
    trusted.sort(key=lambda place: (-shares[place], place))
    return tuple(trusted[:1] if one_each else trusted)
