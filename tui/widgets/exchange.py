"""A question with its evidence, its answer as it comes, and the citations as links."""

from __future__ import annotations

from collections.abc import Sequence

from localmem_tui import wording
from localmem_tui.inks import inks_of
from localmem_tui.widgets.rows import Row, Rows
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from localmem.types import Answer, Citation, FoundMessage, MessageId, SearchResult
from localmem.wording import counted

_MOST_EVIDENCE = 6


class Exchange(Vertical):
    """One question of a conversation and what came of it."""

    DEFAULT_CSS = """
    Exchange { height: auto; margin: 0 0 1 0; }
    Exchange Static { height: auto; padding: 0 1; }
    Exchange .question { background: $panel; }
    Exchange .answer { margin: 1 0 0 0; }
    Exchange .answer.-empty, Exchange .remark.-empty, Exchange Rows.-empty { display: none; }
    Exchange Rows { margin: 1 0 0 1; }
    Exchange Rows > .rows--cursor-blurred { background: $background; }
    """

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = question
        self.answer: Answer | None = None
        self.relied_on: frozenset[MessageId] = frozenset()
        self.said: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static(Text(self.question, "bold"), classes="question")
        yield Static(classes="answer -empty")
        yield Static(Text("looking through the memory …", "dim"), classes="remark")
        yield Rows(self._draw, classes="-empty")

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda theme: self._draw_anew())

    def _draw_anew(self) -> None:
        """In the inks of another theme."""
        if self.answer is not None:
            self.show_answer(self.answer)

    @property
    def links(self) -> Rows:
        """The evidence while it is answered, the citations afterwards."""
        return self.query_one(Rows)

    def show_evidence(self, result: SearchResult) -> None:
        """The messages that the answer will be taken from, before its first word."""
        found = result.found[:_MOST_EVIDENCE]
        self.relied_on |= {one.message.id for one in result.found}
        self._link(found)
        told = f"reading {counted(len(result.found), 'message')} …"
        self._remark(Text(told if found else "nothing in the memory is near", "dim"))

    def hear(self, token: str) -> None:
        """A few more letters of the answer."""
        self.said.append(token)
        self._say("".join(self.said).strip())

    def start_over(self) -> None:
        """Take back what was said: another answer comes."""
        if self.said:
            self.said.clear()
            self._say("")

    def show_answer(self, answer: Answer) -> None:
        """The whole answer, its citations, and what is to be said about it."""
        self.answer = answer
        self.relied_on |= {one.message_id for one in answer.citations}
        self._say(answer.text)
        inks = inks_of(self.app)
        notes = [Text(notice, inks.warn) for notice in answer.notices]
        if not answer.complete:
            notes.append(Text("stopped by the budget: it may be incomplete", inks.warn))
        trace = answer.trace
        spent = (
            f"{trace.depth} · {trace.sessions_opened:,} of {trace.sessions_total:,} sessions opened"
            f" · {wording.duration(trace.seconds)} · {trace.model_id or 'no model'}"
        )
        notes.append(Text(spent, inks.dim))
        self._link(answer.citations)
        self._remark(Text("\n").join(notes))

    def show_failure(self, message: str, hint: str) -> None:
        """Why there is no answer, and what to do."""
        inks = inks_of(self.app)
        text = Text(message, inks.bad)
        if hint:
            text.append(f"\n{hint}", inks.plain)
        self._remark(text)

    def take_back(self) -> None:
        """Something that it relied on was forgotten: neither answer nor evidence stays."""
        self.answer = None
        self.said.clear()
        self._say("")
        self._link(())
        self._remark(
            Text("taken back: messages it relied on were forgotten", inks_of(self.app).dim)
        )

    def _say(self, text: str) -> None:
        place = self.query_one(".answer", Static)
        place.set_class(not text, "-empty")
        place.update(Text(wording.plain(text), inks_of(self.app).plain))

    def _remark(self, text: Text) -> None:
        place = self.query_one(".remark", Static)
        place.set_class(not text.plain, "-empty")
        place.update(text)

    def _link(self, links: Sequence[FoundMessage | Citation]) -> None:
        rows = self.links
        rows.set_class(not links, "-empty")
        rows.styles.height = max(1, 2 * len(links))
        numbered = list(enumerate(links, start=1))
        rows.set_rows([Row(one, 2) for one in numbered])

    def _draw(self, value: object, width: int) -> Sequence[Text]:
        if not isinstance(value, tuple):
            return ()
        number, one = value
        inks = inks_of(self.app)
        if isinstance(one, Citation):
            said, text, title = one.said_at, one.quote, one.session_title
            speaker, mark = one.speaker, f"[{number}] "
        else:
            said, text, title = one.message.said_at, one.message.whole_text, one.session.title
            speaker, mark = one.message.speaker, "  · "
        return [
            Text.assemble(
                (mark, inks.accent),
                (f"{wording.flat(speaker)}, {wording.moment(said)}  ", inks.head),
                (wording.titled(title), inks.dim),
            ),
            Text.assemble(
                "    ",
                (
                    wording.excerpt(text, wording.query_words(self.question), characters=width - 5),
                    inks.plain if isinstance(one, Citation) else inks.dim,
                ),
            ),
        ]
