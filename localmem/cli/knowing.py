"""Commands about what is known of people: correct, retire, pin, why, history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from localmem.cli.shared import JsonFlag, opened, output, print_json, show_result

if TYPE_CHECKING:
    from localmem.types import ItemHistory

Number = Annotated[int, typer.Argument(metavar="ID", help="As `localmem history` shows.")]


def correct(
    context: typer.Context,
    text: Annotated[
        str, typer.Argument(help="What is so: 'I live in Bergen', 'Ana works at Globex'.")
    ],
    item: Annotated[
        int | None, typer.Option("--item", metavar="ID", help="The item that it replaces.")
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Say what is so; it outranks what it corrects, at once."""
    from localmem.cli.render_known import item_history
    from localmem.types import ItemId

    with opened(context) as memory:
        done = memory.correct(text, instead_of=None if item is None else ItemId(item))
    if json_:
        print_json(done)
        return
    console = output()
    if not done.histories:
        console.print("noted; nothing that was known is about the same")
    for one in done.histories:
        item_history(console, one)
    console.print(f"to take it back: localmem imports undo {done.import_id}", style="dim")


def retire(context: typer.Context, number: Number, json_: JsonFlag = False) -> None:
    """Let an item count no more: it is never given as what holds."""
    from localmem.types import ItemId

    with opened(context) as memory:
        done = memory.retire(ItemId(number))
    _print_history(done, json_)


def pin(context: typer.Context, number: Number, json_: JsonFlag = False) -> None:
    """Let an item stay as it is, whatever messages say later; a correction still changes it."""
    from localmem.types import ItemId

    with opened(context) as memory:
        done = memory.pin(ItemId(number))
    _print_history(done, json_)


def why(context: typer.Context, number: Number, json_: JsonFlag = False) -> None:
    """Why an item is known: the messages that it rests on."""
    from localmem.cli.render_known import item_sources
    from localmem.types import ItemId

    with opened(context) as memory:
        found = memory.why(ItemId(number))
    show_result(found, item_sources, json_=json_)


def history(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="A thing, a person, or both: 'rent', 'Ana job'.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many things.")] = 10,
    json_: JsonFlag = False,
) -> None:
    """Every version of what is known of a topic, with dates and reasons."""
    from localmem.cli.render_known import item_history

    with opened(context) as memory:
        found = memory.history(topic, limit=limit)
    if json_:
        print_json(found)
    else:
        for one in found:
            item_history(output(), one)
        if not found:
            output().print("nothing is known of that")
    if not found:
        raise typer.Exit(1)


def _print_history(done: ItemHistory, json_: bool) -> None:
    from localmem.cli.render_known import item_history

    show_result(done, item_history, json_=json_)
