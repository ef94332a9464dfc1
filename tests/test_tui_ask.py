"""The Ask screen: evidence first, the answer as it comes, citations as links, stop, follow-ups."""

from __future__ import annotations

import threading
from pathlib import Path

from localmem_tui import LocalMemApp
from localmem_tui.screens.ask import AskScreen
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.widgets.exchange import Exchange
from localmem_tui.widgets.steps import StepTree
from textual.pilot import Pilot
from textual.widgets import Input

from localmem.testing import FixedModels, LlmCall, ScriptedLlm
from localmem.types import Depth
from tests.tui_driver import drive, press, settled, shown, until, write

_QUESTION = "When did I pick Tofu up from the shelter?"


def exchanges(app: LocalMemApp) -> list[Exchange]:
    return list(app.screen.query(Exchange))


def answer_of(app: LocalMemApp) -> str:
    answer = exchanges(app)[-1].answer
    assert answer is not None
    return answer.text


async def ask(app: LocalMemApp, pilot: Pilot[None], question: str) -> None:
    app.screen.query_one("#question", Input).focus()
    await write(app, pilot, question)
    await press(app, pilot, "enter")


def test_an_answer_cites_messages_that_enter_opens(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await ask(app, pilot, "What was my bib number for the Elbtal Marathon?")
        assert answer_of(app) == "4172"
        assert "[1]" in shown(app)
        await press(app, pilot, "up", "enter")
        screen = app.screen
        assert isinstance(screen, ReaderScreen)
        answer = exchanges_below(app)[-1].answer
        assert answer is not None
        assert screen.pane.chosen_message == answer.citations[0].message_id

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+2",))


def exchanges_below(app: LocalMemApp) -> list[Exchange]:
    (below,) = (one for one in app.screen_stack if isinstance(one, AskScreen))
    return list(below.query(Exchange))


def test_a_suggested_question_leads_to_a_cited_answer_in_four_keys(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "escape", "2")
        await press(app, pilot, "up", "enter")
        answer = exchanges(app)[-1].answer
        assert answer is not None
        assert answer.citations

    drive(tmp_path, flow, sample=tui_sample)


def test_a_question_typed_on_the_first_screen_is_answered_in_two_keys_more(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "What was my bib number for the Elbtal Marathon?")
        await press(app, pilot, "f3", "enter")
        answer = exchanges(app)[-1].answer
        assert answer is not None
        assert (answer.text, len(answer.citations)) == ("4172", 1)

    drive(tmp_path, flow, sample=tui_sample)


def test_the_evidence_stands_there_before_the_first_word_and_the_answer_streams(
    tmp_path: Path, tui_sample: Path
) -> None:
    may_go_on = threading.Event()

    def slow(call: LlmCall) -> str:
        may_go_on.wait(20)
        return "1 November 2025 [1]"

    models = FixedModels(the_llm=ScriptedLlm([slow], fallback_reply="1 November 2025 [1]"))

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, AskScreen)
        screen.ask("Who is Okan?")
        exchange = exchanges(app)[-1]
        await until(pilot, lambda: exchange.is_mounted and bool(exchange.links.values))
        try:
            assert exchange.answer is None
            assert "reading" in shown(app)
            assert "Esc" in shown(app)
        finally:
            may_go_on.set()
        await settled(app, pilot)
        assert exchange.answer is not None
        assert len(exchange.said) > 1
        assert "".join(exchange.said).strip().startswith("1 November 2025")

    drive(tmp_path, flow, sample=tui_sample, models=models, keys=("alt+2", "f2", "f2"))


def test_escape_stops_an_answer_and_the_next_question_works(
    tmp_path: Path, tui_sample: Path
) -> None:
    started, may_go_on = threading.Event(), threading.Event()

    def slow(call: LlmCall) -> str:
        started.set()
        may_go_on.wait(20)
        return "a long answer in many words that nobody wants to wait for"

    models = FixedModels(the_llm=ScriptedLlm([slow], fallback_reply="Okan runs with me. [1]"))

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, AskScreen)
        screen.ask("Who is Okan?")
        await until(pilot, started.is_set)
        await pilot.press("escape")
        may_go_on.set()
        await settled(app, pilot)
        assert exchanges(app)[-1].answer is None
        assert "stopped" in shown(app)
        await ask(app, pilot, "Who is Okan?")
        assert exchanges(app)[-1].answer is not None

    drive(tmp_path, flow, sample=tui_sample, models=models, keys=("alt+2", "f2", "f2"))


def test_one_can_search_while_an_answer_is_written(tmp_path: Path, tui_sample: Path) -> None:
    started, may_go_on = threading.Event(), threading.Event()

    def slow(call: LlmCall) -> str:
        started.set()
        may_go_on.wait(20)
        return "Okan runs with me. [1]"

    models = FixedModels(the_llm=ScriptedLlm(fallback_reply="none", replies=[slow]))

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, AskScreen)
        screen.ask("Who is Okan?")
        await until(pilot, started.is_set)
        try:
            await press(app, pilot, "alt+1")
            await write(app, pilot, "Kanelbullar")
            await until(pilot, lambda: "Lucia" in shown(app), "the search waits")
        finally:
            may_go_on.set()

    drive(tmp_path, flow, sample=tui_sample, models=models, keys=("alt+2", "f2", "f2"))


def test_a_deep_question_shows_its_steps_with_layers_in_a_narrow_window_by_a_key(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await ask(app, pilot, "What was my bib number for the Elbtal Marathon?")
        answer = exchanges(app)[-1].answer
        assert answer is not None
        assert answer.trace.depth is Depth.DEEP
        tree = app.screen.query_one(StepTree)
        assert tree.steps >= 1
        assert "search L0" not in shown(app)
        await press(app, pilot, "f5")
        assert "search L0" in shown(app)
        assert "of 20" in shown(app)
        await press(app, pilot, "f5")
        assert answer.text in shown(app)

    drive(tmp_path, flow, sample=tui_sample, size=(80, 24), keys=("alt+2", "f2", "f2", "f2"))


def test_a_question_leans_on_the_one_before_until_one_begins_anew(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await ask(app, pilot, _QUESTION)
        await ask(app, pilot, "And how old was she?")
        assert "understood as" in shown(app)
        assert len(exchanges(app)) == 2
        await press(app, pilot, "f4")
        assert exchanges(app) == []
        await ask(app, pilot, "And how old was she?")
        assert "understood as" not in shown(app)

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+2",))


def test_without_a_model_the_failure_is_words_and_a_hint(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await ask(app, pilot, "Who is Okan?")
        assert "no language model is on this machine" in shown(app)
        assert "Traceback" not in shown(app)

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+2", "f2", "f2"))
