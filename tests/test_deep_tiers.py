"""Episodes and the long term in a deep question: what is opened, what it leaves as it was."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import pytest

from localmem.recall.deep import DeepModels, DeepQuestion, Limits, Sources, Switches, answer_deeply
from localmem.recall.deep.bench import Bench
from localmem.recall.deep.calls import Call
from localmem.recall.deep.episodes import LEVELS, next_opening
from localmem.recall.deep.meter import Meter
from localmem.recall.deep.mind import Mind
from localmem.recall.deep.policy import (
    ModelPolicy,
    RulePolicy,
    describe_state,
    legal_actions,
)
from localmem.recall.deep.question import understand
from localmem.recall.deep.sources import EpisodeText, KnownLine, LastingLine, Tiers
from localmem.recall.deep.state import State
from localmem.recall.deep.tools import run_call
from localmem.testing import ScriptedLlm
from localmem.types import Budget, EntryId, EpisodeId, FoundMessage, Layer, MessageId
from tests.deep_history import History, filler
from tests.test_deep_policy import NOW

HISTORY = History(
    {
        1: [("Ines", "The kiln of the studio is broken again."), ("Ruben", "Poor you.")],
        2: [("Ines", "The kiln needs a heating coil."), ("Ruben", "Ask Oswin.")],
        3: [("Ines", "Oswin brought the part, 40 euros."), ("Ruben", "Fair.")],
        **filler(4, 4),
    }
)
QUESTION = "What does the kiln of the studio need?"
ABOUT_KILN = EpisodeId(7)


@dataclass
class Doors:
    """Sessions 1 to 3 are one episode; `opened` and `taken` tell what was read."""

    entries: Sequence[LastingLine] = ()
    opened: list[EpisodeId] = field(default_factory=list)
    taken: list[EntryId] = field(default_factory=list)

    def sources(self) -> Sources:
        tiers = Tiers(self._episode_of, self._episode, lambda _, k: self.entries[:k], self._took)
        return replace(HISTORY.sources(), tiers=tiers)

    def _episode_of(self, ids: Sequence[MessageId]) -> dict[MessageId, EpisodeId]:
        return {n: ABOUT_KILN for n in ids if n in {one.message.id for one in said(1, 2, 3)}}

    def _episode(self, number: EpisodeId) -> EpisodeText:
        self.opened.append(number)
        pages = [(f"page of session {n}: the kiln", tuple(said(n))) for n in (1, 2, 3)]
        return EpisodeText(number, "The kiln broke and was mended.", tuple(pages))

    def _took(self, entries: Collection[EntryId]) -> None:
        self.taken.extend(entries)


def said(*sessions: int) -> list[FoundMessage]:
    every = HISTORY.search("Ines Ruben", 99)
    return [one for n in sessions for one in sorted(every, key=_number) if one.session.id == n]


def _number(one: FoundMessage) -> int:
    return int(one.message.id)


def bench_of(sources: Sources, llm: ScriptedLlm | None = None, **off: bool) -> Bench:
    meter = Meter(Budget(), 0.0)
    bench = Bench(
        state=State(understand(QUESTION, NOW, HISTORY.people)),
        sources=sources,
        limits=Limits(),
        switches=Switches(**off),
        meter=meter,
        mind=Mind(llm, meter) if llm is not None else None,
    )
    run_call(bench, Call("search", "kiln"))
    bench.state.decision = 1
    return bench


def test_an_episode_is_opened_level_by_level_and_its_messages_count_as_found() -> None:
    doors = Doors()
    bench = bench_of(doors.sources())
    for level, layer in zip(LEVELS, (Layer.SUMMARY, Layer.SUMMARY, Layer.RAW), strict=True):
        call = next_opening(bench)
        assert call is not None
        assert (call.episode_id, call.level) == (ABOUT_KILN, level)
        assert call.arguments == f"episode 7, {level}"
        seen = run_call(bench, call)
        assert seen.ok and seen.layer is layer and seen.characters
    assert next_opening(bench) is None
    assert doors.opened == [ABOUT_KILN] * 3
    third = {one.message.id for one in said(3)}
    assert third <= set(bench.state.candidates)  # no search had found it
    texts = {line.text for line in bench.state.lines(least=Layer.RAW)}
    assert "The kiln needs a heating coil." in texts


def test_where_a_memory_has_no_episodes_nothing_is_offered_and_the_model_is_shown_the_same() -> (
    None
):
    bare, full = bench_of(HISTORY.sources()), bench_of(Doors().sources())
    assert next_opening(bare) is None
    assert "episode" not in legal_actions(bare)
    assert "Episode" not in describe_state(bare)
    assert "episode" in legal_actions(full)
    assert "\nEpisode: " in describe_state(full)
    without = bench_of(Doors().sources(), open_episode=False)
    assert describe_state(without) == describe_state(bare)
    assert not run_call(bare, Call("open_episode", episode_id=ABOUT_KILN, level="raw")).ok


@pytest.mark.parametrize("call", [Call("open_episode"), Call("open_episode", level="whole")])
def test_a_call_without_an_episode_is_refused(call: Call) -> None:
    assert not run_call(bench_of(Doors().sources()), call).ok


def test_a_level_that_is_not_there_is_refused() -> None:
    bench = bench_of(Doors().sources())
    seen = run_call(bench, Call("open_episode", episode_id=ABOUT_KILN, level="whole"))
    assert not seen.ok and "summary, members, raw" in seen.outcome


def test_an_episode_of_a_single_message_is_not_offered() -> None:
    doors = Doors()
    bench = bench_of(doors.sources())
    only = next(iter(bench.state.candidates))
    bench.state.candidates = {only: bench.state.candidates[only]}
    assert next_opening(bench) is None


def test_a_model_may_open_an_episode_and_rules_do_not() -> None:
    bench = bench_of(Doors().sources())
    names = list(legal_actions(bench))
    llm = ScriptedLlm(choices=[names.index("episode")])
    chosen = ModelPolicy().next(bench_of(Doors().sources(), llm))
    assert chosen.by == "model"
    assert [call.tool for call in chosen.calls] == ["open_episode"]
    assert all(call.tool != "open_episode" for call in RulePolicy().next(bench).calls)


def lasting(number: int, text: str, *sessions: int) -> LastingLine:
    return LastingLine(EntryId(number), KnownLine(text, tuple(said(*sessions)[:1])))


def test_what_lasts_is_recalled_once_and_told_as_taken_only_where_it_is_cited() -> None:
    fitting = lasting(4, "The kiln of the studio breaks down often.", 1)
    other = lasting(5, "Oswin has a workshop.", 3)
    doors = Doors([fitting, other])
    answer = answer_deeply(
        DeepQuestion(QUESTION, NOW, HISTORY.people), doors.sources(), DeepModels()
    )
    steps = [step for step in answer.trace.steps if step.tool == "recall_lasting"]
    assert [step.outcome for step in steps] == ["1 lasting entry"]
    cited = {one.message_id for one in answer.citations}
    behind = {one.message.id for one in fitting.line.messages}
    assert doors.taken == ([EntryId(4)] if cited & behind else [])
    assert cited & behind


def test_nothing_is_recalled_without_tiers() -> None:
    asked = DeepQuestion(QUESTION, NOW, HISTORY.people)
    answer = answer_deeply(asked, HISTORY.sources(), DeepModels())
    assert "recall_lasting" not in {step.tool for step in answer.trace.steps}
