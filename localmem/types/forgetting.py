"""What is to be forgotten, what would go with it, and what went."""

from __future__ import annotations

from dataclasses import dataclass

from localmem.types.ids import ImportId, MessageId, SessionId
from localmem.types.messages import Session


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What was removed from a memory, counted in rows; the file was then written anew.

    `titles` were parts of erased messages. `kept_out` counts the messages that a later import of
    the same export will leave out.
    """

    messages: int
    turns: int
    sessions: int
    conversations: int
    participants: int
    summaries: int
    dates: int
    vectors: int
    facts: int
    notes: int
    replies: int
    snapshots: int
    bytes_before: int
    bytes_after: int
    titles: int = 0
    kept_out: int = 0
    items: int = 0


@dataclass(frozen=True, slots=True)
class ForgetTarget:
    """What is to be forgotten: all that is named here. `person` is a name, an alias or an id."""

    messages: tuple[MessageId, ...] = ()
    sessions: tuple[SessionId, ...] = ()
    person: str | None = None
    import_id: ImportId | None = None


@dataclass(frozen=True, slots=True)
class PartlyForgotten:
    """How much of a session goes."""

    session: Session
    messages_going: int


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What `forget` would do. `receipt` counts what would go; its bytes are those of today.

    `sessions` are those that lose the most. `stays` says in words what is left of the matter.
    `confirm` is the text that must be given to go on, "" where none is needed.
    """

    receipt: ErasureReceipt
    sessions: tuple[PartlyForgotten, ...]
    sessions_total: int
    stays: tuple[str, ...] = ()
    confirm: str = ""
