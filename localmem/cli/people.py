"""Commands about who is who: people list, show, merge, split, alias."""

from __future__ import annotations

from typing import Annotated

import typer

from localmem.cli.shared import JsonFlag, opened, output, plain, print_json, show_result

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
    from localmem.cli.render_people import people_table

    with opened(context) as memory:
        found = memory.people()
    show_result(found, people_table, json_=json_)


@people.command("show")
def show(context: typer.Context, name: Name, json_: JsonFlag = False) -> None:
    """Who somebody is: names, times, what is known of them, by topic and aspect, and since when."""
    from localmem.cli.render_people import person_view
    from localmem.cli.render_persona import persona_view

    with opened(context) as memory:
        found, persona = memory.person(name), memory.persona(name)
    if json_:
        print_json({**plain(found), "persona": plain(persona)})
        return
    person_view(output(), found)
    persona_view(output(), persona)


@people.command("merge")
def merge(
    context: typer.Context,
    kept: Annotated[str, typer.Argument(metavar="NAME", help="Who they both are.")],
    gone: Annotated[str, typer.Argument(metavar="OTHER", help="Whose messages go over.")],
    json_: JsonFlag = False,
) -> None:
    """Make two one: they are the same person. `people split` takes it back."""
    from localmem.cli.render_people import people_change

    with opened(context) as memory:
        change = memory.merge_people(kept, gone)
    show_result(change, people_change, json_=json_)


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
    from localmem.cli.render_people import people_change
    from localmem.types import ConversationId, ImportId, SessionId, SplitChoice

    choice = SplitChoice(
        sessions=tuple(map(SessionId, session or ())),
        conversations=tuple(map(ConversationId, conversation or ())),
        imports=tuple(map(ImportId, import_ or ())),
    )
    with opened(context) as memory:
        change = memory.split_person(name, choice, new)
    show_result(change, people_change, json_=json_)


@people.command("alias")
def alias(
    context: typer.Context,
    name: Name,
    other: Annotated[str, typer.Argument(metavar="ALIAS", help="One more name of theirs.")],
    json_: JsonFlag = False,
) -> None:
    """Give somebody one more name."""
    from localmem.cli.render_people import known_names

    with opened(context) as memory:
        person = memory.add_alias(name, other)
    show_result(person, known_names, json_=json_)
