"""The command line: parse, call Memory, print. The only place that knows exit codes.

Nothing heavy is imported before a command runs, so that `localmem --help` is quick.
"""

from __future__ import annotations

import sys

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

    try:
        app()
    except LocalMemError as error:
        print(f"localmem: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  hint: {error.hint}", file=sys.stderr)
        sys.exit(exit_code(error))
    except SystemExit as left:
        if left.code == EXIT_INTERRUPT:
            print("localmem: interrupted; what was finished is kept", file=sys.stderr)
        raise


def exit_code(error: LocalMemError) -> int:
    """The exit code of a failure."""
    if isinstance(error, ConfigError | UsageError):
        return EXIT_USAGE
    if isinstance(error, ModelError | NetworkDeniedError):
        return EXIT_MODEL
    if isinstance(error, StoreError) and not isinstance(error, RecordNotFoundError):
        return EXIT_STORE
    return EXIT_DOMAIN
