"""Commands about who is who: people list, show, merge, split, alias."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from localmem.cli.render import moment, plain
from localmem.cli.shared import JsonFlag, opened, output, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from localmem.types import PeopleChange, PersonOverview, PersonView

people = typer.Typer(help="Who is in this memory; make two of them one, or one of them two.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name, an alias, or the id.")]


@people.callback(invoke_without_command=True)
def everybody(context: typer.Context) -> None:
    """Who is in this memory; make two of them one, or one of them two."""
    if context.invoked_subcommand is None:
        list_people(context)


@people.command("list")
def list_people(context: typer.Context, json_: JsonFlag = False) -> None:
    """Everybody who speaks, with their names and how much they say."""
    with opened(context) as memory:
        found = memory.people()
    if json_:
        print_json(found)
    else:
        _table(output(), found)


@people.command("show")
def show(context: typer.Context, name: Name, json_: JsonFlag = False) -> None:
    """Who somebody is: names, times, what they talk about, where."""
    with opened(context) as memory:
        found = memory.person(name)
    if json_:
        print_json(found)
    else:
        _view(output(), found)


@people.command("merge")
def merge(
    context: typer.Context,
    kept: Annotated[str, typer.Argument(metavar="NAME", help="Who they both are.")],
    gone: Annotated[str, typer.Argument(metavar="OTHER", help="Whose messages go over.")],
    json_: JsonFlag = False,
) -> None:
    """Make two one: they are the same person. `people split` takes it back."""
    with opened(context) as memory:
        change = memory.merge_people(kept, gone)
    if json_:
        print_json(change)
    else:
        _change(output(), change)


@people.command("split")
def split(
    context: typer.Context,
    name: Name,
    new: Annotated[str, typer.Option("--as", metavar="NEW", help="Who the other one is.")],
    session: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="What is said in this session is theirs; may be repeated."),
    ] = None,
    conversation: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="The same for a whole conversation, later messages too."),
    ] = None,
    import_: Annotated[
        list[int] | None,
        typer.Option("--import", metavar="N", help="The same for all that an import added."),
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Make one two, who share a name. With --as alone: take back the merge of that one."""
    from localmem.types import ConversationId, ImportId, SessionId, SplitChoice

    choice = SplitChoice(
        sessions=tuple(map(SessionId, session or ())),
        conversations=tuple(map(ConversationId, conversation or ())),
        imports=tuple(map(ImportId, import_ or ())),
    )
    with opened(context) as memory:
        change = memory.split_person(name, choice, new)
    if json_:
        print_json(change)
    else:
        _change(output(), change)


@people.command("alias")
def alias(
    context: typer.Context,
    name: Name,
    other: Annotated[str, typer.Argument(metavar="ALIAS", help="One more name of theirs.")],
    json_: JsonFlag = False,
) -> None:
    """Give somebody one more name."""
    with opened(context) as memory:
        person = memory.add_alias(name, other)
    if json_:
        print_json(person)
    else:
        names = ", ".join((person.name, *person.aliases))
        output().print(Text(plain(f"{person.name} (id {person.id}) is known as: {names}")))


def _table(console: Console, found: Sequence[PersonOverview]) -> None:
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
            moment(one.first_said_at),
            moment(one.last_said_at),
            _mark(one),
        )
    console.print(table)


def _view(console: Console, view: PersonView) -> None:
    one = view.overview
    person = one.person
    mark = f", {_mark(one)}" if _mark(one) else ""
    console.print(Text(plain(person.name), style="bold"), Text(f"id {person.id}{mark}", "dim"))
    if person.aliases:
        console.print(Text(plain(f"also called {', '.join(person.aliases)}")))
    if one.absorbed:
        console.print(Text(plain(f"merged into them: {', '.join(one.absorbed)}")))
    console.print(
        f"{one.messages:,} messages in {one.sessions:,} sessions, "
        f"{moment(one.first_said_at)} to {moment(one.last_said_at)}"
    )
    if view.topics:
        topics = ", ".join(f"{word} ({count})" for word, count in view.topics)
        console.print(Text(plain(f"talks about: {topics}")))
    for session in view.sessions:
        line = f"  session {session.id}, {moment(session.started_at)}  {session.title}"
        console.print(Text(plain(line), style="dim"))


def _change(console: Console, change: PeopleChange) -> None:
    console.print(
        Text(
            plain(
                f"{change.messages:,} messages in {change.sessions:,} sessions are now "
                f"{change.person.name}'s (id {change.person.id}); "
                "their summaries were made anew by rule"
            )
        )
    )


def _mark(one: PersonOverview) -> str:
    if one.person.is_owner:
        return "owner"
    return "assistant" if one.person.is_assistant else ""
