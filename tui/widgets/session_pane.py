"""A session at one of its four layers, with jumps from fact to note to message and back.

It asks its screen for layers (`Wanted`) and is given them (`show_view`); it reads no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.inks import Inks, drawing_console, inks_of
from localmem_tui.widgets.rows import Row, Rows
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message as TextualMessage
from textual.widgets import Static, Tab, Tabs

from localmem.dates import describe
from localmem.types import (
    KeyFact,
    Layer,
    Message,
    MessageId,
    Session,
    SessionId,
    SessionView,
    TurnId,
    TurnNote,
    TurnSummary,
)
from localmem.wording import counted

_NAMES = {Layer.SUMMARY: "Lines", Layer.FACTS: "Facts", Layer.NOTES: "Notes", Layer.RAW: "Messages"}
_MARGIN = 1


@dataclass(frozen=True, slots=True)
class Told:
    """One row of a layer with its text wrapped to a width."""

    value: TurnSummary | KeyFact | TurnNote | Message
    lines: tuple[Text, ...]


class SessionPane(Vertical):
    """The layers of a session as tabs. Left and right change the layer, Enter goes deeper."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "layer(-1)", "Coarser", key_display="←"),
        Binding("right", "layer(1)", "Finer", key_display="→"),
        Binding("backspace,b", "back", "Jump back", key_display="b"),
    ]
    DEFAULT_CSS = """
    SessionPane #pane-title { height: auto; max-height: 2; padding: 0 1; text-style: bold; }
    SessionPane Tabs { height: 2; }
    SessionPane #pane-note { height: auto; max-height: 3; padding: 0 1; color: $warning; }
    SessionPane #pane-note.-empty { display: none; }
    SessionPane Rows { padding: 0 0 0 1; }
    """

    class Wanted(TextualMessage):
        """A layer of a session is to be shown; `at` is where the cursor goes then."""

        def __init__(self, session_id: SessionId, layer: Layer, at: MessageId | None) -> None:
            super().__init__()
            self.session_id = session_id
            self.layer = layer
            self.at = at

    def __init__(self, *, id: str | None = None) -> None:  # Textual's own name
        super().__init__(id=id)
        self.session: Session | None = None
        self.view: SessionView | None = None
        self._words: tuple[str, ...] = ()
        self._trail: list[tuple[Layer, MessageId | None]] = []
        self._turns: dict[MessageId, TurnId] = {}
        self._found: MessageId | None = None
        self._wanted = Layer.RAW
        self._wrapped_to = 0

    def compose(self) -> ComposeResult:
        yield Static(id="pane-title")
        yield Tabs(*(Tab(f"L{int(layer)} {_NAMES[layer]}", id=f"l{int(layer)}") for layer in Layer))
        yield Static(id="pane-note", classes="-empty")
        yield Rows(self._draw, id="pane-rows")

    def on_mount(self) -> None:
        self.query_one(Tabs).can_focus = False
        self.app.theme_changed_signal.subscribe(self, lambda theme: self._draw_anew())

    @property
    def rows(self) -> Rows:
        return self.query_one("#pane-rows", Rows)

    @property
    def shown_layer(self) -> Layer:
        return self.view.layer if self.view is not None else Layer.RAW

    @property
    def chosen_message(self) -> MessageId | None:
        """The message under the cursor, or the first one that what is under it rests on."""
        value = self.rows.value
        return self._message_of(value.value) if isinstance(value, Told) else None

    # --- What is shown ----------------------------------------------------------------------

    def open(
        self,
        session: Session,
        *,
        at: MessageId | None = None,
        layer: Layer = Layer.RAW,
        words: Sequence[str] = (),
    ) -> None:
        """Ask for a session; its place there is the message `at`, its lit words are `words`."""
        self.session, self._words, self._found = session, tuple(words), at
        self._trail.clear()
        self._turns.clear()
        self._draw_title(session)
        self.want(layer, at)

    def _draw_title(self, session: Session) -> None:
        self.query_one("#pane-title", Static).update(_title(session, inks_of(self.app)))

    def clear(self) -> None:
        """Show nothing."""
        self.session = self.view = None
        self._trail.clear()
        self._turns.clear()
        self.query_one("#pane-title", Static).update("")
        note = self.query_one("#pane-note", Static)
        note.update("")
        note.set_class(True, "-empty")
        self.rows.set_rows(())

    def want(self, layer: Layer, at: MessageId | None = None) -> None:
        """Ask for a layer of the session that is open."""
        if self.session is None:
            return
        self._mark_tab(layer)
        self.post_message(self.Wanted(self.session.id, layer, at))

    @property
    def text_width(self) -> int:
        """Cells that a line of text may have."""
        return max(20, self.rows.size.width - _MARGIN) if self.rows.size.width else 76

    def wrapped(self, view: SessionView, width: int) -> tuple[Told, ...]:
        """The rows of a layer, wrapped. Takes long for long sessions: for a thread."""
        return wrapped_rows(view, width, inks_of(self.app), self._words, self._found)

    def on_resize(self) -> None:
        """Text is wrapped anew where its lines have another width now."""
        self.call_after_refresh(self._wrap_anew)

    def _draw_anew(self) -> None:
        """In the inks of another theme."""
        if self.session is not None:
            self._draw_title(self.session)
        self._wrapped_to = 0
        self._wrap_anew()

    def _wrap_anew(self) -> None:
        if self.view is None or self.session is None or self.view.session.id != self.session.id:
            return
        is_shown = self._wanted is self.shown_layer  # else another layer is on its way
        if is_shown and self.rows.size.width and self.text_width != self._wrapped_to:
            self.want(self.shown_layer, self.chosen_message)

    def show_view(
        self, view: SessionView, told: Sequence[Told], at: MessageId | None, *, width: int
    ) -> None:
        """Show a layer that was asked for, its rows wrapped to `width`."""
        if self.session is None or view.session.id != self.session.id:
            return
        self.session, self.view, self._wrapped_to = view.session, view, width
        self._turns.update((message.id, message.turn_id) for message in view.messages)
        self._mark_tab(view.layer)
        note = self.query_one("#pane-note", Static)
        empty = {Layer.FACTS: "nothing in this session tells a fact", Layer.NOTES: "no notes"}
        lines = list(view.notices) or ([empty.get(view.layer, "")] if not told else [])
        note.update(Text("\n".join(lines)))
        note.set_class(not any(lines), "-empty")
        rows = [Row(one, len(one.lines)) for one in told]
        self.rows.set_rows(rows, at=self._place_of(at) if at is not None else None)
        self.call_after_refresh(self._wrap_anew)  # the window may have changed meanwhile

    def keep(self) -> None:
        """What was asked for does not come: the tab of what is shown is the chosen one again."""
        self._mark_tab(self.shown_layer)

    def _place_of(self, at: MessageId) -> Callable[[object], bool]:
        turn = self._turns.get(at)

        def is_there(value: object) -> bool:
            if not isinstance(value, Told):
                return False
            one = value.value
            if isinstance(one, KeyFact):
                return at in one.message_ids
            if isinstance(one, TurnSummary):
                return one.turn_id == turn
            return at == (one.message_id if isinstance(one, TurnNote) else one.id)

        return is_there

    def _mark_tab(self, layer: Layer) -> None:
        self._wanted = layer
        self.query_one(Tabs).active = f"l{int(layer)}"

    # --- Keys -------------------------------------------------------------------------------

    def action_layer(self, step: int) -> None:
        """To the next coarser or finer layer, at the same message."""
        if self.session is None:
            return
        layer = Layer(min(max(int(self.shown_layer) + step, 0), int(Layer.RAW)))
        if layer is not self.shown_layer:
            self.want(layer, self.chosen_message)

    def action_back(self) -> None:
        """To where the last jump began."""
        if self._trail:
            layer, at = self._trail.pop()
            self.want(layer, at)

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        event.stop()
        if self.session is None or event.tab.id is None or self.view is None:
            return
        layer = Layer(int(event.tab.id[1:]))
        if layer is not self._wanted:
            self.want(layer, self.chosen_message)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """From a line or note to its message, from a fact to its note."""
        event.stop()
        value = event.value
        if not isinstance(value, Told) or isinstance(value.value, Message):
            return
        at = self._message_of(value.value)
        self._trail.append((self.shown_layer, at))
        self.want(Layer.NOTES if isinstance(value.value, KeyFact) else Layer.RAW, at)

    def _message_of(self, value: TurnSummary | KeyFact | TurnNote | Message) -> MessageId | None:
        if isinstance(value, TurnSummary):
            return next((m for m, turn in self._turns.items() if turn == value.turn_id), None)
        if isinstance(value, KeyFact):
            return value.message_ids[0] if value.message_ids else None
        return value.message_id if isinstance(value, TurnNote) else value.id

    def _draw(self, value: object, width: int) -> Sequence[Text]:
        return value.lines if isinstance(value, Told) else ()


def _title(session: Session, inks: Inks) -> Text:
    return Text.assemble(
        (wording.titled(session.title), f"bold {inks.plain}"),
        (
            f"  {wording.moment(session.started_at)} · {session.source} · "
            f"{counted(session.message_count, 'message')} · session {session.id}",
            f"not bold {inks.dim}",
        ),
    )


# --- Wrapping ---------------------------------------------------------------------------------


def wrapped_rows(
    view: SessionView,
    width: int,
    inks: Inks,
    words: Sequence[str],
    found: MessageId | None,
) -> tuple[Told, ...]:
    """The rows of a view, each wrapped to the width and followed by an empty line."""
    console = drawing_console()
    values: Sequence[TurnSummary | KeyFact | TurnNote | Message]
    match view.layer:
        case Layer.SUMMARY:
            values = view.summaries
        case Layer.FACTS:
            values = view.facts
        case Layer.NOTES:
            values = view.notes
        case Layer.RAW:
            values = view.messages
    rows = []
    for value in values:
        parts = _parts(value, view, inks, found)
        lines = [
            line
            for part in parts
            for line in wording.lit(part, words, inks.match).wrap(console, width)
        ]
        for line in lines:
            line.rstrip()
        rows.append(Told(value, (*lines, Text())))
    return tuple(rows)


def _parts(
    value: TurnSummary | KeyFact | TurnNote | Message,
    view: SessionView,
    inks: Inks,
    found: MessageId | None,
) -> list[Text]:
    if isinstance(value, Message):
        return _message_parts(value, view, inks, is_found=value.id == found)
    if isinstance(value, TurnSummary):
        keywords = " · ".join(value.keywords)
        return [Text(wording.plain(value.sentence), inks.plain), Text(keywords, inks.dim)]
    lines = [Text(f"• {wording.plain(value.text)}", inks.plain)]
    if value.missing:
        missing = ", ".join(value.missing)
        lines.append(Text(f"  not in its messages: {wording.plain(missing)}", inks.warn))
    return lines


def _message_parts(
    message: Message, view: SessionView, inks: Inks, *, is_found: bool
) -> list[Text]:
    mark = "▶ " if is_found else ""
    head = Text.assemble(
        (f"{mark}{wording.plain(message.speaker)}", inks.head),
        (f"  {wording.moment(message.said_at)} · message {message.id}", inks.dim),
    )
    parts = [head, Text(wording.plain(message.text), inks.plain)]
    if message.attachment_text:
        parts.append(Text(f"[{wording.plain(message.attachment_text)}]", inks.dim))
    dates = view.dates.get(message.id, ())
    if dates:
        notes = "; ".join(f"{wording.flat(one.words)} = {describe(one)}" for one in dates)
        parts.append(Text(notes, f"italic {inks.dim}"))
    return parts
