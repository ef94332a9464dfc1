"""How well L0 stands for its turns: what of a turn is in its line, and the reverse.

What L0 leaves out is not found through L0: the limit that APDMem names itself. By rule and on a
sample where the memory is large, because `doctor` must stay quick. Reads only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localmem.dates import describe
from localmem.layers.extractive import prose_of
from localmem.layers.source import SessionSource, stamp
from localmem.layers.specifics import known_words, share_known, specifics
from localmem.types import Message, Session, TurnId, TurnSummary

MOST_TURNS = 3_000
"""Turns that are looked at; of a larger memory every second, third, ... session is."""

_WORST = 10


@dataclass(frozen=True, slots=True)
class SessionQuality:
    """Of one session: the mean share of its turns' names, numbers and dates that are in L0."""

    session: Session
    coverage: float


@dataclass(frozen=True, slots=True)
class SummaryQuality:
    """Of L0 as a whole, both as means over turns in [0, 1]; None where no turn names anything.

    `coverage`: of a turn's names, numbers and dates, the share in its sentence or keywords.
    `faithfulness`: of those of sentence and keywords, the share in the turn. `worst` are the ten
    sessions with the least coverage. `turns` were looked at, of `turns_total`.
    """

    coverage: float | None
    faithfulness: float | None
    worst: tuple[SessionQuality, ...]
    turns: int
    turns_total: int


def summary_quality(
    sources: Sequence[SessionSource], summaries: Sequence[TurnSummary], *, most: int = MOST_TURNS
) -> SummaryQuality:
    """Judge the lines of a memory; sessions are looked at whole."""
    step = max(1, -(-len(summaries) // most))
    by_turn = {summary.turn_id: summary for summary in summaries}
    covered: list[float] = []
    faithful: list[float] = []
    sessions: list[SessionQuality] = []
    turns = 0
    for source in sources[::step]:
        shares: list[float] = []
        for turn_id, messages in _turns(source).items():
            summary = by_turn.get(turn_id)
            if summary is None:
                continue
            turns += 1
            told, kept = _judged(source, messages, summary)
            shares += [told] if told is not None else []
            faithful += [kept] if kept is not None else []
        covered += shares
        if shares:
            sessions.append(SessionQuality(source.session, _mean(shares)))
    sessions.sort(key=lambda one: (one.coverage, one.session.id))
    return SummaryQuality(
        coverage=_mean(covered) if covered else None,
        faithfulness=_mean(faithful) if faithful else None,
        worst=tuple(sessions[:_WORST]),
        turns=turns,
        turns_total=len(summaries),
    )


def _turns(source: SessionSource) -> dict[TurnId, list[Message]]:
    found: dict[TurnId, list[Message]] = {}
    for message in source.messages:
        found.setdefault(message.turn_id, []).append(message)
    return found


def _judged(
    source: SessionSource, messages: Sequence[Message], summary: TurnSummary
) -> tuple[float | None, float | None]:
    """(coverage, faithfulness) of one turn's L0; None where there is nothing to cover."""
    line = known_words(summary.sentence, " ".join(summary.keywords))
    held = total = 0
    texts: list[str] = []
    for message in messages:
        prose = prose_of(message.text)
        dates = source.dates_of(message)
        found = specifics(prose, [one for one in dates if one.stop <= len(prose)])
        known, every = share_known(found, line)
        held, total = held + known, total + every
        texts += [message.whole_text, stamp(message), *(describe(one) for one in dates)]
        texts += [describe(one, said_at=message.said_at) for one in dates]
    # Behind a little word, so that a name with which the line begins is seen as one.
    told = f"so {summary.sentence.partition(': ')[2] or summary.sentence}"
    claimed = [*specifics(told, ()), *specifics(". ".join(summary.keywords), ())]
    borne, claims = share_known(claimed, known_words(*texts))
    return held / total if total else None, borne / claims if claims else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
