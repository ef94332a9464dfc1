"""LM Studio conversations: a list of messages, each with versions of which one is shown."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from localmem.importers.blocks import Segment, segments_of
from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, Format, Imported, Reading, read_each
from localmem.importers.records import (
    dict_of,
    dicts_of,
    first_name,
    need_list,
    role_of,
    speaker_of,
)
from localmem.importers.times import time_of
from localmem.types import ImportedConversation, ImportedMessage, Role


def lm_studio_format() -> Format:
    return Format("lm-studio", "LM Studio conversation", JSON_SHAPES, _fits, _read)


def _fits(sample: dict[str, Any]) -> bool:
    return any(isinstance(one.get("versions"), list) for one in dicts_of(sample.get("messages")))


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    return read_each(document, reading, _convert)


def _convert(chat: dict[str, Any], reading: Reading) -> list[ImportedConversation]:
    """LM Studio dates conversations, not messages: all messages get the conversation's time."""
    said_at = time_of(chat.get("createdAt"), reading.tz)
    messages: list[ImportedMessage] = []
    for record in dicts_of(need_list(chat, "messages")):
        shown = record.get("currentlySelected")
        versions = dicts_of(record.get("versions"))
        for number, version in enumerate(versions):
            on_path = number == shown or (shown is None and number == len(versions) - 1)
            messages.extend(_messages(version, said_at, on_path=on_path))
    title = first_name(chat, "title", "name")
    return reading.conversation("lm-studio", first_name(chat, "id"), title, messages)


def _messages(
    version: dict[str, Any], said_at: datetime | None, *, on_path: bool
) -> Iterator[ImportedMessage]:
    role = role_of(version.get("role"))
    if role is Role.SYSTEM:
        return
    sender = first_name(dict_of(version.get("senderInfo")), "senderName")
    for segment in _segments(version, role):
        speaker = sender if segment.role is Role.ASSISTANT else ""
        yield ImportedMessage(
            "",
            segment.role,
            speaker or segment.tool or speaker_of(segment.role),
            segment.text,
            said_at,
            on_path=on_path,
            attachment_text=segment.attachment_text,
        )


def _segments(version: dict[str, Any], role: Role) -> list[Segment]:
    """What the version says: its content, or that of its steps, reasoning left out."""
    contents = [version.get("content")]
    for step in dicts_of(version.get("steps")):
        style = dict_of(step.get("style")).get("type")
        if style != "thinking" and step.get("type") == "contentBlock":
            contents.append(step.get("content"))
    return [segment for content in contents for segment in segments_of(content, role)]
