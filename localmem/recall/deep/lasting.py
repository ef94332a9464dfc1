"""What the long term holds of a question: a few lines, each with the messages that it rests on.

The program recalls them by itself, once, after the first search (FluxMem: retrieved long-term
entries are part of the context). They are data like all evidence.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from localmem.recall.deep.calls import BY_RULE, Call, Observation, refused, source_line
from localmem.recall.deep.telling import judged
from localmem.types import Layer, MessageId
from localmem.wording import counted

if TYPE_CHECKING:
    from localmem.recall.deep.bench import Bench

_MOST = 3


def lasting_calls(bench: Bench) -> tuple[Call, ...]:
    """The call that recalls, where it is allowed, something lasts, and it was not made yet."""
    tiers = bench.sources.tiers
    if tiers is None or tiers.lasting is None or "recall_lasting" in bench.state.taken:
        return ()
    if not bench.switches.allows("recall_lasting"):
        return ()
    return (Call("recall_lasting", bench.state.question.text),)


def recall_lasting(bench: Bench, call: Call) -> Observation:
    """Opens the nearest entries that share a word with what is asked, beside the names in it."""
    state, tiers = bench.state, bench.sources.tiers
    if tiers is None or tiers.lasting is None:
        return refused("this memory has no long term yet")
    question = state.question
    near = [
        one
        for one in tiers.lasting(question.text, _MOST)
        if one.line.messages and question.own_terms & question.stems.of_text(one.line.text)
    ]
    characters = 0
    low = min((one.score for one in state.candidates.values()), default=0.0)
    for one in near:
        behind = [m for m in one.line.messages if m.message.id not in state.candidates]
        state.merge(
            [replace(m, hit=replace(m.hit, score=low)) for m in behind], bench.limits.sessions
        )
        messages = [m.message for m in one.line.messages]
        line = source_line(one.line.text, Layer.FACTS, messages, BY_RULE)
        view = state.open(messages[0].session_id, Layer.FACTS, [judged(line, question)])
        characters += view.characters
        state.recalled[one.entry] = frozenset(line.message_ids)
    return Observation(
        counted(len(near), "lasting entry", "lasting entries"), Layer.FACTS, characters
    )


def tell_taken(bench: Bench, cited: Collection[MessageId]) -> None:
    """Tells the memory which recalled entries an answer took: those whose messages it cites."""
    taken = [entry for entry, ids in bench.state.recalled.items() if ids & set(cited)]
    if taken and bench.sources.tiers is not None:
        bench.sources.tiers.took(taken)
