"""The command that shows what stands around a person, a topic, a thing known or a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from localmem.cli.shared import JsonFlag, opened, show_result

if TYPE_CHECKING:
    from rich.console import Console

    from localmem.types import GraphEdge, GraphNode, Neighbourhood


def graph(
    context: typer.Context,
    node: Annotated[
        str,
        typer.Argument(
            metavar="NODE", help="A person, a topic, 'message 12', 'fact 5', 'persona 3'."
        ),
    ],
    json_: JsonFlag = False,
) -> None:
    """What a person, a topic, a thing known or a message is tied to, and how strongly."""
    with opened(context) as memory:
        found = memory.neighbourhood(node)
    show_result(found, _print_neighbourhood, json_=json_)


def _print_neighbourhood(console: Console, found: Neighbourhood) -> None:
    from rich.table import Table
    from rich.text import Text

    from localmem.cli.render import plain

    centre = found.centre
    console.print(Text(plain(f"{_name_of(centre)}  {_remarks(centre)}".rstrip()), style="bold"))
    console.print(Text(plain(found.text)))
    table = Table("tie", "strength", "node", "what", box=None, pad_edge=False)
    for edge in found.edges:
        what = f"{edge.target.label}  {_remarks(edge.target)}".rstrip()
        table.add_row(edge.words, _strength(edge), _name_of(edge.target), Text(plain(what)))
    console.print(table)
    if found.unshown:
        console.print(f"and {found.unshown:,} more", style="dim")


def _name_of(one: GraphNode) -> str:
    """A node as `localmem graph` takes it."""
    return f"{one.node.kind} {one.node.key}"


def _strength(edge: GraphEdge) -> str:
    return f"{edge.strength:.2f}" if edge.kind is not None else ""


def _remarks(one: GraphNode) -> str:
    from localmem.cli.render import moment

    when = moment(one.said_at) if one.said_at is not None else ""
    told = ", ".join(part for part in (one.owner, when, one.note) if part)
    return f"({told})" if told else ""
