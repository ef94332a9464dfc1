"""A conversation of the owner with the memory, as it is stored: what is said, and the replies.

Each is a message like any other: found, shown, exported and forgotten. A reply has a role of its
own and goes with any message that it rests on. What is said in one sitting is one import, so that
it can be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from localmem.store import Store
from localmem.tiers.pages import split_pages
from localmem.types import (
    OWN_CHAT,
    Answer,
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    ImportId,
    ImportReport,
    Message,
    MessageId,
    RecentPage,
    Role,
    Session,
    SessionId,
)

_SHOWN_PATH = "localmem chat"
_TITLE_WORDS = 8


@dataclass(slots=True)
class Sitting:
    """One run of a conversation. `talk_id` names the conversation; "": it has not begun.

    `gap`: a longer silence begins a new session. `number` is the import of this run, and `said`
    counts its messages.
    """

    store: Store
    gap: timedelta
    talk_id: str = ""
    number: ImportId | None = None
    said: int = 0

    def hear(self, text: str, at: datetime) -> Message:
        """Store what the owner says; its first words are the title of a new conversation."""
        title = "" if self.talk_id else " ".join(text.split()[:_TITLE_WORDS])
        told = ImportedMessage(self._next_id(at), Role.USER, "", text, at)
        return self._stored(told, title=title)

    def reply(self, answer: Answer, at: datetime) -> Message:
        """Store a reply with what it rests on."""
        told = ImportedMessage(self._next_id(at), Role.REPLY, "", answer.text, at)
        return self._stored(told, cited=[one.message_id for one in answer.citations])

    def _next_id(self, at: datetime) -> str:
        """An id that no message of any run ever had: what was forgotten must not keep it out."""
        if self.number is None:
            self.number = self.store.begin_import(_SHOWN_PATH, OWN_CHAT, at)
            self.talk_id = self.talk_id or str(self.number)
            self.store.finish_import(
                ImportReport(self.number, _SHOWN_PATH, OWN_CHAT, 1, started_at=at)
            )
        self.said += 1
        return f"{self.number}-{self.said}"

    def _stored(
        self, told: ImportedMessage, *, title: str = "", cited: Sequence[MessageId] = ()
    ) -> Message:
        assert self.number is not None  # noqa: S101  # `_next_id` made it, for the type checker
        conversation = ImportedConversation(
            OWN_CHAT, self.talk_id, title, ConversationKind.ASSISTANT, (told,)
        )
        number = self.store.add_said(self.number, conversation, gap=self.gap, cited=cited)
        (message,) = self.store.messages([number])
        return message


def pages_of(store: Store, session_id: SessionId) -> list[RecentPage]:
    """The pages of a session with the memory, oldest first, with what their replies rest on.

    Raises:
        RecordNotFoundError: there is no such session.
    """
    with store.reading():
        session = store.session(session_id)
        messages = store.session_messages(session_id)
        cited = store.cited_by([one.id for one in messages if one.role is Role.REPLY])
    return [
        RecentPage(page, tuple(n for message in page for n in cited.get(message.id, ())))
        for page in split_pages(messages, session.kind)
    ]


def left_of(store: Store, pages: Sequence[RecentPage]) -> list[RecentPage]:
    """The pages with what of them is still stored; those of which nothing is left are absent."""
    left = store.messages_left([message.id for page in pages for message in page.messages])
    kept = [
        replace(page, messages=tuple(one for one in page.messages if one.id in left))
        for page in pages
    ]
    return [page for page in kept if page.messages]


def running(store: Store, now: datetime, gap: timedelta) -> Session | None:
    """The session with the memory that was spoken in last, if that is not longer ago than `gap`."""
    ended = [
        (one.ended_at, one.id, one)
        for one in store.sessions()
        if one.source == OWN_CHAT and one.ended_at is not None
    ]
    if not ended:
        return None
    last_said_at, _, last = max(ended, key=lambda row: row[:2])
    return last if now - last_said_at <= gap else None
