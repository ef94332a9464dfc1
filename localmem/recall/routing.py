"""Routes over one memory: plans a question's route, keeps the graph in step, makes the stage.

The stage works on what the weighted retrieval found; it searches nothing itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from localmem.errors import UsageError
from localmem.participants.graph import (
    PRIORS,
    Expansion,
    Graph,
    GraphItem,
    GraphMessage,
    expand,
    message_scores,
)
from localmem.recall.blend import append_graph, blend
from localmem.recall.corpus import Corpus, Floats
from localmem.recall.ranking import Ranking, Stage, Staged
from localmem.recall.route import LEAST_FOUND, Route, plan_route
from localmem.recall.route_terms import NOTHING, RouteTerms, add_terms, terms_of, without_names
from localmem.recall.targets import Target, resolve_target
from localmem.store.personas import PersonaNode
from localmem.types import (
    ConversationKind,
    EdgeKind,
    Item,
    MessageId,
    Node,
    NodeKind,
    Participant,
    ParticipantId,
    Session,
    SessionId,
)

_DEEP = 50
"""Of the baseline, how many are merged with the graph under the paper's fusion."""
_TIME_HOPS = 3
_SEEDS = 3
_SEED_FALL = 0.3
"""A seed of rank r counts 1 / (1 + 0.3 r)."""


class Routes(StrEnum):
    """Which routes a search takes; all but ON and OFF are there to measure them.

    PAPER plans and fuses as AdaMem does. NO_GRAPH and NO_FUSION leave that part out; the other two
    leave a part out of PAPER: the graph, and the filter by the person asked about.
    """

    ON = "on"
    OFF = "off"
    PAPER = "adamem"
    NO_GRAPH = "no-graph"
    NO_FUSION = "no-fusion"
    PAPER_NO_GRAPH = "adamem-no-graph"
    PAPER_NO_TARGET = "adamem-no-target"

    @property
    def is_paper(self) -> bool:
        """Whether it is planned and fused as AdaMem does, perhaps with a part left out."""
        return self in (Routes.PAPER, Routes.PAPER_NO_GRAPH, Routes.PAPER_NO_TARGET)


def routes_named(name: str) -> Routes:
    """The routes of a name.

    Raises:
        UsageError: no routes are called so.
    """
    try:
        return Routes(name)
    except ValueError:
        raise UsageError(
            f"no search routes are called {name!r}", hint=f"one of {', '.join(Routes)}"
        ) from None


@dataclass(frozen=True, slots=True)
class Plan:
    """One question's route.

    `about` is the question without the people it names, "" where its vector is not wanted.
    """

    route: Route
    target: Target
    terms: RouteTerms
    about: str = ""


def plan(question: str, people: Sequence[Participant], *, among_people: bool) -> Plan:
    """The route of a question to a memory of these people."""
    kind = ConversationKind.PEOPLE if among_people else ConversationKind.ASSISTANT
    target = resolve_target(question, people, kind=kind)
    route = plan_route(question, target)
    terms = terms_of(route)
    names = [person.name for person in people if not person.is_assistant]
    about = without_names(question, names) if terms.about else ""
    return Plan(route, target, terms, about)


@dataclass(frozen=True, slots=True)
class GraphInTime:
    """A graph, and the rows of a corpus in the order of time."""

    graph: Graph
    in_time: tuple[MessageId, ...]


def graph_of(
    corpus: Corpus,
    sessions: Mapping[SessionId, Session],
    topics: Mapping[int, tuple[str, ...]] | None = None,
    items: Iterable[Item] = (),
    snapshots: Iterable[PersonaNode] = (),
) -> GraphInTime:
    """The graph of all rows, items and persona snapshots; `topics` are keywords by turn."""
    topics = topics or {}
    ordered = sorted(sessions.values(), key=_began)
    rank = {int(session.id): place for place, session in enumerate(ordered)}
    rows = sorted(corpus.rows, key=lambda row: (rank[row.session_id], row.ordinal))
    messages = [
        GraphMessage(
            row.message_id, row.session_id, row.participant_id, topics.get(row.turn_id, ())
        )
        for row in rows
    ]
    return GraphInTime(
        Graph(messages, (*map(_item_node, items), *map(_snapshot_node, snapshots))),
        tuple(row.message_id for row in rows),
    )


def _item_node(item: Item) -> GraphItem:
    return GraphItem(
        Node(NodeKind(item.kind.value), item.id), item.participant_id, item.message_ids
    )


def _snapshot_node(snapshot: PersonaNode) -> GraphItem:
    node = Node(NodeKind.PERSONA, snapshot.id)
    return GraphItem(node, snapshot.participant_id, snapshot.message_ids)


def neighbours(
    graph: Graph, planned: Plan, found: Sequence[MessageId], most: int
) -> dict[MessageId, float]:
    """What the graph leads to from messages that were found, best first, with scores up to 1.

    All kinds of edges are followed, at least one hop, to the messages of the one person asked
    about where there is one.
    """
    route, owners = planned.route, _owners(planned.target)
    how = Expansion(max(1, route.hops), route.priors, owners)
    reached = message_scores(graph, expand(graph, _ranked_seeds(found), how), owners)
    new = {number: score for number, score in reached.items() if number not in found}
    best = sorted(new, key=lambda number: (-new[number], number))[:most]
    return {number: new[number] for number in best}


def make_stage(planned: Plan, routes: Routes, graph: GraphInTime, about: Floats | None) -> Stage:
    """The stage of a question; `about` is the vector of what `planned` wanted embedded."""
    if routes is Routes.ON:
        return lambda ranking: _with_terms(ranking, planned, graph.graph, about)
    if routes is Routes.NO_GRAPH:
        terms = planned.terms
        return lambda ranking: add_terms(ranking, terms, about=about, graph={})
    return lambda ranking: _as_paper(ranking, planned, routes, graph)


def needs_stage(planned: Plan, routes: Routes) -> bool:
    """Whether the route changes anything."""
    if routes is Routes.OFF:
        return False
    return routes.is_paper or routes is Routes.NO_FUSION or planned.terms != NOTHING


def _with_terms(ranking: Ranking, planned: Plan, graph: Graph, about: Floats | None) -> Staged:
    terms = planned.terms
    scores: dict[int, float] = {}
    if terms.graph:
        seeds = _seeds(ranking, _SEEDS)
        found = message_scores(graph, expand(graph, seeds, _reach(planned.route)))
        rows = ranking.corpus.places(list(found)).tolist()
        scores = dict(zip(rows, found.values(), strict=True))
    return add_terms(ranking, terms, about=about, graph=scores)


def _reach(route: Route) -> Expansion:
    """When something was is told nearby; several things are told wherever the topic comes up."""
    if route.asks_when:
        return Expansion(hops=_TIME_HOPS, priors=_only(EdgeKind.TEMPORAL_NEXT))
    return Expansion(hops=1, priors=_only(EdgeKind.MENTIONS))


def _only(*kinds: EdgeKind) -> Mapping[EdgeKind, float]:
    return {kind: prior if kind in kinds else 0.0 for kind, prior in PRIORS.items()}


def _as_paper(ranking: Ranking, planned: Plan, routes: Routes, graph: GraphInTime) -> Staged:
    """Equations 1 to 4 over the best of the baseline; whatever is in neither list is not found."""
    route = planned.route
    corpus = ranking.corpus
    best = ranking.best(_DEEP)
    ranked = [MessageId(number) for number in corpus.message_ids[best].tolist()]
    wanted = routes is not Routes.PAPER_NO_GRAPH and (
        route.use_graph or (route.graph_if_few and len(ranked) < LEAST_FOUND)
    )
    owners = None if routes is Routes.PAPER_NO_TARGET else _owners(planned.target)
    found: dict[MessageId, float] = {}
    if wanted:
        how = Expansion(route.hops, route.priors, owners, backward_weaker=False)
        seeds = _seeds(ranking, route.seeds)
        found = message_scores(graph.graph, expand(graph.graph, seeds, how), owners)
    if routes is Routes.NO_FUSION:
        order = append_graph(ranked, found)
        fused = [(number, float(len(order) - place)) for place, number in enumerate(order)]
    else:
        fused = blend(ranked, found, route.fusion, in_time=graph.in_time)
    rows = corpus.places([number for number, _ in fused])
    scores = np.zeros(len(corpus), np.float32)
    scores[rows] = [score for _, score in fused]
    evident = np.zeros(len(corpus), np.bool_)
    evident[rows] = True
    return Staged(scores, evident)


def _owners(target: Target) -> Collection[ParticipantId] | None:
    return frozenset(target.participants) if target.is_certain else None


def _seeds(ranking: Ranking, most: int) -> dict[MessageId, float]:
    numbers = ranking.corpus.message_ids[ranking.best(most)].tolist()
    return _ranked_seeds([MessageId(number) for number in numbers])


def _ranked_seeds(best: Sequence[MessageId]) -> dict[MessageId, float]:
    return {number: 1.0 / (1.0 + _SEED_FALL * rank) for rank, number in enumerate(best)}


def _began(session: Session) -> tuple[bool, float, int]:
    """Sessions without a time come last, in the order of their import."""
    began = session.started_at
    return (began is None, began.timestamp() if began else 0.0, int(session.id))
