"""A session as the layers read it: its shown messages, their dates, and the hashes of both.

A hash changes exactly when something changes on which the layer depends. No model, no storing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from localmem.dates import describe, describe_day
from localmem.store import Store
from localmem.types import (
    ConversationKind,
    Message,
    MessageId,
    ResolvedDate,
    Role,
    Session,
    SessionId,
)

_SEPARATOR = b"\x1f"


@dataclass(frozen=True, slots=True)
class SessionSource:
    """The shown messages of a session in their order, with the dates resolved in each.

    `seen` is the memory's generation at which they were read; None where nothing is stored of it.
    """

    session: Session
    messages: tuple[Message, ...]
    dates: Mapping[MessageId, tuple[ResolvedDate, ...]]
    seen: int | None = None

    @property
    def speakers(self) -> tuple[str, ...]:
        """Who says something in this session, sorted; tools and systems do not count."""
        talking = (Role.USER, Role.ASSISTANT)
        return tuple(sorted({m.speaker for m in self.messages if m.role in talking}))

    def before(self, place: int) -> Message | None:
        """The message before the one at `place`."""
        return self.messages[place - 1] if place > 0 else None

    def addressee(self, message: Message) -> str | None:
        """Whom "you" means in a message: the other speaker where there are exactly two."""
        speakers = self.speakers
        others = [name for name in speakers if name != message.speaker]
        return others[0] if len(speakers) == 2 and len(others) == 1 else None

    def dates_of(self, message: Message) -> tuple[ResolvedDate, ...]:
        return self.dates.get(message.id, ())

    @property
    def among_people(self) -> bool:
        return self.session.kind is ConversationKind.PEOPLE

    def sha(self) -> str:
        """sha256 of all shown messages: what L1 depends on."""
        digest = hashlib.sha256()
        for message in self.messages:
            _add(digest, self._parts(message))
        return digest.hexdigest()

    def note_sha(self, place: int) -> str:
        """sha256 of what the L2 of one message depends on: it, the one before, who takes part."""
        digest = hashlib.sha256()
        _add(digest, self.speakers)
        for message in (self.before(place), self.messages[place]):
            _add(digest, self._parts(message) if message is not None else ("",))
        return digest.hexdigest()

    def _parts(self, message: Message) -> Iterable[str]:
        yield message.speaker
        yield message.role.value
        yield message.text
        yield message.attachment_text
        yield message.said_at.isoformat() if message.said_at else ""
        yield from (describe(one) for one in self.dates_of(message))


def load_source(store: Store, session_id: SessionId) -> SessionSource:
    """The session as it is stored now, without what this memory itself replied in it.

    Raises:
        RecordNotFoundError: there is no such session, or it shows no message.
    """
    with store.reading():
        session = store.session(session_id)
        messages = without_replies(store.session_messages(session_id))
        dates = store.dates_of([message.id for message in messages])
        seen = store.generation()
    return SessionSource(session, messages, dates, seen)


def without_replies(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without those that only repeat what was recalled; all where no other is left."""
    own = tuple(one for one in messages if one.role is not Role.REPLY)
    return own or tuple(messages)


def stamp(message: Message) -> str:
    """Who said it and when: "Ana, 3 May 2021:"."""
    if message.said_at is None:
        return f"{message.speaker}:"
    return f"{message.speaker}, {describe_day(message.said_at.date())}:"


def _add(digest: hashlib._Hash, parts: Iterable[str]) -> None:
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(_SEPARATOR)
    digest.update(b"\x1e")
