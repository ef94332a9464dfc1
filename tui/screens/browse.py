"""Browse: all sessions by month or by source, and the one under the cursor at any layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.inks import inks_of
from localmem_tui.screens.base import PLACES
from localmem_tui.screens.forget import ForgetDialog, choices_of
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.screens.reading import ReadingScreen
from localmem_tui.widgets.rows import Row, Rows
from localmem_tui.widgets.session_pane import SessionPane
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from localmem.types import Session
from localmem.wording import counted


class BrowseScreen(ReadingScreen):
    """The sessions on the left, the layers of one on the right; in a narrow window one of them."""

    NAME = "Browse"
    HELP = """\
All sessions, the newest first; the one under the cursor stands on the right.

- **Enter** reads it: then **← →** change the layer (lines, facts, notes, messages), **Enter**
  goes from a fact to its note to its message, **b** goes back, **Esc** returns to the list.
- **F2** narrows the list to titles that hold what you type. **F3** groups by month or by source.
- Facts and notes are made when you first look at them; **Esc** stops that.
- **x** shows what forgetting the session, or the message under the cursor, would take away.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,slash", "narrow", "Filter", key_display="F2"),
        Binding("f3", "group", "Group"),
        Binding("x,delete", "forget", "Forget"),
        Binding("escape", "leave", "Back", show=False),
    ]

    def body(self) -> ComposeResult:
        with Horizontal(id="browse"):
            with Vertical(id="shelf"):
                yield Input(placeholder="Words of a title", id="narrow", compact=True)
                yield Rows(self._draw, id="sessions")
            yield SessionPane()

    def on_mount(self) -> None:
        self._sessions: tuple[Session, ...] = ()
        self._by_source = False
        self.query_one("#sessions", Rows).focus()
        self.refresh_content()

    def refresh_content(self) -> None:
        self.run_job("sessions", lambda job: self.memory.sessions(), self._show_sessions)

    def _show_sessions(self, sessions: tuple[Session, ...]) -> None:
        self._sessions = sessions
        self._fill()
        if not sessions:
            self.say(f"this memory is empty: press {PLACES['Import']}, and import a chat history")

    def _fill(self) -> None:
        wanted = self.query_one("#narrow", Input).value.lower().split()
        shown = [s for s in self._sessions if all(word in s.title.lower() for word in wanted)]
        rows = self.query_one("#sessions", Rows)
        kept = rows.value
        heading_of = _source_of if self._by_source else _month_of
        rows.set_rows(list(grouped(shown, heading_of)), at=_same_session(kept))
        if rows.value is None and not self._has(self.pane.session):
            self.let_rest()
            self.pane.clear()
        grouping = "source" if self._by_source else "month"
        self.say(f"{counted(len(shown), 'session')} by {grouping}")

    def _has(self, session: Session | None) -> bool:
        """Whether the memory still has what the pane shows."""
        return session is not None and any(one.id == session.id for one in self._sessions)

    # --- Keys -------------------------------------------------------------------------------

    def action_narrow(self) -> None:
        self.query_one("#narrow", Input).focus()

    def action_group(self) -> None:
        """By month, or by source."""
        self._by_source = not self._by_source
        self._fill()

    def on_input_changed(self) -> None:
        self._fill()

    def on_input_submitted(self) -> None:
        self.query_one("#sessions", Rows).focus()

    def action_leave(self) -> None:
        """Stop what is being made; from the pane back to the list."""
        if self.stop_jobs():
            self.say("stopping …")
        else:
            self.query_one("#sessions", Rows).focus()

    def action_forget(self) -> None:
        """What would go with the session in the list, or what the pane's cursor stands on."""
        rows = self.query_one("#sessions", Rows)
        if self.focused is not rows:
            super().action_forget()
        elif isinstance(rows.value, Session):
            dialog = ForgetDialog(self.memory, choices_of(session=rows.value))
            self.app.push_screen(dialog, self.forgotten)

    def on_rows_highlighted(self, event: Rows.Highlighted) -> None:
        """Read the session once the cursor rests on it."""
        if event.rows.id == "sessions" and self.pane.display:
            self.when_rested(self._open_highlighted)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Into the pane, or over the whole screen where there is none."""
        session = event.value
        if not isinstance(session, Session):
            return
        if self.pane.region.width:
            self.let_rest()
            self._open_highlighted()
            self.pane.rows.focus()
        else:
            self.app.push_screen(ReaderScreen(self.memory, session))

    def _open_highlighted(self) -> None:
        session = self.query_one("#sessions", Rows).value
        pane = self.pane
        if not isinstance(session, Session) or not pane.region.width:
            return
        is_same = pane.session is not None and pane.session == session
        if not (is_same and pane.view is not None):
            pane.open(session)

    def _draw(self, value: object, width: int) -> Sequence[Text]:
        inks = inks_of(self.app)
        if isinstance(value, str):
            return [Text(f"{value} ".ljust(width, "─"), inks.accent)]
        if not isinstance(value, Session):
            return ()
        when = f"{value.started_at:%m-%d}" if value.started_at and not self._by_source else ""
        when = when or wording.day(value.started_at)
        return [
            Text.assemble(
                (f" {when} ", inks.dim),
                (wording.titled(value.title), inks.plain),
                (f" {value.message_count}", inks.dim),
            )
        ]


def grouped(sessions: Iterable[Session], heading_of: Callable[[Session], str]) -> Iterable[Row]:
    """Rows of sessions under headings, which come in the order of their first session."""
    headings: dict[str, list[Session]] = {}
    for heading, group in groupby(sessions, key=heading_of):
        headings.setdefault(heading, []).extend(group)
    for heading, members in headings.items():
        yield Row(heading, is_heading=True)
        for session in members:
            yield Row(session)


def _month_of(session: Session) -> str:
    return f"{session.started_at:%B %Y}" if session.started_at else "no time"


def _source_of(session: Session) -> str:
    return session.source


def _same_session(kept: object) -> Callable[[object], bool]:
    def is_same(other: object) -> bool:
        return isinstance(kept, Session) and isinstance(other, Session) and kept.id == other.id

    return is_same
