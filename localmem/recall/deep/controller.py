"""APDMem's Algorithm 1 with the program's own rules around it: it opens evidence and then stops.

The program does what must not be left to a policy: dates and parts first, the auto-drill after a
search, one reflection before any count, the nudge, all limits. It writes no answer.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from localmem.recall.deep.bench import Bench
from localmem.recall.deep.calls import Call
from localmem.recall.deep.lasting import lasting_calls
from localmem.recall.deep.meter import OutOfTimeError
from localmem.recall.deep.policy import Decision, Policy, legal_descents, next_drills
from localmem.recall.deep.question import is_about
from localmem.recall.deep.state import Candidate
from localmem.recall.deep.telling import is_sufficient
from localmem.recall.deep.tools import run_call
from localmem.types import Layer, SessionId

_FIRST = ("interpret_dates", "decompose", "plan_route")
_WIDE_SHOWN = 20
_SURELY_SHOWN = 5
_MORE_SESSIONS = 4
_MORE_IF_SUFFICIENT = 2
"""Sessions that may be opened beside those that were drilled, for a question that is not wide."""
_LEAST_FIT = 0.25
"""How well a message beyond the first must fit, to be worth opening its session."""


def gather_evidence(bench: Bench, policy: Policy) -> None:
    """Runs the loop until it converges or the budget ends it; what is open is in `bench.state`.

    `state.stopped` says what ended it early.
    """
    state = bench.state
    try:
        _prepare(bench)
        _loop(bench, policy)
    except OutOfTimeError:
        state.stopped = "seconds"
    if not state.tried:
        _run(bench, [Call("search", state.question.text)])
    _open_best(bench)


def _prepare(bench: Bench) -> None:
    """Dates first, then parts, then the route: always, and before anything is searched."""
    names = [name for name in _FIRST if bench.switches.allows(name)]
    _run(bench, [Call(name) for name in names])


def _loop(bench: Bench, policy: Policy) -> None:
    state = bench.state
    most = bench.meter.budget.steps
    while state.decision < most:
        state.stopped = bench.meter.exhausted()
        if state.stopped:
            return
        state.decision += 1
        decision = _ruled(bench, policy.next(bench))
        if decision.calls:
            _run(bench, decision.calls)
        elif _may_nudge(bench):
            _nudge(bench)
        else:
            return
    if not state.converged:
        state.stopped = "steps"


def _ruled(bench: Bench, decision: Decision) -> Decision:
    """The decision, but a count is never answered before one reflection, and one thing that no
    open line tells is looked for in the finer layers before anybody judges what is there."""
    state = bench.state
    hasty = not decision.calls and state.question.is_wide and not state.reflected
    if hasty and bench.switches.reflect and state.tried:
        return Decision((Call("reflect"),), by="program")
    judges = any(call.tool == "reflect" for call in decision.calls)
    simple = not (state.question.is_wide or state.question.compound or state.nudged)
    if judges and simple and not any(line.telling for line in state.lines()):
        descents = legal_descents(bench)
        return Decision(descents, by="program") if descents else decision
    return decision


def _may_nudge(bench: Bench) -> bool:
    """V grew since the last reflection, nothing seems to answer the question, nudges are left."""
    state = bench.state
    if not bench.switches.reflect or state.converged or state.nudges >= bench.limits.nudges:
        return False
    if state.size == state.size_reflected or state.reflections >= bench.limits.reflections:
        return False
    return not is_sufficient(list(state.lines()), state.question, state.parts)


def _nudge(bench: Bench) -> None:
    state = bench.state
    state.nudges += 1
    state.nudged = True
    bench.note("nudge", "", "evidence has grown: reflect before answering", time.perf_counter())


def _run(bench: Bench, calls: Iterable[Call]) -> None:
    """Runs calls; after a search the best sessions that are not open yet are drilled, and after
    the first one what lasts is recalled."""
    searched = False
    for call in calls:
        if call.tool == "search" and call.query in bench.state.waiting:
            bench.state.waiting.remove(call.query)
        searched = _run_one(bench, call) or searched
        if bench.meter.exhausted():
            return
    if searched and bench.state.decision:
        for call in (*next_drills(bench, bench.limits.auto_drill), *lasting_calls(bench)):
            _run_one(bench, call)


def _run_one(bench: Bench, call: Call) -> bool:
    """Runs one call and records it; whether it was a search that was done."""
    began = time.perf_counter()
    seen = run_call(bench, call)
    bench.record(call, seen, began)
    if not seen.ok:
        bench.state.refused.add((call.tool, call.session_id))
    return seen.ok and call.tool == "search"


def _open_best(bench: Bench) -> None:
    """Opens the raw turns that an answer needs and that no open layer stands for.

    Facts that a model wrote and that answer the question are enough; facts by rule are parts of
    their messages, so that the messages are read instead. A wide question takes more of them.
    """
    state = bench.state
    if not bench.switches.read_raw or _facts_suffice(bench):
        return
    held = {n for line in state.lines(least=Layer.RAW) for n in line.message_ids}
    missing: dict[SessionId, int] = {}
    for one in _best_candidates(bench):
        message = one.found.message
        if message.id not in held and _has_room(bench, message.session_id, missing):
            missing[message.session_id] = missing.get(message.session_id, 0) + 1
    for session_id, count in missing.items():
        bench.raw_at_once = count
        _run_one(bench, Call("read_raw", state.question.text, session_id))


def _best_candidates(bench: Bench) -> list[Candidate]:
    """The found messages that the answer may need, best first."""
    state = bench.state
    most = _WIDE_SHOWN if state.question.is_wide else bench.limits.shown
    relevance = state.relevance()
    about = [
        one
        for one in state.candidates.values()
        if not state.question.is_wide or is_about(one.found.message, state.question)
    ]
    return [
        one
        for place, one in enumerate(about[:most])
        if place < _SURELY_SHOWN or relevance[one.found.message.id] >= _LEAST_FIT
    ]


def _has_room(bench: Bench, session_id: SessionId, wanted: Collection[SessionId]) -> bool:
    """Whether a session is open, is wanted already, or may still be opened."""
    state = bench.state
    if session_id in state.drilled or session_id in wanted:
        return True
    new = len([number for number in wanted if number not in state.drilled])
    room = bench.limits.drilled - len(state.drilled)
    if not state.question.is_wide:
        is_enough = is_sufficient(list(state.lines()), state.question, state.parts)
        room = min(room, _MORE_IF_SUFFICIENT if is_enough else _MORE_SESSIONS)
    return new < room and session_id in state.ranked_sessions


def _facts_suffice(bench: Bench) -> bool:
    state = bench.state
    written = [line for line in state.lines() if not line.by_rule and line.supported]
    if state.sufficient and all(not line.by_rule for line in state.lines()):
        return True
    return is_sufficient(written, state.question, state.parts)
