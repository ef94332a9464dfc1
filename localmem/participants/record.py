"""A message as a normalised record, by rule: attitude, reason, and the claims that it makes.

Depends on the message, its dates and the kind of its chat alone, never on other messages or on
what is known: what a claim does to what is known is decided by the routers. Pure; English for
attributes, any language for plain facts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from localmem.layers.extractive import prose_of, sentence_spans, source_sha
from localmem.participants.claims import assistant_claims, claims_of, teller_of
from localmem.participants.slots import table
from localmem.participants.terms import key_of, words_of
from localmem.types import (
    Attitude,
    Claim,
    Message,
    MessageRecord,
    Participant,
    Provenance,
    ResolvedDate,
    Role,
)

MODEL_ID = "rules"
RULES_VERSION = "2"
"""Goes into the provenance, so that records made by older rules are made anew."""
_INLINE_CODE = re.compile(r"`([\w][\w .+#/-]{0,40})`")
"""A name in the way of code, `Flask`: read as any other name; the rest of code is not read."""
_ASKING = (
    r"(?:can|could|would|will|should|shall|may|do|does|did|is|are|am|was|were|have|has|what|how|which"
    r"|where|when|why|who|whose|any)"
)
_ASKS_AFTER = re.compile(
    rf"(?P<told>(?!\W*(?:(?:and|so|but|or|hmm|well|also)\W+)*{_ASKING}\b)[^?]{{8,}}?),\s+"
    rf"(?:(?:and|so|but|or)\s+)?{_ASKING}\b[^,?]*\?",
    re.IGNORECASE,
)
_CLOSING = "\"')” "
_ABBREVIATED = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|e\.g|i\.e)\.$")
_MOST_SENTENCES = 60
_LONGEST_SENTENCE = 500


def record_of(
    message: Message,
    dates: Sequence[ResolvedDate],
    *,
    in_assistant_chat: bool,
    people: Sequence[Participant] = (),
    by_owner: bool = False,
) -> MessageRecord:
    """The record of one message; tools and systems say nothing of their own.

    `people` are all participants: needed for corrections alone (`by_owner`), which may be about
    others.
    """
    provenance = Provenance(MODEL_ID, RULES_VERSION, source_sha([message]))
    if message.role not in (Role.USER, Role.ASSISTANT):
        return _record(message, (), provenance, Attitude.NONE)
    told = _without_recalled(message.text)
    prose = prose_of(_INLINE_CODE.sub(r" \1 ", told))
    assistant = message.role is Role.ASSISTANT and in_assistant_chat
    found: list[Claim] = []
    spans = _sentences(prose)
    for place, (begin, end) in enumerate(spans):
        after = prose[slice(*spans[place + 1])] if place + 1 < len(spans) else ""
        stop = _end_of_statement(prose, begin, end)
        raw = prose[begin:stop]
        inside = [one for one in dates if one.words in raw]
        if assistant:
            made = assistant_claims(message, raw, inside)
        else:
            made = claims_of(message, raw, after, inside, teller_of(message, raw, people, by_owner))
        quote = " ".join(told[begin:stop].split())
        found += [replace(claim, quote=quote) for claim in made]
    numbered = tuple(
        replace(claim, position=n, key_sha=key_of(claim)) for n, claim in enumerate(_once(found))
    )
    attitude = Attitude.NONE if assistant else attitude_of(prose)
    return _record(message, numbered, provenance, attitude)


def _sentences(prose: str) -> list[tuple[int, int]]:
    """Where the sentences that are read begin and stop; "Dr." ends none."""
    spans: list[tuple[int, int]] = []
    for begin, stop in sentence_spans(prose):
        if spans and _ABBREVIATED.search(prose, spans[-1][0], spans[-1][1]):
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((begin, stop))
    return [one for one in spans[:_MOST_SENTENCES] if one[1] - one[0] <= _LONGEST_SENTENCE]


def _end_of_statement(prose: str, begin: int, stop: int) -> int:
    """Where a sentence stops to state something: "I row on Mondays, what about you?"."""
    if not prose[begin:stop].rstrip(_CLOSING).endswith("?"):
        return stop
    match = _ASKS_AFTER.match(prose, begin, stop)
    return stop if match is None else match.end("told")


def _record(
    message: Message, claims: tuple[Claim, ...], provenance: Provenance, attitude: Attitude
) -> MessageRecord:
    reason = next((claim.reason for claim in claims if claim.reason), "")
    return MessageRecord(message.id, message.participant_id, attitude, reason, claims, provenance)


def attitude_of(text: str) -> Attitude:
    """Positive, negative or mixed by small lists, a negation before a word turning it round."""
    here = table().lexicon
    words = [word.lower() for word in words_of(text)]
    good = bad = 0
    for place, word in enumerate(words):
        if word not in here.positive and word not in here.negative:
            continue
        before = words[max(0, place - 3) : place]
        turned = any(one in here.negation or one.endswith(("n't", "n’t")) for one in before)
        if (word in here.positive) is not turned:
            good += 1
        else:
            bad += 1
    if good and bad:
        return Attitude.MIXED
    return Attitude.POSITIVE if good else Attitude.NEGATIVE if bad else Attitude.NONE


def _without_recalled(prose: str) -> str:
    """The text without blocks that come from a memory."""
    if "emor" not in prose and "<" not in prose:
        return prose
    return table().lexicon.recalled_block.sub(" ", prose)


def _once(claims: Sequence[Claim]) -> list[Claim]:
    seen: dict[tuple[str, ...], Claim] = {}
    for one in claims:
        seen.setdefault((one.kind, one.slot, one.entity, one.value, one.quote, one.cue), one)
    return list(seen.values())
