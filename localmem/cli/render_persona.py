"""How a persona looks in a terminal: topics, aspects, what changed, with the messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from localmem.cli.render import plain
from localmem.participants.known import describe_item, period_words
from localmem.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from localmem.types import ItemHistory, Persona, PersonaLine, PersonaSnapshot, WorkingState

_MOST_SNAPSHOTS = 8
_MOST_LINES = 3
_MOST_CHANGES = 8


def persona_view(console: Console, persona: Persona) -> None:
    """The largest topics and aspects with their evidence, and what has changed."""
    _snapshots(console, "topics", persona.topics)
    _snapshots(console, "aspects", persona.aspects)
    _changes(console, [one for one in persona.attributes if len(one.versions) > 1])
    console.print(_working(persona.working), style="dim")
    for notice in persona.notices:
        console.print(Text(plain(notice), style="yellow"))


def _snapshots(console: Console, title: str, found: Sequence[PersonaSnapshot]) -> None:
    if not found:
        return
    console.print(title, style="bold")
    for one in found[:_MOST_SNAPSHOTS]:
        console.print(Text(plain(f"  {one.name}")))
        told = [*one.descriptors, *one.lines[:_MOST_LINES]]
        for line in told:
            console.print(_line(line))
        if len(one.lines) > _MOST_LINES:
            console.print(f"      and {len(one.lines) - _MOST_LINES:,} more", style="dim")
    if len(found) > _MOST_SNAPSHOTS:
        console.print(f"  and {len(found) - _MOST_SNAPSHOTS:,} more {title}", style="dim")


def _line(line: PersonaLine) -> Text:
    messages = ", ".join(map(str, line.message_ids[:_MOST_LINES]))
    more = f" and {len(line.message_ids) - _MOST_LINES} more" * (
        len(line.message_ids) > _MOST_LINES
    )
    word = "message" if len(line.message_ids) == 1 else "messages"
    return Text.assemble(plain(f"    - {line.text}"), (f"  {word} {messages}{more}", "dim"))


def _changes(console: Console, found: Sequence[ItemHistory]) -> None:
    if not found:
        return
    console.print("what changed", style="bold")
    for one in found[:_MOST_CHANGES]:
        told = [
            f"{describe_item(item)} ({period})"
            if (period := period_words(item))
            else describe_item(item)
            for item in one.versions
        ]
        console.print(Text(plain(f"  {one.subject}: {' -> '.join(told)}")))
    if len(found) > _MOST_CHANGES:
        console.print(f"  and {len(found) - _MOST_CHANGES:,} more", style="dim")


def _working(state: WorkingState) -> str:
    """ "12 messages in working memory, 40 consolidated (a model bettered 6, left 10 as it was)"."""
    waiting = counted(len(state.recent), "message")
    told = f"{waiting} in working memory, {state.consolidated:,} consolidated"
    if state.bettered or state.kept:
        told += f" (a model bettered {state.bettered:,} and left {state.kept:,} as they were)"
    return told
