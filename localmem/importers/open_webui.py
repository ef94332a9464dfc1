"""Open WebUI's "export chats": a list of chats, each with a history of branching messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from localmem.importers.blocks import segments_of
from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, Format, Imported, Reading, read_each
from localmem.importers.records import (
    MalformedError,
    clean,
    dict_of,
    dicts_of,
    first_name,
    join_texts,
    name_of,
    role_of,
    speaker_of,
)
from localmem.importers.times import time_of
from localmem.importers.tree import Node, in_order
from localmem.types import ImportedConversation, ImportedMessage, Role


def open_webui_format() -> Format:
    return Format("open-webui", "Open WebUI export", JSON_SHAPES, _fits, _read)


def _fits(sample: dict[str, Any]) -> bool:
    chat = dict_of(sample.get("chat"))
    return isinstance(chat.get("messages"), list) or "messages" in dict_of(chat.get("history"))


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    return read_each(document, reading, _convert)


def _convert(record: dict[str, Any], reading: Reading) -> list[ImportedConversation]:
    chat = dict_of(record.get("chat"))
    history = dict_of(chat.get("history"))
    branching = dict_of(history.get("messages"))
    if branching:
        nodes = [
            _node(clean(node_id), dict_of(message), None, reading)
            for node_id, message in branching.items()
        ]
    elif isinstance(chat.get("messages"), list):
        nodes = _chained(dicts_of(chat["messages"]), reading)
    else:
        raise MalformedError("has neither chat.history.messages nor chat.messages")
    started_at = time_of(record.get("created_at"), reading.tz)
    current = name_of(history.get("currentId")) or None
    messages = in_order(nodes, current=current, started_at=started_at)
    title = first_name(record, "title") or first_name(chat, "title")
    return reading.conversation("open-webui", first_name(record, "id"), title, messages)


def _chained(messages: list[dict[str, Any]], reading: Reading) -> list[Node]:
    """The messages of a plain list, each following the one before it."""
    nodes: list[Node] = []
    for position, message in enumerate(messages):
        node_id = first_name(message, "id") or f"message-{position + 1}"
        nodes.append(_node(node_id, message, nodes[-1].id if nodes else None, reading))
    return nodes


def _node(node_id: str, message: dict[str, Any], previous: str | None, reading: Reading) -> Node:
    parent = first_name(message, "parentId") or previous
    said_at = time_of(message.get("timestamp"), reading.tz)
    return Node(node_id, parent, said_at, _messages(node_id, message))


def _messages(node_id: str, message: dict[str, Any]) -> tuple[ImportedMessage, ...]:
    role = role_of(message.get("role"))
    segments = segments_of(message.get("content"), role)
    text = join_texts(segment.text for segment in segments)
    files = join_texts(_file(file) for file in dicts_of(message.get("files")))
    attached = join_texts([*(segment.attachment_text for segment in segments), files])
    if role is Role.SYSTEM or not (text.strip() or attached):
        return ()
    return (ImportedMessage(node_id, role, speaker_of(role), text, attachment_text=attached),)


def _file(file: dict[str, Any]) -> str:
    label = "image" if file.get("type") == "image" else "file"
    return f"[{label}] {first_name(file, 'name', 'filename')}".strip()
