"""Many rows as columns: what a search loads. Small values stand in localmem.types."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.types import TurnSummary


@dataclass(frozen=True, slots=True)
class MessageColumns:
    """Messages on the shown path, by session and ordinal. All columns have one length n.

    Ids are int64 (n,), `ordinals` int32 (n,). `said_at` is datetime64[us] in UTC and `local_days`
    datetime64[D] where it was said; both NaT where the source has no time. `from_user` marks the
    role USER, `in_assistant_chat` the kind of the conversation.
    """

    message_ids: NDArray[np.int64]
    turn_ids: NDArray[np.int64]
    session_ids: NDArray[np.int64]
    participant_ids: NDArray[np.int64]
    ordinals: NDArray[np.int32]
    said_at: NDArray[np.datetime64]
    local_days: NDArray[np.datetime64]
    from_user: NDArray[np.bool_]
    in_assistant_chat: NDArray[np.bool_]
    sources: list[str]
    texts: list[str]
    attachment_texts: list[str]

    def __len__(self) -> int:
        return len(self.message_ids)


@dataclass(frozen=True, slots=True)
class VectorColumns:
    """Vectors of message chunks: `rows` float32 (n, dimension), unit rows; the others (n,).

    Rows stand in the order in which they were stored; `dimension` is 0 where there are none.
    """

    model_id: str
    message_ids: NDArray[np.int64]
    chunk_numbers: NDArray[np.int32]
    rows: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.message_ids)

    @property
    def dimension(self) -> int:
        return int(self.rows.shape[1])


@dataclass(frozen=True, slots=True)
class Changes:
    """What came to a memory since a generation. Participants are to be read anew at any change.

    `reload` means that messages were removed or hidden, or that the embedder in use is another:
    the other fields are then empty, and everything is to be loaded again.
    """

    generation: int
    reload: bool
    messages: MessageColumns
    vectors: VectorColumns
    summaries: tuple[TurnSummary, ...]
