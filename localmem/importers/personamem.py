"""PersonaMem: contexts of chats with an assistant, without times; system messages part sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from localmem.importers.documents import Document
from localmem.importers.formats import JSON_SHAPES, Format, Imported, Reading, read_each
from localmem.importers.records import clean, dicts_of, role_of, speaker_of, text_of
from localmem.types import ImportedConversation, ImportedMessage, Role

_PREFIXES = {Role.USER: "User: ", Role.ASSISTANT: "Assistant: "}


def personamem_format() -> Format:
    return Format("personamem", "PersonaMem benchmark contexts", JSON_SHAPES, _fits, _read)


def _fits(sample: dict[str, Any]) -> bool:
    """Fields named by a hash, each with a list of messages."""
    return bool(sample) and all(
        len(key) == 64 and dicts_of(value) and "role" in dicts_of(value)[0]
        for key, value in sample.items()
    )


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    return read_each(document, reading, _convert)


def _convert(contexts: dict[str, Any], reading: Reading) -> Iterator[ImportedConversation]:
    for context_id, turns in contexts.items():
        messages, starts = _messages(turns)
        yield from reading.conversation(
            "personamem", clean(context_id), "", messages, session_starts=starts
        )


def _messages(turns: object) -> tuple[list[ImportedMessage], frozenset[str]]:
    """The messages, whose id is their position in the context, and those that start sessions.

    The system messages themselves describe the person and were not said: they are left out.
    """
    messages: list[ImportedMessage] = []
    starts: set[str] = set()
    starts_here = True
    for position, turn in enumerate(dicts_of(turns)):
        role = role_of(turn.get("role"))
        text = text_of(turn.get("content")).removeprefix(_PREFIXES.get(role, ""))
        if role is Role.SYSTEM:
            starts_here = True
        elif text.strip():
            messages.append(ImportedMessage(str(position), role, speaker_of(role), text))
            starts.update([str(position)] if starts_here else [])
            starts_here = False
    return messages, frozenset(starts)
