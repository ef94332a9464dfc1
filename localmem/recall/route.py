"""How a question is looked for: by similarity alone, or along the graph too, and how far.

Cue words choose the class (AdaMem, section B.2); a model may refine a plan that is not sure, and
only within clips. The plan is data: nothing is searched here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from localmem.entities import expected_answer_type
from localmem.participants.graph import PRIORS
from localmem.prompts import load_prompt
from localmem.recall.blend import TABLE_7, FusionTerms, clipped
from localmem.recall.targets import Target, TargetKind
from localmem.types import AnswerType, ChatMessage, Choice, EdgeKind

Chooser = Callable[[Sequence[ChatMessage], Sequence[str]], Choice | None]
"""Reads a choice among options from a model's probabilities; None where the model fails at it."""

REFINE_BELOW = 0.75
LEAST_FOUND = 3
"""With fewer hits of the baseline, the graph is asked where the plan left it off."""
_RAISE = 1.15
_MOST_SEEDS = 4
_MOST_HOPS = 2

_TEMPORAL_TEXT = """
    when date year month time last ago before after since until first latest recent
    january february march april june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
"""
_RELATION_TEXT = """
    why because cause relationship connect between reason result together
"""
_ATTRIBUTE_TEXT = "prefer favorite favourite personality trait attribute"
_SINGLE_TEXT = "who what where which name did does is was"
_TEMPORAL = frozenset(_TEMPORAL_TEXT.split())
_RELATION = frozenset(_RELATION_TEXT.split())
_ATTRIBUTE = frozenset(_ATTRIBUTE_TEXT.split())
_SINGLE = frozenset(_SINGLE_TEXT.split())
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_IN_MAY = re.compile(r"\b(?:in|of|on|since|until|last|this|early|late) (?:\d+ )?May\b|\bMay,? \d")
_HOW_LONG = re.compile(r"\bhow long\b", re.IGNORECASE)
_COUNTING = re.compile(r"\bhow (?:many|much|old|often)\b", re.IGNORECASE)
_HOW = re.compile(
    r"\bhow\b(?! (?:many|much|old|often|long))|\bled to\b|\bin common\b", re.IGNORECASE
)
_LIKE = re.compile(r"\blikes?\b", re.IGNORECASE)
_NOT_LIKE = re.compile(
    r"\b(?:would|looks?|looked|feels?|felt|sounds?)\b(?: [\w'’]+){0,2}? like\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")
_AUX = r"(?:do|does|did|has|have|had|is|are|was|were|can|could|will|would|should|might|may)"
_PLURAL = rf"(?!{_AUX}\b)(?:(?!{_AUX}\b)[\w+&'’/-]+ ){{0,4}}[\w/-]*(?:[^\Wsiu]s|people|children)"
_SEVERAL = re.compile(
    rf"\b(?:what|which) {_PLURAL} {_AUX}\b"
    r"|\b(?:what|where|which|who)(?: (?!kind|type|sort)[\w-]+)? (?:has|have) "
    r"(?:(?!been\b|found\b|to\b)[\w'’-]+ ){1,3}(?!been\b|to\b)\w"
    r"|\bwhat (?:are|were) (?:all|some|the names|[\w’']+['’]s?)\b.*s\b"
    r"|\bin (?:what|which) ways\b|\bnames of\b|['’]s? names\b|^list\b|\ball (?:the|of)\b"
    r"|\bwhat .* both\b|\bhow many\b(?! (?:days|weeks|months|years|hours|minutes)\b)"
    r"|^what (?:do|does) .{2,40} (?:do|like|enjoy|collect|own)\b(?! about\b)",
    re.IGNORECASE,
)


class RouteClass(StrEnum):
    """What a question's cue words say of the way to its answer."""

    SINGLE_HOP = "single-hop"
    TEMPORAL = "temporal"
    RELATION = "relation"
    ATTRIBUTE = "attribute"
    MIXED = "mixed"
    EVOLUTION = "evolution"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Route:
    """A plan. `graph_if_few`: the graph is asked only where the baseline finds fewer than three.

    `asks_when`: the answer is a time. `asks_several`: the answer has several parts, which may be
    scattered. `refined` names what a model changed.
    """

    kind: RouteClass
    confidence: float
    use_graph: bool
    hops: int
    seeds: int
    priors: Mapping[EdgeKind, float] = field(default_factory=lambda: PRIORS)
    fusion: FusionTerms = TABLE_7
    graph_if_few: bool = False
    asks_when: bool = False
    asks_several: bool = False
    refined: tuple[str, ...] = ()


_TIME = (EdgeKind.TEMPORAL_NEXT,)
_SPEAKER = (EdgeKind.SPEAKER_RELATED,)
_PLANS: Mapping[RouteClass, Route] = {
    route.kind: route
    for route in (
        Route(RouteClass.SINGLE_HOP, 0.90, use_graph=False, hops=0, seeds=0),
        Route(RouteClass.TEMPORAL, 0.85, use_graph=True, hops=1, seeds=2),
        Route(RouteClass.RELATION, 0.85, use_graph=True, hops=1, seeds=2),
        Route(RouteClass.ATTRIBUTE, 0.85, use_graph=False, hops=1, seeds=2, graph_if_few=True),
        Route(RouteClass.MIXED, 0.70, use_graph=True, hops=2, seeds=4),
        Route(RouteClass.EVOLUTION, 0.70, use_graph=True, hops=1, seeds=4),
        Route(RouteClass.UNKNOWN, 0.50, use_graph=False, hops=1, seeds=2, graph_if_few=True),
    )
}
_RAISED: Mapping[RouteClass, tuple[EdgeKind, ...]] = {
    RouteClass.TEMPORAL: _TIME,
    RouteClass.ATTRIBUTE: _SPEAKER,
    RouteClass.MIXED: _TIME + _SPEAKER,
    RouteClass.EVOLUTION: _TIME + _SPEAKER,
}


def plan_route(question: str, target: Target | None = None) -> Route:
    """The plan of a question by its cue words, and by whom it is about."""
    two = target is not None and target.kind is TargetKind.BOTH
    kind = _class_of(question, two_people=two)
    wanted = expected_answer_type(question)
    several = _SEVERAL.search(question) is not None
    return replace(
        _PLANS[kind],
        priors=_raised(_RAISED.get(kind, ())),
        asks_when=wanted in (AnswerType.DATE, AnswerType.DURATION),
        asks_several=several and wanted not in (AnswerType.DATE, AnswerType.DURATION),
    )


def _class_of(question: str, *, two_people: bool) -> RouteClass:
    said = {word.casefold() for word in _WORD.findall(question)}
    temporal = bool(said & _TEMPORAL) or any(
        pattern.search(question) for pattern in (_YEAR, _HOW_LONG, _IN_MAY)
    )
    relation = bool(said & _RELATION) or _HOW.search(question) is not None
    attribute = bool(said & _ATTRIBUTE) or (
        _LIKE.search(question) is not None and _NOT_LIKE.search(question) is None
    )
    if (temporal and relation) or two_people:
        return RouteClass.MIXED
    if attribute and temporal:
        return RouteClass.EVOLUTION
    if attribute and relation:
        return RouteClass.MIXED
    for fires, kind in (
        (temporal, RouteClass.TEMPORAL),
        (relation, RouteClass.RELATION),
        (attribute, RouteClass.ATTRIBUTE),
        (bool(said & _SINGLE) or _COUNTING.search(question) is not None, RouteClass.SINGLE_HOP),
    ):
        if fires:
            return kind
    return RouteClass.UNKNOWN


def _raised(kinds: Iterable[EdgeKind]) -> Mapping[EdgeKind, float]:
    raised = frozenset(kinds)
    return {
        kind: min(1.0, prior * _RAISE) if kind in raised else prior
        for kind, prior in PRIORS.items()
    }


# --- Refinement by a model ----------------------------------------------------------------

_YES_NO = ("yes", "no")


def refine(route: Route, question: str, choose: Chooser | None) -> Route:
    """The plan as a model revises it: only a plan of less confidence than 0.75, and within clips.

    Small choices by probability: whether to use the graph, from how many messages, how far, and
    how much each part of the fusion counts. Without a model, and where it fails at a choice, the
    table stands.
    """
    if choose is None or route.confidence >= REFINE_BELOW:
        return route
    told = _Refiner(question, choose)
    graph = told.yes("Does the answer need several messages?", route.use_graph)
    seeds, hops = route.seeds, route.hops
    if graph:
        seeds = told.number("From how many messages should one look on?", 4, route.seeds)
        hops = told.number("How many steps from one to the next?", 2, route.hops)
    newest = told.yes("Does the newest message count most?", route.fusion.gamma > 0)
    plain = told.yes("Is the answer a plain fact?", route.fusion.delta > 0)
    if not told.answered:
        return route
    fusion = FusionTerms(
        alpha=route.fusion.alpha,
        beta=route.fusion.beta if graph else 0.0,
        gamma=route.fusion.gamma if newest else 0.0,
        delta=route.fusion.delta if plain else 0.0,
    )
    return replace(
        route,
        use_graph=graph,
        graph_if_few=False,
        seeds=max(1, min(_MOST_SEEDS, seeds)) if graph else seeds,
        hops=max(0, min(_MOST_HOPS, hops)),
        fusion=clipped(fusion),
        refined=tuple(sorted({"fusion", *told.answered})),
    )


@dataclass(slots=True)
class _Refiner:
    """The small questions to a model about one question; `answered` names what it decided."""

    question: str
    choose: Chooser
    answered: list[str] = field(default_factory=list)

    def yes(self, asked: str, otherwise: bool) -> bool:
        """Yes or no; as the table has it where the model fails."""
        said = self._said(asked, _YES_NO)
        return otherwise if said is None else said == "yes"

    def number(self, asked: str, most: int, otherwise: int) -> int:
        """A number from 1 to `most`; as the table has it where the model fails."""
        said = self._said(asked, tuple(str(number) for number in range(1, most + 1)))
        return otherwise if said is None else int(said)

    def _said(self, asked: str, options: Sequence[str]) -> str | None:
        prompt = load_prompt("revise_route")
        choice = self.choose(prompt.messages(question=self.question, asked=asked), options)
        if choice is None:
            return None
        self.answered.append(_NAMES[asked])
        return options[choice.best]


_NAMES: Mapping[str, str] = {
    "Does the answer need several messages?": "use_graph",
    "From how many messages should one look on?": "seeds",
    "How many steps from one to the next?": "hops",
    "Does the newest message count most?": "recency",
    "Is the answer a plain fact?": "facts",
}


def described(route: Route) -> str:
    """A plan in a few words, for a trace."""
    if route.use_graph:
        steps = "1 step" if route.hops == 1 else f"{route.hops} steps"
        way = f"along the graph too, {steps} from {route.seeds} messages"
    else:
        way = "along the graph where little is found" if route.graph_if_few else "by similarity"
    by_model = f"; the model chose {', '.join(route.refined)}" if route.refined else ""
    return f"{route.kind}, {way}{by_model}"
