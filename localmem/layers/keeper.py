"""Drafts of a model on their way into the store: whole units with their provenance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localmem.layers.cache import LayerModel
from localmem.layers.choosing import MOST_FACTS
from localmem.layers.draft import Failure, Line
from localmem.layers.messagewise import BATCH
from localmem.layers.source import SessionSource, stamp
from localmem.layers.whole import Cited, Listed
from localmem.store import Store
from localmem.types import (
    KeyFact,
    Layer,
    MadeNotes,
    Provenance,
    TurnNote,
    UnreadReply,
)


class NoteKeeper:
    """Takes the drafts of one session's L2 and stores them, some messages a transaction."""

    def __init__(
        self,
        store: Store,
        source: SessionSource,
        model: LayerModel,
        wanted: Sequence[int],
        tell: Callable[[int, int], None],
    ) -> None:
        """`wanted` are the places that the model is asked about; others are not stored."""
        self._store = store
        self._source = source
        self._model = model
        self._wanted = tuple(wanted)
        self._tell = tell
        self._done: set[int] = set()
        self._made: list[MadeNotes] = []
        self._failed: list[UnreadReply] = []

    @property
    def done(self) -> int:
        """How many messages were taken."""
        return len(self._done)

    def on_draft(self, place: int, draft: list[Line] | Failure) -> None:
        """Take what the model said of one message."""
        if place in self._done or place not in self._wanted:
            return
        self._done.add(place)
        provenance = self._model.notes_provenance(self._source, place)
        number = self._source.messages[place].id
        if isinstance(draft, Failure):
            failed = as_unread(self._source, Layer.NOTES, int(number), draft, provenance)
            self._failed.append(failed)
        else:
            notes = tuple(
                TurnNote(number, position, line.text, line.missing, provenance)
                for position, line in enumerate(draft)
            )
            self._made.append(MadeNotes(number, notes, provenance))
        self._tell(len(self._done), len(self._wanted))
        if len(self._made) + len(self._failed) >= BATCH:
            self.store()

    def take(self, window: Listed) -> None:
        """Take what the model listed of a window; messages that it did not reach stay open."""
        if window.failure is not None:
            for place in window.places:
                self.on_draft(place, window.failure)
        lines: dict[int, list[Line]] = {}
        for cited in window.lines:
            head = stamp(self._source.messages[cited.places[0]])
            line = Line(f"{head} {cited.line.text}", cited.line.missing)
            lines.setdefault(cited.places[0], []).append(line)
        for place in range(window.places.start, window.read_up_to):
            self.on_draft(place, lines.get(place, []))

    def keep_failure(self, failure: Failure) -> None:
        """Keep an engine's failure beside the first message that it left open."""
        place = next((place for place in self._wanted if place not in self._done), None)
        if place is not None:
            self.on_draft(place, failure)
            self.store()

    def store(self) -> None:
        """Put what was taken since the last time into the store."""
        seen = self._source.seen
        if self._made:
            self._store.put_notes(self._source.session.id, self._made, seen=seen)
        if self._failed:
            self._store.put_unread(self._failed, seen=seen)
        self._made, self._failed = [], []


def as_facts(
    source: SessionSource, listed: Sequence[Cited], provenance: Provenance
) -> tuple[KeyFact, ...]:
    """Listed lines as L1: each once, at most 25, what the source check marked last."""
    distinct: dict[str, Cited] = {}
    for cited in listed:
        distinct.setdefault(cited.line.text.casefold(), cited)
    ordered = sorted(distinct.values(), key=lambda cited: bool(cited.line.missing))
    return tuple(
        KeyFact(
            session_id=source.session.id,
            position=position,
            text=f"{stamp(source.messages[cited.places[0]])} {cited.line.text}",
            message_ids=tuple(source.messages[place].id for place in cited.places),
            missing=cited.line.missing,
            provenance=provenance,
        )
        for position, cited in enumerate(ordered[:MOST_FACTS])
    )


def as_unread(
    source: SessionSource, layer: Layer, unit: int, failure: Failure, provenance: Provenance
) -> UnreadReply:
    """A failure with its place, for `doctor`."""
    what = "message" if layer is Layer.NOTES else "session"
    return UnreadReply(
        layer=layer,
        unit_id=unit,
        session_id=source.session.id,
        place=f"session {source.session.id}, {what} {unit}",
        reason=failure.reason,
        reply=failure.reply,
        provenance=provenance,
    )
