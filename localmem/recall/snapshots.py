"""The rows of a retriever as bytes, and back. Derived, stamped, never the only copy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localmem.index.blob import pack, pack_words, unpack, unpack_words
from localmem.recall.corpus import CorpusRow
from localmem.types import ConversationKind, MessageId, ParticipantId, Role

_KIND = "rows"
_COLUMNS = 13
_OLD_COLUMNS = 12
"""Of a snapshot from before there were conversations with the memory itself."""
_NO_DAY = -1
_ROLES = tuple(Role)
_KINDS = tuple(ConversationKind)


def rows_to_bytes(rows: Sequence[CorpusRow]) -> bytes:
    """The snapshot of rows; equal rows give equal bytes."""
    speakers = sorted({r.speaker for r in rows})
    sources = sorted({r.source for r in rows})
    columns = [
        [
            r.message_id,
            r.turn_id,
            r.session_id,
            r.ordinal,
            r.participant_id,
            speakers.index(r.speaker),
            _ROLES.index(r.role),
            sources.index(r.source),
            _KINDS.index(r.kind),
            _NO_DAY if r.day is None else r.day,
            r.length,
            int(r.asks),
            int(r.is_evidence),
        ]
        for r in rows
    ]
    table = np.array(columns, np.int64).reshape(len(rows), _COLUMNS)
    return pack(
        {"kind": _KIND, "count": len(rows)},
        {
            "table": table,
            "speakers": _names(speakers),
            "sources": _names(sources),
        },
    )


def rows_from_bytes(snapshot: bytes) -> list[CorpusRow]:
    """The rows of a snapshot.

    Raises:
        StaleIndexError: the snapshot is damaged.
    """
    arrays = unpack(snapshot, kind=_KIND).arrays
    speakers = unpack_words(arrays["speakers"])
    sources = unpack_words(arrays["sources"])
    return [
        CorpusRow(
            message_id=MessageId(line[0]),
            turn_id=line[1],
            session_id=line[2],
            ordinal=line[3],
            participant_id=ParticipantId(line[4]),
            speaker=speakers[line[5]],
            role=_ROLES[line[6]],
            source=sources[line[7]],
            kind=_KINDS[line[8]],
            day=None if line[9] == _NO_DAY else line[9],
            length=line[10],
            asks=bool(line[11]),
            is_evidence=len(line) <= _OLD_COLUMNS or bool(line[12]),
        )
        for line in arrays["table"].tolist()
    ]


def _names(names: list[str]) -> NDArray[np.uint8]:
    """Names on one line each; a line break within a name becomes a space."""
    return pack_words([" ".join(name.splitlines()) for name in names])
