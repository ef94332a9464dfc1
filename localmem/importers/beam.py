"""BEAM: one long chat with an assistant, in batches that each have a date.

A batch is a session: the source dates batches, not turns. Of the file name nothing is used: a
chat is known by how it begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from localmem.importers.documents import Break, Document
from localmem.importers.formats import JSON_SHAPES, Format, Imported, Reading, problem
from localmem.importers.records import dicts_of, list_of, name_of, role_of, speaker_of, text_of
from localmem.importers.times import parse_with, spaced
from localmem.types import ImportedMessage, ImportProblem, Role

_MARKER = re.compile(r"\s*->->\s*(?:\d+|N/A)(?:\s*,\s*(?:\d+|N/A))*\)?\s*\Z")
_TIMES = ("%B-%d-%Y", "%b-%d-%Y", "%B %d, %Y", "%Y-%m-%d")
_PLAN = re.compile(r"plan-\d+")


def beam_format() -> Format:
    return Format("beam", "BEAM benchmark chat", JSON_SHAPES, _fits, _read)


def _fits(sample: dict[str, Any]) -> bool:
    return any("batch_number" in batch and "turns" in batch for batch in _batches(sample))


def _batches(value: object) -> list[dict[str, Any]]:
    """The value itself, or the batches of the plans it holds (the shape of the longest chats)."""
    if not isinstance(value, dict):
        return []
    if any(_PLAN.fullmatch(key) for key in value):
        return [batch for plan in value.values() for batch in dicts_of(plan)]
    return [value]


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    messages: list[ImportedMessage] = []
    starts: set[str] = set()
    number = 0
    for item in document.items():
        if isinstance(item, Break):
            yield problem(document, item)
            continue
        for batch in _batches(item.value) or [{}]:
            number += 1
            said = _messages(batch, number, reading)
            if not said:
                yield ImportProblem(document.part.shown, f"batch {number}", "holds no turns")
            starts.update(message.source_id for message in said[:1])
            messages.extend(said)
    yield from reading.conversation(
        "beam", "", "BEAM chat", messages, session_starts=frozenset(starts)
    )


def _messages(batch: dict[str, Any], number: int, reading: Reading) -> list[ImportedMessage]:
    turns = [turn for group in list_of(batch.get("turns")) for turn in dicts_of(group)]
    start = _date(batch, turns, reading)
    messages: list[ImportedMessage] = []
    for position, turn in enumerate(turns):
        text = _MARKER.sub("", text_of(turn.get("content")))
        role = role_of(turn.get("role"))
        if role is Role.SYSTEM or not text.strip():
            continue
        messages.append(
            ImportedMessage(
                name_of(turn.get("id")) or f"{number}:{position + 1}",
                role,
                speaker_of(role),
                text,
                spaced(start, position),
            )
        )
    return messages


def _date(batch: dict[str, Any], turns: list[dict[str, Any]], reading: Reading) -> datetime | None:
    """The date of the batch: its own, or the first that one of its messages has, at 09:00."""
    anchors = [batch.get("time_anchor"), *(turn.get("time_anchor") for turn in turns)]
    dates = (parse_with(anchor, _TIMES, reading.tz) for anchor in anchors)
    found = next((date for date in dates if date is not None), None)
    return None if found is None else found.replace(hour=9)
