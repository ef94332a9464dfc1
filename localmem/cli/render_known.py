"""How what is known of people looks in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from localmem.cli.render import moment, plain
from localmem.participants.known import describe_item, period_words

if TYPE_CHECKING:
    from rich.console import Console

    from localmem.types import Item, ItemHistory, ItemSources


def item_history(console: Console, one: ItemHistory) -> None:
    """The versions of one thing, oldest first."""
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


def item_sources(console: Console, found: ItemSources) -> None:
    """An item's versions, and the messages that they rest on."""
    item_history(console, found.history)
    for one in found.messages:
        when = moment(one.message.said_at)
        head = f"{one.message.speaker}, {when} (session {one.session.id}, message {one.message.id})"
        console.print(Text(plain(head), style="dim"))
        console.print(Text(plain(one.message.text)))
