"""Forgetting in the app: a dry run first, then the receipt; the owner only by name."""

from __future__ import annotations

from pathlib import Path

from localmem_tui import LocalMemApp
from localmem_tui.screens.forget import ForgetDialog
from localmem_tui.widgets.rows import Rows
from textual.pilot import Pilot
from textual.widgets import Input

from localmem.types import FoundMessage
from tests.tui_driver import drive, press, shown, until, write


async def open_dialog(app: LocalMemApp, pilot: Pilot[None]) -> ForgetDialog:
    await press(app, pilot, "x")
    dialog = app.screen
    assert isinstance(dialog, ForgetDialog)
    await until(pilot, lambda: "would go:" in shown(app), "no plan is shown")
    return dialog


def test_the_larger_choice_is_planned_anew_and_escape_leaves_everything_as_it_is(
    tmp_path: Path, tui_sample: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "bib number 4172")
        await press(app, pilot, "down")
        await open_dialog(app, pilot)
        assert "1 message," in shown(app)
        await pilot.press("down")
        await until(pilot, lambda: "8 messages" in shown(app), "the session is not planned")
        await press(app, pilot, "escape")
        assert app.memory.stats().messages == 354

    drive(tmp_path, flow, sample=tui_sample)


def test_an_answer_goes_with_a_message_that_it_relied_on(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "What was my bib number for the Elbtal Marathon?")
        await press(app, pilot, "enter")
        await until(pilot, lambda: "4172" in shown(app), "no answer")
        await press(app, pilot, "up")
        await open_dialog(app, pilot)
        await pilot.press("y")
        await until(pilot, lambda: "forgotten:" in shown(app))
        await until(pilot, lambda: "written anew" in shown(app))
        await press(app, pilot, "escape")
        await until(pilot, lambda: "taken back" in shown(app), "the answer stays")
        assert "4172" not in shown(app)
        assert "bib number" in shown(app), "the question is the owner's, and stays"

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+2",))


def test_a_found_message_is_forgotten_and_leaves_the_results(
    tmp_path: Path, tui_sample: Path
) -> None:
    def numbers(app: LocalMemApp) -> list[int]:
        values = app.screen.query_one("#results", Rows).values
        return [int(one.message.id) for one in values if isinstance(one, FoundMessage)]

    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await write(app, pilot, "bib number 4172")
        await press(app, pilot, "down")
        gone = numbers(app)[0]
        await open_dialog(app, pilot)
        await pilot.press("y")
        await until(pilot, lambda: "forgotten:" in shown(app))
        await until(pilot, lambda: "written anew" in shown(app))
        await press(app, pilot, "escape")
        await until(pilot, lambda: gone not in numbers(app), "it is still among the results")
        assert app.memory.stats().messages == 353

    drive(tmp_path, flow, sample=tui_sample)


def test_the_owner_goes_only_by_their_name(tmp_path: Path, tui_sample: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        dialog = await open_dialog(app, pilot)
        await pilot.press("y")
        await pilot.pause()
        assert app.memory.stats().messages == 354
        line = dialog.query_one("#confirm", Input)
        assert line.has_focus
        line.value = "Me"
        await pilot.press("enter")
        await until(pilot, lambda: "forgotten:" in shown(app))
        await press(app, pilot, "escape")
        assert all(not one.person.is_owner for one in app.memory.people())

    drive(tmp_path, flow, sample=tui_sample, keys=("alt+4",))
