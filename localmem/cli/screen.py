"""The command that opens the terminal app."""

from __future__ import annotations

import importlib
import importlib.util

import typer

from localmem.cli.shared import opened
from localmem.errors import MissingExtraError


def tui(context: typer.Context) -> None:
    """Search, ask and read in the terminal."""
    if importlib.util.find_spec("textual") is None:
        raise MissingExtraError("the terminal app", extra="tui")
    screens = importlib.import_module("localmem_tui")
    with opened(context, create=True, idle_s=2.0) as memory:
        screens.LocalMemApp(memory).run()
