"""Commands that keep a memory in order: work, reindex, stats, doctor."""

from __future__ import annotations

from typing import Annotated

import typer

from localmem.cli.shared import JsonFlag, opened, progress_bar, show_result


def work(
    context: typer.Context,
    gate: Annotated[
        str | None,
        typer.Option(
            metavar="beta|paper",
            help="What gathers pages in episodes this time; another than before makes all anew.",
        ),
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Make what is still missing: summaries, dates, vectors, episodes."""
    from localmem.cli.render import work_report

    with opened(context) as memory, progress_bar(quiet=json_) as draw:
        report = memory.work(on_progress=draw, gate=gate)
    show_result(report, work_report, json_=json_)


def reindex(
    context: typer.Context,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Change to this embedder; default: the one in use."),
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Make all vectors anew from the stored text, beside the old ones, then swap."""
    from localmem.cli.render import work_report

    with opened(context) as memory, progress_bar(quiet=json_) as draw:
        report = memory.reindex(embedder=embedder, on_progress=draw)
    show_result(report, work_report, json_=json_)


def stats(context: typer.Context, json_: JsonFlag = False) -> None:
    """What the memory holds, in numbers."""
    from localmem.cli.render import stats_table

    with opened(context) as memory:
        numbers = memory.stats()
    show_result(numbers, stats_table, json_=json_)


def doctor(context: typer.Context, json_: JsonFlag = False) -> None:
    """Look for what is missing, damaged or slow, and say the cure."""
    from localmem.cli.render import findings_list
    from localmem.types import Verdict

    with opened(context) as memory:
        findings = memory.doctor()
    show_result(findings, findings_list, json_=json_)
    if any(finding.verdict is Verdict.PROBLEM for finding in findings):
        raise typer.Exit(1)
