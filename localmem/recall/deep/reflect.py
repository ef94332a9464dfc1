"""Reflection: is it enough, what is missing, what to look for next (APDMem, Figure 8).

The program does what needs no judgement: convergence, entities of what was found as new queries,
and the refusal of queries that were tried. A model may add its verdict and its queries.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from localmem.entities import content_words, entities
from localmem.layers.orders import holds_order
from localmem.recall.deep.question import Question
from localmem.recall.deep.state import Line, State
from localmem.recall.deep.telling import is_sufficient
from localmem.recall.described import NAMED_KINDS, descriptions
from localmem.types import MessageId

if TYPE_CHECKING:
    from localmem.recall.deep.bench import Bench

_MOST_QUERIES = 3
_SHOWN_LINES = 5
_LONGEST_LINE = 160
_MOST_SHARED = 0.5
_LEAST_SHARE = 0.3
"""Of the question's words, for a line whose names are worth a search."""
_EMPTY = frozenset(("many", "much", "often", "get", "got", "take", "took", "kind", "kinds", "type"))
_MOST_DESCRIBED = 2
_OWNED = re.compile(r"['’]s?$")


def reflect(bench: Bench) -> str:
    """Judges V, sets what waits to be searched, and says what it found.

    A reflection that finds V as large as the last one ends the search.
    """
    state = bench.state
    state.reflected, state.nudged = True, False
    grown = state.size != state.size_reflected
    first = state.size_reflected < 0
    state.size_reflected = state.size
    if not grown and not first:
        state.converged = True
        return "nothing new since the last reflection"
    state.sufficient = sufficient(bench)
    if state.sufficient:
        state.converged = True
        return "sufficient"
    queries = new_queries(bench)
    if not queries:
        state.converged = True
        return "no query is left that was not tried"
    state.reflections += 1
    state.waiting = list(queries)
    return f"not yet{f' ({state.gap})' if state.gap else ''}; next: {' | '.join(queries)}"


def sufficient(bench: Bench) -> bool:
    """Whether V answers the question: by rule, or where rules see no answer, by the model.

    A wide question has enough only when a further search finds nothing new.
    """
    state = bench.state
    if is_sufficient(list(state.lines()), state.question, state.parts):
        return True
    if bench.mind is None or state.question.is_wide:
        return False
    return bench.mind.is_sufficient(state.question.text, gathered(state)) is True


def new_queries(bench: Bench) -> tuple[str, ...]:
    """The model's queries, where they are unlike those that were tried, and the rules'."""
    state = bench.state
    offered: list[str] = []
    if bench.mind is not None:
        shown = gathered(state)
        state.gap = bench.mind.gap(state.question.text, shown)
        for query in bench.mind.queries(state.question.text, shown, state.tried):
            if not is_like_any(query, [*state.tried, *offered]):
                offered.append(query)
    offered += [*description_queries(state), *expansion_queries(state)]
    return tuple(dict.fromkeys(offered))[:_MOST_QUERIES]


def description_queries(state: State) -> list[str]:
    """What fitting lines call the asked place or person without a name ("my home country").

    The name stands elsewhere, beside the same description; a line that is told already needs none.
    """
    question = state.question
    if question.want.kind not in NAMED_KINDS:
        return []
    used = " ".join([question.text, *state.tried]).casefold()
    found = [
        phrase
        for line in _fitting(state.lines(), question)
        for phrase in descriptions(line.text)
        if phrase not in used
    ]
    who = question.named[0] if len(question.named) == 1 else ""
    return [f"{who} {phrase}".strip() for phrase in dict.fromkeys(found)][:_MOST_DESCRIBED]


def expansion_queries(state: State) -> list[str]:
    """Names of what was found, that no query held yet, beside what the question asks for.

    Only for questions that may need several facts: for others a name leads astray.
    """
    if not (state.question.compound or state.question.is_wide):
        return []
    focus = topic_of(state.question)
    used = " ".join([state.question.text, *state.tried]).casefold()
    fresh = [
        name
        for name in _names(state.lines(), state.question)
        if name.casefold() not in used and name not in state.question.people
    ]
    return [f"{name} {focus}".strip() for name in fresh[:_MOST_QUERIES]]


def is_like_any(query: str, others: Iterable[str]) -> bool:
    """Whether a query shares more than half of its content words with one that was tried."""
    words = frozenset(content_words(query))
    if not words:
        return True
    return any(len(words & set(content_words(o))) / len(words) > _MOST_SHARED for o in others)


def gathered(state: State) -> str:
    """The best lines that are open, short, for a model to look at."""
    best: dict[MessageId, Line] = {}
    for line in best_lines(state, state.size):
        best.setdefault(line.message_ids[0], line)
    shown = list(best.values())[:_SHOWN_LINES]
    return "\n".join(f"- {_short(line.text)}" for line in shown) or "- nothing yet"


def best_lines(state: State, most: int) -> list[Line]:
    """Open lines, the telling and fitting first."""
    relevance = state.relevance()

    def fit(line: Line) -> float:
        near = max((relevance.get(number, 0.0) for number in line.message_ids), default=0.0)
        return near + line.share + 0.5 * line.telling + 0.1 * line.supported

    lines = sorted(state.lines(), key=lambda line: (-fit(line), line.message_ids, line.layer))
    return lines[:most]


def _fitting(lines: Iterable[Line], question: Question) -> list[Line]:
    return [
        line
        for line in lines
        if line.share >= _LEAST_SHARE
        and question.stems.of_text(line.text) & question.own_terms
        and not holds_order(line.text)
    ]


def _names(lines: Iterable[Line], question: Question) -> list[str]:
    """Names in the lines: those of fitting lines first, rare ones before common ones.

    Lines that share nothing with the topic, or that order somebody about, name nothing here.
    """
    kept = _fitting(lines, question)
    found = [(name, line) for line in kept for name in entities(line.text)]
    counts = Counter(name.casefold() for name, _ in found)
    weights: dict[str, float] = {}
    for name, line in found:
        rarity = math.log(1 + len(kept) / counts[name.casefold()])
        weights[name] = max(weights.get(name, 0.0), line.share * rarity)
    return sorted(weights, key=lambda name: (-weights[name], name))


def topic_of(question: Question) -> str:
    """What the question is after, without the people it names."""
    named = {part.casefold() for name in question.named for part in name.split()}
    words = [_OWNED.sub("", word) for word in content_words(question.text)]
    return " ".join([w for w in words if w not in named and w not in _EMPTY][:4])


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_LINE else f"{flat[:_LONGEST_LINE]}…"
