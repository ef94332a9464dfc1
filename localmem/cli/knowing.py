"""Commands about what is known of people: correct, retire, pin, why, history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from localmem.cli.render import moment, plain
from localmem.cli.shared import JsonFlag, opened, output, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from localmem.types import Item, ItemHistory, ItemSources

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
        _show_history(console, one)
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
    from localmem.types import ItemId

    with opened(context) as memory:
        found = memory.why(ItemId(number))
    if json_:
        print_json(found)
    else:
        _show_sources(output(), found)


def history(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="A thing, a person, or both: 'rent', 'Ana job'.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many things.")] = 10,
    json_: JsonFlag = False,
) -> None:
    """Every version of what is known of a topic, with dates and reasons."""
    with opened(context) as memory:
        found = memory.history(topic, limit=limit)
    if json_:
        print_json(found)
    else:
        for one in found:
            _show_history(output(), one)
        if not found:
            output().print("nothing is known of that")
    if not found:
        raise typer.Exit(1)


def _print_history(done: ItemHistory, json_: bool) -> None:
    if json_:
        print_json(done)
    else:
        _show_history(output(), done)


def _show_history(console: Console, one: ItemHistory) -> None:
    """The versions of one thing, oldest first."""
    from localmem.participants.known import describe_item, period_words

    title = Text(plain(f"{one.participant.name}: {one.subject}"))
    columns = ("id", "what", "when", "state", "why")
    table = Table(*columns, title=title, title_justify="left", box=None, pad_edge=False)
    for item in one.versions:
        reason = item.reason or item.end_reason
        table.add_row(
            str(item.id),
            Text(plain(describe_item(item))),
            period_words(item),
            _state(item),
            Text(plain(reason)),
        )
    console.print(table)


def _state(item: Item) -> str:
    notes = [str(item.state)]
    if item.corrected:
        notes.append("corrected")
    if item.by_owner:
        notes.append("by you")
    if item.confirmations:
        notes.append(f"said {item.confirmations + 1} times")
    if not item.supported:
        notes.append("unsupported")
    if item.duplicate_of is not None:
        notes.append(f"perhaps the same as {item.duplicate_of}")
    return ", ".join(notes)


def _show_sources(console: Console, found: ItemSources) -> None:
    _show_history(console, found.history)
    for one in found.messages:
        when = moment(one.message.said_at)
        head = f"{one.message.speaker}, {when} (session {one.session.id}, message {one.message.id})"
        console.print(Text(plain(head), style="dim"))
        console.print(Text(plain(one.message.text)))
