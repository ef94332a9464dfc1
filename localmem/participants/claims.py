"""What a sentence claims, by rule: attributes of the slots that it fills, else one event or fact.

Pure; English for attributes, any language for plain facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from localmem.dates import describe
from localmem.participants.naming import opening_name
from localmem.participants.phrasing import (
    in_first_person,
    in_present,
    plain_clauses,
    spelled,
    without_opening,
)
from localmem.participants.slots import Lexicon, SlotMatch, matches, may_match, table
from localmem.participants.soundness import sound
from localmem.participants.terms import names_in, stems_of
from localmem.types import (
    Claim,
    Cue,
    ItemKind,
    Message,
    Modality,
    Participant,
    ParticipantId,
    ResolvedDate,
)

_FIRST_PERSON = re.compile(r"\b(?:I|my|me|mine|myself)\b")
_COURTESY = re.compile(
    r"^\W*(?:hey|hi|hello|thanks|thank you|wow|congrat\w*|sounds|that is (?:great|awesome|so"
    r"|amazing|wonderful)|glad|good (?:to|morning|luck|night)|nice|cool|awesome|great|take care"
    r"|see you"
    r"|have (?:a|fun)|you are welcome|of course|let me know|happy to|so (?:glad|happy) )\b",
    re.IGNORECASE,
)
_PAST_VERB = re.compile(r"\bI(?: have| had| just| recently| finally| also| even)* ([a-z]+)\b")
_CODE_LIKE = re.compile(r"[{}<>=]{1,2}|::|\w\(\w*\)|https?://")
_LEAST_WORDS = 3
_LONGEST_REASON = 160


@dataclass(frozen=True, slots=True)
class Teller:
    """Who a message's first person is for the stores, and with which right they speak.

    `about` is the participant whose store its claims go to. `subject` is the name that stands for
    them in a correction, or for the user in what an assistant says. `claims_only`: what it says is
    about somebody else, and never known to be so.
    """

    about: ParticipantId
    by_owner: bool = False
    claims_only: bool = False
    subject: str = ""


def teller_of(message: Message, raw: str, people: Sequence[Participant], by_owner: bool) -> Teller:
    """Whose claims a sentence's are; a correction may be about anybody who is named uniquely."""
    if not by_owner:
        return Teller(message.participant_id)
    opening = opening_name(raw, people)
    if opening is not None and len(opening.people) == 1:
        return Teller(opening.people[0].id, by_owner=True, subject=opening.name)
    return Teller(message.participant_id, by_owner=True)


def claims_of(
    message: Message, raw: str, after: str, dates: Sequence[ResolvedDate], teller: Teller
) -> Iterator[Claim]:
    """What a sentence of a person claims: attributes, else one event or fact."""
    sentence = without_opening(raw)
    if teller.subject:
        sentence = in_first_person(sentence, teller.subject) or sentence
    plain = spelled(sentence)
    if plain.rstrip("\"')”").endswith("?") or len(plain.split()) < _LEAST_WORDS:
        return
    here = table().lexicon
    if here.recalled.search(plain):
        return
    reason = _reason(plain, after, here)
    quote = " ".join(raw.split())
    told = False
    for clause in plain_clauses(plain) if may_match(plain) else ():
        for claim in _slot_claims(message, clause, dates, teller):
            told = True
            yield replace(claim, quote=quote, reason=reason if claim.reason == "" else claim.reason)
    if not told:
        yield from _plain_claim(message, plain, quote, reason, dates, teller)


def _slot_claims(
    message: Message, clause: str, dates: Sequence[ResolvedDate], teller: Teller
) -> Iterator[Claim]:
    here = table().lexicon
    clause, modality = in_present(clause, here)
    for match in matches(clause):
        found = sound(clause, match)
        if found is not None:
            yield _slot_claim(message, clause, found, dates, teller, modality)


def _slot_claim(
    message: Message,
    clause: str,
    found: SlotMatch,
    dates: Sequence[ResolvedDate],
    teller: Teller,
    modality: Modality,
) -> Claim:
    here = table().lexicon
    if found.slot.is_plan or (modality is Modality.PLANNED and not found.ends):
        modality = Modality.PLANNED
    elif modality is Modality.PLANNED:
        modality = Modality.STATED
    if teller.claims_only:
        modality = Modality.CLAIMED
    prefix = {Modality.PLANNED: "plan:", Modality.CLAIMED: "claimed:"}.get(modality, "")
    if found.slot.is_plan:
        prefix = "claimed:" if teller.claims_only else ""
    value = found.value.casefold()
    told = [one for one in dates if one.words.casefold() not in value]
    start, end = (None, None) if found.slot.is_plan else _interval(clause, told, modality)
    cue = Cue.NONE
    if found.ends:
        cue = Cue.END
    elif found.old or _tells_change(clause, teller, here):
        cue = Cue.CHANGE
    return Claim(
        message_id=message.id,
        position=0,
        participant_id=teller.about,
        kind=ItemKind.ATTRIBUTE,
        slot=f"{prefix}{found.slot.name}",
        entity=_planned_for(clause, dates) if found.slot.is_plan else _entity(found, teller),
        value=found.value,
        quote="",
        said_at=message.said_at,
        positive=found.positive,
        modality=modality,
        cue=cue,
        old_value=found.old,
        names=names_in(clause),
        valid_from=start,
        valid_to=end,
        by_owner=teller.by_owner,
    )


def _tells_change(clause: str, teller: Teller, here: Lexicon) -> bool:
    """Whether the clause says that something changed; a correction may only say what was wrong."""
    if teller.by_owner:
        clause = here.mistake.sub(" ", clause)
    return here.change.search(clause) is not None


def _entity(found: SlotMatch, teller: Teller) -> str:
    """What of a slot it is about, without adjectives that do not tell things apart."""
    plain = table().lexicon.plain
    words = [word for word in found.entity.lower().split() if word not in plain]
    if "of" in words[1:-1]:
        place = words.index("of", 1)
        tail = [word for word in words[place + 1 :] if word not in ("the", "my", "our", "a")]
        words = [*tail, *words[:place]]
    entity = " ".join(words)
    return f"{teller.subject}: {entity}".strip() if teller.claims_only else entity


def _planned_for(clause: str, dates: Sequence[ResolvedDate]) -> str:
    """The day or month of a plan in words; "" where the clause names none."""
    folded = clause.casefold()
    return next((describe(one) for one in dates if one.words.casefold() in folded), "")


def _interval(
    clause: str, dates: Sequence[ResolvedDate], modality: Modality
) -> tuple[date | None, date | None]:
    """The days that a clause names: the first on which it holds, the first on which no more."""
    folded = clause.casefold()
    within = [one for one in dates if one.words.casefold() in folded]
    if not within:
        return None, None
    one = within[0]
    if re.search(rf"\b(?:until|till|up to)\b[^,]{{0,12}}{re.escape(one.words.casefold())}", folded):
        return None, one.start
    if len(within) > 1 and modality is Modality.PAST:
        return one.start, within[1].start
    ended = modality is Modality.PAST and not one.open_end
    return one.start, _day_after(one.end) if ended else None


def _day_after(day: date) -> date:
    return day if day == date.max else day + timedelta(days=1)


def _plain_claim(
    message: Message,
    plain: str,
    quote: str,
    reason: str,
    dates: Sequence[ResolvedDate],
    teller: Teller,
) -> Iterator[Claim]:
    """An event or fact: no small talk, and it tells of oneself or names something."""
    here = table().lexicon
    names = names_in(plain)
    personal = _FIRST_PERSON.search(plain) is not None
    if not (personal or names or dates or any(map(str.isdigit, plain))):
        return
    if _CODE_LIKE.search(plain) or (_COURTESY.match(plain) and not (personal and (names or dates))):
        return
    stems = stems_of(plain)
    if len(stems) < (_LEAST_WORDS if personal else _LEAST_WORDS + 1) - bool(names or dates):
        return
    _, modality = in_present(plain, here)
    head = _event_head(plain) if modality is not Modality.PLANNED else ""
    ended = here.end.search(plain) is not None
    cue = Cue.END if ended else Cue.CHANGE if here.change.search(plain) else Cue.NONE
    first = dates[0] if dates else None
    yield Claim(
        message_id=message.id,
        position=0,
        participant_id=teller.about,
        kind=ItemKind.EVENT if head else ItemKind.FACT,
        slot="plan:" if modality is Modality.PLANNED else "",
        entity=head,
        value="",
        quote=quote,
        said_at=message.said_at,
        positive=not any(word in here.negation for word in plain.lower().split()),
        modality=modality,
        cue=cue,
        reason=reason,
        names=names,
        valid_from=first.start if first else None,
        valid_to=_day_after(first.end) if first and head else None,
        by_owner=teller.by_owner,
    )


def assistant_claims(message: Message, raw: str, dates: Sequence[ResolvedDate]) -> Iterator[Claim]:
    """What an assistant says about the user: kept apart, and only where a slot is meant."""
    if not re.match(r"\W*(?:[\w' ]{0,20}\b)?(?:you|your|You|Your)\b", raw):
        return
    sentence = spelled(without_opening(raw))
    if sentence.endswith("?") or table().lexicon.recalled.search(sentence):
        return
    turned = re.sub(
        r"\byour\b", "my", re.sub(r"\byou are\b", "I am", sentence, flags=re.I), flags=re.I
    )
    turned = re.sub(r"\byou\b", "I", turned, flags=re.IGNORECASE)
    teller = Teller(message.participant_id, claims_only=True, subject="user")
    for clause in plain_clauses(turned):
        for claim in _slot_claims(message, clause, dates, teller):
            if "plan" not in claim.slot:
                yield replace(claim, quote=" ".join(raw.split()))


def _reason(plain: str, after: str, here: Lexicon) -> str:
    """The clause that says why, also where it stands in the next sentence."""
    for pattern, text in (
        (here.reason, plain),
        (here.reason_before, plain),
        (here.reason_next, spelled(after).strip(" .!") if after else ""),
    ):
        match = pattern.search(text.strip(" .!"))
        if match is not None:
            return match.group("reason").strip(" .,!")[:_LONGEST_REASON]
    return ""


def _event_head(plain: str) -> str:
    """The verb of what somebody did: "visit" of "I just visited Rome"; "" for none."""
    for match in _PAST_VERB.finditer(plain):
        verb = table().lexicon.events.get(match.group(1))
        if verb is not None:
            return verb
    return ""
