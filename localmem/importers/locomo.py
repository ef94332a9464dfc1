"""LoCoMo: dated chats between two people, with captions of the images they share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, Format, Imported, Reading, read_each
from localmem.importers.records import (
    MalformedError,
    dict_of,
    dicts_of,
    first_name,
    join_texts,
    name_of,
    text_of,
)
from localmem.importers.times import parse_with, spaced
from localmem.types import ConversationKind, ImportedConversation, ImportedMessage, Role

_SESSION = re.compile(r"session_(\d{1,6})")
_TIMES = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %b, %Y", "%d %B, %Y", "%Y-%m-%d %H:%M")


def locomo_format() -> Format:
    return Format(
        "locomo",
        "LoCoMo benchmark file",
        JSON_SHAPES,
        _fits,
        _read,
        ConversationKind.PEOPLE,
    )


def _fits(sample: dict[str, Any]) -> bool:
    chat = _chat(sample)
    return "speaker_a" in chat and any(_SESSION.fullmatch(str(key)) for key in chat)


def _chat(sample: dict[str, Any]) -> dict[str, Any]:
    return dict_of(sample.get("conversation")) or sample


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    return read_each(document, reading, _convert)


def _convert(sample: dict[str, Any], reading: Reading) -> list[ImportedConversation]:
    chat = _chat(sample)
    if not _fits(sample):
        raise MalformedError("has no speaker_a or no session_1")
    messages: list[ImportedMessage] = []
    starts: set[str] = set()
    for number in sorted(int(match[1]) for key in chat if (match := _SESSION.fullmatch(key))):
        start = parse_with(chat.get(f"session_{number}_date_time"), _TIMES, reading.tz)
        turns = dicts_of(chat.get(f"session_{number}"))
        session = [_message(turn, number, at, start) for at, turn in enumerate(turns)]
        starts.update(message.source_id for message in session[:1])
        messages.extend(session)
    speakers = [name_of(chat.get(key)) for key in ("speaker_a", "speaker_b")]
    return reading.conversation(
        "locomo",
        first_name(sample, "sample_id"),
        " and ".join(speaker for speaker in speakers if speaker),
        messages,
        kind=ConversationKind.PEOPLE,
        session_starts=frozenset(starts),
    )


def _message(
    turn: dict[str, Any], session: int, position: int, start: datetime | None
) -> ImportedMessage:
    return ImportedMessage(
        source_id=first_name(turn, "dia_id") or f"D{session}:{position + 1}",
        role=Role.USER,
        speaker=first_name(turn, "speaker") or "someone",
        text=text_of(turn.get("text")) or text_of(turn.get("clean_text")),
        said_at=spaced(start, position),
        attachment_text=_image(turn),
    )


def _image(turn: dict[str, Any]) -> str:
    """The caption of the shared image, and the words by which it was found."""
    caption = text_of(turn.get("blip_caption"))
    query = text_of(turn.get("query"))
    return join_texts([caption, query])
