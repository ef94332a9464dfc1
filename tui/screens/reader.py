"""One session over the whole screen, opened from a result, a citation or an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from localmem_tui.screens.reading import ReadingScreen
from localmem_tui.widgets.session_pane import SessionPane
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from localmem.errors import LocalMemError, RecordNotFoundError
from localmem.memory import Memory
from localmem.types import Layer, MessageId, Session, SessionId


class ReaderScreen(ReadingScreen):
    """The messages of a session with the one that was looked for; its other layers as tabs."""

    HELP = """\
This is one session. The message you came for is marked with ▶.

- **← →** change the layer: lines for each turn, key facts, notes, the messages themselves.
  Facts and notes are made when you first look at them.
- **Enter** on a fact goes to its note, on a note or line to its message; **b** goes back.
- **x** shows what forgetting this message or session would take away.
- **Esc** goes back to where you came from; while something is being made it stops that.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back"),
        Binding("x,delete", "forget", "Forget"),
    ]

    def __init__(
        self,
        memory: Memory,
        session: Session | SessionId,
        *,
        at: MessageId | None = None,
        layer: Layer = Layer.RAW,
        words: Sequence[str] = (),
        came_from: str = "",
    ) -> None:
        super().__init__(memory)
        self._wanted = session
        self._at = at
        self._layer = layer
        self._words = words
        self.came_from = came_from

    def body(self) -> ComposeResult:
        yield SessionPane()

    def on_mount(self) -> None:
        wanted = self._wanted
        if isinstance(wanted, Session):
            self.call_after_refresh(self._open, wanted)
        else:
            self.run_job(
                "session",
                lambda job: self.memory.show(wanted),
                lambda view: self._open(view.session),
            )

    def _open(self, session: Session) -> None:
        self.pane.open(session, at=self._at, layer=self._layer, words=self._words)
        self.pane.rows.focus()

    def action_leave(self) -> None:
        """Stop what is being made, else go back."""
        if self.stop_jobs():
            self.say("stopping …")
        else:
            self.dismiss()

    def refresh_content(self) -> None:
        self.reload_pane()

    def fail(self, error: LocalMemError) -> None:
        """A session that is gone has nothing left to show."""
        if isinstance(error, RecordNotFoundError):
            self.app.notify(
                "this session is no longer in the memory", severity="warning", markup=False
            )
            self.dismiss()
        else:
            super().fail(error)
