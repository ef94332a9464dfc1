"""Tiers: what is held where and why; of an episode its pages, of a long-term entry its sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from localmem_tui import tiers_told, wording
from localmem_tui.inks import inks_of
from localmem_tui.screens.base import PLACES, MemoryScreen
from localmem_tui.screens.forget import ForgetDialog, choices_of
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.widgets.rows import Row, Rows
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from localmem.memory import Memory
from localmem.types import (
    ConsolidateReport,
    EpisodeId,
    EpisodeOverview,
    EpisodePage,
    EpisodeView,
    LastingEntry,
    LastingView,
    Message,
    MessageId,
    RecentPage,
    SessionId,
    SessionView,
    TiersView,
)
from localmem.wording import counted

_MOST_EPISODES = 200


@dataclass(frozen=True, slots=True)
class Said:
    """A message of an episode or an entry, in the list of its parts."""

    message: Message

    @property
    def place(self) -> tuple[SessionId, MessageId]:
        return self.message.session_id, self.message.id


@dataclass(frozen=True, slots=True)
class Akin:
    """Another episode that the gate finds akin."""

    episode: EpisodeId


class TiersScreen(MemoryScreen):
    """The tiers on the left, the parts of the one under the cursor on the right."""

    NAME = "Tiers"
    HELP = """\
What the memory holds where. **Short term** are the last exchanges of the running conversation.
**Mid term** are episodes: pages (a question with its answer) that belong together across sessions,
the most useful first. **Long term** is what lasts of the owner: wishes, profile, facts, in their
own words.

- **Enter** goes to the parts of an episode: its pages, each with the gate's probability and why it
  is there, their messages, and the episodes that are akin. **Enter** there opens the message in
  its session, or the other episode; **Esc** goes back.
- A long-term entry shows the messages that it rests on. **p** pins it, so that it stays whatever
  comes, or lets it go again.
- **w** places what is in no page yet. **x** shows what forgetting a message would take away.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "place", "Place pages"),
        Binding("p", "pin", "Pin"),
        Binding("x,delete", "forget", "Forget"),
        Binding("escape", "leave", "Back", show=False),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._view: TiersView | None = None
        self._shown: EpisodeId | None = None

    def body(self) -> ComposeResult:
        with Horizontal(id="tiers"):
            yield Rows(self._draw, id="held")
            with Vertical(id="one"):
                yield Static(id="about-one")
                yield Rows(self._draw_part, id="parts")

    def on_mount(self) -> None:
        self.held.focus()
        self.refresh_content()

    @property
    def held(self) -> Rows:
        return self.query_one("#held", Rows)

    @property
    def parts(self) -> Rows:
        return self.query_one("#parts", Rows)

    # --- The tiers --------------------------------------------------------------------------

    def refresh_content(self) -> None:
        self.run_job("tiers", lambda job: self.memory.tiers(limit=_MOST_EPISODES), self._show_tiers)

    def _show_tiers(self, view: TiersView) -> None:
        self._view = view
        kept = self.held.value
        self.held.set_rows(_rows_of(view), at=_same_as(kept))
        if view.episodes or view.lasting or view.recent:
            held = counted(len(view.lasting), "entry", "entries") if view.lasting else "nothing"
            self.say(f"{tiers_told.gate_words(view)} · long term: {held}")
            return
        self._show_parts(Text(), ())
        if view.counts.pending:
            self.say("no page is placed yet: w places them")
        else:
            self.say(f"nothing is held yet: press {PLACES['Import']}, and import a chat history")

    def action_place(self) -> None:
        """Place pages of new messages in episodes."""

        def told(report: ConsolidateReport) -> None:
            placed = counted(report.pages, "page")
            words = f"{placed} placed, {report.founded:,} founded an episode"
            if not report.pages and report.open_messages:
                words = f"messages have no vector yet: {PLACES['Health']} shows how to make them"
            self.app.notify(words, markup=False)
            self.refresh_content()

        self.run_job(
            "place",
            lambda job: self.memory.consolidate(on_progress=job.tell),
            told,
            words="placing pages",
        )

    # --- One of them ------------------------------------------------------------------------

    def on_rows_highlighted(self, event: Rows.Highlighted) -> None:
        """Read the parts once the cursor rests."""
        if event.rows is self.held:
            self.when_rested(self._read_one)

    def _read_one(self) -> None:
        value = self.held.value
        if isinstance(value, EpisodeOverview):
            self._read_episode(value.id)
        elif isinstance(value, RecentPage):
            self._shown = None
            rows = [Row(Said(one), 2) for one in value.messages]
            self._show_parts(tiers_told.exchange_head(value, inks_of(self.app)), rows)
        elif isinstance(value, LastingEntry):
            number = value.id
            self.run_job("one", lambda job: self.memory.lasting(number), self._show_entry)

    def _read_episode(self, number: EpisodeId) -> None:
        self.run_job("one", lambda job: self.memory.episode(number), self._show_episode)

    def _show_episode(self, view: EpisodeView) -> None:
        parts: list[Row] = []
        for page in view.pages:
            parts.append(Row(page, is_heading=True))
            parts += [Row(Said(message), 2) for message in page.messages]
        if view.overview.related:
            parts.append(Row("akin", is_heading=True))
            parts += [Row(Akin(number)) for number in view.overview.related]
        is_same = self._shown == view.overview.id
        self._shown = view.overview.id
        self._show_parts(
            tiers_told.episode_head(view.overview, inks_of(self.app)), parts, keep=is_same
        )

    def _show_entry(self, view: LastingView) -> None:
        self._shown = None
        rows = [Row(Said(one.message), 2) for one in view.sources]
        self._show_parts(tiers_told.entry_head(view, inks_of(self.app)), rows)

    def _show_parts(self, head: Text, rows: Sequence[Row], *, keep: bool = False) -> None:
        self.query_one("#about-one", Static).update(head)
        kept = self.parts.value
        self.parts.set_rows(rows, at=(lambda other: other == kept) if keep else None)

    # --- Keys -------------------------------------------------------------------------------

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """From a tier to its parts; from there to the message, or to the other episode."""
        value = event.value
        if event.rows is self.held:
            self.let_rest()
            self._read_one()
            self.parts.focus()
        elif isinstance(value, Akin):
            self.held.move_to(
                lambda other: isinstance(other, EpisodeOverview) and other.id == value.episode
            )
            self.let_rest()
            self._read_episode(value.episode)
        elif isinstance(value, Said):
            session_id, message_id = value.place
            self.app.push_screen(ReaderScreen(self.memory, session_id, at=message_id))

    def action_pin(self) -> None:
        """Let the long-term entry under the cursor stay for good, or let it go again."""
        value = self.held.value
        if not isinstance(value, LastingEntry):
            self.say("only entries of the long term can be pinned", tone="warn")
            return
        number, pinned = value.id, not value.pinned
        self.run_job(
            "pin",
            lambda job: self.memory.pin_lasting(number, pinned=pinned),
            lambda entry: self.refresh_content(),
        )

    def action_leave(self) -> None:
        """Stop what runs, else back to the tiers."""
        if self.stop_jobs():
            self.say("stopping …")
        else:
            self.held.focus()

    def action_forget(self) -> None:
        """What would go with the message under the cursor."""
        value = self.parts.value
        if not isinstance(value, Said):
            self.say("there is no message under the cursor: Enter, and choose one", tone="warn")
            return
        session_id, message_id = value.place

        def ask_first(view: SessionView) -> None:
            choices = choices_of(message=message_id, session=view.session)
            dialog = ForgetDialog(self.memory, choices)
            self.app.push_screen(dialog, lambda gone: self.refresh_content() if gone else None)

        self.run_job("session", lambda job: self.memory.show(session_id), ask_first)

    # --- Drawing ----------------------------------------------------------------------------

    def _draw(self, value: object, width: int) -> Sequence[Text]:
        inks = inks_of(self.app)
        if isinstance(value, EpisodeOverview):
            return tiers_told.episode_line(value, inks)
        if isinstance(value, LastingEntry):
            return tiers_told.entry_line(value, inks)
        if isinstance(value, RecentPage):
            return tiers_told.exchange_lines(value, inks, width)
        title, _, told = str(value).partition("\n")
        return [Text(f"{title} ".ljust(width, "─"), inks.accent), Text(f" {told}", inks.dim)]

    def _draw_part(self, value: object, width: int) -> Sequence[Text]:
        inks = inks_of(self.app)
        if isinstance(value, EpisodePage):
            return [tiers_told.page_line(value, inks)]
        if isinstance(value, Akin):
            return [Text.assemble(("  → ", inks.accent), self._named(value.episode))]
        if isinstance(value, Said):
            message = value.message
            head = Text.assemble(
                (f"  {wording.flat(message.speaker)}", inks.head),
                (f"  {wording.moment(message.said_at)}", inks.dim),
            )
            said = wording.excerpt(message.whole_text, (), characters=width - 5)
            return [head, Text(f"    {said}", inks.plain)]
        return [Text(" episodes that are akin", inks.accent)]

    def _named(self, number: EpisodeId) -> str:
        known = self._view.episodes if self._view is not None else ()
        summary = next((one.summary for one in known if one.id == number), "")
        return f"episode {number}  {wording.flat(summary)}"


def _rows_of(view: TiersView) -> list[Row]:
    """The three tiers with what each holds."""
    holding = [one for one in view.lasting if one.superseded_by is None]
    gone = [one for one in view.lasting if one.superseded_by is not None]
    wishes = counted(len(holding), "entry", "entries") if holding else "nothing"
    talk = counted(len(view.recent), "exchange") if view.recent else "nothing"
    told = f"{talk} of the running conversation" if view.recent else f"{talk}: nobody is talking"
    rows = [Row(f"Short term\n{told}", 2, is_heading=True)]
    rows += [Row(page, 2) for page in view.recent]
    rows.append(Row(f"Mid term\n{tiers_told.counts_words(view)}", 2, is_heading=True))
    rows += [Row(one, 2) for one in view.episodes]
    more = view.counts.episodes - len(view.episodes)
    if more > 0:
        rows.append(Row(f"and {counted(more, 'less useful one')}\n", 2, is_heading=True))
    rows.append(Row(f"Long term\n{wishes}", 2, is_heading=True))
    return [*rows, *(Row(one, 2) for one in (*holding, *gone))]


def _same_as(kept: object) -> Callable[[object], bool]:
    def is_same(other: object) -> bool:
        if isinstance(kept, EpisodeOverview) and isinstance(other, EpisodeOverview):
            return kept.id == other.id
        return (
            isinstance(kept, LastingEntry)
            and isinstance(other, LastingEntry)
            and kept.id == other.id
        )

    return is_same
