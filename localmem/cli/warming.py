"""The command that lets the language model work ahead, with its line of progress."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from localmem.cli.shared import JsonFlag, messages, opened, show_result
from localmem.errors import UsageError
from localmem.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from localmem.types import Layer, QueueStatus, WarmReport


def warm(
    context: typer.Context,
    hours: Annotated[
        float | None,
        typer.Option(min=0, metavar="N", help="Stop after so long; a later run goes on there."),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(metavar="L0|L1|L2", help="Only this layer; default: L0 and L1."),
    ] = None,
    sessions: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the N most useful sessions.")
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Let the language model work ahead: better summaries, facts, notes, what is told of people."""
    from localmem.jobs.warming import DEFAULT_LAYERS, Wanted

    layers = DEFAULT_LAYERS if layer is None else (_layer(layer),)
    seconds = None if hours is None else hours * 3600
    wanted = Wanted(layers, sessions, seconds, records=layer is None)
    with opened(context) as memory, _line(quiet=json_) as draw:
        report = memory.warm(wanted, on_progress=draw)
    show_result(report, _print_report, json_=json_)


def _layer(text: str) -> Layer:
    from localmem.types import Layer

    layers = {"L0": Layer.SUMMARY, "L1": Layer.FACTS, "L2": Layer.NOTES}
    if text.upper() not in layers:
        raise UsageError(f"--layer is '{text}', want L0, L1 or L2", hint="--layer L0")
    return layers[text.upper()]


@contextlib.contextmanager
def _line(*, quiet: bool) -> Iterator[Callable[[QueueStatus], None]]:
    """A callback that draws how far it is, on one line of stderr."""
    if quiet or not sys.stderr.isatty():
        yield lambda status: None
        return
    from rich import progress

    from localmem.types import QueueState

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.completed:,.0f} of {task.total:,.0f} turns"),
        progress.TextColumn("{task.fields[rate]}"),
    )
    with progress.Progress(*columns, console=messages(), transient=True) as bars:
        task = bars.add_task("warming", total=1, rate="")

        def draw(status: QueueStatus) -> None:
            waits = status.state is QueueState.PAUSED
            bars.update(
                task,
                description="waiting for a question" if waits else "warming",
                completed=status.done,
                total=max(status.total, 1),
                rate=rate_of(status),
            )

        yield draw


def rate_of(status: QueueStatus) -> str:
    """ "31 tokens/s, 12 min left", as far as it is known."""
    told = []
    if status.tokens_per_s:
        told.append(f"{status.tokens_per_s:.0f} tokens/s")
    if status.seconds_left is not None:
        told.append(f"{_duration(status.seconds_left)} left")
    return ", ".join(told)


def _print_report(console: Console, report: WarmReport) -> None:
    if _did_nothing(report):
        console.print("nothing to do: all that was asked for is there, as far as the model can")
        return
    console.print(
        f"made {counted(report.summaries_made, 'summary', 'summaries')} "
        f"(kept {report.summaries_kept:,} as before), "
        f"facts of {report.sessions_with_facts:,} and notes of "
        f"{counted(report.sessions_with_notes, 'session')} in {_duration(report.seconds)}"
    )
    if report.records_made or report.records_kept:
        console.print(
            f"read {counted(report.records_made + report.records_kept, 'message')} again for what "
            f"is told of people; of {report.records_made:,} it made more"
        )
    console.print(
        f"{report.model_id}: {counted(report.cost.evaluated_tokens, 'token')} read, "
        f"{report.cost.completion_tokens:,} written",
        style="dim",
    )
    if report.unread or report.failed:
        console.print(
            f"{counted(report.unread, 'reply', 'replies')} could not be read, "
            f"{counted(report.failed, 'job')} failed: localmem doctor",
            style="yellow",
        )
    if report.left:
        left = counted(report.left, "turn is left", "turns are left")
        console.print(f"{left}: run it again to go on")


def _did_nothing(report: WarmReport) -> bool:
    """Whether all was there; what a model could not make is not tried with it again."""
    asked = report.cost.evaluated_tokens + report.cost.completion_tokens
    made = report.summaries_made + report.sessions_with_facts + report.sessions_with_notes
    made += report.records_made
    return not (asked or made or report.left or report.failed)


def _duration(seconds: float) -> str:
    """A length of time as people say it: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
