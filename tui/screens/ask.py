"""Ask: evidence first, then the answer word by word, with every step it takes beside it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.inks import inks_of
from localmem_tui.screens.base import PLACES, MemoryScreen
from localmem_tui.screens.forget import ForgetDialog, choices_of
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.widgets.exchange import Exchange
from localmem_tui.widgets.rows import Row, Rows
from localmem_tui.widgets.steps import BudgetBar, StepTree
from localmem_tui.work import Job, StoppedError
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Static

from localmem.errors import LocalMemError
from localmem.memory import Memory
from localmem.types import (
    Answer,
    Budget,
    Citation,
    Depth,
    FoundMessage,
    MessageId,
    SearchResult,
    SessionId,
    SessionView,
    TraceStep,
)

_SECONDS: tuple[float | None, ...] = (None, 15.0, 60.0, 180.0)
_MOUNT_POLL_S = 0.005
_DEPTHS = (Depth.AUTO, Depth.INSTANT, Depth.DIRECT, Depth.DEEP)


class AskScreen(MemoryScreen):
    """A conversation with the memory."""

    NAME = "Ask"
    HELP = """\
Type a question and press **Enter**. The messages it may rest on stand there at once; then the
answer comes, with citations.

- **↑** goes to the citations, **Enter** opens one in its session. **Tab** goes on.
- **Esc** stops an answer. The next question may lean on the last ("and when was that?").
- **F2** changes the depth: *auto* picks, *instant* uses no model, *direct* asks it once, *deep*
  searches in steps. **F3** changes how long it may take. **F4** begins a new conversation.
- Beside the conversation stand the steps as they are taken: layer, tokens, time. In a narrow
  window **F5** shows them in its place.
- **x** on a citation shows what forgetting it would take away.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "depth", "Depth"),
        Binding("f3", "seconds", "Time"),
        Binding("f4", "anew", "New"),
        Binding("f5", "steps", "Steps"),
        Binding("x,delete", "forget", "Forget"),
        Binding("escape", "leave", "Stop"),
        Binding("slash", "question", "Type", show=False),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._depth = Depth.AUTO
        self._seconds: float | None = None
        self._began = 0.0
        self._hand_over = ""

    def body(self) -> ComposeResult:
        with Horizontal(id="talk"):
            with VerticalScroll(id="conversation", can_focus=False):
                yield Static(id="welcome")
                yield Rows(self._draw_suggestion, id="suggestions")
            with Vertical(id="work"):
                yield BudgetBar(id="budget")
                yield StepTree(id="steps")
        yield Input(placeholder="Ask your memory a question", id="question")

    def on_mount(self) -> None:
        self._clock = self.set_interval(0.2, self._draw_budget, pause=True)
        self.query_one("#work", Vertical).border_title = "Steps"
        self._draw_settings()
        self._draw_budget()
        question = self.query_one("#question", Input)
        question.focus()
        self.run_job("suggest", lambda job: self.memory.suggestions(), self._suggest)
        if self._hand_over:
            question.value, self._hand_over = self._hand_over, ""

    def hand_over(self, question: str) -> None:
        """Put a question into the line, ready to be asked."""
        if not self.is_mounted:
            self._hand_over = question
            return
        line = self.query_one("#question", Input)
        line.value = question
        line.focus()

    def _suggest(self, questions: tuple[str, ...]) -> None:
        rows = self.query_one("#suggestions", Rows)
        rows.styles.height = max(1, len(questions))
        rows.set_rows([Row(question) for question in questions])
        empty = f"This memory is empty: Esc, {PLACES['Import']}."
        words = "You could ask (↑, Enter):" if questions else empty
        self.query_one("#welcome", Static).update(Text(words, inks_of(self.app).dim))

    # --- Asking -----------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Ask what stands in the line."""
        question = event.value.strip()
        if question and not self.runs("ask"):
            event.input.value = ""
            self.ask(question)

    def ask(self, question: str) -> None:
        """Ask, and show what comes as it comes."""
        answers = [one.answer for one in self.query(Exchange)]
        earlier = [answer.question for answer in answers if answer is not None]
        exchange = Exchange(question)
        conversation = self.query_one("#conversation", VerticalScroll)
        self.query_one("#welcome").display = self.query_one("#suggestions").display = False
        conversation.mount(exchange)
        conversation.scroll_end(animate=False)
        self.query_one("#steps", StepTree).begin()
        self._began = time.monotonic()
        self._clock.resume()
        depth, budget = self._depth, self._budget()

        def answer(job: Job) -> Answer:
            def found(result: SearchResult) -> None:
                job.check()
                self.app.call_later(self._evidence, exchange, result)

            def hear(token: str) -> None:
                job.check()
                self.app.call_later(self._hear, exchange, token)

            def step(done: TraceStep) -> None:
                job.check()
                self.app.call_later(self._step, exchange, done)

            while not exchange.is_mounted:  # what is found needs its place on the screen
                job.check()
                time.sleep(_MOUNT_POLL_S)
            return self.memory.ask(
                question,
                depth=depth,
                budget=budget,
                earlier=earlier,
                on_found=found,
                on_token=hear,
                on_step=step,
            )

        self.run_job(
            "ask",
            answer,
            lambda done: self._show_answer(exchange, done),
            words="answering",
            failed=lambda error: self._show_failure(exchange, error),
        )

    def _evidence(self, exchange: Exchange, result: SearchResult) -> None:
        if exchange.is_mounted:
            exchange.show_evidence(result)
            self._follow()

    def _hear(self, exchange: Exchange, token: str) -> None:
        if exchange.is_mounted:
            exchange.hear(token)
            self._follow()

    def _step(self, exchange: Exchange, step: TraceStep) -> None:
        if exchange.is_mounted:
            if step.decision == 1:  # it goes deep: what was said so far was not good enough
                exchange.start_over()
            self.query_one("#steps", StepTree).add_step(step)

    def _show_answer(self, exchange: Exchange, answer: Answer) -> None:
        self._clock.pause()
        exchange.show_answer(answer)
        steps = self.query_one("#steps", StepTree)
        steps.show_trace(answer.trace)
        self._draw_budget(answer)
        self.say("↑ to the citations, Enter opens one · or ask on")
        self._follow()
        self._drop_forgotten()  # while it was made, something may have been forgotten

    def _show_failure(self, exchange: Exchange, error: LocalMemError) -> None:
        self._clock.pause()
        if isinstance(error, StoppedError):
            exchange.show_failure("stopped", "")
        else:
            exchange.show_failure(error.message, error.hint)
        self._follow()

    def _follow(self) -> None:
        place = self.query_one("#conversation", VerticalScroll)
        self.call_after_refresh(place.scroll_end, animate=False)

    # --- Settings ---------------------------------------------------------------------------

    def _budget(self) -> Budget:
        return Budget(seconds=self._seconds)

    def _draw_settings(self) -> None:
        limit = wording.duration(self._seconds) if self._seconds else "no limit"
        self.query_one("#question", Input).border_title = f"depth {self._depth} · time {limit}"

    def _draw_budget(self, answer: Answer | None = None) -> None:
        steps = self.query_one("#steps", StepTree)
        if answer is not None:
            trace = answer.trace
            seconds, tokens = trace.seconds, trace.prompt_tokens + trace.completion_tokens
        else:
            running = self.runs("ask")
            seconds = time.monotonic() - self._began if running else 0.0
            tokens = steps.tokens
        self.query_one("#budget", BudgetBar).show(
            self._budget(), steps=steps.steps, tokens=tokens, seconds=seconds
        )

    def action_depth(self) -> None:
        """The next depth."""
        self._depth = _DEPTHS[(_DEPTHS.index(self._depth) + 1) % len(_DEPTHS)]
        self._draw_settings()

    def action_seconds(self) -> None:
        """The next limit of time."""
        self._seconds = _SECONDS[(_SECONDS.index(self._seconds) + 1) % len(_SECONDS)]
        self._draw_settings()
        self._draw_budget()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Where there is room, the steps stand beside the conversation anyway."""
        return action != "steps" or self.has_class("-narrow")

    def action_steps(self) -> None:
        """The steps in place of the conversation, or the conversation again."""
        self.query_one("#talk").toggle_class("-steps")

    def action_anew(self) -> None:
        """Forget the conversation; the memory keeps what it has."""
        if self.runs("ask"):
            return
        self.query(Exchange).remove()
        self.query_one("#steps", StepTree).begin()
        self.query_one("#welcome").display = self.query_one("#suggestions").display = True
        self._draw_budget()
        self.query_one("#question", Input).focus()

    # --- Keys -------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Up leads from the line to the links, down from the last link back to the line."""
        focused = self.focused
        if isinstance(focused, Input) and event.key == "up":
            self._focus_links()
        elif isinstance(focused, Rows) and event.key == "down" and _is_at_end(focused):
            self.query_one("#question", Input).focus()
        else:
            return
        event.stop()
        event.prevent_default()

    def _focus_links(self) -> None:
        shown = [one for one in self.query(Rows) if one.values and one.display]
        visible = [one for one in shown if not one.has_class("-empty")]
        if visible:
            visible[-1].focus()
            self.query_one("#conversation").scroll_to_widget(visible[-1], animate=False)

    def action_question(self) -> None:
        self.query_one("#question", Input).focus()

    def action_leave(self) -> None:
        """Stop the answer, else leave the line."""
        if self.stop_jobs():
            self.say("stopping …")
        elif isinstance(self.focused, Input):
            self._focus_links()
            if isinstance(self.focused, Input):
                self.set_focus(None)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Open a citation, or ask a suggested question."""
        value = event.value
        if isinstance(value, str):
            if not self.runs("ask"):
                self.ask(value)
                self.query_one("#question", Input).focus()
            return
        place = _place_of(value)
        if place is not None:
            session_id, message_id, question = place[0], place[1], self._question_of(event.rows)
            words = wording.query_words(question)
            self.app.push_screen(ReaderScreen(self.memory, session_id, at=message_id, words=words))

    def _question_of(self, rows: Rows) -> str:
        exchange = next((one for one in rows.ancestors if isinstance(one, Exchange)), None)
        return exchange.question if exchange is not None else ""

    def action_forget(self) -> None:
        """What would go with the message under the cursor."""
        rows = self.focused
        place = _place_of(rows.value) if isinstance(rows, Rows) else None
        if place is None:
            return
        session_id, message_id = place

        def ask_first(view: SessionView) -> None:
            choices = choices_of(message=message_id, session=view.session)
            self.app.push_screen(ForgetDialog(self.memory, choices))

        self.run_job("session", lambda job: self.memory.show(session_id), ask_first)

    def _draw_suggestion(self, value: object, width: int) -> Sequence[Text]:
        inks = inks_of(self.app)
        return [Text.assemble(("  ? ", inks.accent), (wording.flat(str(value)), inks.plain))]

    def refresh_content(self) -> None:
        self.run_job("suggest", lambda job: self.memory.suggestions(), self._suggest)
        self._drop_forgotten()

    def _drop_forgotten(self) -> None:
        """Look which of the messages that answers rely on are still there."""
        relied = {number for one in self.query(Exchange) for number in one.relied_on}
        if relied:
            self.run_job(
                "left",
                lambda job: frozenset(self.memory.store.messages_left(sorted(relied))),
                self._keep_only,
            )

    def _keep_only(self, left: frozenset[MessageId]) -> None:
        """Take back what was answered from messages that were forgotten since."""
        exchanges = list(self.query(Exchange))
        gone = [one for one in exchanges if not one.relied_on <= left]
        for exchange in gone:
            exchange.take_back()
        if gone and gone[-1] is exchanges[-1] and not self.runs("ask"):  # whose steps are shown
            self.query_one("#steps", StepTree).begin()
            self._draw_budget()


def _place_of(value: object) -> tuple[SessionId, MessageId] | None:
    one = value[1] if isinstance(value, tuple) else value
    if isinstance(one, Citation):
        return one.session_id, one.message_id
    if isinstance(one, FoundMessage):
        return one.session.id, one.message.id
    return None


def _is_at_end(rows: Rows) -> bool:
    values = rows.values
    return not values or rows.value is values[-1]
