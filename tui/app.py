"""The app: one screen to search, ask and read. Work runs in threads; keys never wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Footer, Header, Input, Label, ListItem, ListView, Static

from localmem.errors import LocalMemError
from localmem.memory import Memory
from localmem.types import Answer, Message, SearchResult, Session, SessionView

_Result = TypeVar("_Result")


class SessionItem(ListItem):
    """A line of the list: a found message, or a session."""

    def __init__(self, session: Session, message: Message | None = None) -> None:
        super().__init__(Label(_line(session, message)))
        self.session = session
        self.message = message


class LocalMemApp(App[None]):
    """Search as you type; Enter asks; choose a line to read its session."""

    TITLE = "localmem"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "focus_query", "Search"),
        Binding("f2", "show_sessions", "Sessions"),
        Binding("ctrl+q", "quit", "Quit"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory

    def compose(self) -> ComposeResult:
        yield Header()
        yield Input(placeholder="Type to search; Enter asks the question", id="query")
        yield Static(id="answer")
        with Horizontal():
            yield ListView(id="list")
            yield VerticalScroll(Static(id="reader"), id="pane")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#query", Input).focus()
        self.load_sessions()

    def action_focus_query(self) -> None:
        self.query_one("#query", Input).focus()

    def action_show_sessions(self) -> None:
        self.load_sessions()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value.strip():
            self.search(event.value)
        else:
            self.load_sessions()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self._say(Text("looking for the answer …", style="dim"))
            self.ask(event.value)

    def on_list_view_selected(self, event: ListView.Selected) -> None:
        if isinstance(event.item, SessionItem):
            self.read(event.item.session, event.item.message)

    @work(thread=True, exclusive=True, group="list")
    def search(self, query: str) -> None:
        """Show what a query finds."""
        self._guarded(lambda: self._memory.search(query), self._show_found)

    @work(thread=True, exclusive=True, group="list")
    def load_sessions(self) -> None:
        """Show the newest sessions."""
        self._guarded(lambda: self._memory.sessions(limit=200), self._show_sessions)

    @work(thread=True, exclusive=True, group="answer")
    def ask(self, question: str) -> None:
        """Show the answer to a question, with the messages it rests on."""
        self._guarded(lambda: self._memory.ask(question), self._show_answer)

    @work(thread=True, exclusive=True, group="reader")
    def read(self, session: Session, message: Message | None) -> None:
        """Show a session, from the found message on."""
        self._guarded(
            lambda: self._memory.show(session.id), lambda view: self._show_session(view, message)
        )

    def _guarded(self, job: Callable[[], _Result], show: Callable[[_Result], object]) -> None:
        """Do a job in this thread and show its result in the app's; a failure is shown instead."""
        try:
            result = job()
        except LocalMemError as error:
            cure = f"  {error.hint}" if error.hint else ""
            self.call_from_thread(self._say, Text(f"{error.message}{cure}", style="red"))
        else:
            self.call_from_thread(show, result)

    def _show_found(self, result: SearchResult) -> None:
        self._say(Text("\n".join(result.notices), style="yellow"))
        self._fill([SessionItem(f.session, f.message) for f in result.found])

    def _show_sessions(self, sessions: tuple[Session, ...]) -> None:
        if not sessions:
            self._say(Text("This memory is empty. Leave, and: localmem import EXPORT"))
        self._fill([SessionItem(session) for session in sessions])

    def _show_answer(self, answer: Answer) -> None:
        text = Text(answer.text, style="bold")
        for number, citation in enumerate(answer.citations, start=1):
            text.append(f"\n[{number}] {citation.speaker}: {citation.quote}", style="not bold dim")
        self._say(text)

    def _show_session(self, view: SessionView, found: Message | None) -> None:
        text = Text(f"{view.session.title}\n", style="bold")
        for message in view.messages:
            is_found = found is not None and message.id == found.id
            text.append(f"\n{_head(message)}\n", style="cyan" if is_found else "dim")
            text.append(f"{message.text}\n", style="not bold reverse" if is_found else "not bold")
        self.query_one("#reader", Static).update(text)
        self.query_one("#pane", VerticalScroll).scroll_home(animate=False)

    def _fill(self, items: list[SessionItem]) -> None:
        shown = self.query_one("#list", ListView)
        shown.clear()
        shown.extend(items)

    def _say(self, text: Text) -> None:
        self.query_one("#answer", Static).update(text)


def _line(session: Session, message: Message | None) -> Text:
    when = session.started_at.strftime("%Y-%m-%d") if session.started_at else "no time"
    line = Text.assemble((f"{when} ", "dim"), (session.title, "bold"))
    if message is not None:
        line.append(f"\n{' '.join(message.text.split())[:160]}")
    return line


def _head(message: Message) -> str:
    when = message.said_at.strftime("%Y-%m-%d %H:%M") if message.said_at else "no time"
    return f"{message.speaker}, {when}"
