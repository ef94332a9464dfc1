"""A message's record as a model betters it: what it is asked, and what of its reply may stand.

The rules' record stays the ground: their claims are kept, a model's come beside them where the
rules read nothing, or say a rules' sentence in plainer words. Each is held against the message
itself: names, numbers, days and most words must be there, the value of an attribute word for
word, in a sentence in which the writer speaks of themselves as things are. What fails is left
out; a reply of which nothing stands stores nothing. Calls no model. (AdaMem, section 3.1 and
appendix E; the form for small models is ours: supplement, 2.9.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from localmem import dates as dating
from localmem import words
from localmem.layers.draft import unfenced
from localmem.layers.extractive import prose_of, sentence_spans
from localmem.layers.orders import holds_order
from localmem.layers.rules import called, capitalised
from localmem.layers.source import SessionSource
from localmem.layers.support import Grounds, grounds_of, missing_from, shared_share, stems_of
from localmem.layers.telling import content_of
from localmem.participants.slots import table
from localmem.participants.terms import key_of, names_in, normal_value
from localmem.prompts import Prompt, load_prompt
from localmem.types import (
    Attitude,
    ChatMessage,
    Claim,
    Cue,
    ItemKind,
    Message,
    MessageRecord,
    Modality,
    Provenance,
    Role,
)

PROMPT = "understand_message"
REPLY_TOKENS = 400

LEAST_OWN = 0.6
"""Share of a line's content words that its message must hold."""

_LEAST_CONTENT = 3
_SHOWN_CHARACTERS = 1_600
_SHOWN_BEFORE = 240
_MOST_SUMMARY_WORDS = 30
_MOST_FACTS = 5
_FIRST_PERSON = re.compile(
    r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine|[Ww]e|[Oo]ur|us|i['’]m|i['’]ve)\b|(?:^|\s)i(?=\s|['’])"
)
_OWN_BEFORE = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur|i['’]m|i['’]ve)\b|(?:^|(?<=\s))i(?=\s|['’])")
_NOT_IN_A_FACT = re.compile(r"\b(?:I|me|my|we|our|us|you|your)\b")
_NEGATED = re.compile(r"\b(?:not|no|never|hardly|without|cannot)\b|n['’]t\b", re.IGNORECASE)
_NAMED_SLOTS = frozenset({"home", "employer", "partner", "language", "car"})
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DATED_SLOTS = re.compile(rf"\d|{_MONTHS}", re.IGNORECASE)
_DISLIKES = "dislikes"


@dataclass(frozen=True, slots=True)
class Understood:
    """What became of a reply: the bettered record, or None with the reason.

    `refused` counts the parts of the reply that did not stand.
    """

    record: MessageRecord | None
    reason: str = ""
    refused: int = 0


def is_worth_it(source: SessionSource, place: int) -> bool:
    """Whether a model may make more of a message than the rules did; never one with orders."""
    message = source.messages[place]
    before = source.before(place)
    if message.role is not Role.USER or holds_order(message.whole_text):
        return False
    if before is not None and holds_order(before.whole_text):
        return False
    return len(content_of(prose_of(message.text), source.speakers)) >= _LEAST_CONTENT


def messages_for(prompt: Prompt, source: SessionSource, place: int) -> tuple[ChatMessage, ...]:
    """The prompt for the message at `place`."""
    message = source.messages[place]
    return prompt.messages(
        before=_before(source, place),
        writer=unfenced(capitalised(called(message.speaker))).replace('"', "'"),
        message=unfenced(_shown(source, message, _SHOWN_CHARACTERS)),
    )


def read(reply: str) -> Mapping[str, Any] | None:
    """The reply as it was asked for; None where it cannot be read."""
    try:
        told = json.loads(reply)
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    lists, texts = ("topics", "facts", "attributes"), ("attitude", "reason", "summary")
    if not all(isinstance(told.get(name), list) for name in lists):
        return None
    return told if all(isinstance(told.get(name), str) for name in texts) else None


def bettered(
    source: SessionSource, place: int, record: MessageRecord, told: Mapping[str, Any], model_id: str
) -> Understood:
    """The record with what of a reply stands; none where that is nothing."""
    judging = _Judging(source, place, record)
    claims = judging.attributes(told["attributes"]) + judging.facts(told["facts"])
    better = replace(
        record,
        topics=judging.topics(told["topics"]) or record.topics,
        attitude=judging.attitude(told["attitude"]),
        reason=record.reason or judging.reason(told["reason"]),
        summary=judging.summary(told["summary"]) or record.summary,
        claims=judging.claims_with(claims),
        provenance=Provenance(model_id, load_prompt(PROMPT).sha, record.provenance.source_sha),
    )
    changed = replace(better, provenance=record.provenance) != record
    if not changed:
        return Understood(None, "nothing of it stands", judging.refused)
    return Understood(better, refused=judging.refused)


class _Judging:
    """Holds the parts of one reply against the message."""

    def __init__(self, source: SessionSource, place: int, record: MessageRecord) -> None:
        self._message = source.messages[place]
        self._record = record
        alone = SessionSource(source.session, (self._message,), source.dates)
        self._grounds = grounds_of(alone, [0])
        self._name = called(self._message.speaker)
        self._others = [called(name) for name in source.speakers if name != self._message.speaker]
        self._sentences = _sentences_of(self._message)
        self._revalued: dict[int, Claim] = {}
        self.refused = 0

    def topics(self, told: Sequence[Any]) -> tuple[str, ...]:
        """Those whose every word the message holds."""
        texts = [" ".join(one.split()) for one in told if isinstance(one, str)]
        kept = [one for one in texts if one and self._holds_words(one)]
        self.refused += len(told) - len(kept)
        return tuple(dict.fromkeys(kept))

    def attitude(self, told: str) -> Attitude:
        """The rules' own where they are sure; else the model's."""
        if self._record.attitude is not Attitude.NONE or told == "none":
            return self._record.attitude
        try:
            return Attitude(told)
        except ValueError:
            return self._record.attitude

    def reason(self, told: str) -> str:
        """A reason in the words of the message."""
        text = " ".join(told.split()).strip(" .")
        if not text:
            return ""
        if self._holds_words(text):
            return text
        self.refused += 1
        return ""

    def summary(self, told: str) -> str:
        """A sentence that names the writer and tells nothing that the message does not."""
        text = " ".join(told.split())
        if not text:
            return ""
        fits = len(text.split()) <= _MOST_SUMMARY_WORDS and self._is_borne_out(text)
        if fits and self._name.casefold() in text.casefold():
            return text
        self.refused += 1
        return ""

    def facts(self, told: Sequence[Any]) -> list[Claim]:
        """Claims for facts in sentences of which the rules made nothing; others say theirs better.

        Not of a sentence that is a wish, a plan or a question, nor about another participant.
        """
        made: list[Claim] = []
        for one in told[:_MOST_FACTS]:
            claim = self._fact(" ".join(one.split())) if isinstance(one, str) else None
            if claim is None:
                self.refused += 1
            elif claim.number:
                self._revalued[claim.number] = claim
            elif claim.quote not in {other.quote for other in made}:
                made.append(claim)
        return made

    def attributes(self, told: Sequence[Any]) -> list[Claim]:
        """Claims for attributes whose value stands in a plain sentence of the writer's."""
        made: list[Claim] = []
        for one in told:
            claim = self._attribute(one) if isinstance(one, dict) else None
            if claim is None:
                self.refused += 1
            elif (claim.slot, claim.value) not in {(c.slot, c.value) for c in made}:
                made.append(claim)
        return made

    def claims_with(self, more: Sequence[Claim]) -> tuple[Claim, ...]:
        """The rules' claims, some in better words, and the new ones after them."""
        kept = [self._revalued.get(claim.number, claim) for claim in self._record.claims]
        first = max((claim.position for claim in kept), default=-1) + 1
        new = [replace(claim, position=first + n) for n, claim in enumerate(more)]
        return (*kept, *(replace(claim, key_sha=key_of(claim)) for claim in new))

    # --- Facts ----------------------------------------------------------------------------

    def _fact(self, text: str) -> Claim | None:
        if not self._is_borne_out(text) or self._begins_with_another(text):
            return None
        sentence = max(self._sentences, key=lambda one: _shared(text, one), default="")
        if not sentence or _shared(text, sentence) * 2 < len(stems_of(text, (self._name,))):
            return None
        if not _is_plain(sentence) or _is_negated(text) is not _is_negated(sentence):
            return None
        there = next((c for c in self._record.claims if c.quote == sentence), None)
        if there is None:
            return self._claim(ItemKind.FACT, "", text, sentence)
        fits = there.kind is not ItemKind.ATTRIBUTE and not there.by_owner
        return replace(there, value=text) if fits and there.number else None

    def _begins_with_another(self, text: str) -> bool:
        folded = text.casefold()
        return any(folded.startswith(name.casefold()) for name in self._others if name)

    # --- Attributes -----------------------------------------------------------------------

    def _attribute(self, told: Mapping[str, Any]) -> Claim | None:
        kind, value = told.get("kind"), told.get("value")
        if not isinstance(kind, str) or not isinstance(value, str):
            return None
        value = " ".join(value.split()).strip(" .,;:!?'\"")
        slot = "likes" if kind == _DISLIKES else kind
        sentence = next((one for one in self._sentences if _holds(one, value)), "")
        positive = kind != _DISLIKES
        if not value or table().slot(slot) is None:
            return None
        if not self._may_say(slot, value, sentence, positive=positive):
            return None
        return replace(
            self._claim(ItemKind.ATTRIBUTE, slot, value, sentence),
            positive=positive,
            names=names_in(sentence),
        )

    def _may_say(self, slot: str, value: str, sentence: str, *, positive: bool) -> bool:
        """Whether a sentence is one that may say this of its writer, and the rules do not."""
        if not sentence or not _FIRST_PERSON.search(sentence) or not _is_plain(sentence):
            return False
        if _is_negated(sentence) and (slot != "likes" or positive):
            return False
        if not _is_the_writers(slot, value, sentence):
            return False
        if slot in _NAMED_SLOTS and not any(part[:1].isupper() for part in value.split()):
            return False
        if slot == "age" and not value.isdecimal():
            return False
        if slot == "birthday" and not _DATED_SLOTS.search(value):
            return False
        here = table().slot(slot)
        many = here is not None and here.many
        for claim in self._record.claims:
            same = normal_value(claim.value) == normal_value(value)
            if claim.slot.rpartition(":")[2] == slot and (same or not many):
                return False
        return True

    # --- Both -----------------------------------------------------------------------------

    def _claim(self, kind: ItemKind, slot: str, value: str, sentence: str) -> Claim:
        """A claim of a plain sentence; the day that the sentence names is when it began."""
        dates = dating.resolve(sentence, self._message.said_at)
        return Claim(
            message_id=self._message.id,
            position=0,
            participant_id=self._record.participant_id,
            kind=kind,
            slot=slot,
            entity="",
            value=value,
            quote=sentence,
            said_at=self._message.said_at,
            modality=Modality.STATED,
            cue=Cue.NONE,
            names=names_in(sentence),
            valid_from=dates[0].start if dates else None,
        )

    def _is_borne_out(self, text: str) -> bool:
        if not text or _NOT_IN_A_FACT.search(text) or text.endswith("?"):
            return False
        return not missing_from(text, self._grounds) and _own_share(text, self._grounds)

    def _holds_words(self, text: str) -> bool:
        return bool(words.words(text)) and all(
            word in self._grounds.text for word in words.words(text)
        )


def _own_share(text: str, grounds: Grounds) -> bool:
    return shared_share(text, grounds) >= LEAST_OWN


def _shared(text: str, sentence: str) -> int:
    return len(stems_of(text) & stems_of(sentence))


def _holds(sentence: str, value: str) -> bool:
    return f" {' '.join(words.words(value))} " in f" {' '.join(words.words(sentence))} "


def _is_the_writers(slot: str, value: str, sentence: str) -> bool:
    """Whether the sentence says a value of its writer rather than of somebody whom it names.

    "I" or "my" comes before the value, and nobody else between: not "my sister lives in Oslo". A
    partner is somebody else, and a birthday may stand before "my".
    """
    if slot == "partner":
        return True
    said = r"\W+".join(re.escape(word) for word in value.split())
    places = [one.start() for one in re.finditer(rf"\b{said}", sentence, re.IGNORECASE)]
    return any(_tells_of_oneself(sentence[:place], slot == "birthday") for place in places)


def _tells_of_oneself(before: str, by_default: bool) -> bool:
    """Whether the last "I" or "my" of what stands before a value leads to it past nobody else."""
    own = list(_OWN_BEFORE.finditer(before))
    if not own:
        return by_default
    here = table().lexicon
    between = {word.removesuffix("'s") for word in words.words(before[own[-1].start() :])}
    return between.isdisjoint(here.others | here.persons)


def _is_negated(text: str) -> bool:
    return _NEGATED.search(text) is not None


def _is_plain(sentence: str) -> bool:
    """Whether a sentence says how things are: no question, wish, plan, past, end or memory."""
    here = table().lexicon
    if sentence.rstrip("\"')”").endswith("?"):
        return False
    return not any(
        pattern.search(sentence) for pattern in (here.plan, here.past, here.end, here.recalled)
    )


def _sentences_of(message: Message) -> tuple[str, ...]:
    prose = prose_of(message.text)
    return tuple(" ".join(prose[begin:stop].split()) for begin, stop in sentence_spans(prose))


def _before(source: SessionSource, place: int) -> str:
    before = source.before(place)
    if before is None:
        return ""
    text = _shown(source, before, _SHOWN_BEFORE)
    return unfenced(f"{capitalised(called(before.speaker))}: {text}")


def _shown(source: SessionSource, message: Message, most: int) -> str:
    dates = source.dates_of(message)
    told = dating.annotate(message.text, dates, said_at=message.said_at)
    text = " ".join(prose_of(told, most=None).split())
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"
