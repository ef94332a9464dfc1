"""LibreChat exports: one conversation a file, its messages flat or as a tree of `children`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from localmem.importers.blocks import segments_of
from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, Format, Imported, Reading, read_each
from localmem.importers.records import (
    dicts_of,
    first_name,
    join_texts,
    need_list,
    speaker_of,
    text_of,
)
from localmem.importers.times import time_of
from localmem.importers.tree import Node, in_order
from localmem.types import ImportedConversation, ImportedMessage, Role


def librechat_format() -> Format:
    return Format("librechat", "LibreChat export", JSON_SHAPES, _fits, _read)


def _fits(sample: dict[str, Any]) -> bool:
    messages = dicts_of(sample.get("messages"))
    return "conversationId" in sample and any("messageId" in one for one in messages)


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    return read_each(document, reading, _convert)


def _convert(chat: dict[str, Any], reading: Reading) -> list[ImportedConversation]:
    nodes = _nodes(need_list(chat, "messages"), reading)
    messages = in_order(nodes, current=None)
    source_id = first_name(chat, "conversationId")
    return reading.conversation("librechat", source_id, first_name(chat, "title"), messages)


def _nodes(top: list[Any], reading: Reading) -> list[Node]:
    """The messages of all depths; a child without a parent's id belongs to what holds it."""
    nodes: list[Node] = []
    waiting = [(record, "") for record in reversed(dicts_of(top))]
    while waiting:
        record, holder = waiting.pop()
        node_id = first_name(record, "messageId") or f"message-{len(nodes) + 1}"
        parent = first_name(record, "parentMessageId") or holder or None
        said_at = time_of(record.get("createdAt"), reading.tz)
        nodes.append(Node(node_id, parent, said_at, _messages(node_id, record)))
        waiting.extend((child, node_id) for child in reversed(dicts_of(record.get("children"))))
    return nodes


def _messages(node_id: str, record: dict[str, Any]) -> tuple[ImportedMessage, ...]:
    role = Role.USER if record.get("isCreatedByUser") is True else Role.ASSISTANT
    segments = segments_of(record.get("content"), role)
    text = text_of(record.get("text")) or join_texts(segment.text for segment in segments)
    files = join_texts(
        f"[file] {name}" for file in dicts_of(record.get("files")) if (name := _file_name(file))
    )
    if not text.strip() and not files:
        return ()
    sender = first_name(record, "sender") if role is Role.ASSISTANT else ""
    speaker = sender or speaker_of(role)
    return (ImportedMessage(node_id, role, speaker, text, attachment_text=files),)


def _file_name(file: dict[str, Any]) -> str:
    return first_name(file, "filename", "name")
