"""The route of a question: its cue words with their traps, and a model that may revise a plan."""

from __future__ import annotations

import pytest

from localmem.participants.graph import PRIORS
from localmem.recall.blend import TABLE_7
from localmem.recall.route import RouteClass, described, plan_route, refine
from localmem.recall.targets import Target, TargetKind
from localmem.testing import ScriptedLlm
from localmem.types import EdgeKind, ParticipantId


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is Ana's dog called?", RouteClass.SINGLE_HOP),
        ("How many dogs has Ana?", RouteClass.SINGLE_HOP),
        ("How old is Ana?", RouteClass.SINGLE_HOP),
        ("What would Ana like to eat?", RouteClass.SINGLE_HOP),
        ("What does the house look like?", RouteClass.SINGLE_HOP),
        ("When did Ana move?", RouteClass.TEMPORAL),
        ("How long did the trip take?", RouteClass.TEMPORAL),
        ("What did Ana buy in 2024?", RouteClass.TEMPORAL),
        ("What did Ana buy in May?", RouteClass.TEMPORAL),
        ("What may Ana buy?", RouteClass.SINGLE_HOP),
        ("Why did Ana move?", RouteClass.RELATION),
        ("How did Ana find the flat?", RouteClass.RELATION),
        ("What do Ana and the neighbours have in common?", RouteClass.RELATION),
        ("What does Ana like?", RouteClass.ATTRIBUTE),
        ("What is Ana's favourite tea?", RouteClass.ATTRIBUTE),
        ("Why did Ana move last year?", RouteClass.MIXED),
        ("What did Ana prefer before?", RouteClass.EVOLUTION),
        ("Tell me of Ana's dog", RouteClass.UNKNOWN),
    ],
)
def test_cue_words_choose_the_class(question: str, kind: RouteClass) -> None:
    assert plan_route(question).kind is kind


def test_the_plan_of_a_class_is_the_table_s() -> None:
    single = plan_route("What is Ana's dog called?")
    assert (single.use_graph, single.hops, single.seeds, single.confidence) == (False, 0, 0, 0.90)
    temporal = plan_route("When did Ana move?")
    assert (temporal.use_graph, temporal.hops, temporal.seeds) == (True, 1, 2)
    assert temporal.priors[EdgeKind.TEMPORAL_NEXT] == pytest.approx(0.70 * 1.15)
    assert temporal.priors[EdgeKind.MENTIONS] == PRIORS[EdgeKind.MENTIONS]
    assert plan_route("What does Ana like?").graph_if_few
    assert temporal.fusion == TABLE_7


def test_two_people_make_a_mixed_route() -> None:
    both = Target(TargetKind.BOTH, (ParticipantId(1), ParticipantId(2)))
    route = plan_route("What have Ana and Ben seen?", both)
    assert (route.kind, route.hops, route.seeds) == (RouteClass.MIXED, 2, 4)


def test_whether_a_time_or_several_things_are_asked_for() -> None:
    assert plan_route("When did Ana move?").asks_when
    assert plan_route("How long did Ana stay?").asks_when
    assert plan_route("What sports has Ana done?").asks_several
    assert plan_route("How many books has Ana read?").asks_several
    assert not plan_route("How many days did Ana stay?").asks_several
    plain = plan_route("What is Ana's dog called?")
    assert not plain.asks_when and not plain.asks_several


def test_a_model_revises_only_an_unsure_plan_and_only_within_the_clips() -> None:
    sure = plan_route("When did Ana move?")
    unasked = ScriptedLlm()
    assert refine(sure, "When did Ana move?", unasked.choose) == sure and not unasked.history

    question = "Why did Ana move last year?"
    llm = ScriptedLlm(choices=[0, 3, 0, 0, 1])
    refined = refine(plan_route(question), question, llm.choose)
    assert (refined.use_graph, refined.seeds, refined.hops) == (True, 4, 1)
    terms = refined.fusion
    assert (terms.alpha, terms.beta, terms.gamma, terms.delta) == (0.90, 0.08, 0.03, 0.0)
    assert {call.kind for call in llm.history} == {"choose"}


def test_a_model_may_leave_the_graph_off() -> None:
    question = "Why did Ana move last year?"
    refined = refine(plan_route(question), question, ScriptedLlm(choices=[1, 1, 1]).choose)
    assert not refined.use_graph and refined.fusion.beta == 0.0


def test_without_a_model_the_table_stands() -> None:
    route = plan_route("Why did Ana move last year?")
    assert refine(route, "Why did Ana move last year?", None) is route


def test_a_model_that_fails_leaves_the_table_as_it_stands() -> None:
    route = plan_route("Why did Ana move last year?")
    assert refine(route, "Why did Ana move last year?", lambda messages, options: None) is route


def test_a_plan_is_told_in_a_few_words() -> None:
    assert described(plan_route("What is Ana's dog called?")) == "single-hop, by similarity"
    told = described(plan_route("When did Ana move?"))
    assert told == "temporal, along the graph too, 1 step from 2 messages"
    question = "Why did Ana move last year?"
    refined = refine(plan_route(question), question, ScriptedLlm(choices=[1, 1, 1]).choose)
    assert "the model chose" in described(refined) and "use_graph" in described(refined)
