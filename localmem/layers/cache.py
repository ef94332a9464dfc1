"""What of the layers is there already, how fresh it is, and what a model is still to be asked.

Reads the store and the rules; asks no model and stores nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localmem.layers import messagewise, whole
from localmem.layers.choosing import CHOICE_VERSION, choose_facts
from localmem.layers.rules import MODEL_ID, RULES_VERSION, rule_notes
from localmem.layers.source import SessionSource
from localmem.ports import Llm
from localmem.store import Store
from localmem.types import (
    KeyFact,
    Layer,
    MadeFacts,
    MadeNotes,
    MessageId,
    Provenance,
    TurnNote,
)


@dataclass(frozen=True, slots=True)
class LayerModel:
    """The model that makes layers. `whole_session`: it passed the self-test of that name."""

    llm: Llm
    whole_session: bool = False

    def wants(self, source: SessionSource, place: int) -> bool:
        """Whether the model is asked about a message; the others are noted by rule for good."""
        if self.whole_session:
            return whole.tells(source, place)
        return messagewise.wants_model(source, place)

    def facts_provenance(self, source: SessionSource) -> Provenance:
        """What the model's L1 of a session is made from and by."""
        if self.whole_session:
            sha = whole.prompt_sha(whole.FACTS_PROMPT)
        else:
            sha = f"{messagewise.prompt_sha()}/{CHOICE_VERSION}"
        return Provenance(self.llm.model_id, sha, source.sha())

    def notes_provenance(self, source: SessionSource, place: int) -> Provenance:
        """What the model's L2 of a message is made from and by."""
        sha = whole.prompt_sha(whole.NOTES_PROMPT)
        if not self.whole_session:
            sha = messagewise.prompt_sha()
        return Provenance(self.llm.model_id, sha, source.note_sha(place))


@dataclass(frozen=True, slots=True)
class NotesAtHand:
    """The best notes without more work. `stale` and `by_rule` count messages that a model would
    be asked about, but of which an older state or the rules' notes are given."""

    notes: tuple[TurnNote, ...]
    stale: int
    by_rule: int


@dataclass(frozen=True, slots=True)
class FactsAtHand:
    """The best facts without more work; `by_rule`: some rest on notes made by rule."""

    facts: tuple[KeyFact, ...]
    stale: bool
    by_rule: bool


class LayerCache:
    """The stored layers of a memory, seen from the present state of a session."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def fresh_facts(self, source: SessionSource, model: LayerModel | None) -> MadeFacts | None:
        """L1 of the session as it stands now, by this model; by any model where it is None."""
        stored = self._store.facts_of(source.session.id)
        if stored is None or stored.provenance.source_sha != source.sha():
            return None
        if model is None or stored.provenance == model.facts_provenance(source):
            return stored
        return None

    def could_not_list(self, source: SessionSource, model: LayerModel) -> bool:
        """Whether the model's L1 of this very session could not be read before."""
        wanted = model.facts_provenance(source)
        return any(
            reply.layer is Layer.FACTS and reply.reply and reply.provenance == wanted
            for reply in self._store.unread_replies(source.session.id)
        )

    def open_places(
        self, source: SessionSource, places: Sequence[int], model: LayerModel
    ) -> list[int]:
        """The places that the model is still to be asked about."""
        stored = self._stored(source, places)
        tried = {
            reply.unit_id: reply.provenance
            for reply in self._store.unread_replies(source.session.id)
            if reply.layer is Layer.NOTES and reply.reply
        }
        found = []
        for place in places:
            number = source.messages[place].id
            wanted = model.notes_provenance(source, place)
            made = stored.get(number)
            done = made is not None and made.provenance == wanted
            if not (done or tried.get(int(number)) == wanted) and model.wants(source, place):
                found.append(place)
        return found

    def notes_at_hand(
        self,
        source: SessionSource,
        places: Sequence[int],
        model: LayerModel | None,
        *,
        stale_ok: bool,
    ) -> NotesAtHand:
        """Stored notes where they are fresh (or `stale_ok`), the rules' notes elsewhere."""
        stored = self._stored(source, places)
        notes: list[TurnNote] = []
        stale = by_rule = 0
        for place in places:
            made = stored.get(source.messages[place].id)
            fresh = made is not None and made.provenance.source_sha == source.note_sha(place)
            if made is not None and (fresh or stale_ok):
                notes += made.notes
                stale += not fresh
            else:
                ruled = rule_notes(source, place)
                notes += ruled
                by_rule += bool(ruled) and (model is None or model.wants(source, place))
        return NotesAtHand(tuple(notes), stale, by_rule)

    def facts_at_hand(
        self, source: SessionSource, model: LayerModel | None, *, stale_ok: bool
    ) -> FactsAtHand:
        """Stored facts where they are fresh (or `stale_ok`), else chosen from the notes."""
        stored = self._store.facts_of(source.session.id)
        if stored is not None:
            stale = stored.provenance.source_sha != source.sha()
            if stale_ok or not stale:
                return FactsAtHand(stored.facts, stale, by_rule=False)
        places = range(len(source.messages))
        at_hand = self.notes_at_hand(source, places, model, stale_ok=stale_ok)
        provenance = Provenance(MODEL_ID, RULES_VERSION, source.sha())
        facts = choose_facts(source, at_hand.notes, provenance)
        return FactsAtHand(facts, at_hand.stale > 0, at_hand.by_rule > 0)

    def _stored(
        self, source: SessionSource, places: Sequence[int]
    ) -> Mapping[MessageId, MadeNotes]:
        return self._store.notes_of([source.messages[place].id for place in places])
