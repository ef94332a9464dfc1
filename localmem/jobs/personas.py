"""Keeps persona snapshots in step with what is known: regrouped by rule, named by a model.

Regrouping asks the embedder alone, and only about keys that are new. A model may give a larger
group a name in words of its members; where it cannot, the most central key stays its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from localmem.layers.draft import unfenced
from localmem.layers.orders import holds_order
from localmem.participants.personas import KeyEmbedder, load_known, regroup, wanted_keys
from localmem.participants.terms import stems_of
from localmem.ports import FloatMatrix, Llm
from localmem.prompts import load_prompt
from localmem.store import Store
from localmem.store.personas import PersonaGroup
from localmem.types import (
    ParticipantId,
    PersonaKind,
    Provenance,
)

PROMPT = "name_topic"

_LEAST_KEYS = 3
"""Keys of a group that is worth a name of its own; a smaller one is called by its key."""

_MOST_WORDS = 8
_SHOWN_LINES = 6
_SHOWN_CHARACTERS = 160
_NAME_TOKENS = 24
_GRAMMAR = r'root ::= [^\n]{2,80} "\n"?'
_NOT_NAMED = "-"
"""Stands in the place of a prompt's hash where a model's name was refused."""


def renew_personas(
    store: Store,
    embedder: KeyEmbedder | None = None,
    *,
    only: ParticipantId | None = None,
) -> int:
    """Make the snapshots of all participants that are out of date (or of one); how many were.

    Without an embedder keys are compared by their words where no vectors are there, and keys
    without a vector stay alone where some are.
    """
    with store.reading():
        stale = [one for one in store.stale_personas() if only in (None, one)]
    for participant in stale:
        ready = _asked_before(store, participant, embedder)
        with store.writing():  # what is forgotten meanwhile must not come back as a key
            if any(one.id == participant for one in store.participants()):
                made = regroup(load_known(store, participant), ready)
                store.put_personas(participant, made.groups, made.keys)
    return len(stale)


def name_topics(
    store: Store, llm_of: Callable[[], Llm], *, stop: Callable[[], bool] = lambda: False
) -> int:
    """Let the model name the topic groups of several keys that have no name yet; how many got one.

    `llm_of` is called only where there is one.

    Raises:
        GenerationError: the model failed.
    """
    named = 0
    for group in [one for one in store.persona_groups() if _wants_name(one)]:
        if stop():
            break
        named += _name(store, group, llm_of())
    return named


class _Answered:
    """An embedder with the answers that it gave before the memory was held."""

    def __init__(self, embedder: KeyEmbedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, NDArray[np.float32]] = {}

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed_passages(self, texts: Sequence[str]) -> FloatMatrix:
        """float32 (len(texts), dimension), unit rows; only new texts are asked about."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._rows |= dict(zip(new, self._embedder.embed_passages(new), strict=True))
        return np.stack([self._rows[text] for text in texts])


def _asked_before(
    store: Store, participant: ParticipantId, embedder: KeyEmbedder | None
) -> KeyEmbedder | None:
    """The embedder, asked already about the keys of a participant that have no vector yet."""
    if embedder is None:
        return None
    with store.reading():
        if all(one.id != participant for one in store.participants()):
            return embedder
        known = load_known(store, participant)
    answered = _Answered(embedder)
    have = {
        (one.kind, key)
        for one in known.keys
        for key in one.keys
        if one.model_id == embedder.model_id
    }
    wanted = wanted_keys(known)
    new = [key for kind, keys in wanted.items() for key in keys if (kind, key) not in have]
    if new:
        answered.embed_passages(new)
    return answered


# --- Names --------------------------------------------------------------------------------


def _wants_name(group: PersonaGroup) -> bool:
    keys = {key for _, key in group.members}
    return group.kind is PersonaKind.TOPIC and group.named_by is None and len(keys) >= _LEAST_KEYS


def _name(store: Store, group: PersonaGroup, llm: Llm) -> bool:
    """Ask for a name and keep it where its words are the members'; else keep the key for good.

    A group that has changed while the model answered is asked about another time.
    """
    prompt = load_prompt(PROMPT)
    items = {one.id: one for one in store.items(participants=[group.participant_id])}
    keys = list(dict.fromkeys(key for _, key in group.members))
    quotes = [items[number].quote for number, _ in group.members if number in items]
    told = [" ".join(quote.split()) for quote in quotes if not holds_order(quote)]
    shown = [f"- {unfenced(quote)[:_SHOWN_CHARACTERS]}" for quote in told[:_SHOWN_LINES]]
    messages = prompt.messages(words=", ".join(keys), lines="\n".join(shown))
    reply = llm.complete(messages, max_tokens=_NAME_TOKENS, grammar=_GRAMMAR).text
    name = " ".join(reply.split()).strip(" .,;:\"'")
    fits = _is_name(name, (*keys, *told))
    by = Provenance(llm.model_id, prompt.sha if fits else _NOT_NAMED, "")
    with store.writing():  # what was forgotten meanwhile must not come back in a name
        if group not in store.persona_groups(group.participant_id):
            return False
        store.rename_persona(group.id, name if fits else group.name, by)
    return fits


def _is_name(name: str, texts: Sequence[str]) -> bool:
    stems = stems_of(name)
    within = stems <= stems_of(" ".join(texts))
    return bool(stems) and within and len(name.split()) <= _MOST_WORDS
