"""The command line: parse, call Memory, print. The only place that knows exit codes.

Nothing heavy is imported before a command runs, so that `localmem --help` is quick.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from localmem.errors import (
    ConfigError,
    LocalMemError,
    ModelError,
    NetworkDeniedError,
    RecordNotFoundError,
    StoreError,
    UsageError,
)

EXIT_DOMAIN = 1
EXIT_USAGE = 2
EXIT_MODEL = 3
EXIT_STORE = 4
EXIT_INTERRUPT = 130


def main() -> None:
    """Run the program and leave with its exit code."""
    from localmem.cli.app import app

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave_at_once)
    try:
        app()
    except LocalMemError as error:
        print(f"localmem: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  hint: {error.hint}", file=sys.stderr)
        sys.exit(exit_code(error))


def exit_code(error: LocalMemError) -> int:
    """The exit code of a failure."""
    if isinstance(error, ConfigError | UsageError):
        return EXIT_USAGE
    if isinstance(error, ModelError | NetworkDeniedError):
        return EXIT_MODEL
    if isinstance(error, StoreError) and not isinstance(error, RecordNotFoundError):
        return EXIT_STORE
    return EXIT_DOMAIN


def _leave_at_once(number: int, frame: FrameType | None) -> None:
    """Ctrl-C. A memory survives a process that dies at any moment, and the libraries below
    swallow a KeyboardInterrupt now and then; so there is nothing to wait for."""
    shown_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
    sys.stderr.write(f"{shown_cursor}\nlocalmem: interrupted; what was finished is kept\n")
    sys.stderr.flush()
    os._exit(EXIT_INTERRUPT)
