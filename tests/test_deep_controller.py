"""The controller: what it opens, in which order, and that every loop ends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

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
from localmem.recall.deep.policy import Decision
from localmem.recall.deep.question import understand
from localmem.recall.deep.state import State
from localmem.recall.deep.tools import TOOLS, run_call
from localmem.testing import ScriptedLlm
from localmem.types import Answer, Budget, Depth, Layer, SessionId
from tests.deep_history import (
    TWO_HOPS,
    VERBATIM,
    WHAT_IT_IS_CALLED,
    WHERE_SHE_LIVES,
    History,
    filler,
)

NOW = datetime(2026, 1, 10, 12, 0, tzinfo=UTC)


def ask(
    history: History,
    question: str,
    *,
    models: DeepModels | None = None,
    options: DeepOptions | None = None,
) -> Answer:
    asked = DeepQuestion(question, NOW, history.people)
    return answer_deeply(asked, history.sources(), models, options)


def tools_of(answer: Answer) -> list[str]:
    return [step.tool for step in answer.trace.steps]


def bench_of(history: History, question: str, **limits: int) -> Bench:
    return Bench(
        state=State(understand(question, NOW, history.people)),
        sources=history.sources(),
        limits=Limits(**limits),
        switches=Switches(),
        meter=Meter(Budget(), 0.0),
    )


class Scripted:
    """A policy that says what it was told to say, then finishes."""

    def __init__(self, *decisions: Sequence[Call]) -> None:
        self.left = [Decision(tuple(calls)) for calls in decisions]
        self.asked = 0

    def next(self, bench: Bench) -> Decision:
        self.asked += 1
        return self.left.pop(0) if self.left else Decision()


class Restless:
    """A policy that never finishes."""

    def next(self, bench: Bench) -> Decision:
        return Decision((Call("search", f"query number {bench.state.decision}"),))


# --- The paper's two cases, as fictional twins ----------------------------------------------

REFLECT, FINISH, YES, NO = 2, 3, 0, 1
"""Places among the options: facts, notes, reflect, finish; yes, no."""


def test_a_two_hop_question_is_answered_from_facts_in_two_searches() -> None:
    controller = ScriptedLlm(
        ["Where does she live?", "where Teodor's sister lives", "Teodor family home town"],
        choices=[REFLECT, NO, FINISH, REFLECT, YES],
    )
    answer = ask(
        TWO_HOPS,
        WHERE_SHE_LIVES,
        models=DeepModels(answer=ScriptedLlm(["Aveiro"]), controller=controller),
    )
    assert answer.found and answer.text == "Aveiro" and answer.complete
    assert {c.session_id for c in answer.citations} == {2}
    assert answer.trace.deepest is Layer.FACTS
    searched = {step.decision for step in answer.trace.steps if step.tool == "search"}
    assert len(searched) == 2


def test_rules_alone_follow_the_name_that_the_first_session_gives() -> None:
    history = History(TWO_HOPS.sessions)
    ask(history, WHERE_SHE_LIVES)
    assert any(query.startswith("Teodor") for query in history.queries)
    assert ("facts", 2) in history.opened


def test_an_age_at_an_event_is_worked_out_from_facts_of_two_sessions() -> None:
    history = History(
        {
            1: [("Ines", "My nephew Otto is 21 now, can you believe it?")],
            2: [("Ines", "I turned 32 in April and feel no older.")],
            **filler(3, 6),
        },
    )
    llm = ScriptedLlm(
        ["my age in 2025", "11"], fallback_reply="none", choices=[1], fallback_choice=1
    )
    answer = ask(
        history,
        "How old was Ines when Otto was born?",
        models=DeepModels(answer=llm),
    )
    assert history.queries and {1, 2} <= {number for _, number in history.opened}
    assert {step.layer for step in answer.trace.steps} >= {Layer.FACTS}


def test_a_verbatim_detail_is_found_by_descending_through_three_layers() -> None:
    history = VERBATIM
    llm = ScriptedLlm(["Copper Ladle"])
    answer = ask(
        history,
        WHAT_IT_IS_CALLED,
        models=DeepModels(answer=llm),
    )
    assert answer.text == "Copper Ladle"
    layers = [s.layer for s in answer.trace.steps if "session 1" in s.arguments]
    assert layers[:3] == [Layer.FACTS, Layer.NOTES, Layer.RAW]
    assert answer.citations[0].quote in history.messages[1].text
    assert answer.trace.deepest is Layer.RAW


def test_nobody_judges_before_the_finer_layers_of_what_shows_the_topic_are_read() -> None:
    history = History(VERBATIM.sessions, VERBATIM.facts_of, VERBATIM.notes_of)
    bench = bench_of(history, WHAT_IT_IS_CALLED)
    gather_evidence(
        bench, Scripted([Call("search", "dessert shop in Faro")], *[[Call("reflect")]] * 3)
    )
    layers = [s.layer for s in bench.state.steps if "session 1" in s.arguments]
    assert layers[:3] == [Layer.FACTS, Layer.NOTES, Layer.RAW]
    assert [s.tool for s in bench.state.steps].index("reflect") > 3


# --- Limits ---------------------------------------------------------------------------------

MANY = History({n: [("Ines", f"The garden has {n} roses and a fence.")] for n in range(1, 41)})


def test_no_more_than_ten_sessions_are_opened_and_twenty_ranked() -> None:
    bench = bench_of(MANY, "How many roses are in the garden?")
    gather_evidence(bench, Restless())
    assert len(bench.state.drilled) == 10
    assert len(bench.state.ranked_sessions) == 20


def test_no_more_than_twenty_raw_turns_are_opened() -> None:
    history = History({n: [("Ines", f"A rose, the {m}th.") for m in range(9)] for n in range(1, 9)})
    bench = bench_of(history, "What roses has Ines seen?")
    calls = [Call("read_raw", "rose", SessionId(n)) for n in range(1, 9)]
    bench.raw_at_once = 9
    gather_evidence(bench, Scripted([Call("search", "rose")], calls))
    assert len(bench.state.raw_turns) == 20


def test_a_policy_that_never_finishes_is_stopped_after_twenty_steps() -> None:
    bench = bench_of(MANY, "Where are the roses?")
    gather_evidence(bench, Restless())
    assert bench.state.decision == 20
    assert bench.state.stopped == "steps"


def test_fewer_steps_by_the_budget_make_an_answer_that_says_so() -> None:
    answer = ask(MANY, "How many roses?", options=DeepOptions(Budget(steps=1)))
    assert not answer.complete
    assert any("steps" in notice for notice in answer.notices)
    assert max(step.decision for step in answer.trace.steps) == 1


def test_no_time_at_all_still_gives_an_answer_from_one_search() -> None:
    answer = ask(TWO_HOPS, "Who won the lake race?", options=DeepOptions(Budget(seconds=1e-9)))
    assert not answer.complete
    assert "search" in tools_of(answer)
    assert any("seconds" in notice for notice in answer.notices)


def test_time_that_ends_in_the_middle_of_a_reply_keeps_the_words_said_so_far() -> None:
    slow = SlowLlm("the lake race near the old mill and more words than time", 0.03)
    answer = ask(
        TWO_HOPS,
        "What did Ines win?",
        models=DeepModels(answer=slow),
        options=DeepOptions(Budget(seconds=0.2)),
    )
    assert not answer.complete
    assert answer.text


class SlowLlm(ScriptedLlm):
    """Says its words with a pause after each."""

    def __init__(self, reply: str, pause_s: float) -> None:
        super().__init__([reply], fallback_reply=reply)
        self.pause_s = pause_s

    def complete(self, messages, *, on_token=None, **options):  # type: ignore[no-untyped-def]
        import time

        def slowly(token: str) -> None:
            time.sleep(self.pause_s)
            if on_token is not None:
                on_token(token)

        return super().complete(messages, on_token=slowly, **options)


def test_tokens_are_a_limit_too() -> None:
    llm = ScriptedLlm(fallback_reply="none", fallback_choice=0)
    answer = ask(
        MANY,
        "How many roses are in the garden?",
        models=DeepModels(answer=llm),
        options=DeepOptions(Budget(tokens=200)),
    )
    assert not answer.complete
    assert answer.trace.prompt_tokens + answer.trace.completion_tokens <= 400


# --- Reflection, convergence, nudges --------------------------------------------------------


def test_a_count_is_never_answered_without_one_reflection() -> None:
    bench = bench_of(MANY, "How many roses are in the garden?")
    gather_evidence(bench, Scripted([Call("search", "roses")]))
    assert "reflect" in [step.tool for step in bench.state.steps]


def test_a_reflection_that_finds_nothing_new_ends_the_search() -> None:
    bench = bench_of(MANY, "What is the plumber called?")
    policy = Scripted([Call("search", "garden")], [Call("reflect")], [Call("reflect")])
    gather_evidence(bench, policy)
    assert bench.state.converged
    assert "nothing new" in bench.state.steps[-2].outcome or bench.state.converged


def test_there_are_at_most_two_rounds_of_reflection() -> None:
    llm = ScriptedLlm(
        [f"{a} {b} {c}" for a, b, c in zip("abcdefgh", "ijklmnop", "qrstuvwx", strict=True)],
        fallback_reply="one two three",
        fallback_choice=1,
    )
    answer = ask(MANY, "What is the gardener called?", models=DeepModels(controller=llm))
    rounds = [s for s in answer.trace.steps if s.tool == "reflect" and "next:" in s.outcome]
    assert len(rounds) <= 2


def test_a_hasty_policy_is_nudged_at_most_twice() -> None:
    bench = bench_of(MANY, "What is the gardener called?")
    policy = Scripted([Call("search", "garden")])
    gather_evidence(bench, policy)
    nudges = [step for step in bench.state.steps if step.tool == "nudge"]
    assert len(nudges) == 2
    assert policy.asked == 4


def test_dates_and_parts_come_before_the_first_search() -> None:
    answer = ask(TWO_HOPS, "What did Ines win last year and who was with her?")
    assert tools_of(answer)[:4] == ["interpret_dates", "decompose", "plan_route", "search"]
    assert "2025" in answer.trace.steps[0].outcome


def test_a_question_is_searched_with_several_different_queries() -> None:
    history = History(TWO_HOPS.sessions)
    ask(history, "In which town does the sister of Ines's kayak partner bake?")
    assert len(history.queries) >= 3
    assert len({query.casefold() for query in history.queries}) == len(history.queries)


def test_the_best_match_over_all_queries_ranks_a_message() -> None:
    bench = bench_of(TWO_HOPS, "anything")
    for query in ("lunch with Lena in Aveiro", "kayak", "sibling"):
        run_call(bench, Call("search", query))
    best = next(iter(bench.state.candidates.values()))
    assert best.found.message.session_id == 2
    assert best.score == 3


# --- Bad arguments are observations ---------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (Call("delete_everything"), "no tool"),
        (Call("search", "  "), "query is missing"),
        (Call("read_facts"), "session is missing"),
        (Call("read_facts", "", SessionId(9999)), "was not found"),
        (Call("read_raw", "x", SessionId(-1)), "was not found"),
    ],
)
def test_a_bad_call_is_told_and_changes_nothing(call: Call, reason: str) -> None:
    bench = bench_of(MANY, "How many roses?")
    seen = run_call(bench, call)
    assert not seen.ok and reason in seen.outcome
    assert not bench.state.views and not bench.state.tried


def test_every_tool_of_the_table_has_a_description_and_a_name_of_its_own() -> None:
    assert set(TOOLS) == {
        "search", "read_facts", "read_turns", "read_raw", "interpret_dates", "decompose",
        "reflect", "plan_route", "expand_graph", "timeline", "read_persona",
        "open_episode", "recall_lasting",
    }  # fmt: skip
    assert all(tool.does and tool.name == name for name, tool in TOOLS.items())


def test_a_query_that_was_tried_is_not_searched_again() -> None:
    bench = bench_of(MANY, "roses")
    assert run_call(bench, Call("search", "roses")).ok
    assert not run_call(bench, Call("search", "ROSES")).ok


# --- Switches -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reflect", "decompose", "interpret_dates", "read_facts"])
def test_a_tool_that_is_switched_off_is_not_used(name: str) -> None:
    options = DeepOptions(switches=Switches(**{name: False}))
    answer = ask(MANY, "How many roses did Ines and Ruben plant last year?", options=options)
    assert name not in tools_of(answer)
    assert answer.trace.depth is Depth.DEEP


def test_vanilla_rag_opens_raw_text_alone() -> None:
    answer = ask(MANY, "How many roses?", options=DeepOptions(switches=Switches(vanilla_rag=True)))
    assert set(tools_of(answer)) <= {"search", "read_raw", "extract"}
    assert set(answer.trace.tokens_by_layer) == {"L0", "L3"}


def test_without_a_controller_the_best_sessions_are_read_at_every_layer() -> None:
    answer = ask(MANY, "How many roses?", options=DeepOptions(switches=Switches(controller=False)))
    tools = tools_of(answer)
    assert tools.count("read_facts") == tools.count("read_turns") == 10
    assert answer.trace.sessions_opened == 10
    assert "reflect" not in tools


# --- Trace ----------------------------------------------------------------------------------


def test_the_trace_tells_how_much_of_the_history_was_opened() -> None:
    answer = ask(VERBATIM, "Where is the dessert shop with the giant milkshakes?")
    trace = answer.trace
    assert trace.sessions_total == 9
    assert 0 < trace.sessions_opened < 9
    assert trace.opened_share is not None and 0 < trace.opened_share <= 1
    assert trace.tokens_by_layer["L1"] > 0


def test_steps_are_told_as_they_happen() -> None:
    heard: list[str] = []
    options = DeepOptions(on_step=lambda step: heard.append(step.tool))
    answer = ask(TWO_HOPS, "Who won the lake race?", options=options)
    assert heard == tools_of(answer)
