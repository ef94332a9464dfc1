"""What rows are called by: one type for each kind of row, so that ids cannot be mixed up."""

from __future__ import annotations

from typing import NewType

MessageId = NewType("MessageId", int)
TurnId = NewType("TurnId", int)
SessionId = NewType("SessionId", int)
ConversationId = NewType("ConversationId", int)
ParticipantId = NewType("ParticipantId", int)
ImportId = NewType("ImportId", int)
ItemId = NewType("ItemId", int)
PageId = NewType("PageId", int)
EpisodeId = NewType("EpisodeId", int)
EntryId = NewType("EntryId", int)
