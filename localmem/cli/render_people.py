"""How people look in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from localmem.cli.render import moment, plain
from localmem.types import (
    Item,
    ItemKind,
    ItemState,
    Participant,
    PeopleChange,
    PersonOverview,
    PersonView,
)
from localmem.wording import counted

if TYPE_CHECKING:
    from rich.console import Console


def people_table(console: Console, found: Sequence[PersonOverview]) -> None:
    """Participants, one a line."""
    if not found:
        console.print("nobody yet: localmem import EXPORT")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for header in ("id", "name", "also", "messages", "sessions", "first", "last", ""):
        table.add_column(
            header, justify="right" if header in ("id", "messages", "sessions") else "left"
        )
    for one in found:
        table.add_row(
            str(one.person.id),
            Text(plain(one.person.name)),
            Text(plain(", ".join(one.person.aliases))),
            f"{one.messages:,}",
            f"{one.sessions:,}",
            _day(one.first_said_at),
            _day(one.last_said_at),
            _mark(one),
        )
    console.print(table)


def person_view(console: Console, view: PersonView) -> None:
    """Who somebody is."""
    one = view.overview
    person = one.person
    mark = f", {_mark(one)}" if _mark(one) else ""
    console.print(Text(plain(person.name), style="bold"), Text(f"id {person.id}{mark}", "dim"))
    if person.aliases:
        console.print(Text(plain(f"also called {', '.join(person.aliases)}")))
    if one.absorbed:
        console.print(Text(plain(f"merged into them: {', '.join(one.absorbed)}")))
    console.print(
        f"{counted(one.messages, 'message')} in {counted(one.sessions, 'session')}, "
        f"{moment(one.first_said_at)} to {moment(one.last_said_at)}"
    )
    if view.topics:
        topics = ", ".join(f"{word} ({count})" for word, count in view.topics)
        console.print(Text(plain(f"talks about: {topics}")))
    for item in view.known:
        console.print(_known_line(item))
    if view.known_total > len(view.known):
        console.print(f"  and {view.known_total - len(view.known):,} more", style="dim")
    for session in view.sessions:
        line = f"  session {session.id}, {moment(session.started_at)}  {session.title}"
        console.print(Text(plain(line), style="dim"))


def _known_line(item: Item) -> Text:
    is_attribute = item.kind is ItemKind.ATTRIBUTE and item.value
    told = f"{item.slot}: {item.value}" if is_attribute else item.quote
    since = f", since {item.valid_from}" if item.valid_from else ""
    pinned = ", pinned" if item.state is ItemState.PINNED else ""
    return Text.assemble(plain(f"  {item.id:>5}  {told}"), (f"  {item.kind}{since}{pinned}", "dim"))


def known_names(console: Console, person: Participant) -> None:
    """The names of somebody."""
    names = ", ".join((person.name, *person.aliases))
    console.print(Text(plain(f"{person.name} (id {person.id}) is known as: {names}")))


def people_change(console: Console, change: PeopleChange) -> None:
    """What a merge or a split did."""
    console.print(
        Text(
            plain(
                f"{counted(change.messages, 'message')} in "
                f"{counted(change.sessions, 'session')} {'is' if change.messages == 1 else 'are'} "
                f"now {change.person.name}'s (id {change.person.id}); "
                "their summaries were made anew by rule"
            )
        )
    )


def _day(value: datetime | None) -> str:
    return f"{value:%Y-%m-%d}" if value else "no time"


def _mark(one: PersonOverview) -> str:
    if one.person.is_owner:
        return "owner"
    return "assistant" if one.person.is_assistant else ""
