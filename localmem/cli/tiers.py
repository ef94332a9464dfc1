"""Commands that show what the tiers hold, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from localmem.cli.shared import JsonFlag, opened, show_result

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from localmem.types import EpisodeOverview, EpisodePage, EpisodeView, LastingView, TiersView

episodes = typer.Typer(help="Episodes: pages that belong together, across sessions.")


def tiers(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="Show so many episodes, the most useful first.")
    ] = 10,
    pin: Annotated[
        int | None, typer.Option(metavar="ID", help="Let an entry of the long term stay for good.")
    ] = None,
    unpin: Annotated[
        int | None, typer.Option(metavar="ID", help="Let a pinned entry go again.")
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """What is where and why: pages, episodes, the gate that decides, and what lasts."""
    from localmem.types import EntryId

    with opened(context) as memory:
        if pin is not None:
            memory.pin_lasting(EntryId(pin))
        if unpin is not None:
            memory.pin_lasting(EntryId(unpin), pinned=False)
        found = memory.tiers(limit=limit)
    show_result(found, _print_tiers, json_=json_)


def lasting(
    context: typer.Context,
    entry: Annotated[int, typer.Argument(metavar="ID", help="A number that tiers shows.")],
    json_: JsonFlag = False,
) -> None:
    """One entry of the long term, with the messages that it rests on."""
    from localmem.types import EntryId

    with opened(context) as memory:
        found = memory.lasting(EntryId(entry))
    show_result(found, _print_lasting_view, json_=json_)


@episodes.callback()
def group() -> None:
    """Episodes: pages that belong together, across sessions."""


@episodes.command("show")
def show(
    context: typer.Context,
    episode: Annotated[int, typer.Argument(metavar="ID", help="A number that tiers shows.")],
    json_: JsonFlag = False,
) -> None:
    """One episode: its pages, and why each is in it."""
    from localmem.types import EpisodeId

    with opened(context) as memory:
        found = memory.episode(EpisodeId(episode))
    show_result(found, _print_episode, json_=json_)


def _print_tiers(console: Console, found: TiersView) -> None:
    from rich.table import Table
    from rich.text import Text

    from localmem.cli.render import plain
    from localmem.wording import counted

    counts = found.counts
    if found.recent:
        said = counted(len(found.recent), "exchange")
        console.print(f"short term: {said} of the running conversation")
    console.print(
        f"{counted(counts.placed, 'page')} in {counted(counts.episodes, 'episode')}, "
        f"{counts.across_sessions:,} of them across sessions; {counts.loose:,} in none"
    )
    console.print(_gate_line(found))
    if counts.pending:
        left = counted(counts.pending, "message is", "messages are")
        console.print(f"{left} in no page yet: localmem work", style="yellow")
    _print_lasting(console, found)
    if not found.episodes:
        return
    columns = ("id", "pages", "structure", "from", "to", "useful", "what")
    table = Table(*columns, box=None, pad_edge=False)
    for one in found.episodes:
        table.add_row(
            str(one.id),
            f"{one.pages:,}",
            str(one.structure),
            *_days(one),
            f"{one.utility:.2f}",
            Text(plain(one.summary)),
        )
    console.print(table)


def _print_lasting(console: Console, found: TiersView) -> None:
    from rich.text import Text

    from localmem.cli.render import plain
    from localmem.types import LastingKind
    from localmem.wording import counted

    before = {one.superseded_by: one for one in found.lasting if one.superseded_by is not None}
    names = {
        LastingKind.PROFILE: ("thing about the owner", "things about the owner"),
        LastingKind.FACT: ("fact of the owner's", "facts of the owner's"),
        LastingKind.KNOWLEDGE: ("thing the owner knows", "things the owner knows"),
        LastingKind.WISH: ("wish of the owner", "wishes of the owner"),
    }
    for kind, (one_name, many) in names.items():
        holding = [e for e in found.lasting if e.kind is kind and e.superseded_by is None]
        if not holding:
            continue
        console.print(f"long term: {counted(len(holding), one_name, many)}, in their own words")
        for one in holding:
            old = f"  (before: {before[one.id].text})" if one.id in before else ""
            pinned = "  (pinned)" if one.pinned else ""
            line = f"  {one.id:>4}  {_day(one.last_said_at)}  {one.text}{old}{pinned}"
            console.print(Text(plain(line)))


def _print_lasting_view(console: Console, found: LastingView) -> None:
    from rich.text import Text

    from localmem.cli.render import moment, plain
    from localmem.wording import counted

    entry = found.entry
    console.print(Text(plain(entry.text), style="bold"))
    said = counted(len(found.sources), "message")
    kind = f"{entry.value} {entry.kind}".strip()
    used = counted(entry.used, "answer")
    console.print(Text(plain(f"{kind} in {said}, used by {used}")))
    if entry.superseded_by is not None:
        console.print(f"no longer: {entry.superseded_by} took its place", style="yellow")
    for one in found.sources:
        message = one.message
        when = moment(message.said_at)
        head = f"{message.speaker}, {when} (session {one.session.id}, message {message.id})"
        console.print(Text(plain(head)), style="dim")
        console.print(Text(plain(message.text)))


def _gate_line(found: TiersView) -> str:
    from localmem.types import GateKind

    if found.gate is GateKind.FITTED:
        return (
            f"gate: fit {found.fit}; unlike pages score about {found.low_mean:.2f}, akin ones "
            f"about {found.high_mean:.2f}; a page joins from {found.middle:.2f} on"
        )
    if found.gate is GateKind.PRIOR:
        return (
            "gate: too few scores to tell akin from unlike in this memory yet; a page joins from "
            f"{found.middle:.2f} on"
        )
    return "gate: the paper's Algorithm 1; every page joins the best candidate"


def _print_episode(console: Console, found: EpisodeView) -> None:
    from rich.text import Text

    from localmem.cli.render import moment, plain
    from localmem.wording import counted

    one = found.overview
    first, last = _days(one)
    console.print(
        f"episode {one.id}, {one.structure}, {counted(one.pages, 'page')}, {first} to {last}"
    )
    if one.summary:
        console.print(Text(plain(one.summary)))
    for page in found.pages:
        console.print(Text(f"\npage {page.page_id}, {_why(page)}"), style="bold")
        for message in page.messages:
            head = f"{message.speaker}, {moment(message.said_at)} (session {page.session_id})"
            console.print(Text(plain(head)), style="dim")
            console.print(Text(plain(message.text)))
    if one.related:
        akin = ", ".join(str(number) for number in one.related)
        console.print(f"\nrelated episodes: {akin}", style="dim")


def _why(page: EpisodePage) -> str:
    decision = page.decision
    scored = f"score {decision.score:.2f}, probability {decision.probability:.2f}"
    by = f"{decision.gate} gate" + (f", fit {decision.fit}" if decision.fit else "")
    if decision.merged:
        goes_on = f", goes on from page {decision.continues}" if decision.continues else ""
        return f"joined: {scored} ({by}){goes_on}"
    if decision.related or decision.score:
        return f"founded it: {scored} for the best other ({by})"
    return "founded it: there was no other"


def _days(one: EpisodeOverview) -> tuple[str, str]:
    return _day(one.first_said_at), _day(one.last_said_at)


def _day(when: datetime | None) -> str:
    return "no time" if when is None else f"{when:%Y-%m-%d}"
