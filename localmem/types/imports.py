"""What importers hand over, and what storing it did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from localmem.types.ids import ConversationId, ImportId, MessageId, TurnId
from localmem.types.messages import ConversationKind, Role


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message as a source tells it, before it is stored.

    `source_id` is unique in its conversation and the same in every later export of it.
    `said_at` is tz-aware, or None where the source has no time.
    `attachment_text` is text that belongs to the message but was not said: an image caption,
    a file name. `on_path` is False for a branch that the source does not show.
    """

    source_id: str
    role: Role
    speaker: str
    text: str
    said_at: datetime | None = None
    parent_id: str | None = None
    on_path: bool = True
    attachment_text: str = ""


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """One conversation as a source tells it: messages in the order in which they were said.

    `source` names the format ("chatgpt"), `source_id` the conversation in it; both together are
    the same in every later export of that conversation. `session_starts` holds the source ids
    of messages that begin a new session by the source's own word; other sessions begin where
    the silence is long.
    """

    source: str
    source_id: str
    title: str
    kind: ConversationKind
    messages: tuple[ImportedMessage, ...]
    session_starts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A conversation or message that could not be read: where it is, and why it was skipped."""

    path: str
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What one import did. Counts are of rows added, not of rows seen.

    `messages_forgotten` were in the export and stay out, because the owner had them forgotten.
    """

    import_id: ImportId | None
    path: str
    source: str
    conversations_seen: int = 0
    conversations_added: int = 0
    conversations_grown: int = 0
    messages_added: int = 0
    messages_known: int = 0
    turns_added: int = 0
    without_time: int = 0
    problems: tuple[ImportProblem, ...] = ()
    started_at: datetime | None = None
    undone: bool = False
    complete: bool = True
    messages_forgotten: int = 0


@dataclass(frozen=True, slots=True)
class ConversationDelta:
    """What storing one conversation changed.

    `message_ids` are the new messages, `turn_ids` the new turns and those that grew. `is_new`:
    the conversation was not known. `shows_other_branch`: messages were hidden or shown again.
    `messages_forgotten` stay out; where nothing else was in it, `conversation_id` is None.
    """

    conversation_id: ConversationId | None
    is_new: bool
    message_ids: tuple[MessageId, ...]
    turn_ids: tuple[TurnId, ...]
    messages_known: int
    turns_added: int
    sessions_added: int
    without_time: int
    shows_other_branch: bool = False
    messages_forgotten: int = 0

    @property
    def has_grown(self) -> bool:
        """Whether a known conversation got new messages."""
        return not self.is_new and bool(self.message_ids)
