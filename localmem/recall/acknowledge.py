"""The reply to what the owner tells the memory: that it is noted, and what of it was known before.

By rule. Nothing is said that is not stored: a value that is replaced, or the messages in which the
same thing came up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from localmem.participants.known import describe_item, subject_words
from localmem.participants.terms import names_in, stems_of
from localmem.recall.citations import cite
from localmem.recall.evidence import sentences
from localmem.store import Store
from localmem.types import (
    Answer,
    Depth,
    Evidence,
    FoundMessage,
    Item,
    ItemKind,
    Layer,
    Message,
    Role,
    SearchResult,
    Trace,
    TraceStep,
)
from localmem.wording import counted

NOTED = "Noted."
_MOST_RELATED = 2
_LEAST_SHARED = 2
_LEAST_SHARE = 0.5
"""Of a message's words, those that a sentence must hold to be about the same, unless a name is."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was told, with what the memory found for it and the values that it replaces."""

    message: Message
    found: SearchResult
    replaced: Sequence[Item] = ()


def replaced_by(store: Store, message: Message) -> tuple[Item, ...]:
    """The values that no longer hold since the message was said; its items must have been made."""
    with store.reading():
        made = store.items_of_messages([message.id])
        return tuple(
            store.item(one.supersedes)
            for one in made
            if one.supersedes is not None
            and one.kind is ItemKind.ATTRIBUTE
            and one.message_ids[0] == message.id
        )


def acknowledge(store: Store, told: Told, at: datetime) -> Answer:
    """The reply, citing what it tells of before."""
    if told.replaced:
        before = "; ".join(f"{subject_words(one)}: {describe_item(one)}" for one in told.replaced)
        text = f"{NOTED} It takes the place of what I had: {before}."
        with store.reading():
            cited = list(store.messages([one.message_ids[-1] for one in told.replaced]))
            sessions = store.sessions_of([one.session_id for one in cited])
    else:
        related = _related(told)
        text = f"{NOTED} It came up before:" if related else NOTED
        cited = [one.message for one in related]
        sessions = tuple(one.session for one in related)
    titles = {one.id: one.title for one in sessions}
    said = told.message.text
    return Answer(
        question=said,
        asked_at=at,
        text=text,
        found=True,
        citations=tuple(cite(Evidence(one, (), 0.0), said, said, titles) for one in cited),
        trace=_trace(told, len({one.session_id for one in cited})),
        notices=told.found.notices,
    )


def _related(told: Told) -> list[FoundMessage]:
    """The messages of people that were found and are about the same, best first."""
    said = told.message.text
    names = _names(said)
    stems = stems_of(said)
    related = (
        one
        for one in told.found.found
        if one.message.role is Role.USER
        and any(_is_about(sentence, names, stems) for sentence in sentences(one.message.text))
    )
    return list(related)[:_MOST_RELATED]


def _names(sentence: str) -> set[str]:
    """The names in a sentence, also one that it begins with; "My" and the like are none."""
    return {name.casefold() for name in names_in(f"It is {sentence}") if stems_of(name)}


def _is_about(sentence: str, names: set[str], stems: frozenset[str]) -> bool:
    if sentence.endswith("?"):
        return False
    if names & _names(sentence):
        return True
    shared = len(stems & stems_of(sentence))
    return shared >= _LEAST_SHARED and shared >= _LEAST_SHARE * len(stems)


def _trace(told: Told, sessions: int) -> Trace:
    found = counted(len(told.found.found), "message")
    step = TraceStep("recall_related", found, Layer.RAW, 0, told.found.seconds)
    return Trace(
        depth=Depth.INSTANT,
        steps=(step,),
        sessions_opened=sessions,
        sessions_total=told.found.sessions_total,
        tokens_by_layer={},
        prompt_tokens=0,
        completion_tokens=0,
        seconds=told.found.seconds,
        model_id=None,
    )
