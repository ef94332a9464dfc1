"""Logs that hold one message a line, of one conversation or of several: Claude Code, Jan, and
plain lists of {"role", "content"}.

A log is held in memory until its end, because lines of one conversation may stand apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from localmem.importers.blocks import segments_of
from localmem.importers.documents import Break, Document
from localmem.importers.formats import JSON_SHAPES, Format, Imported, Reading, problem
from localmem.importers.records import (
    ASSISTANT,
    MalformedError,
    dict_of,
    first_name,
    role_of,
    speaker_of,
)
from localmem.importers.times import time_of
from localmem.types import ImportedMessage, ImportProblem, Role

_COMMANDS = ("<command-", "<local-command-", "[Request interrupted by user")
"""How a program writes down its own commands and events; nobody said these."""


@dataclass(slots=True)
class _Log:
    """A conversation as far as it has been read."""

    title: str = ""
    messages: list[ImportedMessage] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a program keeps what in a line. `message` is the field that holds role and content."""

    source: str
    group: str
    id: str
    time: tuple[str, ...]
    message: str = ""
    assistant: str = ASSISTANT


def claude_code_format() -> Format:
    layout = _Layout("claude-code", "sessionId", "uuid", ("timestamp",), "message", "Claude")

    def fits(sample: dict[str, Any]) -> bool:
        return "sessionId" in sample and ("message" in sample or "type" in sample)

    return _format("Claude Code session log (JSONL)", layout, fits)


def jan_format() -> Format:
    layout = _Layout("jan", "thread_id", "id", ("created_at", "created"))

    def fits(sample: dict[str, Any]) -> bool:
        return sample.get("object") == "thread.message" and "thread_id" in sample

    return _format("Jan thread (messages.jsonl)", layout, fits)


def message_list_format() -> Format:
    layout = _Layout("messages", "", "id", ("timestamp", "created_at", "create_time", "time"))

    def fits(sample: dict[str, Any]) -> bool:
        return isinstance(sample.get("role"), str) and "content" in sample

    return _format("one conversation as a list of messages with role and content", layout, fits)


def _format(title: str, layout: _Layout, fits: Callable[[dict[str, Any]], bool]) -> Format:
    def read(document: Document, reading: Reading) -> Iterator[Imported]:
        return _read(document, reading, layout)

    return Format(layout.source, title, JSON_SHAPES, fits, read)


def _read(document: Document, reading: Reading, layout: _Layout) -> Iterator[Imported]:
    logs: dict[str, _Log] = {}
    for item in document.items():
        if isinstance(item, Break):
            yield problem(document, item)
            continue
        try:
            _add(item.value, logs, layout, reading)
        except MalformedError as error:
            yield ImportProblem(document.part.shown, item.place, str(error))
        except RecursionError:
            yield ImportProblem(document.part.shown, item.place, "is nested too deeply")
    for source_id, log in logs.items():
        yield from reading.conversation(layout.source, source_id, log.title, log.messages)


def _add(line: object, logs: dict[str, _Log], layout: _Layout, reading: Reading) -> None:
    if not isinstance(line, dict):
        raise MalformedError("is not an object")
    group = first_name(line, layout.group) if layout.group else ""
    log = logs.setdefault(group, _Log())
    if line.get("type") == "summary":
        log.title = log.title or first_name(line, "summary")
        return
    own_id = first_name(line, layout.id)
    if own_id and own_id in log.seen:
        return
    log.seen.add(own_id)
    log.messages.extend(_messages(line, own_id, layout, reading))


def _messages(
    line: dict[str, Any], own_id: str, layout: _Layout, reading: Reading
) -> Iterator[ImportedMessage]:
    """The messages of a line; a side task of the assistant is kept off the shown path."""
    message = dict_of(line.get(layout.message)) if layout.message else line
    role = role_of(message.get("role"))
    if not message or role is Role.SYSTEM or line.get("isMeta") is True:
        return
    said_at = next((at for key in layout.time if (at := time_of(line.get(key), reading.tz))), None)
    for number, segment in enumerate(segments_of(message.get("content"), role)):
        if segment.text.startswith(_COMMANDS):
            continue
        yield ImportedMessage(
            f"{own_id}#{number}" if own_id and number else own_id,
            segment.role,
            segment.tool or speaker_of(segment.role, layout.assistant),
            segment.text,
            said_at,
            on_path=line.get("isSidechain") is not True,
            attachment_text=segment.attachment_text,
        )
