"""Which formats there are, and which of them a document is in."""

from __future__ import annotations

from typing import Any

from localmem.importers.agent_logs import claude_code_format, jan_format, message_list_format
from localmem.importers.beam import beam_format
from localmem.importers.chat_lists import (
    ai_studio_format,
    chatbotui_format,
    openai_format,
    role_content_format,
    sharegpt_format,
)
from localmem.importers.chatgpt import chatgpt_format
from localmem.importers.claude_ai import claude_format
from localmem.importers.deepseek import deepseek_format
from localmem.importers.documents import Document, Shape
from localmem.importers.formats import Format
from localmem.importers.librechat import librechat_format
from localmem.importers.lm_studio import lm_studio_format
from localmem.importers.locomo import locomo_format
from localmem.importers.longmemeval import longmemeval_format
from localmem.importers.open_webui import open_webui_format
from localmem.importers.personamem import personamem_format
from localmem.importers.transcript import transcript_format


def all_formats() -> tuple[Format, ...]:
    """Every known format; a format that asks for more stands before one that asks for less."""
    return (
        deepseek_format(),
        chatgpt_format(),
        claude_format(),
        librechat_format(),
        open_webui_format(),
        lm_studio_format(),
        chatbotui_format(),
        claude_code_format(),
        jan_format(),
        ai_studio_format(),
        sharegpt_format(),
        role_content_format(),
        openai_format(),
        message_list_format(),
        transcript_format(),
        longmemeval_format(),
        locomo_format(),
        beam_format(),
        personamem_format(),
    )


def recognise(document: Document, candidates: tuple[Format, ...]) -> Format | None:
    """The first format that fits one of the document's first values."""
    fitting = [known for known in candidates if document.shape in known.shapes]
    if not fitting:
        return None
    samples = document.samples()
    return next((known for known in fitting if any(known.recognises(one) for one in samples)), None)


def look_alike(document: Document) -> str:
    """What an unrecognised document seems to be, and what to give instead; "" where unknown."""
    by_shape = _SHAPES.get(document.shape)
    if by_shape is not None:
        return by_shape
    samples = document.samples() if document.shape is not Shape.TEXT else []
    for keys, meaning in _LOOK_ALIKES:
        if any(_has(sample, keys) for sample in samples):
            return meaning
    return ""


def _has(sample: dict[str, Any], keys: frozenset[str]) -> bool:
    return keys <= sample.keys()


_SHAPES: dict[Shape, str] = {
    Shape.EMPTY: "is empty",
    Shape.BINARY: "is neither text nor a zip",
    Shape.HTML: "is a web page; import the JSON file of the same export",
    Shape.DATABASE: "is a database; export the chats from the program itself as JSON",
}

_LOOK_ALIKES: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"uuid", "docs"}),
        "looks like a Claude project file; the chats are in conversations.json of that export",
    ),
    (
        frozenset({"uuid", "full_name"}),
        "looks like the users file of a Claude export; the chats are in conversations.json",
    ),
    (
        frozenset({"conversations_memory"}),
        "looks like the memories file of a Claude export; the chats are in conversations.json",
    ),
    (
        frozenset({"conversation_id", "is_anonymous"}),
        "looks like ChatGPT's list of shared chats; the chats are in conversations.json",
    ),
    (
        frozenset({"conversation_id", "rating"}),
        "looks like ChatGPT's message feedback; the chats are in conversations.json",
    ),
    (
        frozenset({"email", "chatgpt_plus_user"}),
        "looks like the user file of a ChatGPT export; the chats are in conversations.json",
    ),
)
