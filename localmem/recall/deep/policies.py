"""The tools that a question's route calls for: graph, timeline, persona. Each once a question.

By the cues of the route, not by what was found: temporal and relation cues lead along the graph,
a question for a time to the timeline, one for what somebody likes or is to the persona. A model may
take any that can be used; rules take those that the route calls for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from localmem.recall.deep.bench import Bench
from localmem.recall.deep.calls import Call
from localmem.recall.deep.mind import Mind
from localmem.recall.deep.reflect import gathered, is_like_any
from localmem.recall.route import LEAST_FOUND, Route, RouteClass
from localmem.types import AnswerType

ROUTE_ACTIONS: Mapping[str, str] = {
    "read_persona": "persona",
    "expand_graph": "graph",
    "timeline": "timeline",
}
"""Tool -> the one word by which a model chooses it."""

_OF_PERSON = (RouteClass.ATTRIBUTE, RouteClass.EVOLUTION)
_OF_TIME = (AnswerType.DATE, AnswerType.DURATION)


def routed_calls(bench: Bench) -> tuple[Call, ...]:
    """What the route calls for and was not done yet."""
    route = bench.state.route
    if route is None:
        return ()
    return tuple(call for call in possible_calls(bench) if _is_called_for(bench, route, call.tool))


def possible_calls(bench: Bench) -> tuple[Call, ...]:
    """What can be done at all and was not done yet, with the arguments that rules give it."""
    if bench.state.route is None or not bench.state.tried:
        return ()
    return tuple(
        call
        for call in _calls(bench)
        if call.tool not in bench.state.taken and bench.switches.allows(call.tool)
    )


def wants_all_versions(route: Route | None) -> bool:
    """Whether the question asks how something changed, so that one version is never enough."""
    return route is not None and route.kind is RouteClass.EVOLUTION


def with_arguments(bench: Bench, mind: Mind, call: Call) -> Call:
    """A call that the model chose, with the arguments that the model gives it.

    A name is chosen among those of the question; a timeline's query is written under a grammar.
    What the model cannot give stays as rules have it.
    """
    state = bench.state
    if call.tool == "read_persona" and len(state.question.named) > 1:
        chosen = mind.choose(
            f"Question: {state.question.text}\nWhose persona to read?", state.question.named
        )
        return call if chosen is None else Call(call.tool, state.question.named[chosen])
    if call.tool == "timeline":
        written = mind.queries(state.question.text, gathered(state), state.tried)
        fresh = [query for query in written if not is_like_any(query, state.tried[1:])]
        return Call(call.tool, fresh[0]) if fresh else call
    return call


def _calls(bench: Bench) -> Iterator[Call]:
    question = bench.state.question
    if bench.sources.persona is not None and question.named:
        yield Call("read_persona", question.named[0])
    if bench.sources.neighbours is not None and bench.state.candidates:
        yield Call("expand_graph")
    if question.want.kind in _OF_TIME or _is_of_time(bench.state.route):
        yield Call("timeline", question.text)


def _is_called_for(bench: Bench, route: Route, tool: str) -> bool:
    if tool == "read_persona":
        return route.kind in _OF_PERSON and len(bench.state.question.named) == 1
    if tool == "timeline":
        return _is_of_time(route)
    few = route.graph_if_few and len(bench.state.candidates) < LEAST_FOUND
    return (route.use_graph and route.hops > 0) or few


def _is_of_time(route: Route | None) -> bool:
    return route is not None and (
        route.asks_when or route.kind in (RouteClass.TEMPORAL, RouteClass.EVOLUTION)
    )
