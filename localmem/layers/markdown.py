"""The four layers of a session as Markdown, in the shape of APDMem's Figures 11 to 14. Pure.

Text from chats stays as it was said, except that a line of it cannot become a heading, a fence
or a comment of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from localmem.types import KeyFact, Layer, Message, Session, SessionView, TurnNote
from localmem.wording import counted

_LAYER_TITLES = {
    Layer.SUMMARY: "L0: a line for each turn",
    Layer.FACTS: "L1: key facts",
    Layer.NOTES: "L2: notes by turn",
    Layer.RAW: "L3: messages",
}
_SPECIAL_LINE = re.compile(r"^(\s*)(#{1,6}(?=\s|$)|```|~~~|<!--|[-=]{3,}\s*$)", re.MULTILINE)


def session_markdown(views: Sequence[SessionView]) -> str:
    """A page on one session: its layers one after the other, ending in a newline."""
    session = views[0].session
    parts = [f"# {_one_line(session.title) or f'Session {session.id}'}"]
    for view in views:
        parts.append(f"{_heading(session)} · {_LAYER_TITLES[view.layer]}")
        parts.append(layer_markdown(view))
    return "\n\n".join(part for part in parts if part) + "\n"


def view_markdown(view: SessionView) -> str:
    """One layer with its heading, ending in a newline."""
    return f"{_heading(view.session)}\n\n{layer_markdown(view)}\n"


def layer_markdown(view: SessionView) -> str:
    """One layer without a heading; "" where it holds nothing."""
    makers = {
        Layer.SUMMARY: _summaries,
        Layer.FACTS: _facts,
        Layer.NOTES: _notes,
        Layer.RAW: _messages,
    }
    notices = "".join(f"*({notice})*\n\n" for notice in view.notices)
    return f"{notices}{makers[view.layer](view)}".rstrip()


def index_markdown(entries: Iterable[tuple[str, Session]]) -> str:
    """The table of contents: a line for each session with its file."""
    lines = [
        f"- {_day(session)} [{_link_text(session)}]({name}) ({session.source}, "
        f"{counted(session.message_count, 'message')})"
        for name, session in entries
    ]
    return "\n".join(["# Memory", "", *lines, ""])


def _heading(session: Session) -> str:
    return f"## Session {session.id} (date={_day(session)})"


def _day(session: Session) -> str:
    return session.started_at.strftime("%Y/%m/%d") if session.started_at else "unknown"


def _link_text(session: Session) -> str:
    title = _one_line(session.title) or f"Session {session.id}"
    return re.sub(r"([\[\]\\])", r"\\\1", title)


def _summaries(view: SessionView) -> str:
    blocks = []
    for number, summary in enumerate(view.summaries, start=1):
        lines = [f"Turn {number}:", f"- Summary: {_one_line(summary.sentence)}"]
        lines.append(f"- Keywords: {_one_line(', '.join(summary.keywords))}")
        lines.append(f"- Tags: {', '.join(summary.tags)}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _facts(view: SessionView) -> str:
    return "\n".join(_bullet(fact) for fact in view.facts)


def _notes(view: SessionView) -> str:
    by_message: dict[int, list[TurnNote]] = {}
    for note in view.notes:
        by_message.setdefault(int(note.message_id), []).append(note)
    blocks = []
    for number, messages in _turns(view.messages):
        bullets = [_bullet(note) for m in messages for note in by_message.get(int(m.id), ())]
        if bullets:
            blocks.append("\n".join([f"Turn {number}:", *bullets]))
    return "\n\n".join(blocks)


def _messages(view: SessionView) -> str:
    blocks = []
    for number, messages in _turns(view.messages):
        blocks.append(f"### Turn {number}")
        blocks += [f"{_one_line(message.speaker)}: {_said(message)}" for message in messages]
    return "\n\n".join(blocks)


def _turns(messages: Sequence[Message]) -> list[tuple[int, list[Message]]]:
    groups = groupby(messages, key=lambda message: message.turn_id)
    return [(number, list(group)) for number, (_, group) in enumerate(groups, start=1)]


def _bullet(told: KeyFact | TurnNote) -> str:
    doubt = f" *(not in its messages: {', '.join(told.missing)})*" if told.missing else ""
    return f"- {_one_line(told.text)}{doubt}"


def _said(message: Message) -> str:
    text = _SPECIAL_LINE.sub(r"\1\\\2", message.text.strip())
    if not message.attachment_text:
        return text
    return f"{text}\n\n[attached: {_one_line(message.attachment_text)}]".strip()


def _one_line(text: str) -> str:
    return " ".join(text.split())
