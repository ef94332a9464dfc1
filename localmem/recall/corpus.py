"""The rows that are searched: one message each, in the order of sessions and of speech.

A message may come in any order; `Corpus` keeps arrays in which each session's messages stand
together, so that a neighbour is the next row. It must not score anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.recall.said import is_evidence
from localmem.types import ConversationKind, Message, MessageId, ParticipantId, Role, Session

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_DAY = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """What search needs to know of a message beside its words.

    `day` is the calendar day on which it was said, as a proleptic ordinal, or None. `is_evidence`
    is False for what the memory itself replied to its owner, and for what it was only asked.
    """

    message_id: MessageId
    turn_id: int
    session_id: int
    ordinal: int
    participant_id: ParticipantId
    speaker: str
    role: Role
    source: str
    kind: ConversationKind
    day: int | None
    length: int
    asks: bool
    is_evidence: bool = True

    @classmethod
    def of(cls, message: Message, session: Session) -> CorpusRow:
        """The row of a message."""
        return cls(
            message_id=message.id,
            turn_id=message.turn_id,
            session_id=message.session_id,
            ordinal=message.ordinal,
            participant_id=message.participant_id,
            speaker=message.speaker,
            role=message.role,
            source=session.source,
            kind=session.kind,
            day=message.said_at.date().toordinal() if message.said_at else None,
            length=len(message.text) + len(message.attachment_text),
            asks="?" in message.text[-100:],
            is_evidence=is_evidence(message, session.source),
        )


class Corpus:
    """Rows sorted by session and ordinal, as arrays; rebuilt when rows come or go."""

    def __init__(self, rows: Iterable[CorpusRow] = ()) -> None:
        self.rows = sorted(rows, key=lambda r: (r.session_id, r.ordinal, r.message_id))
        self.message_ids = _ints(r.message_id for r in self.rows)
        self.session_ids = _ints(r.session_id for r in self.rows)
        self.turn_ids = _ints(r.turn_id for r in self.rows)
        self.days = _ints(NO_DAY if r.day is None else r.day for r in self.rows)
        self.log_lengths: Floats = np.log1p(np.array([r.length for r in self.rows], np.float32))
        self.asks = np.array([r.asks for r in self.rows], np.float32)
        self.from_person = np.array([r.role is Role.USER for r in self.rows], np.bool_)
        self.is_evidence = np.array([r.is_evidence for r in self.rows], np.bool_)
        self.among_people = np.array(
            [r.kind is ConversationKind.PEOPLE for r in self.rows], np.bool_
        )
        self.mean_log_length = float(self.log_lengths.mean()) if self.rows else 0.0
        self.share_among_people = float(self.among_people.mean()) if self.rows else 0.0
        self.speakers: tuple[str, ...] = tuple(sorted({r.speaker for r in self.rows}))
        code = {name: number for number, name in enumerate(self.speakers)}
        self.speaker_codes = _ints(code[r.speaker] for r in self.rows)
        self.starts = np.flatnonzero(np.diff(self.session_ids, prepend=-1 - 2**62))
        self.session_numbers = (
            np.cumsum(np.isin(np.arange(len(self.rows)), self.starts)).astype(np.int64) - 1
        )
        self._same = {
            by: (self.session_ids[by:] == self.session_ids[:-by]).astype(np.float32)
            for by in (1, 2)
            if by < len(self)
        }
        self._place = {int(m): place for place, m in enumerate(self.message_ids)}

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, message_ids: Sequence[int] | Ints) -> Ints:
        """int64: the row of each message id, -1 where there is none."""
        return _ints(self._place.get(int(m), -1) for m in message_ids)

    def shifted(self, values: Floats, by: int) -> Floats:
        """Values (..., rows) of the row one or two places before (`by` negative: after) within
        the session, else 0."""
        out = np.zeros_like(values)
        same = self._same.get(abs(by))
        if same is not None and by > 0:
            np.multiply(values[..., :-by], same, out=out[..., by:])
        elif same is not None:
            np.multiply(values[..., -by:], same, out=out[..., :by])
        return out

    def session_best(self, values: Floats) -> Floats:
        """Float32 (..., sessions): the best value in each session."""
        return np.asarray(np.maximum.reduceat(values, self.starts, axis=-1), np.float32)


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)
