"""How people, and what is known of them, look as text."""

from __future__ import annotations

from localmem_tui import wording
from localmem_tui.inks import Inks
from rich.text import Text

from localmem.participants.known import describe_item, period_words, subject_words
from localmem.types import (
    Correction,
    Item,
    ItemSources,
    ItemState,
    PeopleChange,
    PersonaSnapshot,
    PersonView,
)
from localmem.wording import counted


def person_text(view: PersonView, inks: Inks) -> Text:
    """Names, times and topics of a person."""
    one = view.overview
    text = Text.assemble((wording.flat(one.person.name), f"bold {inks.plain}"))
    if one.person.aliases:
        text.append(f"  also {wording.flat(', '.join(one.person.aliases))}", inks.dim)
    if one.absorbed:
        text.append(f"  merged with {wording.flat(', '.join(one.absorbed))}", inks.dim)
    text.append(f"\n{wording.day(one.first_said_at)} to {wording.day(one.last_said_at)}", inks.dim)
    if view.topics:
        topics = ", ".join(word for word, _ in view.topics[:8])
        text.append(f" · talks about {wording.flat(topics)}", inks.dim)
    if view.known_total > len(view.known):
        text.append(f"\n{len(view.known)} of {view.known_total:,} things known", inks.dim)
    return text


def item_line(item: Item, inks: Inks) -> Text:
    """One thing known: what it is about, what holds."""
    marks = [str(item.kind)]
    if item.state is ItemState.PINNED:
        marks.append("pinned")
    if item.by_owner:
        marks.append("by you")
    if not item.supported:
        marks.append("unsupported")
    return Text.assemble(
        (f" {subject_words(item)}: ", inks.accent),
        (wording.flat(describe_item(item)), inks.plain),
        (f"  {', '.join(marks)}", inks.dim),
    )


def snapshot_line(snapshot: PersonaSnapshot, inks: Inks) -> Text:
    """The head of an aspect or topic in a list."""
    told = f"  {snapshot.kind}, {counted(len(snapshot.lines), 'thing')}"
    return Text.assemble((f" {wording.flat(snapshot.name)}", inks.head), (told, inks.dim))


def sources_text(sources: ItemSources, inks: Inks) -> Text:
    """The versions of a thing with dates and reasons, then the messages that it rests on."""
    text = Text()
    for item in sources.history.versions:
        mark = "● " if item.holds else "○ "
        text.append(f"{mark}{wording.flat(describe_item(item))}", inks.plain)
        when = period_words(item)
        state = "" if item.state is ItemState.ACTIVE else str(item.state)
        reason = item.end_reason or item.reason
        said = f"said {item.confirmations + 1} times" if item.confirmations else ""
        notes = [wording.flat(note) for note in (when, state, said, reason) if note]
        text.append(f"  {' · '.join(notes)}\n", inks.dim)
    for found in sources.messages:
        message = found.message
        text.append(
            f"\n{wording.flat(message.speaker)}, {wording.moment(message.said_at)}, "
            f"{wording.titled(found.session.title)}\n",
            inks.head,
        )
        text.append(f"{wording.excerpt(message.text, (), characters=240)}\n", inks.plain)
    return text


def correction_words(done: Correction) -> str:
    """What a correction did."""
    if not done.histories:
        return "noted; nothing that was known is about the same"
    subjects = ", ".join(history.subject for history in done.histories)
    return f"noted for {done.participant.name}: {subjects}"


def change_words(change: PeopleChange) -> str:
    """What a merge or a split did."""
    messages = counted(change.messages, "message")
    return f"{messages} in {counted(change.sessions, 'session')}: {change.person.name}"
