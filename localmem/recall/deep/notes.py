"""Organised notes: what was found, put in order for the question (APDMem, section 3.3, Figure 9).

All five parts are made by rule: facts by relevance, the most recent, what changed, the list, a
hint. Nothing is written that no opened line says, and an empty part is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from localmem.dates import describe_day
from localmem.recall.deep.bench import Bench
from localmem.recall.deep.items import Item
from localmem.recall.deep.reflect import best_lines
from localmem.recall.deep.state import Line
from localmem.recall.deep.telling import span_of
from localmem.recall.evidence import Beside
from localmem.types import AnswerType, Evidence, Layer, MessageId

_MOST_CHANGES = 4
_CHANGING = (
    AnswerType.NUMBER,
    AnswerType.PLACE,
    AnswerType.PERSON,
    AnswerType.DURATION,
    AnswerType.OTHER,
)


@dataclass(frozen=True, slots=True)
class OrganisedNotes:
    """Notes on one question.

    `facts` are what the answer is written from, best first; each is a message, or a fact in the
    place of its message's text. `sources` are the messages themselves, for citations. `changes`
    are values of one thing in the order of time. `written` are notes that a model wrote.
    """

    facts: tuple[Evidence, ...]
    sources: tuple[Evidence, ...]
    latest: str = ""
    changes: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    hint: str = ""
    written: str = ""

    def with_sources(self, added: Sequence[Evidence]) -> OrganisedNotes:
        """The notes with more messages, after all others, where they are not among them."""
        if not added:
            return self
        facts = Beside(sources=tuple(added)).joined(self.facts)
        sources = Beside(sources=tuple(added)).joined(self.sources)
        return replace(self, facts=tuple(facts), sources=tuple(sources))

    @property
    def remarks(self) -> str:
        """The parts beside the facts, as lines; "" where there are none."""
        lines = [f"Notes on them:\n{self.written}"] if self.written else []
        if self.latest:
            lines.append(f"Most recent: {self.latest}")
        if self.changes:
            lines.append(f"Changed over time, the last one holds: {'; '.join(self.changes)}")
        if self.items:
            listed = "; ".join(one.text + ("" if one.certain else " (?)") for one in self.items)
            lines.append(f"Named in the messages: {listed}")
        if self.hint:
            lines.append(f"Hint: {self.hint}")
        return "\n".join(lines)


def organise(bench: Bench, items: Sequence[Item] = ()) -> OrganisedNotes:
    """Notes from all that is open; plain facts alone where notes are switched off."""
    lines = chosen_lines(bench)
    facts = tuple(_as_evidence(bench, line) for line in lines)
    sources = _sources(bench, lines, items)
    if not bench.switches.notes:
        return OrganisedNotes(facts, sources, items=tuple(items))
    question = bench.state.question
    changes = _changes(bench, lines) if question.want.kind in _CHANGING else ()
    return OrganisedNotes(
        facts=facts,
        sources=sources,
        latest=_latest(lines) if question.want.latest else "",
        changes=changes,
        items=tuple(items),
        hint=changes[-1] if changes and question.want.latest else "",
    )


def chosen_lines(bench: Bench) -> list[Line]:
    """The lines that are shown, best first: one for each message, its raw text where it is open.

    A fact stands in the place of a message that is open only where a model wrote it and it answers
    the question: others repeat the message, or leave out what was looked for there.
    """
    raw = {n for line in bench.state.lines(least=Layer.RAW) for n in line.message_ids}
    relevance = bench.state.relevance()
    kept: list[Line] = []
    seen: set[MessageId] = set()
    lines = best_lines(bench.state, bench.state.size)
    for line in lines:
        stands = not line.by_rule and line.supported and line.telling
        repeats = line.layer is not Layer.RAW and not stands
        if repeats and raw & set(line.message_ids):
            continue
        if seen & set(line.message_ids):
            continue
        seen |= set(line.message_ids)
        kept.append(line)
    order = {id(line): place for place, line in enumerate(kept)}
    kept.sort(
        key=lambda line: (-max(relevance.get(n, 0.0) for n in line.message_ids), order[id(line)])
    )
    return kept[: bench.limits.shown]


def _as_evidence(bench: Bench, line: Line) -> Evidence:
    """A line as what a prompt shows: the message, or the fact in its place."""
    source = bench.messages_of(line.session_id)[line.message_ids[0]]
    relevance = bench.state.relevance().get(line.message_ids[0], 0.0)
    if line.layer is Layer.RAW:
        return replace(source, score=relevance)
    message = replace(source.message, text=line.text, attachment_text="")
    return Evidence(message, line.dates, relevance, line.layer)


def _sources(bench: Bench, lines: Sequence[Line], items: Sequence[Item]) -> tuple[Evidence, ...]:
    """The messages behind lines and items, each once."""
    numbers = [n for line in lines for n in line.message_ids]
    numbers += [n for item in items for n in item.message_ids]
    sessions = {line.session_id for line in bench.state.lines()}
    at_hand = {n: one for s in sessions for n, one in bench.messages_of(s).items()}
    return tuple(at_hand[n] for n in dict.fromkeys(numbers) if n in at_hand)


def _latest(lines: Sequence[Line]) -> str:
    """The last line about the topic, with its day."""
    dated = [line for line in lines if line.said_at is not None and line.share > 0]
    if not dated:
        return ""
    last = max(dated, key=lambda line: (line.said_at, line.message_ids))
    return f"{_day(last)}: {_flat(last.text)}"


def _changes(bench: Bench, lines: Sequence[Line]) -> tuple[str, ...]:
    """Different answers of telling lines, in the order in which they were said."""
    question = bench.state.question
    told = [line for line in lines if line.telling and line.said_at is not None]
    told.sort(key=lambda line: (str(line.said_at), line.message_ids))
    values: dict[str, str] = {}
    for line in told:
        span = span_of(line, question)
        if span is not None and len(span.split()) <= 6:
            values.setdefault(span.casefold(), f"{span} ({_day(line)})")
    if len(values) < 2 or not (question.want.is_value or question.want.latest):
        return ()
    return tuple(values.values())[-_MOST_CHANGES:]


def _day(line: Line) -> str:
    return describe_day(line.said_at.date()) if line.said_at is not None else "unknown day"


def _flat(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else f"{flat[:200]}…"
