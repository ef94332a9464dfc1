"""Commands about model files: list, pull, use, path, check."""

from __future__ import annotations

from typing import Annotated

import typer

from localmem.cli.shared import JsonFlag, messages, progress_bar, show_result

models = typer.Typer(help="The models on this machine.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A name of `localmem models list`, or a file's path.")]


@models.command("list")
def list_models(json_: JsonFlag = False) -> None:
    """The models of the catalog: which are here, which are in use."""
    from localmem.cli.render import model_table
    from localmem.netguard import deny_network
    from localmem.shelf import ModelShelf

    deny_network()
    entries = ModelShelf.open().entries()
    show_result(entries, model_table, json_=json_)


@models.command()
def pull(
    name: Annotated[
        str | None, typer.Argument(help="A name of the catalog; default: the two defaults.")
    ] = None,
) -> None:
    """Fetch model files and check them. The only command that uses the network."""
    from localmem.shelf import ModelShelf

    shelf = ModelShelf.open()
    for wanted in [name] if name else shelf.defaults():
        with progress_bar() as draw:
            pulled = shelf.pull(wanted, on_progress=draw)
        messages().print(pulled)


@models.command()
def use(
    name: Name,
    role: Annotated[
        str | None,
        typer.Option(help="For this role alone: layers, controller, notes or answer."),
    ] = None,
) -> None:
    """Make a model the one that commands use; an embedder's change needs `localmem reindex`."""
    from localmem.errors import UsageError
    from localmem.netguard import deny_network
    from localmem.shelf import ModelShelf
    from localmem.types import ModelRole

    deny_network()
    roles = {str(one): one for one in ModelRole}
    if role is not None and role not in roles:
        raise UsageError(f"--role is '{role}'", hint=f"--role {', '.join(roles)}")
    messages().print(ModelShelf.open().use(name, role=roles[role] if role else None))


@models.command("path")
def path_(name: Name) -> None:
    """Where a model's file is."""
    from localmem.netguard import deny_network
    from localmem.shelf import ModelShelf

    deny_network()
    typer.echo(str(ModelShelf.open().path(name)))


@models.command()
def check(
    name: Annotated[
        str | None, typer.Argument(help="A language model; default: the one in use.")
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Verify a model's file, and find out on this machine what it can be trusted with."""
    from localmem.cli.render import check_report
    from localmem.netguard import deny_network
    from localmem.shelf import ModelShelf

    deny_network()
    with progress_bar(quiet=json_) as draw:
        report = ModelShelf.open().check(name, on_progress=draw)
    show_result(report, check_report, json_=json_)
