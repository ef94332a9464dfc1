"""What a route adds to the score of the weighted retrieval: terms that similarity does not see.

The weights were chosen on LoCoMo and BEAM (docs/how-finding-works.md, "Routes"). Pure: a ranking
in, scores out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from localmem.entities import named_participants
from localmem.recall.corpus import Corpus, Floats
from localmem.recall.ranking import Ranking, Staged
from localmem.recall.route import Route

_OPENER_REACH = 2.0
"""Messages over which the bonus of a session's first ones falls to 1/e."""


@dataclass(frozen=True, slots=True)
class RouteTerms:
    """Weights, in units of the learned score.

    `dated`: the words name a time. `opener`: it stands at the beginning of its session, where
    news is told. `about`: it is near the question without the people it names, who seldom name
    themselves, in deviations. `again`: for each message of its session that fits better, as
    log(1 + n). `graph`: how near it is in the graph to what fits best.
    """

    dated: float = 0.0
    opener: float = 0.0
    about: float = 0.0
    again: float = 0.0
    graph: float = 0.0


NOTHING = RouteTerms()
WHEN = RouteTerms(dated=1.5, about=0.2, graph=2.0)
SEVERAL = RouteTerms(opener=1.5, about=0.6, again=-0.2, graph=1.0)


def terms_of(route: Route) -> RouteTerms:
    """The terms of a route; all 0 where the weighted retrieval does best alone."""
    if route.asks_when:
        return WHEN
    return SEVERAL if route.asks_several else NOTHING


def without_names(question: str, names: Collection[str]) -> str:
    """What a question is about, without the people that it names; "" where it names nobody."""
    named = named_participants(question, names)
    about = question
    for name in named:
        for form in dict.fromkeys((name, name.split()[0])):
            about = re.sub(rf"(?<!\w){re.escape(form)}(?:['’]s)?(?!\w)", "", about)
    return " ".join(about.split()) if named else ""


def add_terms(
    ranking: Ranking, terms: RouteTerms, *, about: Floats | None, graph: Mapping[int, float]
) -> Staged:
    """The ranking with the terms added. `about` is a unit vector, `graph` scores rows."""
    corpus = ranking.corpus
    parts: dict[str, Floats] = {}
    if terms.dated:
        parts["route_dated"] = terms.dated * ranking.dated.astype(np.float32)
    if terms.opener:
        parts["route_opener"] = np.float32(terms.opener) * _openers(corpus)
    near = ranking.cosines(about) if terms.about and about is not None else None
    if near is not None:
        parts["route_about"] = np.float32(terms.about) * _standardised(near)
    if terms.again:
        parts["route_again"] = np.float32(terms.again) * np.log1p(_better_in_session(ranking))
    if terms.graph and graph:
        scores = np.zeros(len(corpus), np.float32)
        scores[list(graph)] = list(graph.values())
        parts["route_graph"] = np.float32(terms.graph) * scores
    total = np.asarray(sum(parts.values(), start=ranking.scores), np.float32)
    return Staged(total, ranking.evident, parts)


def _openers(corpus: Corpus) -> Floats:
    ordinals = np.array([row.ordinal for row in corpus.rows], np.float32)
    return np.asarray(np.exp(-ordinals / _OPENER_REACH), np.float32)


def _standardised(values: Floats) -> Floats:
    centred = values - values.mean()
    return np.asarray(centred / (centred.std() + 1e-6), np.float32)


def _better_in_session(ranking: Ranking) -> Floats:
    """float32 (rows,): how many messages of its session fit better than each."""
    sessions = ranking.corpus.session_numbers
    order = np.lexsort((-ranking.scores, sessions))
    better = np.empty(len(order), np.float32)
    better[order] = np.arange(len(order)) - ranking.corpus.starts[sessions[order]]
    return better
