"""L1 from L2 by rule: the most telling notes of a session, repeats merged, at most 25.

Greedy: names, numbers and dates, a cue of plan, preference or constraint, and novelty against
what is chosen already (SEED_DETAILS, Figure 5). No model, no floor. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from localmem import dates as dating
from localmem import entities
from localmem.layers.rules import called
from localmem.layers.source import SessionSource
from localmem.layers.support import stems_of
from localmem.layers.telling import content_of
from localmem.types import KeyFact, MessageId, Provenance, Role, TurnNote

MOST_FACTS = 25
CHOICE_VERSION = "1"
"""Goes into the provenance of L1 that was chosen from L2."""

_SAME = 0.75
"""Share of the shorter note's words from which two notes tell the same."""
_CUE = re.compile(
    r"\b(?:plan\w*|going to|gonna|will|would like|want\w*|hop(?:e|es|ing) to|intend\w*|decided"
    r"|prefer\w*|favou?rite|lov(?:e|es|ed)|like[sd]?|enjoy\w*|hate[sd]?|dislike\w*|allergic|avoid\w*"
    r"|can't|cannot|never|always|must|need\w*|has to|have to|budget|deadline|dream\w*|goal\w*"
    r"|interested|passionate|used to|started|joined|moved|bought|got|adopted|married|works? (?:as"
    r"|at|for)|lives? in|born|years?)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(r"^\S+(?: \S+)? asked: ")
_NUMBER = re.compile(r"\d+")


@dataclass(slots=True)
class _Candidate:
    note: TurnNote
    words: frozenset[str]
    numbers: frozenset[str]
    worth: float
    message_ids: list[MessageId]


def choose_facts(
    source: SessionSource, notes: Sequence[TurnNote], provenance: Provenance
) -> tuple[KeyFact, ...]:
    """The facts of a session, best first; those that a source check marked come last."""
    candidates = _merged([_candidate(source, note) for note in notes])
    supported = _ranked([one for one in candidates if one.note.supported])
    doubtful = _ranked([one for one in candidates if not one.note.supported])
    return tuple(
        KeyFact(
            session_id=source.session.id,
            position=position,
            text=one.note.text,
            message_ids=tuple(dict.fromkeys(one.message_ids)),
            missing=one.note.missing,
            provenance=provenance,
        )
        for position, one in enumerate((*supported, *doubtful)[:MOST_FACTS])
    )


def body_of(text: str) -> str:
    """A note without its "Ana, 3 May 2021:"."""
    head, colon, body = text.partition(": ")
    return body if colon and len(head) < _LONGEST_HEAD else text


_LONGEST_HEAD = 80


def _candidate(source: SessionSource, note: TurnNote) -> _Candidate:
    message = next((m for m in source.messages if m.id == note.message_id), None)
    body = body_of(note.text)
    people = (*source.speakers, *map(called, source.speakers))
    worth = _worth(body, people)
    if message is not None and (message.role is Role.USER or source.among_people):
        worth += 1.0
    numbers = frozenset(_NUMBER.findall(body))
    return _Candidate(note, stems_of(body, people), numbers, worth, [note.message_id])


def _worth(body: str, people: Collection[str]) -> float:
    own = {part.casefold() for name in people for part in name.split()}
    names = [
        name
        for name in entities.entities(body)
        if not {part.casefold() for part in name.split()} <= own
    ]
    worth = 0.8 * min(len(names), 4) + 0.6 * min(len(_NUMBER.findall(body)), 1)
    worth += 0.8 * min(len(dating.resolve(body, None)), 2)
    worth += 1.0 * (_CUE.search(body) is not None)
    worth += 0.2 * min(len(content_of(body, people)), 8)
    return worth - 2.0 * (_ASKED.match(body) is not None)


def _merged(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Without repeats: of notes that tell the same, the better one with all the messages."""
    kept: list[_Candidate] = []
    for one in candidates:
        same = next((other for other in kept if _is_same(one, other)), None)
        if same is None:
            kept.append(_with_ids(one, one.message_ids))
        elif one.note.supported >= same.note.supported and one.worth > same.worth:
            kept[kept.index(same)] = _with_ids(one, [*same.message_ids, *one.message_ids])
        else:
            same.message_ids += one.message_ids
    return kept


def _with_ids(one: _Candidate, ids: Sequence[MessageId]) -> _Candidate:
    return replace(one, message_ids=list(ids))


def _is_same(left: _Candidate, right: _Candidate) -> bool:
    if left.numbers != right.numbers:
        return False
    fewer = min(len(left.words), len(right.words))
    if fewer < 2:
        return left.words == right.words and left.note.text == right.note.text
    return len(left.words & right.words) >= _SAME * fewer and len(left.words ^ right.words) <= 4


def _ranked(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Greedy: each next one is worth most when what it repeats of the chosen ones is taken off."""
    left = list(candidates)
    overlap = [0.0] * len(left)
    chosen: list[_Candidate] = []
    while left and len(chosen) < MOST_FACTS:
        best = max(range(len(left)), key=lambda i: (left[i].worth * (1.0 - overlap[i]), -i))
        taken = left.pop(best)
        overlap.pop(best)
        chosen.append(taken)
        for i, other in enumerate(left):
            shared = len(taken.words & other.words) / max(len(other.words), 1)
            overlap[i] = max(overlap[i], shared)
    return chosen
