"""The surroundings of a node as a tree: each edge a row, which opens to the edges of its target.

It asks its screen for surroundings (`Wanted`) and is given them (`show`); it reads no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.inks import Inks, inks_of
from localmem_tui.widgets.rows import Row, Rows
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message

from localmem.types import GraphEdge, Neighbourhood, Node, NodeKind

Path = tuple[int, ...]
"""Places of edges from the middle on; () is the middle."""

_TIE_CELLS = 20
_MARKS = {
    NodeKind.PERSON: "@",
    NodeKind.PERSONA: "◆",
    NodeKind.TOPIC: "#",
    NodeKind.FACT: "·",
    NodeKind.ATTRIBUTE: "=",
    NodeKind.EVENT: "*",
    NodeKind.MESSAGE: "“",
}


@dataclass(frozen=True, slots=True)
class Branch:
    """One row: an edge, where it stands, and whether the edges of its target are shown."""

    path: Path
    edge: GraphEdge
    is_open: bool


class GraphTree(Rows):
    """Right opens a row, left closes it, or goes to the row that it belongs to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space", "open", "Unfold", key_display="→"),
        Binding("left", "close", "Fold", key_display="←"),
    ]

    class Wanted(Message):
        """The edges of a node are to be shown below the row at `path`."""

        def __init__(self, path: Path, node: Node) -> None:
            super().__init__()
            self.path = path
            self.node = node

    def __init__(self, *, id: str | None = None) -> None:  # Textual's own name
        super().__init__(self._draw_branch, id=id)
        self._shown: dict[Path, Neighbourhood] = {}

    @property
    def chosen(self) -> Branch | None:
        """The row under the cursor."""
        return self.value if isinstance(self.value, Branch) else None

    def show(self, path: Path, found: Neighbourhood) -> None:
        """Show the edges of a node: in the middle for (), else below the row of that path.

        Edges that come when another node stands on that row are not shown.
        """
        if not path:
            self._shown.clear()
        elif self._node_at(path) != found.centre.node:
            return
        self._shown[path] = found
        chosen = self.chosen
        self._fill((chosen.path if chosen is not None else ()) if path else (0,))

    def go_to(self, node: Node) -> None:
        """Put the cursor on the first row of a node, where there is one."""
        self.move_to(lambda value: isinstance(value, Branch) and value.edge.target.node == node)

    def clear(self) -> None:
        """Show nothing."""
        self._shown.clear()
        self.set_rows(())

    def action_open(self) -> None:
        branch = self.chosen
        if branch is not None and not branch.is_open:
            self.post_message(self.Wanted(branch.path, branch.edge.target.node))

    def action_close(self) -> None:
        branch = self.chosen
        if branch is None:
            return
        path = branch.path if branch.is_open else branch.path[:-1]
        if path:
            size = len(path)
            self._shown = {at: one for at, one in self._shown.items() if at[:size] != path}
            self._fill(path)

    def _node_at(self, path: Path) -> Node | None:
        """The node on the row of a path; None where that row is not shown."""
        above, place = self._shown.get(path[:-1]), path[-1]
        if above is None or place >= len(above.edges):
            return None
        return above.edges[place].target.node

    def _fill(self, at: Path) -> None:
        rows = [Row(branch) for branch in self._branches(())]
        self.set_rows(rows, at=lambda value: isinstance(value, Branch) and value.path == at)

    def _branches(self, path: Path) -> Iterator[Branch]:
        for place, edge in enumerate(self._shown[path].edges if path in self._shown else ()):
            below = (*path, place)
            yield Branch(below, edge, below in self._shown)
            yield from self._branches(below)

    def _draw_branch(self, value: object, width: int) -> Sequence[Text]:
        if not isinstance(value, Branch):
            return ()
        inks, edge = inks_of(self.app), value.edge
        strength = f"{edge.strength:.2f}" if edge.kind is not None else "    "
        fold = "▾" if value.is_open else "▸"
        line = Text.assemble(
            ("  " * (len(value.path) - 1), inks.dim),
            (f" {fold} ", inks.accent),
            (f"{edge.words:{_TIE_CELLS}} ", inks.dim),
            (f"{strength} ", inks.accent),
        )
        return [line.append_text(node_line(edge, inks))]


def node_line(edge: GraphEdge, inks: Inks) -> Text:
    """The target of an edge: its kind as a mark, what it says, what is to be remarked."""
    one = edge.target
    ink = inks.plain if one.holds else inks.dim
    head = one.owner if one.node.kind is NodeKind.MESSAGE else ""
    return Text.assemble(
        (f"{_MARKS[one.node.kind]} ", inks.head),
        (f"{wording.flat(head)}: " if head else "", inks.head),
        (wording.flat(one.label), ink),
        (f"  {wording.flat(one.note)}" if one.note else "", inks.dim),
    )
