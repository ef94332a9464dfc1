"""How a conversation falls into sessions and turns. Pure.

A session begins where its source says so, or with a turn after a long silence. A turn is a user
message with the replies to it; in a chat among people it is one message. Messages of branches
that the source does not show take part like all others: which branch is shown may change with the
next export, sessions and turns must not.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum, auto

from localmem.types import ConversationKind, ImportedConversation, ImportedMessage, Role

SESSION_GAP = timedelta(hours=8)
"""A longer silence than this ends a session."""


class Place(Enum):
    """Where a message goes: a new session, a new turn, or the turn that is there."""

    NEW_SESSION = auto()
    NEW_TURN = auto()
    SAME_TURN = auto()


def place_of(
    message: ImportedMessage,
    *,
    kind: ConversationKind,
    is_first: bool,
    is_forced: bool,
    latest: datetime | None,
    gap: timedelta = SESSION_GAP,
) -> Place:
    """The place of the next message.

    `is_first`: nothing of the conversation is stored yet. `is_forced`: the source begins a session
    here. `latest`: the latest time of the messages before it.
    """
    if is_first or is_forced:
        return Place.NEW_SESSION
    if kind is ConversationKind.ASSISTANT and message.role is not Role.USER:
        return Place.SAME_TURN
    if latest and message.said_at and message.said_at - latest > gap:
        return Place.NEW_SESSION
    return Place.NEW_TURN


def later(latest: datetime | None, said_at: datetime | None) -> datetime | None:
    """The later of two times, None being no time."""
    if latest is None or said_at is None:
        return latest or said_at
    return max(latest, said_at)


def split_sessions(
    conversation: ImportedConversation, gap: timedelta = SESSION_GAP
) -> list[list[list[ImportedMessage]]]:
    """The sessions of a conversation that is not stored yet: sessions of turns of messages.

    A reply joins the turn of the message that it replies to, else the last turn.
    """
    sessions: list[list[list[ImportedMessage]]] = []
    turn_of: dict[str, list[ImportedMessage]] = {}
    latest: datetime | None = None
    for message in conversation.messages:
        if message.source_id in turn_of:
            continue
        place = place_of(
            message,
            kind=conversation.kind,
            is_first=not sessions,
            is_forced=message.source_id in conversation.session_starts,
            latest=latest,
            gap=gap,
        )
        if place is Place.SAME_TURN:
            turn = turn_of.get(message.parent_id or "", sessions[-1][-1])
        else:
            turn = []
            if place is Place.NEW_SESSION:
                sessions.append([])
            sessions[-1].append(turn)
        turn.append(message)
        turn_of[message.source_id] = turn
        latest = later(latest, message.said_at)
    return sessions
