"""How a screen with a session pane gets the layers that the pane wants."""

from __future__ import annotations

from dataclasses import replace

from localmem_tui.screens.base import MemoryScreen
from localmem_tui.screens.forget import ForgetDialog, choices_of
from localmem_tui.widgets.session_pane import SessionPane, Told
from localmem_tui.work import Job

from localmem.errors import LocalMemError
from localmem.memory import Memory
from localmem.types import Layer, SessionView

_MAKES = {Layer.FACTS: "making the facts of this session", Layer.NOTES: "making its notes"}


class ReadingScreen(MemoryScreen):
    """A screen with one `SessionPane`."""

    @property
    def pane(self) -> SessionPane:
        return self.query_one(SessionPane)

    def on_session_pane_wanted(self, event: SessionPane.Wanted) -> None:
        """Read a layer in a thread; facts and notes may have to be made for that."""
        pane = self.pane
        width = pane.text_width

        def read(job: Job) -> tuple[SessionView, tuple[Told, ...]]:
            view = read_layer(self.memory, event, job)
            return view, pane.wrapped(view, width)

        self.run_job(
            "pane",
            read,
            lambda found: pane.show_view(*found, event.at, width=width),
            words=_MAKES.get(event.layer, ""),
            failed=self._not_read,
        )

    def _not_read(self, error: LocalMemError) -> None:
        """The layer could not be read, or its making was stopped: what is shown stays."""
        self.pane.keep()
        self.fail(error)

    def reload_pane(self) -> None:
        """Read anew what the pane shows, and keep its place."""
        pane = self.pane
        if pane.session is not None and pane.view is not None:
            pane.want(pane.shown_layer, pane.chosen_message)

    def action_forget(self) -> None:
        """What would go with what is under the cursor; then, if wanted, let it go."""
        pane = self.pane
        if pane.session is None:
            return
        choices = choices_of(message=pane.chosen_message, session=pane.session)
        self.app.push_screen(ForgetDialog(self.memory, choices), self.forgotten)

    def forgotten(self, gone: bool | None) -> None:
        """The dialog was closed; `gone` says whether something was forgotten."""
        if gone:
            self.refresh_content()


def read_layer(memory: Memory, wanted: SessionPane.Wanted, job: Job) -> SessionView:
    """The layer that is wanted; lines come with the messages that they stand for."""
    view = memory.show(wanted.session_id, layer=wanted.layer, on_progress=job.tell)
    if wanted.layer is Layer.SUMMARY:
        raw = memory.show(wanted.session_id, layer=Layer.RAW)
        return replace(view, messages=raw.messages)
    return view
