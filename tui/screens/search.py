"""Search as you type: the messages found, the words lit, Enter opens the session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.calm import loading
from localmem_tui.inks import inks_of
from localmem_tui.screens.base import PLACES, MemoryScreen
from localmem_tui.screens.forget import ForgetDialog, choices_of
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.widgets.rows import Row, Rows
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.suggester import SuggestFromList
from textual.widgets import Input, Label, Static

from localmem.dates import describe
from localmem.errors import LocalMemError
from localmem.memory import Memory
from localmem.types import FoundMessage, SearchFilter, SearchResult, Session
from localmem.wording import counted

_MOST_FOUND = 50
_FILTERS = {"who": "Who", "since": "From", "until": "To", "source": "Source"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What stands in the lines."""

    query: str
    limits: SearchFilter


class SearchScreen(MemoryScreen):
    """The newest sessions, and what is found once something is typed."""

    NAME = "Search"
    HELP = """\
Type: what is found appears as you go, with the words you typed lit.

- **↓** goes to the results, **Enter** opens the one under the cursor in its session.
- **F2** goes to the filters: a person, a first and a last day (2026-03-31), a source.
- **F3** takes the line over to **Ask**, as a question.
- **x** on a result shows what forgetting it would take away.
- With nothing typed you see the newest sessions.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "filters", "Filters"),
        Binding("f3", "ask", "Ask this"),
        Binding("x,delete", "forget", "Forget"),
        Binding("slash", "query", "Type", show=False),
    ]

    def __init__(self, memory: Memory, note_latency: Callable[[float], None]) -> None:
        """`note_latency` hears the seconds of each search."""
        super().__init__(memory)
        self._note_latency = note_latency
        self._words: tuple[str, ...] = ()
        self._pending: Wanted | None = None
        self._shown: Wanted | None = None

    def body(self) -> ComposeResult:
        yield Input(placeholder="What are you looking for?", id="query")
        with Horizontal(id="filters"):
            for name, label in _FILTERS.items():
                yield Label(label)
                yield Input(id=name, compact=True, placeholder=_placeholder(name))
        with Horizontal(id="found"):
            yield Rows(self._draw, id="results")
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(id="whole")

    def on_mount(self) -> None:
        self.query_one("#query", Input).focus()
        self.refresh_content()
        self.call_after_refresh(self._begin_ready)  # the index is read after the first picture

    def _begin_ready(self) -> None:
        self.run_job("ready", lambda job: self._get_ready(), self._offer_names)

    def _get_ready(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names and sources for the filters; loads what the first search would wait for."""
        people = self.memory.people()
        names = tuple(one.person.name for one in people)
        sources = tuple(sorted({one.source for one in self.memory.sessions()}))
        with loading(sum(one.messages for one in people)):
            for name in names[:1] * 2:  # the second search of a memory takes it to hand
                self.memory.search(name, k=1)
        return names, sources

    def _offer_names(self, found: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
        for name, offered in zip(("who", "source"), found, strict=True):
            suggester = SuggestFromList(offered, case_sensitive=False) if offered else None
            self.query_one(f"#{name}", Input).suggester = suggester

    # --- Searching --------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        """What is typed is looked for at once."""
        self.look()

    def look(self) -> None:
        """Look for what stands in the lines; while a search runs only the last wish is kept."""
        try:
            wanted = self._wanted()
        except LocalMemError as error:
            self.fail(error)
            return
        if not wanted.query.strip():
            self._pending = None
            self._show_newest()
            return
        self._pending = wanted
        if not self.runs("search"):
            self._search_next()

    def _search_next(self) -> None:
        wanted, self._pending = self._pending, None
        if wanted is None:
            return
        self.run_job(
            "search",
            lambda job: self.memory.search(wanted.query, k=_MOST_FOUND, limits=wanted.limits),
            lambda result: self._show_found(wanted, result),
            failed=self._search_failed,
        )

    def _search_failed(self, error: LocalMemError) -> None:
        self.query_one("#results", Rows).set_rows(())
        self.fail(error)
        self._search_next()

    def _wanted(self) -> Wanted:
        lines = {name: self.query_one(f"#{name}", Input).value.strip() for name in _FILTERS}
        return Wanted(
            self.query_one("#query", Input).value,
            SearchFilter(
                participant=lines["who"] or None,
                since=parse_day(lines["since"]),
                until=parse_day(lines["until"]),
                source=lines["source"] or None,
            ),
        )

    def _show_found(self, wanted: Wanted, result: SearchResult) -> None:
        if not self.query_one("#query", Input).value.strip():
            return
        self._note_latency(result.seconds)
        rows = self.query_one("#results", Rows)
        is_same = wanted == self._shown
        kept = rows.value if is_same else None
        self._words, self._shown = wording.query_words(wanted.query), wanted
        rows.set_rows([Row(one, 3) for one in result.found], at=_same_as(kept))
        if not result.found:
            self.query_one("#whole", Static).update("")
        ms = result.seconds * 1000
        told = f"{counted(len(result.found), 'message')} in {ms:.0f} ms"
        if not result.found:
            told = "nothing found; other words, or fewer filters?"
        line = Text(told, inks_of(self.app).dim)
        for notice in result.notices:
            line.append(f" · {notice}", inks_of(self.app).warn)
        self.say(line)
        self._search_next()

    def _show_newest(self) -> None:
        self.run_job("newest", lambda job: self.memory.sessions(limit=200), self._show_sessions)

    def _show_sessions(self, sessions: tuple[Session, ...]) -> None:
        if self.query_one("#query", Input).value.strip():
            return
        self._words, self._shown = (), None
        rows = self.query_one("#results", Rows)
        kept = rows.value
        rows.set_rows([Row(one, 1) for one in sessions], at=_same_as(kept))
        if sessions:
            self.say("the newest sessions · type to search, or press F3 to ask")
        else:
            self.query_one("#whole", Static).update("")
            self.say(f"this memory is empty: Esc, {PLACES['Import']}, and import a chat history")

    def refresh_content(self) -> None:
        self.look()

    # --- Keys -------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Down leads from the line that is typed in to the results, up from the first one back."""
        focused = self.focused
        if isinstance(focused, Input) and event.key == "down":
            self.query_one("#results", Rows).focus()
        elif isinstance(focused, Rows) and event.key == "up" and _is_on_top(focused):
            self.query_one("#query", Input).focus()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_input_submitted(self) -> None:
        self.query_one("#results", Rows).action_choose()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Open what was chosen in its session."""
        value = event.value
        if isinstance(value, FoundMessage):
            screen = ReaderScreen(
                self.memory, value.session, at=value.message.id, words=self._words
            )
            self.app.push_screen(screen)
        elif isinstance(value, Session):
            self.app.push_screen(ReaderScreen(self.memory, value))

    def on_rows_highlighted(self, event: Rows.Highlighted) -> None:
        """Show the whole message beside the list, where there is room."""
        value = event.value
        text = self._whole(value) if isinstance(value, FoundMessage) else Text()
        self.query_one("#whole", Static).update(text)
        self.query_one("#preview", VerticalScroll).scroll_home(animate=False)

    def action_query(self) -> None:
        self.query_one("#query", Input).focus()

    def action_filters(self) -> None:
        self.query_one("#who", Input).focus()

    def action_leave(self) -> None:
        if isinstance(self.focused, Input):
            self.query_one("#results", Rows).focus()

    async def action_ask(self) -> None:
        """Take the line over to Ask."""
        await self.run_action(f"app.ask({self.query_one('#query', Input).value!r})")

    def action_forget(self) -> None:
        """What would go with the result under the cursor."""
        value = self.query_one("#results", Rows).value
        if isinstance(value, FoundMessage):
            choices = choices_of(message=value.message.id, session=value.session)
        elif isinstance(value, Session):
            choices = choices_of(session=value)
        else:
            return
        self.app.push_screen(ForgetDialog(self.memory, choices), self._forgotten)

    def _forgotten(self, gone: bool | None) -> None:
        if gone:
            self.refresh_content()

    # --- Drawing ----------------------------------------------------------------------------

    def _draw(self, value: object, width: int) -> Sequence[Text]:
        inks = inks_of(self.app)
        if isinstance(value, Session):
            return [session_line(value, inks.dim, inks.plain)]
        if not isinstance(value, FoundMessage):
            return ()
        message = value.message
        head = Text.assemble(
            (f"{wording.flat(message.speaker)} ", inks.head),
            (f"{wording.moment(message.said_at)}  ", inks.dim),
            (wording.titled(value.session.title), inks.dim),
        )
        body = wording.excerpt(message.whole_text, self._words, characters=2 * (width - 2) - 8)
        first, second = _halves(body, width - 2)
        return [
            head,
            *(self._lit(f"  {half}") for half in (first, second)),
        ]

    def _lit(self, text: str) -> Text:
        inks = inks_of(self.app)
        return wording.lit(Text(text, inks.plain), self._words, inks.match)

    def _whole(self, found: FoundMessage) -> Text:
        inks, message = inks_of(self.app), found.message
        text = Text.assemble(
            (f"{wording.titled(found.session.title)}\n", f"bold {inks.plain}"),
            (f"{wording.flat(message.speaker)}, {wording.moment(message.said_at)}\n\n", inks.dim),
        )
        if found.standing:
            text.append(f"{wording.flat(found.standing)}\n\n", inks.warn)
        text.append_text(self._lit(wording.plain(message.whole_text)))
        for one in found.dates:
            text.append(f"\n\n{wording.flat(one.words)} = {describe(one)}", f"italic {inks.dim}")
        return text


def session_line(session: Session, dim: str, plain: str) -> Text:
    """A session on one line."""
    return Text.assemble(
        (f"{wording.day(session.started_at):10}  ", dim),
        (wording.titled(session.title), plain),
        (f"  {session.message_count}", dim),
    )


def parse_day(text: str) -> date | None:
    """A day written as YYYY-MM-DD, or a part of one that is being typed: then None.

    Raises:
        LocalMemError: it is whole and no day.
    """
    if len(text) < len("2026-03-31"):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise LocalMemError(f"'{text}' is no day", hint="write it as 2026-03-31") from error


def _placeholder(name: str) -> str:
    return {"who": "anybody", "source": "any"}.get(name, "2026-03-31")


def _halves(line: str, width: int) -> tuple[str, str]:
    """A line broken at a space where it is too wide for one row."""
    if len(line) <= width:
        return line, ""
    cut = line.rfind(" ", 0, width + 1)
    cut = cut if cut > width // 2 else width
    return line[:cut], line[cut:].strip()


def _same_as(value: object) -> Callable[[object], bool]:
    def is_same(other: object) -> bool:
        if isinstance(value, FoundMessage) and isinstance(other, FoundMessage):
            return value.message.id == other.message.id
        return isinstance(value, Session) and isinstance(other, Session) and value.id == other.id

    return is_same


def _is_on_top(rows: Rows) -> bool:
    values = rows.values
    return not values or rows.value is values[0]
