"""How the tiers, an episode and a long-term entry look as text."""

from __future__ import annotations

from localmem_tui import wording
from localmem_tui.inks import Inks
from rich.text import Text

from localmem.types import (
    EpisodeOverview,
    EpisodePage,
    GateKind,
    LastingEntry,
    LastingView,
    RecentPage,
    StructureKind,
    TiersView,
)
from localmem.wording import counted


def gate_words(found: TiersView) -> str:
    """What decides now whether a page joins an episode."""
    if found.gate is GateKind.FITTED:
        return (
            f"gate: fit {found.fit}; unlike pages score about {found.low_mean:.2f}, akin ones "
            f"about {found.high_mean:.2f}; a page joins from {found.middle:.2f} on"
        )
    if found.gate is GateKind.PRIOR:
        return f"gate: too few scores to fit it yet; a page joins from {found.middle:.2f} on"
    return "gate: the paper's own; every page joins the best candidate"


def counts_words(found: TiersView) -> str:
    """How much is where."""
    counts = found.counts
    told = (
        f"{counted(counts.placed, 'page')} in "
        f"{counted(counts.episodes, 'episode')}, {counts.across_sessions:,} across sessions"
    )
    if counts.loose:
        told += f", {counts.loose:,} in none"
    if counts.pending:
        told += f"; {counted(counts.pending, 'message')} in no page yet: w places them"
    return told


def episode_line(one: EpisodeOverview, inks: Inks) -> tuple[Text, Text]:
    """An episode in a list: its numbers, then what it is about."""
    head = Text.assemble(
        (f" {one.id} ", inks.accent),
        (counted(one.pages, "page"), inks.head),
        (f"  {one.structure} · useful {one.utility:.2f} · to {wording.day(one.last_said_at)}",
         inks.dim),
    )  # fmt: skip
    return head, Text(f"   {wording.flat(one.summary)}", inks.plain)


def exchange_lines(page: RecentPage, inks: Inks, width: int) -> tuple[Text, Text]:
    """An exchange of the running conversation in a list: when, then what was said."""
    first = page.messages[0]
    said = wording.excerpt(first.whole_text, (), characters=width - 4)
    return Text(f" {wording.moment(first.said_at)}", inks.dim), Text(f"   {said}", inks.plain)


def exchange_head(page: RecentPage, inks: Inks) -> Text:
    """An exchange of the running conversation above its messages."""
    cited = counted(len(page.cited), "message") if page.cited else "no message"
    return Text.assemble(("exchange", inks.head), (f"  the reply rests on {cited}", inks.dim))


def entry_line(one: LastingEntry, inks: Inks) -> tuple[Text, Text]:
    """A long-term entry in a list."""
    ink = inks.dim if one.superseded_by is not None else inks.plain
    head = Text.assemble(
        (f" {one.id} ", inks.accent),
        (_kind_words(one), inks.head),
        (f"  {wording.day(one.last_said_at)}{' · pinned' if one.pinned else ''}", inks.dim),
    )
    return head, Text(f"   {wording.flat(one.text)}", ink)


def _kind_words(one: LastingEntry) -> str:
    """What it tells of, with its value where it has one."""
    return f"{one.kind}, {wording.flat(one.value)}" if one.value else str(one.kind)


def episode_head(one: EpisodeOverview, inks: Inks) -> Text:
    """An episode: structure with the selector's chances, utility, use, and what it is about."""
    text = Text.assemble(
        (f"episode {one.id}", inks.head),
        (f"  {counted(one.pages, 'page')}, {wording.day(one.first_said_at)} to "
         f"{wording.day(one.last_said_at)}\n", inks.dim),
        (f"structure {one.structure}{_chances(one)} · utility {one.utility:.2f} · "
         f"opened {counted(one.opened, 'time')}", inks.plain),
    )  # fmt: skip
    if one.summary:
        text.append(f"\n{wording.excerpt(one.summary, (), characters=300)}", inks.plain)
    return text


def _chances(one: EpisodeOverview) -> str:
    """The selector's chances, where it was asked."""
    if not one.chances:
        return ""
    told = zip(StructureKind, one.chances, strict=True)
    return f" ({', '.join(f'{kind} {chance:.2f}' for kind, chance in told)})"


def page_line(page: EpisodePage, inks: Inks) -> Text:
    """A page of an episode: why it is in it."""
    return Text.assemble((f" page {page.page_id} ", inks.head), (why_words(page), inks.accent))


def why_words(page: EpisodePage) -> str:
    """Why a page is where it is, with the gate's probability."""
    decision = page.decision
    by = f"{decision.gate} gate" + (f", fit {decision.fit}" if decision.fit else "")
    scored = f"probability {decision.probability:.2f}, score {decision.score:.2f} ({by})"
    if decision.merged:
        goes_on = f", goes on from page {decision.continues}" if decision.continues else ""
        return f"joined: {scored}{goes_on}"
    if decision.related or decision.score:
        return f"founded it; the best other: {scored}"
    return "founded it: there was no other"


def entry_head(view: LastingView, inks: Inks) -> Text:
    """A long-term entry with what speaks for keeping it."""
    one = view.entry
    text = Text.assemble(
        (f"{one.kind} {one.id}", inks.head),
        (f"  {wording.flat(one.value)}, " if one.value else "  ", inks.dim),
        (f"{wording.day(one.said_at)} to {wording.day(one.last_said_at)}\n", inks.dim),
        (f"{wording.plain(one.text)}\n", inks.plain),
        (f"rests on {counted(len(view.sources), 'message')} · used by "
         f"{counted(one.used, 'answer')}", inks.dim),
    )  # fmt: skip
    if one.pinned:
        text.append(" · pinned", inks.accent)
    if one.superseded_by is not None:
        text.append(f" · no longer: {one.superseded_by} took its place", inks.warn)
    return text
