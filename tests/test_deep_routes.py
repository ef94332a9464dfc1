"""Deep questions along their route: graph, timeline and persona, by rules and by a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localmem.recall.deep import (
    DeepModels,
    DeepOptions,
    DeepQuestion,
    Limits,
    Switches,
    answer_deeply,
)
from localmem.recall.deep.bench import Bench
from localmem.recall.deep.calls import Call
from localmem.recall.deep.controller import gather_evidence
from localmem.recall.deep.meter import Meter
from localmem.recall.deep.mind import Mind
from localmem.recall.deep.policies import possible_calls, routed_calls, with_arguments
from localmem.recall.deep.policy import ModelPolicy, RulePolicy, legal_actions
from localmem.recall.deep.question import understand
from localmem.recall.deep.sources import KnownLine, Sources
from localmem.recall.deep.state import State
from localmem.recall.deep.tools import run_call
from localmem.recall.route import Route, RouteClass
from localmem.store import Store
from localmem.testing import ScriptedLlm, build_memory
from localmem.types import (
    Answer,
    Budget,
    ConversationKind,
    FoundMessage,
    ImportedConversation,
    ImportedMessage,
    MessageId,
    Role,
)
from tests.deep_history import History, filler

NOW = datetime(2026, 1, 10, 12, 0, tzinfo=UTC)
HISTORY = History(
    {
        1: [("Ines", "The kiln at the studio is broken again."), ("Ruben", "Poor you.")],
        2: [("Ines", "It was repaired on 4 February 2025, at last."), ("Ruben", "Good.")],
        3: [("Ines", "I drink mint infusion every morning."), ("Ruben", "I drink cocoa.")],
        **filler(4, 4),
    }
)


def sources(asked: list[Route | None] | None = None, *, with_persona: bool = True) -> Sources:
    """The doors to the history, with a graph that leads from session 1 to session 2."""

    def neighbours(
        query: str, found: Sequence[MessageId], most: int, route: Route | None
    ) -> list[FoundMessage]:
        if asked is not None:
            asked.append(route)
        near = [one for one in HISTORY.search("repaired at last", 9) if one.session.id == 2]
        return [replace(one, hit=replace(one.hit, score=0.5)) for one in near][:most]

    def persona(name: str) -> list[KnownLine]:
        drinks = [one for one in HISTORY.search("drink", 9) if one.message.speaker == name]
        lines = [KnownLine(f"{name} drinks: {one.message.text}", (one,)) for one in drinks]
        return [*lines, KnownLine(f"{name}: a thing without a source", ())]

    return replace(
        HISTORY.sources(), neighbours=neighbours, persona=persona if with_persona else None
    )


def bench_of(
    question: str, doors: Sources, llm: ScriptedLlm | None = None, switches: Switches | None = None
) -> Bench:
    meter = Meter(Budget(), 0.0)
    return Bench(
        state=State(understand(question, NOW, HISTORY.people)),
        sources=doors,
        limits=Limits(),
        switches=switches or Switches(),
        meter=meter,
        mind=Mind(llm, meter) if llm is not None else None,
    )


def searched(question: str, doors: Sources, llm: ScriptedLlm | None = None) -> Bench:
    bench = bench_of(question, doors, llm)
    run_call(bench, Call("plan_route"))
    run_call(bench, Call("search", question))
    return bench


def tools_of(bench: Bench) -> list[str]:
    return [step.tool for step in bench.state.steps]


WHEN = "When was the kiln of Ines mended?"
LIKES = "What does Ines prefer to drink?"


def test_a_question_for_a_time_goes_along_the_graph_and_time_and_each_once() -> None:
    asked: list[Route | None] = []
    bench = bench_of(WHEN, sources(asked))
    gather_evidence(bench, RulePolicy())
    tools = tools_of(bench)
    assert tools.count("plan_route") == 1 and tools.index("plan_route") < tools.index("search")
    assert tools.count("expand_graph") == 1 and tools.count("timeline") == 1
    (route,) = asked
    assert route is not None and (route.kind, route.hops) == (RouteClass.TEMPORAL, 1)
    assert any("4 February" in line.text for line in bench.state.lines())
    planned = next(step for step in bench.state.steps if step.tool == "plan_route")
    assert planned.outcome == "temporal, along the graph too, 1 step from 2 messages"


def test_a_question_for_what_somebody_prefers_reads_their_persona_alone() -> None:
    bench = bench_of(LIKES, sources())
    gather_evidence(bench, RulePolicy())
    assert "read_persona" in tools_of(bench)
    assert any(line.text.startswith("Ines drinks: I drink mint") for line in bench.state.lines())
    assert all("without a source" not in line.text for line in bench.state.lines())
    assert "expand_graph" not in tools_of(bench) and "timeline" not in tools_of(bench)


def test_a_plain_question_takes_none_of_them() -> None:
    bench = bench_of("What is broken at the studio?", sources())
    gather_evidence(bench, RulePolicy())
    assert not {"expand_graph", "timeline", "read_persona"} & set(tools_of(bench))


@pytest.mark.parametrize(
    "switched_off", [("plan_route",), ("expand_graph", "timeline", "read_persona")]
)
def test_each_can_be_switched_off(switched_off: tuple[str, ...]) -> None:
    switches = replace(Switches(), **dict.fromkeys(switched_off, False))
    for question in (WHEN, LIKES):
        bench = bench_of(question, sources(), switches=switches)
        gather_evidence(bench, RulePolicy())
        assert not {"expand_graph", "timeline", "read_persona"} & set(tools_of(bench))


def test_a_memory_without_graph_and_persona_is_searched_without_them() -> None:
    bench = bench_of(LIKES, HISTORY.sources())
    gather_evidence(bench, RulePolicy())
    assert "read_persona" not in tools_of(bench)
    assert not run_call(bench, Call("read_persona", "Ines")).ok
    assert not run_call(bench, Call("expand_graph")).ok


def test_a_persona_that_has_nothing_to_do_with_the_question_is_told_so() -> None:
    bench = searched("What does Ines prefer to paint?", sources())
    seen = run_call(bench, Call("read_persona", "Ines"))
    assert not seen.ok and "has to do with the question" in seen.outcome
    assert not run_call(bench, Call("read_persona", "")).ok


def test_a_model_may_choose_what_the_route_does_not_call_for() -> None:
    bench = searched(WHEN, sources(), ScriptedLlm(choices=[1]))
    bench.state.decision = 1
    actions = legal_actions(bench)
    assert {"persona", "graph", "timeline"} <= set(actions)
    place = list(actions).index("persona")
    llm = ScriptedLlm(choices=[place])
    bench.mind = Mind(llm, bench.meter)
    decision = ModelPolicy().next(bench)
    assert decision.by == "model" and decision.calls == (Call("read_persona", "Ines"),)


def test_what_was_taken_is_not_offered_again() -> None:
    bench = searched(WHEN, sources())
    assert {call.tool for call in routed_calls(bench)} == {"expand_graph", "timeline"}
    run_call(bench, Call("expand_graph"))
    assert {call.tool for call in possible_calls(bench)} == {"timeline", "read_persona"}


def test_a_model_names_the_person_and_writes_the_query_of_a_timeline_under_a_grammar() -> None:
    bench = searched("When did Ines and Ruben drink together?", sources(), ScriptedLlm())
    mind = Mind(ScriptedLlm(["repair of the studio oven"], choices=[1]), bench.meter)
    call = with_arguments(bench, mind, Call("read_persona", "Ines"))
    assert call == Call("read_persona", bench.state.question.named[1])
    call = with_arguments(bench, mind, Call("timeline", "x"))
    assert call == Call("timeline", "repair of the studio oven")
    assert isinstance(mind.llm, ScriptedLlm) and mind.llm.history[-1].grammar
    failing = Mind(ScriptedLlm(), bench.meter)
    assert with_arguments(bench, failing, Call("timeline", "x")) == Call("timeline", "x")


def test_only_a_model_that_leads_the_search_revises_an_unsure_route() -> None:
    question = "Why did Ines drink cocoa last year?"
    llm = ScriptedLlm(choices=[0, 3, 0, 0, 1])
    bench = bench_of(question, sources(), llm)
    run_call(bench, Call("plan_route"))
    route = bench.state.route
    assert route is not None and "seeds" in route.refined and route.seeds == 4
    assert bench.meter.calls == 5
    unasked = bench_of(question, sources())
    run_call(unasked, Call("plan_route"))
    assert unasked.state.route is not None and not unasked.state.route.refined


def test_a_budget_of_one_step_leaves_no_room_for_any_of_them() -> None:
    asked = DeepQuestion(WHEN, NOW, HISTORY.people)
    answer = answer_deeply(asked, sources(), DeepModels(), DeepOptions(Budget(steps=1)))
    tools = {step.tool for step in answer.trace.steps}
    assert not {"expand_graph", "timeline", "read_persona"} & tools and not answer.complete


# --- Twins ----------------------------------------------------------------------------------

RIDES = History(
    {
        1: [
            ("Mira", "I used to go horseback riding with my dad, our favourite activity."),
            ("Jonas", "That sounds wonderful, Mira!"),
        ],
        2: [("Jonas", "I go jogging by the canal.")],
        **filler(3, 6),
    }
)


def ask_of_dad(name: str, whose: str, llm: ScriptedLlm | None) -> Answer:
    question = f"What activity did {name} use to do with {whose} dad?"
    asked = DeepQuestion(question, NOW, RIDES.people)
    return answer_deeply(asked, RIDES.sources(), DeepModels(answer=llm))


@pytest.mark.parametrize("with_model", [False, True])
def test_a_deep_question_gives_nobody_what_another_did(with_model: bool) -> None:
    def reader() -> ScriptedLlm | None:
        return ScriptedLlm(fallback_reply="horseback riding") if with_model else None

    hers = ask_of_dad("Mira", "her", reader())
    assert hers.found and "horseback riding" in hers.text
    his = ask_of_dad("Jonas", "his", reader())
    assert not his.found and not his.citations


NOVEL = History(
    {
        1: [("Mira", "I read a great novel last year."), ("Jonas", "Which novel was it?")],
        2: [("Jonas", "My dad never had time for novels.")],
        **filler(3, 6),
    }
)


@pytest.mark.parametrize("with_model", [False, True])
def test_a_year_that_was_told_as_last_year_is_answered_in_a_deep_question(
    with_model: bool,
) -> None:
    llm = ScriptedLlm(fallback_reply="2024", fallback_choice=0) if with_model else None
    asked = DeepQuestion("In which year did Mira read a great novel?", NOW, NOVEL.people)
    answer = answer_deeply(asked, NOVEL.sources(), DeepModels(answer=llm))
    assert answer.found and "2024" in answer.text
    assert {one.speaker for one in answer.citations} == {"Mira"}


# --- Through a real memory ------------------------------------------------------------------


def test_the_doors_of_a_memory_give_what_is_known_of_a_person_with_its_messages(
    tmp_path: Path,
) -> None:
    said = [
        ("Mira", "I live in Porto."),
        ("Jonas", "I live in Faro."),
        ("Mira", "I moved to Braga, I live in Braga now."),
    ]
    messages = tuple(
        ImportedMessage(f"{n}", Role.USER, who, text, datetime(2025, 3, 1 + n, tzinfo=UTC))
        for n, (who, text) in enumerate(said)
    )
    with Store(tmp_path / "memory.duckdb") as store:
        store.add_conversation(
            store.begin_import("x", "test", NOW),
            ImportedConversation("test", "c", "chat", ConversationKind.PEOPLE, messages),
        )
    with build_memory(tmp_path / "memory.duckdb") as memory:
        memory.work()
        doors = memory.doors(asked_at=NOW)
        assert doors.persona is not None
        lines = doors.persona("Mira")
        home = next(line for line in lines if "Braga" in line.text)
        assert home.text.startswith("Mira: ") and "Porto" in home.text
        assert {one.message.speaker for one in home.messages} == {"Mira"}
        assert not any("Faro" in line.text for line in lines)
