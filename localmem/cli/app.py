"""The Typer application: global options and the list of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localmem.cli import (
    chat,
    forgetting,
    graph,
    history,
    knowing,
    models,
    people,
    questions,
    screen,
    tiers,
    upkeep,
    warming,
)
from localmem.cli.shared import Settings

app = typer.Typer(
    name="localmem",
    help="Private, long-term memory for assistants. Everything stays on this machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("import")(history.import_)
app.add_typer(history.imports, name="imports")
app.command("search")(questions.search)
app.command("ask")(questions.ask)
app.command("chat")(chat.chat)
app.command("sessions")(history.sessions)
app.command("show")(history.show)
app.command("history")(knowing.history)
app.command("why")(knowing.why)
app.command("graph")(graph.graph)
app.command("correct")(knowing.correct)
app.command("retire")(knowing.retire)
app.command("pin")(knowing.pin)
app.command("export")(history.export)
app.add_typer(people.people, name="people")
app.command("forget")(forgetting.forget)
app.add_typer(models.models, name="models")
app.command("work")(upkeep.work)
app.command("warm")(warming.warm)
app.command("reindex")(upkeep.reindex)
app.command("tiers")(tiers.tiers)
app.command("lasting")(tiers.lasting)
app.add_typer(tiers.episodes, name="episodes")
app.command("stats")(upkeep.stats)
app.command("doctor")(upkeep.doctor)
app.command("demo")(questions.demo)
app.command("tui")(screen.tui)


def _print_version(wanted: bool) -> None:
    if wanted:
        from localmem import __version__

        typer.echo(f"localmem {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    memory: Annotated[
        Path | None,
        typer.Option(
            "--memory",
            "-m",
            envvar="LOCALMEM_MEMORY",
            metavar="PATH",
            help="The memory file to use; several can stand side by side.",
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options that every command shares."""
    context.obj = Settings(memory=memory)
