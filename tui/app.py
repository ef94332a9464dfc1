"""The app: which screens there are, the keys that hold everywhere, and the eye on the memory.

Wiring only. Work runs in threads, so that keys never wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from localmem_tui.background import Background
from localmem_tui.inks import DARK, LIGHT
from localmem_tui.screens.base import PLACES, MemoryScreen
from localmem_tui.screens.search import SearchScreen
from localmem_tui.watch import FileWatch
from localmem_tui.work import in_thread
from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from localmem.errors import LocalMemError
from localmem.memory import Memory
from localmem.types import MemoryStats
from localmem.wording import counted

_LOOK_EVERY_S = 0.5
_WITHOUT_COLOURS = ("ansi-dark", "ansi-light")
"""Themes of Textual whose colours are the terminal's own; ours are drawn in named ones."""


class LocalMemApp(App[None]):
    """See, ask, trace and mend one memory."""

    TITLE = "localmem"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1,question_mark", "help", "Help", key_display="F1"),
        *(
            Binding(f"{key},alt+{key}", f"go('{name}')", name, show=False)
            for name, key in PLACES.items()
        ),
        Binding("t", "toggle_theme", "Dark / light", show=False),
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        self._begins_dark = memory.theme == "dark"
        self.background = Background(memory)
        self.latencies: list[float] = []
        self._file_watch = FileWatch(memory.path)
        self._generation: int | None = None
        self._is_looking = self._missed = False
        makers = (
            self._search, self._ask, self._browse, self._people, self._graph, self._tiers,
            self._import, self._models, self._health, self._stats,
        )  # fmt: skip
        for name, maker in zip(PLACES, makers, strict=True):
            self.add_mode(name, maker)

    def on_mount(self) -> None:
        for name in _WITHOUT_COLOURS:
            self.unregister_theme(name)
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name if self._begins_dark else LIGHT.name
        self.switch_mode("Search")
        self.set_interval(_LOOK_EVERY_S, self._look)
        self._read_generation()

    def get_key_display(self, binding: Binding) -> str:
        """Keys as keyboards write them: F2, Esc."""
        shown = super().get_key_display(binding)
        return {"esc": "Esc", "escape": "Esc"}.get(
            shown, shown.upper() if _is_f_key(shown) else shown
        )

    # --- Keys and commands ------------------------------------------------------------------

    async def action_go(self, name: str) -> None:
        """To a screen, from wherever one is."""
        while len(self.screen_stack) > 1 and isinstance(self.screen, MemoryScreen):
            await self.pop_screen()
        if not isinstance(self.screen, MemoryScreen) and len(self.screen_stack) > 1:
            return  # a window is open: it is closed first
        await self.switch_mode(name)
        self._say_holds()

    def action_visit(self, name: str) -> None:
        """The same after a click: in the app's own turn, since the line that was clicked may go."""
        self.call_later(self.action_go, name)

    async def action_ask(self, question: str) -> None:
        """To Ask, with a question in its line."""
        from localmem_tui.screens.ask import AskScreen

        await self.action_go("Ask")
        if isinstance(self.screen, AskScreen):
            self.screen.hand_over(question)

    def action_help(self) -> None:
        """Help about the screen that is shown."""
        from localmem_tui.screens.help import HelpScreen

        screen = self.screen
        if isinstance(screen, HelpScreen):
            return
        title = getattr(screen, "NAME", "") or type(screen).__name__.removesuffix("Screen")
        text = getattr(screen, "HELP", "")
        self.push_screen(HelpScreen(title, text, screen.active_bindings.values()))

    def action_toggle_theme(self) -> None:
        """From dark to light and back; the next start begins with it."""
        is_dark = not self.current_theme.dark
        self.theme = DARK.name if is_dark else LIGHT.name
        try:
            self.memory.keep_theme("dark" if is_dark else "light")
        except LocalMemError as error:
            told = f"{error.message}\n{error.hint}".rstrip()
            self.notify(told, severity="warning", markup=False)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every screen, every key of the one that is shown, and Textual's own commands."""
        for name in PLACES:
            yield SystemCommand(f"Go to {name}", "A screen", partial(self._go, name))
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.show and binding.description and active.node is screen:
                title = f"{binding.description} ({self.get_key_display(binding)})"
                run = partial(screen.run_action, binding.action)
                yield SystemCommand(title, f"On {getattr(screen, 'NAME', '') or 'here'}", run)
        yield SystemCommand("Dark / light", "Change the theme's side", self.action_toggle_theme)
        yield SystemCommand("Help", "What this screen is for", self.action_help)
        own = {"Keys", "Maximize", "Minimize", "Screenshot"}
        for command in super().get_system_commands(screen):
            if command.title not in own:
                yield command

    async def _go(self, name: str) -> None:
        await self.action_go(name)

    # --- The memory changes -----------------------------------------------------------------

    def _look(self) -> None:
        if not self._is_looking and (self._file_watch.has_changed() or self._missed):
            self._read_generation()

    def _read_generation(self) -> None:
        self._is_looking = True
        self._in_worker()

    @work(thread=True)
    def _in_worker(self) -> None:
        in_thread(
            self,
            lambda: (self.memory.generation(), self.memory.stats()),
            done=self._seen,
            failed=self._unseen,
        )

    def _seen(self, found: tuple[int, MemoryStats]) -> None:
        self._is_looking = False
        missed, self._missed = self._missed, False
        generation, stats = found
        self._holds = f"{counted(stats.messages, 'message')} · {counted(stats.sessions, 'session')}"
        self._say_holds()
        before, self._generation = self._generation, generation
        if before != generation and (before is not None or missed):
            for screens in self._screen_stacks.values():
                for screen in screens:
                    if isinstance(screen, MemoryScreen) and screen.is_mounted:
                        screen.memory_changed()

    def _unseen(self, error: LocalMemError) -> None:
        """Busy just now: the next look will do."""
        self._is_looking, self._missed = False, True
        self.log.warning(error.message)

    def _say_holds(self) -> None:
        holds = getattr(self, "_holds", "")
        if isinstance(self.screen, MemoryScreen) and self.screen.is_mounted:
            self.screen.say_holds(holds)

    # --- The screens: their modules are loaded when they are first gone to --------------------

    def _search(self) -> Screen[None]:
        return SearchScreen(self.memory, self.latencies.append)

    def _ask(self) -> Screen[None]:
        from localmem_tui.screens.ask import AskScreen

        return AskScreen(self.memory)

    def _browse(self) -> Screen[None]:
        from localmem_tui.screens.browse import BrowseScreen

        return BrowseScreen(self.memory)

    def _people(self) -> Screen[None]:
        from localmem_tui.screens.people import PeopleScreen

        return PeopleScreen(self.memory)

    def _graph(self) -> Screen[None]:
        from localmem_tui.screens.graph import GraphScreen

        return GraphScreen(self.memory)

    def _tiers(self) -> Screen[None]:
        from localmem_tui.screens.tiers import TiersScreen

        return TiersScreen(self.memory)

    def _import(self) -> Screen[None]:
        from localmem_tui.screens.importing import ImportScreen

        return ImportScreen(self.memory)

    def _models(self) -> Screen[None]:
        from localmem_tui.screens.models import ModelsScreen

        return ModelsScreen(self.memory)

    def _health(self) -> Screen[None]:
        from localmem_tui.screens.health import HealthScreen

        return HealthScreen(self.memory, self.background)

    def _stats(self) -> Screen[None]:
        from localmem_tui.screens.stats import StatsScreen

        return StatsScreen(self.memory, lambda: self.latencies)


def _is_f_key(name: str) -> bool:
    return name[:1] == "f" and name[1:].isdigit()
