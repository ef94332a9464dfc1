"""LongMemEval: questions, each with its own haystack of dated chats with an assistant.

A haystack belongs to its question: conversations of different questions are different
conversations even where the benchmark uses a session twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, Format, Imported, Reading, read_each
from localmem.importers.records import (
    dicts_of,
    list_of,
    name_of,
    need_list,
    role_of,
    speaker_of,
    text_of,
)
from localmem.importers.times import parse_with, spaced
from localmem.types import ImportedConversation, ImportedMessage, ImportProblem, Role

_TIMES = ("%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M", "%Y/%m/%d")


def longmemeval_format() -> Format:
    return Format(
        "longmemeval",
        "LongMemEval benchmark file",
        JSON_SHAPES,
        lambda sample: "haystack_sessions" in sample,
        _read,
    )


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    found = False
    for imported in read_each(document, reading, _convert):
        found = True
        yield imported
    if reading.question_id is not None and not found:
        yield ImportProblem(
            document.part.shown, f"question {reading.question_id}", "there is no such question"
        )


def _convert(question: dict[str, Any], reading: Reading) -> Iterator[ImportedConversation]:
    question_id = name_of(question.get("question_id"))
    if reading.question_id is not None and question_id != reading.question_id:
        return
    dates = list_of(question.get("haystack_dates"))
    names = list_of(question.get("haystack_session_ids"))
    seen: dict[str, int] = {}
    for position, turns in enumerate(need_list(question, "haystack_sessions")):
        name = name_of(_at(names, position)) or f"session-{position + 1}"
        seen[name] = seen.get(name, 0) + 1
        repeated = f"~{seen[name]}" if seen[name] > 1 else ""
        start = parse_with(_at(dates, position), _TIMES, reading.tz)
        yield from reading.conversation(
            "longmemeval", f"{question_id}/{name}{repeated}", name, _messages(turns, start)
        )


def _at(values: list[Any], position: int) -> object:
    return values[position] if position < len(values) else None


def _messages(turns: object, start: datetime | None) -> list[ImportedMessage]:
    """The turns of a session; the id of a message is its position, as the benchmark counts."""
    messages: list[ImportedMessage] = []
    for position, turn in enumerate(dicts_of(turns)):
        role = role_of(turn.get("role"))
        text = text_of(turn.get("content"))
        if role is not Role.SYSTEM and text.strip():
            messages.append(
                ImportedMessage(
                    str(position), role, speaker_of(role), text, spaced(start, position)
                )
            )
    return messages
