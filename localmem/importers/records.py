"""Reading values of foreign JSON without trusting their types, and naming what has no name.

Nothing here raises on a wrong type: a wrong type is an absent value. What a conversation cannot
do without is asked for with `need_*`, which raise `MalformedError`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from localmem.types import ImportedMessage, Role

YOU = "You"
ASSISTANT = "Assistant"
_ID_LENGTH = 16


class MalformedError(Exception):
    """A conversation that cannot be read; the reason goes into an ImportProblem."""


def text_of(value: object) -> str:
    """The string, cleaned so that it can be written as UTF-8; "" for anything else."""
    return clean(value) if isinstance(value, str) else ""


def clean(text: str) -> str:
    """The text with halves of surrogate pairs joined, and those without a partner replaced."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def name_of(value: object) -> str:
    """An identifier or title: a non-blank string, or a number as its digits; "" otherwise."""
    if isinstance(value, str):
        return clean(value).strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return ""


def first_name(record: dict[str, Any], *keys: str) -> str:
    """The first of these fields that holds a name."""
    for key in keys:
        if key in record and (name := name_of(record[key])):
            return name
    return ""


def dict_of(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def dicts_of(value: object) -> list[dict[str, Any]]:
    """Those members of a list that are objects."""
    return [member for member in list_of(value) if isinstance(member, dict)]


def need_dict(record: dict[str, Any], key: str) -> dict[str, Any]:
    """Raises: MalformedError where the field is no object."""
    value = record.get(key)
    if not isinstance(value, dict):
        raise MalformedError(f"'{key}' {_got(record, key)}, expected an object")
    return value


def need_list(record: dict[str, Any], key: str) -> list[Any]:
    """Raises: MalformedError where the field is no list."""
    value = record.get(key)
    if not isinstance(value, list):
        raise MalformedError(f"'{key}' {_got(record, key)}, expected a list")
    return value


def _got(record: dict[str, Any], key: str) -> str:
    if key not in record:
        return "is missing"
    return f"is {_JSON_NAMES.get(type(record[key]), 'something else')}"


_JSON_NAMES: dict[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    Decimal: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def as_json(value: object) -> str:
    """Compact JSON of a value out of an export, for arguments of tools."""
    try:
        return clean(json.dumps(value, ensure_ascii=False, default=float))
    except (RecursionError, OverflowError) as error:
        raise MalformedError(f"a value is nested too deeply or too large ({error})") from error


def join_texts(texts: Iterable[str]) -> str:
    """The non-blank texts, one below the other."""
    return "\n".join(text for text in texts if text.strip())


def digest(*values: str) -> str:
    """A short stable id made from these values."""
    packed = "\x1f".join(values).encode("utf-8", "replace")
    return hashlib.sha256(packed).hexdigest()[:_ID_LENGTH]


def mark_of(source_id: str) -> bytes:
    """Eight bytes that stand for an id where very many have to be remembered."""
    return hashlib.sha256(source_id.encode("utf-8", "replace")).digest()[:8]


def with_unique_ids(messages: Sequence[ImportedMessage]) -> tuple[ImportedMessage, ...]:
    """The messages, each with an id of its own.

    A message without an id gets one made from speaker, time and text, so that it keeps it when
    the conversation grows; repeats are numbered.
    """
    counts: dict[str, int] = {}
    used: set[str] = set()
    named: list[ImportedMessage] = []
    for message in messages:
        base = unique = message.source_id or _content_id(message)
        while unique in used:
            counts[base] = counts.get(base, 1) + 1
            unique = f"{base}~{counts[base]}"
        used.add(unique)
        named.append(message if unique == message.source_id else _renamed(message, unique))
    return tuple(named)


def _renamed(message: ImportedMessage, source_id: str) -> ImportedMessage:
    """The message under another id; written out, because `replace` takes several times as long."""
    return ImportedMessage(
        source_id,
        message.role,
        message.speaker,
        message.text,
        message.said_at,
        message.parent_id,
        message.on_path,
        message.attachment_text,
    )


def _content_id(message: ImportedMessage) -> str:
    return digest(message.role, message.speaker, _instant(message), message.text)


def conversation_id(title: str, messages: Sequence[ImportedMessage]) -> str:
    """An id for a conversation that has none: the same when the conversation grows.

    Made from the first message and its time. Where there is no time, so that many conversations
    may begin alike, the title and the first reply are added.
    """
    if not messages:
        return digest(title)
    first = messages[0]
    if first.said_at is not None:
        return digest(first.speaker, _instant(first), first.text)
    opening = [part for message in messages[:2] for part in (message.speaker, message.text)]
    return digest(title, *opening)


def _instant(message: ImportedMessage) -> str:
    return f"{message.said_at.timestamp():.3f}" if message.said_at else ""


def role_of(name: object) -> Role:
    """The role behind a source's word for it; USER for unknown words."""
    return _ROLES.get(name.casefold(), Role.USER) if isinstance(name, str) else Role.USER


_ROLES: dict[str, Role] = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "gpt": Role.ASSISTANT,
    "chatgpt": Role.ASSISTANT,
    "bing": Role.ASSISTANT,
    "bard": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "observation": Role.TOOL,
    "function_call": Role.ASSISTANT,
}


def speaker_of(role: Role, assistant: str = ASSISTANT) -> str:
    """The name to show where a source gives none."""
    return {Role.USER: YOU, Role.ASSISTANT: assistant, Role.TOOL: "tool", Role.SYSTEM: "system"}[
        role
    ]
