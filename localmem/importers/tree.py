"""Conversations that branch: the order in which everything was said, and which branch is shown.

Tolerates what exports contain: missing parents, cycles, missing times, no current node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from localmem.types import ImportedMessage


@dataclass(frozen=True, slots=True)
class Node:
    """A place in a branching conversation; `messages` is empty where nothing was said there."""

    id: str
    parent_id: str | None
    said_at: datetime | None
    messages: tuple[ImportedMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class _Placed:
    node: Node
    depth: int
    latest: datetime
    """The latest time on the way to the node, its own included."""
    said_at: datetime | None
    """The node's own time, else that of the nearest dated node above it."""
    parent: ImportedMessage | None
    """The nearest message above it."""


_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)


def in_order(
    nodes: Sequence[Node], *, current: str | None, started_at: datetime | None = None
) -> list[ImportedMessage]:
    """All messages in the order in which they were said, those off the shown path marked.

    A message never stands before what it replies to. One without a time takes that of the
    nearest dated message above it, else `started_at`. Without a (valid) current node the
    shown path is that to the newest leaf, of equals the deepest.
    """
    placed = _placed(nodes, started_at)
    shown = _path_to(placed, current if current in placed else _newest(placed))
    ordered = sorted(placed.values(), key=lambda spot: spot.latest)  # stable: a parent stays first
    return [
        _linked(message, spot, number, on_path=spot.node.id in shown)
        for spot in ordered
        for number, message in enumerate(spot.node.messages)
    ]


def _linked(
    message: ImportedMessage, spot: _Placed, number: int, *, on_path: bool
) -> ImportedMessage:
    above = spot.node.messages[number - 1] if number else spot.parent
    return replace(
        message,
        said_at=spot.said_at,
        parent_id=above.source_id if above else None,
        on_path=on_path and message.on_path,
    )


def _placed(nodes: Sequence[Node], started_at: datetime | None) -> dict[str, _Placed]:
    """Every node, parents before children; a cycle is cut where it is first entered."""
    known = {node.id: node for node in nodes}
    children: dict[str, list[Node]] = {}
    for node in known.values():
        if node.parent_id is not None:
            children.setdefault(node.parent_id, []).append(node)
    roots = [node for node in known.values() if node.parent_id not in known]
    placed: dict[str, _Placed] = {}
    for top in (*roots, *known.values()):
        if top.id in placed:
            continue
        waiting = [_place(top, None, started_at)]
        while waiting:
            spot = waiting.pop()
            if spot.node.id in placed:
                continue
            placed[spot.node.id] = spot
            below = children.get(spot.node.id, [])
            waiting.extend(_place(child, spot, started_at) for child in reversed(below))
    return placed


def _place(node: Node, above: _Placed | None, started_at: datetime | None) -> _Placed:
    said_at = node.said_at or (above.said_at if above else started_at)
    latest = max(above.latest if above else _LONG_AGO, said_at or _LONG_AGO)
    parent = None
    if above is not None:
        parent = above.node.messages[-1] if above.node.messages else above.parent
    return _Placed(node, above.depth + 1 if above else 0, latest, said_at, parent)


def _newest(placed: dict[str, _Placed]) -> str | None:
    """The leaf said last, of equals the deepest, then the first in the export."""
    inner = {spot.node.parent_id for spot in placed.values()}
    leaves = [spot for spot in placed.values() if spot.node.id not in inner]
    best = max(leaves or placed.values(), key=lambda spot: (spot.latest, spot.depth), default=None)
    return best.node.id if best else None


def _path_to(placed: dict[str, _Placed], leaf: str | None) -> set[str]:
    path: set[str] = set()
    while leaf is not None and leaf in placed and leaf not in path:
        path.add(leaf)
        leaf = placed[leaf].node.parent_id
    return path
