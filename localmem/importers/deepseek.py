"""DeepSeek data exports: a conversations.json whose trees look like ChatGPT's and are not.

Messages are lists of fragments: REQUEST is what the person said, RESPONSE the answer, SEARCH
what was found; THINK is reasoning, not something said.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Any

from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, WRAPPERS, Format, Imported, Reading, read_each
from localmem.importers.records import (
    clean,
    dict_of,
    dicts_of,
    first_name,
    join_texts,
    name_of,
    need_dict,
    speaker_of,
    text_of,
)
from localmem.importers.times import time_of
from localmem.importers.tree import Node, in_order
from localmem.types import ImportedConversation, ImportedMessage, Role

_PRODUCT = "DeepSeek"
_ROLES = {"REQUEST": Role.USER, "RESPONSE": Role.ASSISTANT, "SEARCH": Role.TOOL}


def deepseek_format() -> Format:
    return Format(
        "deepseek",
        "DeepSeek export (conversations.json)",
        JSON_SHAPES,
        _fits,
        _read,
        wrappers=WRAPPERS,
    )


def _fits(sample: dict[str, Any]) -> bool:
    """Told from ChatGPT by the fragments of its messages, or by its word for a time."""
    nodes = dict_of(sample.get("mapping")).values()
    messages = [dict_of(dict_of(node).get("message")) for node in nodes]
    return any("fragments" in message for message in messages) or (
        "mapping" in sample and "inserted_at" in sample
    )


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    return read_each(document, reading, _convert, wrappers=WRAPPERS)


def _convert(chat: dict[str, Any], reading: Reading) -> list[ImportedConversation]:
    nodes = [
        _node(clean(node_id), dict_of(node), reading.tz)
        for node_id, node in need_dict(chat, "mapping").items()
    ]
    started_at = _instant(chat.get("inserted_at"), reading.tz)
    messages = in_order(
        nodes, current=name_of(chat.get("current_node")) or None, started_at=started_at
    )
    return reading.conversation(
        "deepseek", first_name(chat, "id"), text_of(chat.get("title")), messages
    )


def _instant(value: object, tz: tzinfo) -> datetime | None:
    """The time in the owner's zone: the export writes all times with the offset of its server."""
    said_at = time_of(value, tz)
    return said_at.astimezone(tz) if said_at else None


def _node(node_id: str, node: dict[str, Any], tz: tzinfo) -> Node:
    message = dict_of(node.get("message"))
    said_at = _instant(message.get("inserted_at"), tz)
    parent = name_of(node.get("parent")) or None
    return Node(node_id, parent, said_at, tuple(_messages(node_id, message)))


def _messages(node_id: str, message: dict[str, Any]) -> Iterator[ImportedMessage]:
    attached = join_texts(
        f"[file] {name}"
        for file in dicts_of(message.get("files"))
        if (name := first_name(file, "file_name", "name"))
    )
    number = 0
    for fragment in dicts_of(message.get("fragments")):
        role = _ROLES.get(name_of(fragment.get("type")))
        text = _text(fragment)
        if role is None or not (text.strip() or attached):
            continue
        own_id = f"{node_id}#{number}" if number else node_id
        speaker = "search" if role is Role.TOOL else speaker_of(role, _PRODUCT)
        yield ImportedMessage(own_id, role, speaker, text, attachment_text=attached)
        attached = ""
        number += 1


def _text(fragment: dict[str, Any]) -> str:
    """What the fragment says; of a search the titles, addresses and snippets it found."""
    found = [
        join_texts(text_of(result.get(key)) for key in ("title", "url", "snippet"))
        for result in dicts_of(fragment.get("results"))
    ]
    return join_texts([text_of(fragment.get("content")), *found])
