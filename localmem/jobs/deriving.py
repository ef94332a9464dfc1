"""Makes what is missing beside the raw text: L0 with dates, and vectors.

Works through whatever is pending, in batches that are each stored at once, so that it can be
interrupted at any time and goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from localmem.dates import resolve
from localmem.layers.extractive import summarise_turn
from localmem.layers.source import without_replies
from localmem.ports import Embedder, FloatMatrix
from localmem.store import Store
from localmem.types import Message, MessageId, ResolvedDate, StoredVectors, TurnSummary

_TURNS_A_BATCH = 2_000
_PIECES_A_BATCH = 1_024
_MESSAGES_A_FETCH = 8_192

OnDone = Callable[[int], None]


def derive_layer0(store: Store, *, on_done: OnDone | None = None) -> int:
    """Make the L0 lines and dates of all turns that lack them; how many were made."""
    made = 0
    while True:
        with store.reading():
            turns, seen = store.turns_without_summary(_TURNS_A_BATCH), store.generation()
        if not turns:
            return made
        summaries: list[TurnSummary] = []
        dates: dict[MessageId, tuple[ResolvedDate, ...]] = {}
        for turn in map(without_replies, turns):
            found = {m.id: resolve(m.text, m.said_at, language=None) for m in turn}
            dates.update({number: spans for number, spans in found.items() if spans})
            summaries.append(summarise_turn(turn, found))
        store.put_layer0(summaries, dates, seen=seen)
        made += len(turns)
        if on_done is not None:
            on_done(made)


@dataclass(frozen=True, slots=True)
class _Piece:
    message_id: MessageId
    number: int
    text: str


def derive_vectors(store: Store, embedder: Embedder, *, on_done: OnDone | None = None) -> int:
    """Make the vectors of all messages that lack them; how many messages got one.

    The memory is held only while a batch is stored, never while the embedder works.
    """
    made = 0
    while messages := store.messages_without_vectors(embedder.model_id, _MESSAGES_A_FETCH):
        for pieces, blank in _piece_batches(messages, embedder):
            rows = embedder.embed_passages([piece.text for piece in pieces])
            store.put_vectors(_stored(embedder, pieces, rows), blank=blank)
            made += len({piece.message_id for piece in pieces})
            if on_done is not None:
                on_done(made)
    return made


def _piece_batches(
    messages: Sequence[Message], embedder: Embedder
) -> Iterator[tuple[list[_Piece], list[MessageId]]]:
    """Pieces of whole messages, about 1,024 at a time, with the messages that have none."""
    pieces: list[_Piece] = []
    blank: list[MessageId] = []
    for message in messages:
        texts = embedder.split(message.whole_text)
        if not texts:
            blank.append(message.id)
        pieces.extend(_Piece(message.id, number, text) for number, text in enumerate(texts))
        if len(pieces) >= _PIECES_A_BATCH:
            yield pieces, blank
            pieces, blank = [], []
    if pieces or blank:
        yield pieces, blank


def _stored(embedder: Embedder, pieces: Sequence[_Piece], rows: FloatMatrix) -> StoredVectors:
    return StoredVectors(
        model_id=embedder.model_id,
        dimension=embedder.dimension,
        message_ids=tuple(piece.message_id for piece in pieces),
        chunk_numbers=tuple(piece.number for piece in pieces),
        blob=np.ascontiguousarray(rows, np.float32).tobytes(),
    )
