"""What every screen has: the line on top, the footer, help, actions in threads, fresh content."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from localmem_tui.inks import inks_of
from localmem_tui.widgets.navbar import NavBar
from localmem_tui.widgets.progress import ProgressLine
from localmem_tui.work import Job, StoppedError, in_thread
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, Input, Static

from localmem.errors import LocalMemError
from localmem.memory import Memory
from localmem.types import Progress

PLACES = {
    "Search": "1",
    "Ask": "2",
    "Browse": "3",
    "People": "4",
    "Graph": "5",
    "Tiers": "6",
    "Import": "7",
    "Models": "8",
    "Health": "9",
    "Stats": "0",
}
"""The screens by name with their keys, in the order of the line on top."""

_REST_S = 0.15
"""A cursor that stays so long rests."""

_Result = TypeVar("_Result")


class MemoryScreen(Screen[None]):
    """A screen over one memory. A subclass gives its `NAME`, its `HELP` and its `body`."""

    NAME: ClassVar[str] = ""
    HELP: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012  # Textual's own attribute
        (0, "-narrow"),
        (100, "-medium"),
        (120, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", show=False),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        self._jobs: dict[str, Job] = {}
        self._loud_jobs: set[str] = set()
        self._is_stale = False
        self._rest: Timer | None = None

    # --- Layout -----------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield NavBar(PLACES, self.NAME)
        with Vertical(id="body"):
            yield from self.body()
        yield ProgressLine(id="progress")
        yield Static(id="status")
        yield Footer(compact=True)

    def body(self) -> ComposeResult:
        """The widgets between the line on top and the status."""
        yield from ()

    def say(self, text: str | Text, *, tone: str = "dim") -> None:
        """A word on the line above the footer; `tone` is an ink."""
        if isinstance(text, str):
            text = Text(text, style=getattr(inks_of(self.app), tone), no_wrap=True)
        self.query_one("#status", Static).update(text)

    def say_holds(self, text: str) -> None:
        """What the memory holds, on the line on top."""
        self.query_one(NavBar).say(text)

    def fail(self, error: LocalMemError) -> None:
        """Show what went wrong, and what to do about it."""
        if isinstance(error, StoppedError):
            self.say("stopped")
            return
        inks = inks_of(self.app)
        line = Text.assemble((error.message, inks.bad))
        if error.hint:
            line.append(f"  {error.hint}", inks.plain)
        self.say(line)

    @property
    def progress(self) -> ProgressLine:
        return self.query_one("#progress", ProgressLine)

    # --- Keys -------------------------------------------------------------------------------

    def action_leave(self) -> None:
        """Stop what runs; else leave the line that is typed in."""
        if self.stop_jobs():
            self.say("stopping …")
        elif isinstance(self.focused, Input):
            self.screen.focus_next()

    # --- Actions in threads -----------------------------------------------------------------

    def run_job(
        self,
        name: str,
        action: Callable[[Job], _Result],
        done: Callable[[_Result], None],
        *,
        words: str = "",
        failed: Callable[[LocalMemError], None] | None = None,
    ) -> Job:
        """Do something in a thread, in place of an earlier one of the same name.

        `done` and `failed` are called in the app's thread, unless a later action took its place.
        `words` are shown with the progress while it runs; without them it runs quietly.
        """
        earlier = self._jobs.get(name)
        if earlier is not None:
            earlier.stop()
        job = Job(self._heard if words else None)
        self._jobs[name] = job
        if words:
            self._loud_jobs.add(name)
            self.progress.begin(words)
        elif name in self._loud_jobs:
            self._end_loud(name)

        def ended(then: Callable[[], None]) -> None:
            if self._jobs.get(name) is not job:
                return
            del self._jobs[name]
            self._end_loud(name)
            if self.is_attached:
                then()

        def work_() -> None:
            in_thread(
                self.app,
                lambda: action(job),
                done=lambda result: ended(lambda: done(result)),
                failed=lambda error: ended(lambda: (failed or self.fail)(error)),
            )

        self._in_worker(work_)
        return job

    @work(thread=True)
    def _in_worker(self, what: Callable[[], None]) -> None:
        what()

    def _heard(self, progress: Progress) -> None:
        self.app.call_later(self._show_progress, progress)

    def _show_progress(self, progress: Progress) -> None:
        if self.is_attached and self.progress.is_busy:
            self.progress.show(progress)

    def _end_loud(self, name: str) -> None:
        """The action of this name is not shown any more; the line goes with the last one."""
        self._loud_jobs.discard(name)
        if not self._loud_jobs and self.is_attached:
            self.progress.end()

    def runs(self, name: str) -> bool:
        """Whether an action of this name runs."""
        return name in self._jobs

    @property
    def is_busy(self) -> bool:
        """Whether anything runs, shown or not, or waits for the cursor to rest."""
        return bool(self._jobs) or self._rest is not None

    def when_rested(self, action: Callable[[], None]) -> None:
        """Do something once the cursor rests; a later wish takes the place of an earlier one."""
        self.let_rest()

        def rested() -> None:
            self._rest = None
            action()

        self._rest = self.set_timer(_REST_S, rested)

    def let_rest(self) -> None:
        """What was to be done once the cursor rests is not wanted any more."""
        if self._rest is not None:
            self._rest.stop()
            self._rest = None

    def stop_jobs(self) -> bool:
        """Tell the actions that show themselves to end; whether there was one."""
        for name in self._loud_jobs:
            self._jobs[name].stop()
        return bool(self._loud_jobs)

    def on_unmount(self) -> None:
        for job in self._jobs.values():
            job.stop()

    # --- Fresh content ----------------------------------------------------------------------

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda theme: self.memory_changed())

    def memory_changed(self) -> None:
        """Another program, or another screen, changed the memory."""
        if self.is_active:
            self.refresh_content()
        else:
            self._is_stale = True

    def on_screen_resume(self) -> None:
        if self._is_stale:
            self._is_stale = False
            self.refresh_content()

    def refresh_content(self) -> None:
        """Read anew what is shown, and keep the place."""
