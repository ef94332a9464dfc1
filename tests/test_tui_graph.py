"""The Graph screen: a node with its ties, from one to the next, down to the raw message."""

from __future__ import annotations

from pathlib import Path

import pytest
from localmem_tui import LocalMemApp
from localmem_tui.screens.forget import ForgetDialog
from localmem_tui.screens.graph import GraphScreen
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.widgets.graph_tree import Branch
from textual.pilot import Pilot

from localmem.types import GraphNode, ItemId, ItemState, NodeKind
from tests.tui_driver import drive, frame, make_small, press, settled, shown, until, write

_KEYS = ("alt+5",)


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory in which somebody moves from one town to another."""
    return make_small(tmp_path_factory.mktemp("moved"))


def screen(app: LocalMemApp) -> GraphScreen:
    assert isinstance(app.screen, GraphScreen)
    return app.screen


async def put_cursor(app: LocalMemApp, pilot: Pilot[None], kind: NodeKind, word: str) -> GraphNode:
    """Put the cursor on the first row of a kind that tells a word."""

    def is_it(value: object) -> bool:
        return (
            isinstance(value, Branch)
            and value.edge.target.node.kind is kind
            and word in value.edge.target.label
        )

    assert screen(app).tree_.move_to(is_it), shown(app)
    await settled(app, pilot)
    chosen = screen(app).chosen
    assert chosen is not None
    return chosen


async def look_up(app: LocalMemApp, pilot: Pilot[None], name: str) -> None:
    await press(app, pilot, "f2")
    await write(app, pilot, name)
    await press(app, pilot, "enter")


def test_from_the_owner_to_a_thing_to_its_message_and_back(tmp_path: Path, moved: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        assert "person Me  owner" in shown(app)
        await put_cursor(app, pilot, NodeKind.ATTRIBUTE, "Bergen")
        await press(app, pilot, "enter")
        assert "attribute" in shown(app)
        assert "rests on             0.80 “ Me: I moved to Bergen" in shown(app)
        message = await put_cursor(app, pilot, NodeKind.MESSAGE, "I moved to Bergen")
        await press(app, pilot, "enter")
        assert f"message {message.node.key}, Me" in shown(app)
        assert "supports" in shown(app)
        await press(app, pilot, "b", "b")
        assert "person Me  owner" in shown(app)
        await put_cursor(app, pilot, NodeKind.ATTRIBUTE, "Bergen")
        await press(app, pilot, "o")
        assert isinstance(app.screen, ReaderScreen)
        assert app.screen.pane.chosen_message == message.message_id
        await press(app, pilot, "escape")
        assert isinstance(app.screen, GraphScreen)

    drive(tmp_path, flow, sample=moved, keys=_KEYS)


def test_a_tie_unfolds_to_those_of_its_node_and_folds_again(tmp_path: Path, moved: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await look_up(app, pilot, "message 3")
        rows = screen(app).tree_
        before = len(rows.values)
        await put_cursor(app, pilot, NodeKind.MESSAGE, "Noted")
        await press(app, pilot, "right")
        branch = rows.chosen
        assert branch is not None and branch.is_open
        assert len(rows.values) > before
        assert any(isinstance(one, Branch) and len(one.path) == 2 for one in rows.values)
        await press(app, pilot, "down", "left")
        assert rows.chosen == branch.__class__(branch.path, branch.edge, is_open=False)
        assert len(rows.values) == before
        await until(pilot, lambda: "Noted." in shown(app).split("│")[-1] or "o opens" in shown(app))

    drive(tmp_path, flow, sample=moved, keys=_KEYS)


def test_a_change_of_the_memory_keeps_the_cursor_and_what_is_unfolded(
    tmp_path: Path, moved: Path
) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await look_up(app, pilot, "message 3")
        rows = screen(app).tree_
        await put_cursor(app, pilot, NodeKind.MESSAGE, "Noted")
        await press(app, pilot, "right", "down")
        before = rows.chosen
        assert before is not None and len(before.path) == 2
        screen(app).memory_changed()
        await settled(app, pilot)
        assert rows.chosen == before
        dark = _inks_of_the_middle(app)
        await press(app, pilot, "t")
        assert _inks_of_the_middle(app) != dark
        assert rows.chosen == before
        await press(app, pilot, "left")
        await look_up(app, pilot, "Me")
        home = await put_cursor(app, pilot, NodeKind.ATTRIBUTE, "Bergen")
        app.memory.pin(ItemId(int(home.node.key)))
        screen(app).memory_changed()
        await settled(app, pilot)
        chosen = screen(app).chosen
        assert chosen is not None and chosen.node == home.node

    drive(tmp_path, flow, sample=moved, keys=_KEYS)


def _inks_of_the_middle(app: LocalMemApp) -> list[str]:
    return next(inks for line, inks in frame(app) if "message 3, Me" in line)


def test_ties_that_come_late_are_not_shown_below_another_node(tmp_path: Path, moved: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        rows = screen(app).tree_
        first = rows.values[0]
        assert isinstance(first, Branch)
        late = app.memory.neighbourhood(first.edge.target.node)
        await look_up(app, pilot, "message 3")
        before = rows.values
        rows.show(first.path, late)
        assert rows.values == before

    drive(tmp_path, flow, sample=moved, keys=_KEYS)


def test_what_is_tied_can_be_pinned_and_its_message_forgotten(tmp_path: Path, moved: Path) -> None:
    async def flow(app: LocalMemApp, pilot: Pilot[None]) -> None:
        await look_up(app, pilot, "Nobody")
        assert "no person and no topic is called 'Nobody'" in shown(app)
        home = await put_cursor(app, pilot, NodeKind.ATTRIBUTE, "Bergen")
        await press(app, pilot, "p")
        assert app.memory.why(ItemId(int(home.node.key))).item.state is ItemState.PINNED
        await look_up(app, pilot, f"attribute {home.node.key}")
        await put_cursor(app, pilot, NodeKind.MESSAGE, "Bergen")
        await press(app, pilot, "x")
        assert isinstance(app.screen, ForgetDialog)
        await until(pilot, lambda: "would go:" in shown(app))
        await pilot.press("y")
        await until(pilot, lambda: "forgotten:" in shown(app))
        await press(app, pilot, "escape")
        # The node in the middle went with its message: the owner is there again.
        await until(pilot, lambda: "person Me  owner" in shown(app))
        assert "Bergen" not in shown(app)

    drive(tmp_path, flow, sample=moved, keys=_KEYS)
