"""The People screen: what is known of whom, its history, and the keys that mend it."""

from __future__ import annotations

from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.screens.dialogs import FormDialog
from localmem_tui.screens.people import PeopleScreen
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.widgets.rows import Rows
from textual.pilot import Pilot
from textual.widgets import Input

from localmem.types import Item, ItemState, PersonaLine, PersonaSnapshot, PersonOverview
from tests.tui_driver import drive, make_small, press, settled, shown, until, write


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory in which somebody moves from one town to another."""
    return make_small(tmp_path_factory.mktemp("moved"))


def screen(app: LocalMemApp) -> PeopleScreen:
    assert isinstance(app.screen, PeopleScreen)
    return app.screen


def known(app: LocalMemApp) -> list[Item]:
    values = screen(app).query_one("#known", Rows).values
    return [one for one in values if isinstance(one, Item)]


async def look_up(app: LocalMemApp, pilot: Pilot[None], topic: str) -> None:
    await press(app, pilot, "f2")
    screen(app).query_one("#topic", Input).value = ""
    await write(app, pilot, topic)
    await press(app, pilot, "enter")


async def fill_in(app: LocalMemApp, pilot: Pilot[None], **values: str) -> None:
    """Fill in the dialog that is open, and send it."""
    dialog = app.screen
    assert isinstance(dialog, FormDialog)
    for name, value in values.items():
        line = dialog.query_one(f"#{name}", Input)
        line.focus()
        line.value = value
    await pilot.press("enter")
    await pilot.pause()
    await until(pilot, lambda: not dialog.is_busy or app.screen is not dialog)
    await settled(app, pilot)


def test_the_owner_stands_first_and_a_things_history_shows_what_held_before_and_why(
    tmp_path: Path, moved: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        first = screen(app).query_one("#everybody", Rows).value
        assert isinstance(first, PersonOverview)
        assert first.person.is_owner
        assert any(item.value == "Bergen" for item in known(app))
        await look_up(app, pilot, "home")
        assert "● Bergen" in shown(app)
        assert "○ Leipzig" in shown(app)
        assert "I moved to Bergen last week" in shown(app)
        await press(app, pilot, "enter")
        assert isinstance(app.screen, ReaderScreen)
        assert "Bergen" in shown(app)

    drive(tmp_path, flow, sample=moved, keys=("alt+4",))


def test_a_persona_tells_what_is_known_by_aspect_with_its_history(
    tmp_path: Path, moved: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "f3")
        rows = screen(app).query_one("#known", Rows)
        (aspect, *_) = (row.value for row in rows.rows if row.is_heading)
        assert isinstance(aspect, PersonaSnapshot)
        assert f"{aspect.name}  {aspect.kind}" in shown(app)
        assert isinstance(rows.value, PersonaLine)
        assert "● Bergen" in shown(app)
        await press(app, pilot, "enter", "enter")
        assert isinstance(app.screen, ReaderScreen)

    drive(tmp_path, flow, sample=moved, keys=("alt+4",))


def test_a_correction_takes_the_place_of_what_was_known(tmp_path: Path, moved: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await look_up(app, pilot, "home")
        await press(app, pilot, "c")
        await fill_in(app, pilot, text="I live in Oslo")
        await look_up(app, pilot, "home")
        assert "● Oslo" in shown(app)
        assert "by you" in shown(app)

    drive(tmp_path, flow, sample=moved, keys=("alt+4",))


def test_retire_and_pin_are_one_key_each(tmp_path: Path, moved: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        place = next(item for item in known(app) if item.value == "Bergen")
        rows = screen(app).query_one("#known", Rows)
        rows.focus()
        rows.move_to(lambda value: isinstance(value, Item) and value.id == place.id)
        await settled(app, pilot)
        await press(app, pilot, "p")
        assert app.memory.why(place.id).item.state is ItemState.PINNED
        rows.move_to(lambda value: isinstance(value, Item) and value.id == place.id)
        await settled(app, pilot)
        await press(app, pilot, "r")
        assert app.memory.why(place.id).item.state is ItemState.RETIRED

    drive(tmp_path, flow, sample=moved, keys=("alt+4",))


def test_people_are_named_split_and_merged_and_a_wrong_name_is_said_in_the_dialog(
    tmp_path: Path, tui_sample: Path
) -> None:
    def names(app: LocalMemApp) -> list[str]:
        return [one.person.name for one in app.memory.people()]

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "a")
        await fill_in(app, pilot, alias="Mila")
        assert "Mila" in app.memory.person("Mila").overview.person.aliases
        before = names(app)
        await press(app, pilot, "s")
        await fill_in(app, pilot, new="Jo", sessions="1, 2")
        assert set(names(app)) == {*before, "Jo"}
        await press(app, pilot, "m")
        await fill_in(app, pilot, other="Nobody at all")
        assert isinstance(app.screen, FormDialog)
        assert "Nobody at all" in shown(app)
        await fill_in(app, pilot, other="Jo")
        assert isinstance(app.screen, PeopleScreen)
        assert set(names(app)) == set(before)

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+4",))
