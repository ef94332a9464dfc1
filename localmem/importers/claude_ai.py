"""Claude.ai data exports: conversations.json with `chat_messages`, and single conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from localmem.importers.blocks import Segment, segments_of
from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, WRAPPERS, Format, Imported, Reading, read_each
from localmem.importers.records import (
    dicts_of,
    first_name,
    join_texts,
    need_list,
    role_of,
    speaker_of,
    text_of,
)
from localmem.importers.times import time_of
from localmem.importers.tree import Node, in_order
from localmem.types import ImportedConversation, ImportedMessage, Role

_PRODUCT = "Claude"


def claude_format() -> Format:
    return Format(
        "claude",
        "Claude.ai export (conversations.json)",
        JSON_SHAPES,
        lambda sample: "chat_messages" in sample,
        _read,
        wrappers=WRAPPERS,
    )


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    return read_each(document, reading, _convert, wrappers=WRAPPERS)


def _convert(chat: dict[str, Any], reading: Reading) -> list[ImportedConversation]:
    nodes: list[Node] = []
    previous: str | None = None
    for position, message in enumerate(dicts_of(need_list(chat, "chat_messages"))):
        node = _node(message, position, previous, reading)
        nodes.append(node)
        previous = node.id
    messages = in_order(
        nodes,
        current=first_name(chat, "current_leaf_message_uuid") or None,
        started_at=time_of(chat.get("created_at"), reading.tz),
    )
    title = first_name(chat, "name", "title")
    return reading.conversation("claude", first_name(chat, "uuid"), title, messages)


def _node(message: dict[str, Any], position: int, previous: str | None, reading: Reading) -> Node:
    """The message; where the export names no parent, it follows the one before it."""
    node_id = first_name(message, "uuid") or f"message-{position + 1}"
    parent = first_name(message, "parent_message_uuid") or previous
    said_at = time_of(message.get("created_at"), reading.tz)
    return Node(node_id, parent, said_at, _messages(node_id, message))


def _messages(node_id: str, message: dict[str, Any]) -> tuple[ImportedMessage, ...]:
    """What the message says, a tool's result apart from what the person or the assistant says."""
    role = role_of(message.get("sender", message.get("role")))
    segments = segments_of(message.get("content"), role)
    if not segments and (text := text_of(message.get("text"))):
        segments = [Segment(role, text)]
    attached = _attachments(message)
    if attached and not segments:
        segments = [Segment(role, "")]
    made: list[ImportedMessage] = []
    for number, segment in enumerate(segments):
        own = join_texts([segment.attachment_text, attached if number == 0 else ""])
        if segment.text.strip() or own:
            made.append(
                ImportedMessage(
                    f"{node_id}#{number}" if number else node_id,
                    segment.role,
                    segment.tool or speaker_of(segment.role, _PRODUCT),
                    segment.text,
                    attachment_text=own,
                )
            )
    return tuple(made) if role is not Role.SYSTEM else ()


def _attachments(message: dict[str, Any]) -> str:
    """Names of attached files, with the text that was read out of them."""
    lines: list[str] = []
    for file in dicts_of(message.get("attachments")):
        name = first_name(file, "file_name")
        lines.extend([f"[file] {name}".strip(), text_of(file.get("extracted_content"))])
    named = {first_name(file, "file_name") for file in dicts_of(message.get("attachments"))}
    uploads = [*dicts_of(message.get("files")), *dicts_of(message.get("files_v2"))]
    for name in dict.fromkeys(first_name(file, "file_name") for file in uploads):
        if name and name not in named:
            lines.append(f"[file] {name}")
    return join_texts(lines)
