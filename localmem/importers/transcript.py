"""Chats written down as text: "Name: text", "**User:** text", "## User", and WhatsApp's files.

A transcript is read twice: once to learn who speaks, how speakers are marked and in which order
day and month stand, once to hand it over. It is one conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import PurePath
from typing import Any

from localmem.importers.documents import Break, Document, Shape
from localmem.importers.formats import Format, Imported, Reading, problem
from localmem.importers.records import YOU
from localmem.importers.transcript_lines import Header, Stamp, Style, header_of, stamped, tidy
from localmem.types import ConversationKind, ImportedMessage, Role

_USERS = frozenset({"user", "human", "you", "me", "prompt"})
_ASSISTANTS = frozenset(
    {"assistant", "ai", "bot", "chatgpt", "gpt", "gpt-4", "claude", "gemini", "copilot", "model"}
    | {"llm", "response", "deepseek", "mistral", "llama", "grok", "perplexity"}
)
_LABELS = frozenset(
    {"note", "notes", "warning", "tip", "hint", "todo", "fyi", "ps", "re", "edit", "update"}
    | {"title", "date", "time", "subject", "from", "to", "cc", "source", "url", "link", "tags"}
    | {"summary", "example", "step", "output", "input", "result", "error", "question", "answer"}
    | {"pros", "cons", "important", "caution", "info", "http", "https", "type", "name", "author"}
)
"""Words before a colon that introduce something other than what a person says."""
_NOTHING = re.compile(
    r"<[^<>]{3,60}>|.{1,80} \(file attached\)|(image|video|audio|sticker) omitted"
)


@dataclass(slots=True)
class _Survey:
    """What the first reading learned of a transcript."""

    names: dict[Style, dict[str, int]] = field(default_factory=dict)
    over_twelve: list[int] = field(default_factory=lambda: [0, 0])
    steps_back: list[int] = field(default_factory=lambda: [0, 0])
    ambiguous: int = 0
    _last: list[datetime | None] = field(default_factory=lambda: [None, None])

    def add(self, header: Header) -> None:
        counts = self.names.setdefault(header.style, {})
        counts[header.name] = counts.get(header.name, 0) + 1
        if header.stamp is not None and header.stamp.moment is None:
            self._add_stamp(header.stamp)

    def _add_stamp(self, stamp: Stamp) -> None:
        self.ambiguous += 1
        self.over_twelve[0] += stamp.first > 12
        self.over_twelve[1] += stamp.second > 12
        for which, day_first in enumerate((True, False)):
            at = stamp.at(day_first=day_first, tz=UTC)
            last = self._last[which]
            self.steps_back[which] += at is None or (last is not None and at < last)
            self._last[which] = at or last

    @property
    def day_first(self) -> bool:
        """Whether the day stands before the month: by numbers over 12, else by running order."""
        if self.over_twelve[0] != self.over_twelve[1]:
            return self.over_twelve[0] > self.over_twelve[1]
        return self.steps_back[0] <= self.steps_back[1]

    @property
    def style(self) -> Style | None:
        """The first style by which at least two messages are marked (one, where it is dated)."""
        for style in Style:
            least = 1 if style is Style.STAMPED else 2
            if sum(self.speakers(style).values()) >= least:
                return style
        return None

    def speakers(self, style: Style) -> dict[str, int]:
        """Who speaks. Words with a colon that nobody is called by ("Note:") are not speakers."""
        counts = self.names.get(style, {})
        if style is Style.STAMPED:
            return counts
        counts = {name: n for name, n in counts.items() if name.casefold() not in _LABELS}
        known = {name: n for name, n in counts.items() if _role(name) is not None}
        if len({_role(name) for name in known}) == 2 or style is Style.HEADING:
            return known
        again = {name: n for name, n in counts.items() if n > 1 or name in known}
        speakers = again if len(again) > 1 else counts
        return speakers if len(speakers) > 1 and (again or len(counts) == 2) else {}


def transcript_format() -> Format:
    return Format(
        "transcript",
        "Markdown or plain transcript (Name: text), WhatsApp chat",
        frozenset({Shape.TEXT}),
        _fits,
        _read,
        ConversationKind.PEOPLE,
    )


def _fits(sample: dict[str, Any]) -> bool:
    return _surveyed(sample["lines"], UTC).style is not None


def _surveyed(lines: Iterable[str | Break], tz: tzinfo) -> _Survey:
    survey = _Survey()
    for line in lines:
        header = None if isinstance(line, Break) else header_of(tidy(line), tz)
        if header is not None:
            survey.add(header)
    return survey


def _role(name: str) -> Role | None:
    """The role of a speaker who is called by a role or a product; None for a person's name."""
    word = name.casefold()
    if word in _USERS:
        return Role.USER
    return Role.ASSISTANT if word in _ASSISTANTS else None


def _read(document: Document, reading: Reading) -> Iterator[Imported]:
    survey = _surveyed(replace(document, on_bytes=None).lines(), reading.tz)
    style = survey.style
    if style is None:
        return
    _say_day_order(document, survey, reading)
    speakers = survey.speakers(style)
    title = ""
    messages: list[ImportedMessage] = []
    for entry in _entries(document, survey, style, reading.tz):
        if isinstance(entry, Break):
            yield problem(document, entry)
        elif isinstance(entry, str):
            title = title or entry
        else:
            messages.append(_message(entry, survey, speakers, reading.tz))
    shown = title or _title_of(PurePath(document.part.shown))
    yield from reading.conversation("transcript", "", shown, messages, kind=_kind(speakers))


def _title_of(file: PurePath) -> str:
    """A title out of a file's name; WhatsApp calls files after the chat, or all of them _chat."""
    stem = PurePath(file.parent).stem if file.stem == "_chat" else file.stem
    return re.sub(r"^WhatsApp Chat (with|-) ", "", stem)


def _say_day_order(document: Document, survey: _Survey, reading: Reading) -> None:
    if survey.ambiguous and not any(survey.over_twelve):
        order = "day/month" if survey.day_first else "month/day"
        reading.notices.append(
            f"{document.part.shown}: dates could be day/month or month/day; read as {order}, "
            "by the order of the messages"
        )


def _kind(speakers: dict[str, int]) -> ConversationKind:
    with_assistant = any(_role(name) is Role.ASSISTANT for name in speakers)
    alone = with_assistant and len(speakers) <= 2
    return ConversationKind.ASSISTANT if alone else ConversationKind.PEOPLE


def _entries(
    document: Document, survey: _Survey, style: Style, tz: tzinfo
) -> Iterator[Header | str | Break]:
    """The messages with all their lines; a string is a title that stood before the first."""
    speakers = survey.speakers(style)
    current: Header | None = None
    lines: list[str] = []
    for line in document.lines():
        if isinstance(line, Break):
            yield line
            continue
        tidied = tidy(line)
        header = header_of(tidied, tz)
        begins = header is not None and header.style is style and header.name in speakers
        if not begins and not (style is Style.STAMPED and stamped(tidied, tz)):
            lines.append(line)
            if current is None and tidied.startswith("# "):
                yield tidied[2:].strip()
            continue
        if current is not None:
            yield _closed(current, lines)
        current = header if begins else None
        lines = [current.text] if current is not None else []
    if current is not None:
        yield _closed(current, lines)


def _closed(header: Header, lines: list[str]) -> Header:
    return replace(header, text="\n".join(lines).strip())


def _message(
    header: Header, survey: _Survey, speakers: dict[str, int], tz: tzinfo
) -> ImportedMessage:
    role = Role.USER
    name = header.name
    if _kind(speakers) is ConversationKind.ASSISTANT:
        role = _role(name) or Role.USER
        name = YOU if _role(name) is Role.USER else name
    said_at = header.stamp.at(day_first=survey.day_first, tz=tz) if header.stamp else None
    placeholder = _NOTHING.fullmatch(header.text) is not None
    return ImportedMessage(
        "",
        role,
        name,
        "" if placeholder else header.text,
        said_at,
        attachment_text=header.text if placeholder else "",
    )
