"""ChatGPT data exports: conversations.json, whose conversations are trees in a `mapping`.

Also reads single conversations and captures of a browser that hold one as they came from the
server. Hidden nodes, system prompts, custom instructions and the model's reasoning are not
messages and are left out; every branch of what was said is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from localmem.importers.chatgpt_content import HIDDEN_CONTENT, attachments_of, content_text
from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, WRAPPERS, Format, Imported, Reading, read_each
from localmem.importers.records import (
    clean,
    dict_of,
    first_name,
    list_of,
    name_of,
    need_dict,
    role_of,
    speaker_of,
    text_of,
)
from localmem.importers.times import time_of
from localmem.importers.tree import Node, in_order
from localmem.types import ImportedConversation, ImportedMessage, Role

_PRODUCT = "ChatGPT"


def chatgpt_format() -> Format:
    return Format(
        "chatgpt",
        "ChatGPT export (conversations.json)",
        JSON_SHAPES,
        _fits,
        _read,
        wrappers=WRAPPERS,
    )


def _fits(sample: dict[str, Any]) -> bool:
    chat = _uncaptured(sample)
    return (
        isinstance(chat.get("mapping"), dict)
        or ("mapping" in chat and "title" in chat)
        or ("current_node" in chat and "conversation_id" in chat)
    )


def _uncaptured(record: dict[str, Any]) -> dict[str, Any]:
    """The conversation inside a browser capture, or the record itself."""
    return dict_of(record.get("raw_provider_payload")) or record


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    return read_each(document, reading, _convert, wrappers=WRAPPERS)


def _convert(record: dict[str, Any], reading: Reading) -> list[ImportedConversation]:
    chat = _uncaptured(record)
    mapping = need_dict(chat, "mapping")
    parents = _parents(mapping)
    nodes = [
        _node(clean(node_id), parents.get(node_id), dict_of(node), reading)
        for node_id, node in mapping.items()
    ]
    messages = in_order(
        nodes,
        current=name_of(chat.get("current_node")) or None,
        started_at=time_of(chat.get("create_time"), reading.tz),
    )
    return reading.conversation(
        "chatgpt", first_name(chat, "id", "conversation_id"), text_of(chat.get("title")), messages
    )


def _parents(mapping: dict[str, Any]) -> dict[str, str]:
    """The parent of each node: its own word for it, else that of the node that lists it."""
    parents: dict[str, str] = {}
    for node_id, node in mapping.items():
        for child in list_of(dict_of(node).get("children")):
            if isinstance(child, str):
                parents.setdefault(child, clean(node_id))
    for node_id, node in mapping.items():
        if own := name_of(dict_of(node).get("parent")):
            parents[node_id] = own
    return parents


def _node(node_id: str, parent: str | None, node: dict[str, Any], reading: Reading) -> Node:
    message = dict_of(node.get("message"))
    said_at = time_of(message.get("create_time"), reading.tz)
    return Node(node_id, parent, said_at, _messages(node_id, message))


def _messages(node_id: str, message: dict[str, Any]) -> tuple[ImportedMessage, ...]:
    """The node's message in a tuple, or nothing where it says nothing."""
    author = dict_of(message.get("author"))
    content = dict_of(message.get("content"))
    metadata = dict_of(message.get("metadata"))
    role = role_of(author.get("role"))
    if role is Role.SYSTEM or metadata.get("is_visually_hidden_from_conversation") is True:
        return ()
    if name_of(content.get("content_type")) in HIDDEN_CONTENT:
        return ()
    text = content_text(content)
    attachments = attachments_of(content, metadata)
    if not text.strip() and not attachments:
        return ()
    tool = name_of(author.get("name")) if role is Role.TOOL else ""
    return (
        ImportedMessage(
            first_name(message, "id") or node_id,
            role,
            tool or speaker_of(role, _PRODUCT),
            text,
            attachment_text=attachments,
        ),
    )
