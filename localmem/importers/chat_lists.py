"""Programs that write a conversation as a plain list of messages without branches.

OpenAI-style JSON and JSONL, ShareGPT, Chatbot UI, Google AI Studio. One converter serves all:
they differ in the names of their fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from localmem.importers.blocks import Segment, segments_of
from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, WRAPPERS, Format, Imported, Reading, read_each
from localmem.importers.records import (
    ASSISTANT,
    MalformedError,
    as_json,
    dict_of,
    dicts_of,
    first_name,
    join_texts,
    need_list,
    role_of,
    speaker_of,
)
from localmem.importers.times import time_of
from localmem.types import ImportedConversation, ImportedMessage, Role

_TIMES = ("create_time", "created_at", "createdAt", "timestamp", "created", "time")


@dataclass(frozen=True, slots=True)
class _Fields:
    """Where a program keeps its messages, and what it calls their parts."""

    source: str
    messages: str
    role: str = "role"
    content: str = "content"
    wrappers: tuple[str, ...] = ()
    assistant: str = ASSISTANT
    mark: str = ""
    """A field by which its conversations are told from those of other programs."""
    named_anywhere: bool = True
    """Whether a conversation's id is unique beyond its file."""


def openai_format() -> Format:
    fields = _Fields("openai", "messages", wrappers=WRAPPERS, named_anywhere=False)
    return _format("OpenAI-style messages, JSONL or JSON", fields)


def sharegpt_format() -> Format:
    fields = _Fields(
        "sharegpt", "conversations", role="from", content="value", named_anywhere=False
    )
    return _format("ShareGPT conversations", fields)


def role_content_format() -> Format:
    return _format(
        "ShareGPT conversations with role and content",
        _Fields("sharegpt-roles", "conversations", named_anywhere=False),
    )


def chatbotui_format() -> Format:
    return _format(
        "Chatbot UI export",
        _Fields("chatbotui", "messages", wrappers=("history",), mark="folderId"),
    )


def ai_studio_format() -> Format:
    fields = _Fields("ai-studio", "chunks", content="text", assistant="Gemini")
    return _format("Google AI Studio prompt", fields)


def _format(title: str, fields: _Fields) -> Format:
    def fits(sample: dict[str, Any]) -> bool:
        return (not fields.mark or fields.mark in sample) and _messages_fit(sample, fields)

    def read(document: Document, reading: Reading) -> Iterator[Imported]:
        def convert(chat: dict[str, Any], reading: Reading) -> list[ImportedConversation]:
            return _convert(chat, fields, reading)

        return read_each(document, reading, convert, wrappers=fields.wrappers)

    return Format(fields.source, title, JSON_SHAPES, fits, read, wrappers=fields.wrappers)


def _unwrapped(chat: dict[str, Any]) -> dict[str, Any]:
    return dict_of(chat.get("chunkedPrompt")) or chat


def _messages_fit(record: dict[str, Any], fields: _Fields) -> bool:
    messages = dicts_of(_unwrapped(record).get(fields.messages))
    return any(isinstance(one.get(fields.role), str) and fields.content in one for one in messages)


def _convert(chat: dict[str, Any], fields: _Fields, reading: Reading) -> list[ImportedConversation]:
    turns = dicts_of(need_list(_unwrapped(chat), fields.messages))
    if turns and not any(fields.role in turn for turn in turns):
        raise MalformedError(f"none of its {len(turns)} messages has a '{fields.role}'")
    messages: list[ImportedMessage] = []
    said_at = _time(chat, reading)
    for turn in turns:
        said_at = _time(turn, reading) or said_at
        messages.extend(_messages(turn, said_at, fields))
    return reading.conversation(
        fields.source,
        first_name(chat, "id", "conversation_id", "uuid"),
        first_name(chat, "title", "name"),
        messages,
        id_is_global=fields.named_anywhere,
    )


def _time(record: dict[str, Any], reading: Reading) -> datetime | None:
    for key in _TIMES:
        if key in record and (at := time_of(record[key], reading.tz)) is not None:
            return at
    return None


def _messages(
    turn: dict[str, Any], said_at: datetime | None, fields: _Fields
) -> Iterator[ImportedMessage]:
    """What a turn says; a turn without a time has that of the turn before, or of the chat."""
    role = role_of(turn.get(fields.role))
    if role is Role.SYSTEM or turn.get("isThought") is True:
        return
    segments = [*segments_of(turn.get(fields.content), role), *_calls(turn)]
    for number, segment in enumerate(segments):
        own_id = first_name(turn, "id", "uuid")
        yield ImportedMessage(
            f"{own_id}#{number}" if own_id and number else own_id,
            segment.role,
            _speaker(turn, segment, fields),
            segment.text,
            said_at,
            attachment_text=segment.attachment_text,
        )


def _speaker(turn: dict[str, Any], segment: Segment, fields: _Fields) -> str:
    tool = segment.tool or first_name(turn, "name")
    if segment.role is Role.TOOL and tool:
        return tool
    return speaker_of(segment.role, fields.assistant)


def _calls(turn: dict[str, Any]) -> list[Segment]:
    """The functions that the assistant called in this turn, as one segment."""
    if not turn.get("tool_calls") and not turn.get("function_call"):
        return []
    functions = [dict_of(call.get("function")) for call in dicts_of(turn.get("tool_calls"))]
    functions.append(dict_of(turn.get("function_call")))
    lines: list[str] = []
    for function in functions:
        arguments = function.get("arguments")
        shown = arguments if isinstance(arguments, str) else as_json(arguments)
        if function:
            lines.append(f"{first_name(function, 'name')} {shown}".strip())
    text = join_texts(lines)
    return [Segment(Role.ASSISTANT, text)] if text else []
