"""What to do next: the rules, and a model's choice among what the rules allow.

A decision may hold several calls. No calls: the policy is ready to answer. The rules alone drive
the whole loop; a model only picks among the legal actions, and where it fails or hardly prefers
one, the rules decide that step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from localmem.entities import content_words
from localmem.recall.deep.bench import Bench
from localmem.recall.deep.calls import Call
from localmem.recall.deep.episodes import next_opening
from localmem.recall.deep.policies import (
    ROUTE_ACTIONS,
    possible_calls,
    routed_calls,
    wants_all_versions,
    with_arguments,
)
from localmem.recall.deep.question import question_dates
from localmem.recall.deep.reflect import gathered, topic_of
from localmem.recall.deep.telling import LEAST_SHARE, is_sufficient
from localmem.types import Layer, SessionId

FINISH = "finish"
_MOST_DESCENTS = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """One step: its calls, and who decided. Without calls: answer now."""

    calls: tuple[Call, ...] = ()
    by: str = "rules"


class Policy(Protocol):
    """Says what to do next."""

    def next(self, bench: Bench) -> Decision: ...


class RulePolicy:
    """The loop without a model."""

    def next(self, bench: Bench) -> Decision:
        """Search first; descend where a session shows the topic and no answer; reflect; search
        what reflection asks for; then answer."""
        state = bench.state
        if not state.tried:
            return Decision(first_searches(bench))
        if state.waiting:
            return Decision(tuple(Call("search", query) for query in state.waiting))
        if state.converged:
            return Decision()
        routed = routed_calls(bench)
        if routed and (wants_all_versions(state.route) or not sufficient_by_rule(bench)):
            return Decision(routed)
        if sufficient_by_rule(bench):
            return Decision()
        descents, reflects = legal_descents(bench), may_reflect(bench)
        if reflects and (state.nudged or not descents or _wants_breadth(bench)):
            return Decision((Call("reflect"),))
        return Decision() if state.question.is_wide else Decision(descents)


class ModelPolicy:
    """A model chooses among the legal actions; the rules fill in their arguments."""

    def __init__(self, rules: Policy | None = None) -> None:
        self._rules = rules or RulePolicy()

    def next(self, bench: Bench) -> Decision:
        """The model's choice; the rules' decision where it has none."""
        state, mind = bench.state, bench.mind
        ruled = self._rules.next(bench)
        if mind is None or not state.tried or state.waiting or state.converged:
            return ruled
        actions = legal_actions(bench)
        if len(actions) < 2:
            return ruled
        names = tuple(actions)
        chosen = mind.choose(describe_state(bench), names)
        if chosen is None:
            return ruled
        calls = tuple(with_arguments(bench, mind, call) for call in actions[names[chosen]])
        return Decision(calls, by="model")


# --- Legal actions ------------------------------------------------------------------------


def legal_actions(bench: Bench) -> Mapping[str, tuple[Call, ...]]:
    """What may be done now, by a one-word name, with the calls that it stands for."""
    actions: dict[str, tuple[Call, ...]] = {}
    facts = next_drills(bench, bench.limits.auto_drill)
    if facts:
        actions["facts"] = facts
    for name, calls in (("notes", "read_turns"), ("raw", "read_raw")):
        descents = tuple(call for call in legal_descents(bench) if call.tool == calls)
        if descents:
            actions[name] = descents
    for call in possible_calls(bench):
        actions[ROUTE_ACTIONS[call.tool]] = (call,)
    opening = next_opening(bench)
    if opening is not None:
        actions["episode"] = (opening,)
    if may_reflect(bench):
        actions["reflect"] = (Call("reflect"),)
    actions[FINISH] = ()
    return actions


def first_searches(bench: Bench) -> tuple[Call, ...]:
    """Three to five queries: the question, its parts, its keywords, its names, its days."""
    state = bench.state
    question = state.question
    dates = " ".join(date.words for date in question_dates(question))
    keywords = " ".join(dict.fromkeys(content_words(question.text)))
    offered = [question.text, *state.parts, keywords, topic_of(question)]
    if state.meant:
        offered.append(f"{keywords} {' '.join(_meaning(one) for one in state.meant)}")
    elif dates:
        offered.append(f"{dates} {keywords}")
    kept = dict.fromkeys(" ".join(one.split()) for one in offered if len(one.split()) > 1)
    queries = list(kept)[: bench.limits.queries] or [question.text]
    return tuple(Call("search", query) for query in queries)


def next_drills(bench: Bench, most: int) -> tuple[Call, ...]:
    """Reads of the best sessions that are not open yet, at the coarsest layer that is allowed."""
    state = bench.state
    room = min(most, bench.limits.drilled - len(state.drilled))
    tool = next((t for t in _DRILLS if bench.switches.allows(t)), None)
    if tool is None or room <= 0:
        return ()
    fresh = [number for number in state.ranked_sessions if number not in state.drilled]
    return tuple(Call(tool, state.question.text, number) for number in fresh[:room])


def legal_descents(bench: Bench) -> tuple[Call, ...]:
    """Reads one layer deeper, in sessions whose open layers show the topic and no answer."""
    state = bench.state
    calls = [_descent(bench, session_id) for session_id in state.drilled]
    return tuple(call for call in calls if call is not None)[:_MOST_DESCENTS]


def may_reflect(bench: Bench) -> bool:
    """Whether a reflection is allowed: there are rounds left, and V grew since the last."""
    state = bench.state
    if not bench.switches.reflect or state.converged:
        return False
    return state.reflections < bench.limits.reflections and state.size != state.size_reflected


def sufficient_by_rule(bench: Bench) -> bool:
    """Whether rules see an answer in V; asks no model."""
    state = bench.state
    return is_sufficient(list(state.lines()), state.question, state.parts)


def _wants_breadth(bench: Bench) -> bool:
    """Whether further sessions come before finer layers: once, where several facts are needed."""
    question = bench.state.question
    return (question.compound or question.is_wide) and not bench.state.reflected


def _descent(bench: Bench, session_id: SessionId) -> Call | None:
    state = bench.state
    deepest = max(
        (layer for (number, layer) in state.views if number == session_id), default=Layer.SUMMARY
    )
    lines = [line for line in state.lines() if line.session_id == session_id]
    shows = any(line.share >= LEAST_SHARE for line in lines)
    if deepest is Layer.RAW or not shows or any(line.telling for line in lines):
        return None
    by_rule = all(line.by_rule for line in lines)
    for tool in _deeper(deepest, skip_notes=by_rule or state.question.verbatim):
        if bench.switches.allows(tool):
            if tool == "read_raw" and len(state.raw_turns) >= _most_raw_on_the_way(bench):
                return None
            if (tool, session_id) not in state.refused:
                return Call(tool, state.question.text, session_id)
    return None


def _most_raw_on_the_way(bench: Bench) -> int:
    """Raw turns for descents; the others are kept for what the answer is written from."""
    return max(1, bench.limits.raw_turns - bench.limits.shown)


def _deeper(deepest: Layer, *, skip_notes: bool) -> tuple[str, ...]:
    """The tools below a layer. Notes that rules would make say no more than facts by rules."""
    if deepest >= Layer.NOTES or skip_notes:
        return ("read_raw",)
    return ("read_turns", "read_raw")


_DRILLS = ("read_facts", "read_turns", "read_raw")
_EPISODE_TOLD = {
    "summary": "what belongs together across conversations can be summed up",
    "members": "its parts can be listed, a line each",
    "raw": "its exact words can be read",
}


def describe_state(bench: Bench) -> str:
    """The state in a few lines, as a model sees it; of episodes only where one can be opened."""
    state = bench.state
    left = bench.meter.seconds_left
    budget = f"{left:.0f} seconds" if left is not None else "no limit"
    opening = next_opening(bench)
    about = [f"Episode: {_EPISODE_TOLD[opening.level]}, by the step episode"] if opening else []
    return "\n".join(
        [
            f"Question: {state.question.text}",
            f"Dates: {'; '.join(state.meant) or 'none'}",
            f"Conversations read: {len(state.drilled)} of {bench.sources.sessions_total}",
            f"Found:\n{gathered(state)}",
            *about,
            f"Missing: {state.gap or 'not judged yet'}",
            f"Left: {budget}, {bench.limits.reflections - state.reflections} reflections",
        ]
    )


def _meaning(meant: str) -> str:
    return meant.partition(" is ")[2]
