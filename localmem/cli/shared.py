"""What the commands share: opening the memory, progress bars, JSON, parsing of arguments."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, TypeVar

import typer

from localmem.errors import UsageError

if TYPE_CHECKING:
    from datetime import date, datetime, tzinfo

    from rich.console import Console
    from rich.status import Status

    from localmem.memory import Memory
    from localmem.types import Depth, Progress, TraceStep

_T = TypeVar("_T")

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document, for scripts.")]

_SLOW_S = 1.0


class Settings(NamedTuple):
    """The global options."""

    memory: Path | None


@contextlib.contextmanager
def opened(context: typer.Context, *, create: bool = False) -> Iterator[Memory]:
    """The memory that the options name, offline, closed at the end."""
    from localmem.memory import Memory
    from localmem.netguard import deny_network

    deny_network()
    settings: Settings = context.obj
    with Memory.open(settings.memory, create=create) as memory:
        yield memory


def output() -> Console:
    """The console for results: stdout."""
    from rich.console import Console

    return Console(highlight=False)


def messages() -> Console:
    """The console for everything else: stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    import json

    sys.stdout.write(json.dumps(plain(value), ensure_ascii=False, indent=2) + "\n")


def show_result(value: _T, view: Callable[[Console, _T], None], *, json_: bool) -> None:
    """A result as one JSON document, or as its view shows it."""
    if json_:
        print_json(value)
    else:
        view(output(), value)


def plain(value: object) -> Any:
    """Values of localmem.types as what JSON knows."""
    from dataclasses import fields, is_dataclass
    from datetime import date, datetime
    from enum import Enum

    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value


@contextlib.contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """A callback that draws bars on stderr for whatever takes over a second."""
    if quiet or not sys.stderr.isatty():
        yield _ignore
        return
    from rich import progress as rich_progress

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TextColumn("{task.completed:,.0f} of {task.total:,.0f} {task.fields[unit]}"),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=messages(), transient=True) as bars:
        tasks: dict[str, rich_progress.TaskID] = {}

        def draw(progress: Progress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bars.add_task(
                    progress.stage, total=progress.total, unit=progress.unit
                )
            total = progress.total or max(progress.done, 1)
            bars.update(tasks[progress.stage], completed=progress.done, total=total)

        yield draw


class ThinkingLine:
    """One line on stderr that says what a deep question is doing, while nothing else is said."""

    def __init__(self) -> None:
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def show(self, step: TraceStep) -> None:
        """The step that was just done."""
        if not sys.stderr.isatty():
            return
        from rich.text import Text

        from localmem.cli.render import plain as printable

        line = Text(printable(f"{step.tool} {step.arguments}".strip())[:100], style="dim")
        if self._status is None:
            self._status = messages().status(line)
            self._status.start()
        else:
            self._status.update(line)

    def end(self) -> None:
        """Takes the line away."""
        if self._status is not None:
            self._status.stop()
            self._status = None


def _ignore(progress: Progress) -> None:
    """Nobody is looking: the run says what it did at its end."""


def parse_day(text: str | None, *, option: str) -> date | None:
    """A day written as YYYY-MM-DD."""
    from datetime import date

    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{option} is '{text}', want a day", hint=f"{option} 2026-03-31"
        ) from error


def parse_depth(name: str | None) -> Depth | None:
    """A depth by its name."""
    from localmem.types import Depth

    if name is None:
        return None
    if name not in tuple(Depth):
        raise UsageError(f"--depth is '{name}'", hint="--depth instant, direct, deep or auto")
    return Depth(name)


def parse_moment(text: str | None, *, option: str) -> datetime | None:
    """A day or a moment in ISO form; local time where it has no zone."""
    from datetime import UTC, datetime

    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.astimezone()
        moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option} is '{text}', want a day or a moment",
            hint=f"{option} 2026-03-31 or {option} 2026-03-31T18:00+01:00",
        ) from error
    return moment


def parse_zone(name: str | None) -> tzinfo | None:
    """A zone by its IANA name."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise UsageError(
            f"--tz is '{name}', which is no time zone", hint="--tz Europe/Berlin or --tz UTC"
        ) from error
