"""Commands that find and answer: search, ask, demo."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from localmem.cli.shared import (
    JsonFlag,
    Settings,
    ThinkingLine,
    messages,
    opened,
    output,
    parse_day,
    parse_depth,
    parse_moment,
    print_json,
    progress_bar,
    show_result,
)

if TYPE_CHECKING:
    from localmem.types import Budget, SearchFilter

Participant = Annotated[
    str | None, typer.Option("--from", metavar="NAME", help="Only what this person said.")
]
Since = Annotated[str | None, typer.Option(metavar="DAY", help="Only from this day on.")]
Until = Annotated[str | None, typer.Option(metavar="DAY", help="Only up to this day.")]
AskedAt = Annotated[
    str | None,
    typer.Option("--asked-at", metavar="MOMENT", help="The question's own time; default: now."),
]


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="Words, a name, a question.")],
    results: Annotated[
        int | None, typer.Option("--results", "-k", min=1, help="How many messages.")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="learned, rrf, bm25 or dense; default: learned.")
    ] = None,
    participant: Participant = None,
    since: Since = None,
    until: Until = None,
    source: Annotated[str | None, typer.Option(help="Only from this source.")] = None,
    asked_at: AskedAt = None,
    json_: JsonFlag = False,
) -> None:
    """Find messages. No language model is loaded."""
    from localmem.cli.render import search_result

    limits = _limits(participant, since, until, source)
    moment = parse_moment(asked_at, option="--asked-at")
    with opened(context) as memory:
        result = memory.search(query, k=results, mode=mode, limits=limits, asked_at=moment)
    show_result(result, search_result, json_=json_)
    if not result.found:
        raise typer.Exit(1)


def ask(
    context: typer.Context,
    question: Annotated[
        str | None,
        typer.Argument(help="A question in your own words; without one: what you could ask."),
    ] = None,
    depth: Annotated[
        str | None,
        typer.Option(
            help="instant: no model. direct: one model call. deep: a search in steps. auto picks."
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="How long it may take; default: no limit.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, max=20, help="How many steps `deep` may take; default: 20.")
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(min=1, help="How many tokens the model may read and write; no limit."),
    ] = None,
    participant: Participant = None,
    since: Since = None,
    until: Until = None,
    asked_at: AskedAt = None,
    after: Annotated[
        list[str] | None,
        typer.Option(metavar="QUESTION", help="A question before this one, that it may lean on."),
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show how the answer was found.")] = False,
    json_: JsonFlag = False,
) -> None:
    """Ask a question; the answer cites the messages it rests on."""
    from localmem.cli.render import answer_view, plain

    if question is None:
        _suggest(context, json_)
        return
    limits = _limits(participant, since, until, None)
    moment = parse_moment(asked_at, option="--asked-at")
    said: list[str] = []

    def tell(token: str) -> None:
        status.end()
        said.append(token)
        sys.stdout.write(plain(token))
        sys.stdout.flush()

    with opened(context) as memory, ThinkingLine() as status:
        answer = memory.ask(
            question,
            depth=parse_depth(depth),
            budget=_budget(steps, tokens, seconds),
            limits=limits,
            asked_at=moment,
            earlier=after or (),
            on_token=None if json_ or not sys.stdout.isatty() else tell,
            on_step=status.show,
        )
    if json_:
        print_json(answer)
    else:
        streamed = "".join(said)
        if streamed:
            sys.stdout.write("\n")
        answer_view(output(), answer, trace=trace, streamed=streamed.strip() == answer.text)
    if not answer.found:
        raise typer.Exit(1)


def _suggest(context: typer.Context, json_: bool) -> None:
    """Questions that this memory can be asked, one a line."""
    with opened(context) as memory:
        suggested = memory.suggestions()
    if json_:
        print_json(suggested)
        return
    for one in suggested:
        typer.echo(one)
    if not suggested:
        messages().print("this memory is empty: localmem import EXPORT", style="dim")


def demo(context: typer.Context) -> None:
    """Import the sample history into its own memory, ask three questions, offer a look around."""
    from localmem.cli import screen
    from localmem.cli.render import answer_view, import_report
    from localmem.paths import home
    from localmem.sample import asked_at, questions, sample_export

    if context.obj.memory is None:
        context.obj = Settings(memory=home() / "demo.duckdb")
    console = output()
    with opened(context, create=True) as memory:
        with progress_bar() as draw:
            report = memory.import_(sample_export(), on_progress=draw)
        import_report(console, report, dry_run=False)
        for question in questions():
            console.print(f"\n[bold]> localmem ask[/bold] [cyan]{question!r}[/cyan]")
            answer = memory.ask(question, asked_at=asked_at())
            answer_view(console, answer, trace=False, streamed=False)
    messages().print("\nYour own: localmem import EXPORT.zip, then localmem ask '...'", style="dim")
    if screen.can_be_shown() and typer.confirm("Look around in the terminal app?", default=True):
        screen.tui(context, web=False, port=None)


def _budget(steps: int | None, tokens: int | None, seconds: float | None) -> Budget | None:
    """The limits of this question; None: the configuration's."""
    from localmem.types import Budget

    if steps is tokens is seconds is None:
        return None
    return Budget(steps or Budget().steps, tokens, seconds)


def _limits(
    participant: str | None, since: str | None, until: str | None, source: str | None
) -> SearchFilter:
    from localmem.types import SearchFilter

    return SearchFilter(
        participant=participant,
        since=parse_day(since, option="--since"),
        until=parse_day(until, option="--until"),
        source=source,
    )
