"""The command that opens the terminal app, here or in a browser on this machine."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Annotated

import typer

from localmem.cli.shared import messages, opened
from localmem.errors import MissingExtraError, UsageError


def tui(
    context: typer.Context,
    web: Annotated[
        bool, typer.Option("--web", help="In a browser on this machine, behind a token.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where --web listens; default: a free one."),
    ] = None,
) -> None:
    """See, ask, trace and mend your memory in the terminal."""
    if not _is_installed():
        raise MissingExtraError("the terminal app", extra="tui")
    if web:
        _serve(context, port or 0)
        return
    if port is not None:
        raise UsageError("--port is for --web", hint="localmem tui --web --port 8080")
    screens = importlib.import_module("localmem_tui")
    with opened(context, create=True) as memory:
        screens.LocalMemApp(memory).run()


def can_be_shown() -> bool:
    """Whether the app is installed and there is a terminal to show it in."""
    return sys.stdin.isatty() and sys.stdout.isatty() and _is_installed()


def _is_installed() -> bool:
    needed = ("textual", "textual_plotext", "textual_serve")
    return all(importlib.util.find_spec(module) is not None for module in needed)


def _serve(context: typer.Context, port: int) -> None:
    """Serve the app until Ctrl+C. Each page runs this program again, without --web."""
    from localmem.netguard import deny_network

    deny_network()
    with opened(context, create=True) as memory:
        path = memory.path
    command = [sys.executable, "-m", "localmem", "--memory", str(path), "tui"]

    def tell(address: str) -> None:
        messages().print(f"open {address}\nCtrl+C ends it", soft_wrap=True, markup=False)

    importlib.import_module("localmem_tui.serving").serve(command, port=port, on_ready=tell)
