"""The Tiers screen: what is held where, an episode page by page, a long-term entry's sources."""

from __future__ import annotations

import json
import shutil
from datetime import UTC
from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.screens.forget import ForgetDialog
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.screens.tiers import Akin, Said, TiersScreen
from localmem_tui.widgets.rows import Rows
from textual.pilot import Pilot

from localmem.memory import ImportOptions
from localmem.testing import build_memory
from localmem.types import EpisodeOverview, EpisodePage, LastingEntry
from tests.tui_driver import drive, press, settled, shown, until

_KEYS = ("alt+6",)
_WISH = {
    "messages": [
        {"role": "user", "content": "Always list the sources of a claim about medicine."},
        {"role": "assistant", "content": "I will."},
    ]
}


@pytest.fixture(scope="module")
def tiered(tmp_path_factory: pytest.TempPathFactory, tui_sample: Path) -> Path:
    """The sample history with a wish, its pages placed in episodes; copy it."""
    folder = tmp_path_factory.mktemp("tiered")
    path, chat = folder / "tiered.duckdb", folder / "chat.jsonl"
    shutil.copy(tui_sample, path)
    chat.write_text(json.dumps(_WISH) + "\n", encoding="utf-8")
    with build_memory(path) as memory:
        memory.import_(chat, ImportOptions(tz=UTC))
        memory.consolidate()
    return path


def screen(app: LocalMemApp) -> TiersScreen:
    assert isinstance(app.screen, TiersScreen)
    return app.screen


def parts(app: LocalMemApp) -> Rows:
    return screen(app).parts


async def open_one(app: LocalMemApp, pilot: Pilot[None]) -> EpisodeOverview:
    """Go to an episode of several pages that has others akin to it."""
    episodes = [one for one in screen(app).held.values if isinstance(one, EpisodeOverview)]
    several = (one for one in episodes if one.pages > 1)
    wanted = next(one for one in several if app.memory.episode(one.id).overview.related)
    screen(app).held.move_to(lambda value: value == wanted)
    await press(app, pilot, "enter")
    return wanted


def test_an_episode_shows_its_structure_its_pages_and_why_each_is_there(
    tmp_path: Path, tiered: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert "nothing: nobody is talking" in shown(app)
        assert "across sessions" in shown(app)
        assert "a page joins" in shown(app)
        one = await open_one(app, pilot)
        view = app.memory.episode(one.id)
        assert f"structure {one.structure}" in shown(app)
        assert f"utility {one.utility:.2f}" in shown(app)
        rows = parts(app).rows
        pages = [row.value for row in rows if isinstance(row.value, EpisodePage)]
        assert [page.decision for page in pages] == [page.decision for page in view.pages]
        assert f"probability {pages[0].decision.probability:.2f}" in shown(app)
        akin = [row.value for row in rows if isinstance(row.value, Akin)]
        assert [other.episode for other in akin] == list(view.overview.related)
        await press(app, pilot, "end", "enter")
        assert f"episode {akin[-1].episode} " in shown(app)
        await press(app, pilot, "home")
        said = parts(app).value
        assert isinstance(said, Said)
        await press(app, pilot, "enter")
        assert isinstance(app.screen, ReaderScreen)
        assert app.screen.pane.chosen_message == said.message.id
        await press(app, pilot, "escape", "x")
        assert isinstance(app.screen, ForgetDialog)

    drive(tmp_path, flow, sample=tiered, keys=_KEYS)


def test_a_wish_of_the_long_term_shows_the_message_it_rests_on(
    tmp_path: Path, tiered: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert "long term: 1 entry" in shown(app)
        await press(app, pilot, "end")
        assert isinstance(screen(app).held.value, LastingEntry)
        await press(app, pilot, "enter")
        assert "rests on 1 message" in shown(app)
        said = parts(app).value
        assert isinstance(said, Said)
        assert said.message.text.startswith("Always list the sources")
        await press(app, pilot, "escape", "p")
        await until(pilot, lambda: "pinned" in shown(app), "nothing was pinned")
        assert app.memory.tiers().lasting[0].pinned

    drive(tmp_path, flow, sample=tiered, size=(80, 24), keys=_KEYS)


def test_the_running_conversation_is_the_short_term(tmp_path: Path) -> None:
    with build_memory(tmp_path / "memory.duckdb") as memory, memory.conversation() as talk:
        talk.say("My boat is called Perla.")

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert "1 exchange of the running conversation" in shown(app)
        assert "My boat is called Perla." in shown(app)
        await press(app, pilot, "enter")
        said = parts(app).value
        assert isinstance(said, Said) and said.message.text == "My boat is called Perla."

    drive(tmp_path, flow, keys=_KEYS)


def test_pages_are_placed_by_their_key(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert "w places them" in shown(app)
        await press(app, pilot, "w")
        await until(pilot, lambda: bool(screen(app).held.values), "nothing was placed")
        await settled(app, pilot)
        assert app.memory.tiers().counts.pending == 0

    drive(tmp_path, flow, sample=tui_sample, keys=_KEYS)
