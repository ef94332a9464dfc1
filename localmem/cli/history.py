"""Commands about what is in the memory: import, imports, sessions, show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localmem.cli.shared import (
    JsonFlag,
    opened,
    output,
    parse_zone,
    print_json,
    progress_bar,
    show_result,
)

imports = typer.Typer(help="List the imports, or take one back.", no_args_is_help=True)


def import_(
    context: typer.Context,
    path: Annotated[
        Path, typer.Argument(help="An export: file, folder or zip. 'sample' is the shipped one.")
    ],
    format_: Annotated[
        str | None,
        typer.Option("--format", help="The format, where it should not be detected."),
    ] = None,
    tz: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="Zone of times that name none; default: the system's."),
    ] = None,
    me: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who you are, in a chat among people.")
    ] = None,
    later: Annotated[
        bool, typer.Option("--later", help="Leave vectors and facts to `localmem work`.")
    ] = False,
    allow_again: Annotated[
        bool,
        typer.Option("--allow-again", help="Take in what was forgotten, where it is in there."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen; store nothing.")
    ] = False,
    json_: JsonFlag = False,
) -> None:
    """Import a chat history. Importing it again adds only what is new."""
    from localmem.cli.render import import_report
    from localmem.memory import ImportOptions
    from localmem.sample import sample_export

    if str(path) == "sample" and not path.exists():
        path = sample_export()
    options = ImportOptions(
        format=format_, tz=parse_zone(tz), me=me, later=later, allow_again=allow_again
    )
    with opened(context, create=True) as memory, progress_bar(quiet=json_) as draw:
        if dry_run:
            report = memory.plan_import(path, options, on_progress=draw)
        else:
            report = memory.import_(path, options, on_progress=draw)
    if json_:
        print_json(report)
    else:
        import_report(output(), report, dry_run=dry_run)
    if not report.conversations_seen:
        raise typer.Exit(1)


@imports.command("list")
def list_imports(context: typer.Context, json_: JsonFlag = False) -> None:
    """The imports of this memory, newest first."""
    from localmem.cli.render import import_table

    with opened(context) as memory:
        reports = memory.imports()
    show_result(reports, import_table, json_=json_)


@imports.command("undo")
def undo_import(
    context: typer.Context,
    number: Annotated[int, typer.Argument(metavar="ID", help="As `localmem imports list` shows.")],
    json_: JsonFlag = False,
) -> None:
    """Take an import back: its messages and all that was derived from them leave the file."""
    from localmem.cli.render import receipt
    from localmem.types import ImportId

    with opened(context) as memory:
        erased = memory.undo_import(ImportId(number))
    show_result(erased, receipt, json_=json_)


def sessions(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="How many, newest first.")
    ] = 20,
    source: Annotated[str | None, typer.Option(help="Only from this source, e.g. chatgpt.")] = None,
    json_: JsonFlag = False,
) -> None:
    """The sessions of this memory, newest first."""
    from localmem.cli.render import session_table

    with opened(context) as memory:
        found = memory.sessions(limit=limit, source=source)
    if json_:
        print_json(found)
    else:
        session_table(output(), found, source=source)
    if source and not found:
        raise typer.Exit(1)


def show(
    context: typer.Context,
    session: Annotated[int, typer.Argument(metavar="SESSION", help="The session's number.")],
    layer: Annotated[
        str,
        typer.Option(help="L0: a line for each turn. L1: key facts. L2: notes. L3: messages."),
    ] = "L3",
    seconds: Annotated[
        float | None,
        typer.Option(min=0.0, help="How long a model may take for L1 or L2; 0: by rule."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as Markdown.")] = False,
    json_: JsonFlag = False,
) -> None:
    """A session, at the layer you want to read; L1 and L2 are made when first asked for."""
    from localmem.cli.render import plain, session_view
    from localmem.errors import UsageError
    from localmem.layers.markdown import view_markdown
    from localmem.types import Layer, SessionId

    layers = {f"L{layer.value}": layer for layer in Layer}
    wanted = layers.get(layer.upper())
    if wanted is None:
        raise UsageError(f"--layer is '{layer}'", hint="--layer L0, L1, L2 or L3")
    with opened(context) as memory, progress_bar(quiet=json_) as draw:
        view = memory.show(SessionId(session), layer=wanted, seconds=seconds, on_progress=draw)
    if json_:
        print_json(view)
    elif markdown:
        typer.echo(plain(view_markdown(view)), nl=False)
    else:
        session_view(output(), view)


def export(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Option("--markdown", metavar="DIR", help="The folder to write into."),
    ],
    make: Annotated[
        bool, typer.Option("--make", help="Let the model make missing facts and notes first.")
    ] = False,
    json_: JsonFlag = False,
) -> None:
    """Write the whole memory as Markdown: a file for each session, and an index."""
    from localmem.cli.render import export_report

    with opened(context) as memory, progress_bar(quiet=json_) as draw:
        report = memory.export_markdown(folder, make=make, on_progress=draw)
    show_result(report, export_report, json_=json_)
