"""A message as a normalised record, by rule: attitude, reason, and the claims that it makes.

Depends on the message, its dates and the kind of its chat alone, never on other messages or on
what is known: what a claim does to what is known is decided by the routers. Pure; English for
attributes, any language for plain facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache

from localmem.dates import describe
from localmem.layers.extractive import prose_of, sentence_spans, source_sha
from localmem.participants.naming import opening_name
from localmem.participants.slots import Lexicon, SlotMatch, matches, may_match, table
from localmem.participants.soundness import sound
from localmem.participants.terms import key_of, names_in, stems_of, words_of
from localmem.types import (
    Attitude,
    Claim,
    Cue,
    ItemKind,
    Message,
    MessageRecord,
    Modality,
    Participant,
    ParticipantId,
    Provenance,
    ResolvedDate,
    Role,
)

MODEL_ID = "rules"
RULES_VERSION = "2"
"""Goes into the provenance, so that records made by older rules are made anew."""

_CONTRACTIONS = (
    (re.compile(r"\bI['’]m\b", re.IGNORECASE), "I am"),
    (re.compile(r"\b(?:can['’]t|cannot)\b", re.IGNORECASE), "cannot"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
    (re.compile(r"['’]ve\b", re.IGNORECASE), " have"),
    (re.compile(r"['’]ll\b", re.IGNORECASE), " will"),
    (re.compile(r"['’]re\b", re.IGNORECASE), " are"),
    (re.compile(r"\b(I|you|we|they)['’]d\b", re.IGNORECASE), r"\1 would"),
    (re.compile(r"\b(it|that|there|he|she|who|what|here)['’]s\b", re.IGNORECASE), r"\1 is"),
)
_OPENING = re.compile(
    r"^(?:(?:hey|hi|hello|oh|well|so|yes|yeah|yep|no|nope|ok|okay|wow|ugh|haha|btw|by the way|also"
    r"|anyway|guess what|good news|big news|bad news|news|update|fun fact|fyi|correction|actually"
    r"|honestly|unfortunately|sadly|luckily|finally|just so you know|remember|note"
    r")\b(?: (?:everyone|everybody|all|guys|there|folks))?[,:!.–-]*\s+)+",
    re.IGNORECASE,
)
_WE = (
    (re.compile(r"\b[Ww]e are\b"), "I am"),
    (re.compile(r"\b[Ww]e were\b"), "I was"),
    (re.compile(r"\b[Ww]e\b"), "I"),
    (re.compile(r"\b[Oo]ur\b"), "my"),
)
_HAVE_DONE = re.compile(r"\b(I(?: have)?)((?: \w+)?) (lived|worked|studied|played|used|paid)\b")
_BASES = {"lived": "live", "worked": "work", "studied": "study", "played": "play", "used": "use",
          "paid": "pay"}  # fmt: skip
_USED_TO = re.compile(r"\bused to (?:be (?=a|an|the|in|at)|)(?=[a-z])", re.IGNORECASE)
_CLAUSE = re.compile(
    r"\s*;\s*|\s+[–—-]\s+|,? (?=but )|,? (?=because )|, (?=so )|, (?=which )|"
    r",? (?=and (?:now |then |just |so |also )?(?:I|my|the|it|she|he|they|{verbs})\b)|"
    r", (?=(?:I|my|now I|then I)\b)"
)
_JOINS = re.compile(
    r"^(?:and|but|so|because|then)\s+(?:now |then |just |so |also )?", re.IGNORECASE
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
_LEAST_WORDS = 3
_MOST_SENTENCES = 60
_LONGEST_SENTENCE = 500
_LONGEST_REASON = 160


@dataclass(frozen=True, slots=True)
class Teller:
    """Who a message's first person is for the stores, and with which right they speak.

    `about` is the participant whose store its claims go to. `names` are those whom its third
    person may mean (for corrections: the one that is corrected). `claims_only`: what it says is
    about somebody else, and never known to be so.
    """

    about: ParticipantId
    by_owner: bool = False
    claims_only: bool = False
    subject: str = ""


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
            made = _assistant_claims(message, raw, inside)
        else:
            made = _claims(message, raw, after, inside, _teller(message, raw, people, by_owner))
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


def plain_clauses(sentence: str) -> list[str]:
    """The clauses of a sentence whose contractions are written out already."""
    text = sentence
    clauses: list[str] = []
    has_subject = False
    for piece in _splitter().split(text):
        clause = _JOINS.sub("", piece).strip(" .,!")
        if not clause:
            continue
        first = clause.split(" ", 1)[0].lower()
        if has_subject and first in table().lexicon.verbs:
            clause = f"I {clause}"
        has_subject = has_subject or bool(re.match(r"(?:now |then )?I\b", clause))
        clauses.append(clause)
    return clauses


def in_first_person(sentence: str, name: str) -> str:
    """A sentence that begins with a name, as that person would say it; "" where it does not."""
    match = re.match(rf"{re.escape(name)}(['’]s)?\s+(\w+)(.*)", sentence, re.DOTALL)
    if match is None:
        return ""
    own, verb, rest = match.groups()
    if own:
        return f"my {verb}{rest}"
    verb = table().lexicon.third.get(verb, verb)
    return re.sub(r"\b(?:his|her|their)\b", "my", f"I {verb}{rest}")


# --- Claims -------------------------------------------------------------------------------


def _teller(message: Message, raw: str, people: Sequence[Participant], by_owner: bool) -> Teller:
    """Whose claims a sentence's are; a correction may be about anybody who is named uniquely."""
    if not by_owner:
        return Teller(message.participant_id)
    opening = opening_name(raw, people)
    if opening is not None and len(opening.people) == 1:
        person = opening.people[0]
        if person.id != message.participant_id:
            return Teller(person.id, by_owner=True, subject=opening.name)
    return Teller(message.participant_id, by_owner=True)


def _claims(
    message: Message, raw: str, after: str, dates: Sequence[ResolvedDate], teller: Teller
) -> Iterator[Claim]:
    """What a sentence of a person claims: attributes, else one event or fact."""
    sentence = _OPENING.sub("", " ".join(raw.split()))
    if teller.subject:
        sentence = in_first_person(sentence, teller.subject) or sentence
    plain = _spelled(sentence)
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
    clause, modality = _tense(clause, here)
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
    _, modality = _tense(plain, here)
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


def _assistant_claims(message: Message, raw: str, dates: Sequence[ResolvedDate]) -> Iterator[Claim]:
    """What an assistant says about the user: kept apart, and only where a slot is meant."""
    if not re.match(r"\W*(?:[\w' ]{0,20}\b)?(?:you|your|You|Your)\b", raw):
        return
    sentence = _spelled(_OPENING.sub("", " ".join(raw.split())))
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


# --- Words --------------------------------------------------------------------------------


def _spelled(sentence: str) -> str:
    """Contractions written out, "we" as "I"."""
    text = " ".join(sentence.split())
    if "'" in text or "’" in text:
        for pattern, written in _CONTRACTIONS:
            text = pattern.sub(written, text)
    for pattern, written in _WE:
        text = pattern.sub(written, text)
    if text.islower() or text.startswith("i "):
        text = re.sub(r"\bi\b", "I", text)
    return text


def _tense(clause: str, here: Lexicon) -> tuple[str, Modality]:
    """The clause in the present, and how it was said."""
    if here.plan.search(clause) and not _is_name_will(clause):
        return clause, Modality.PLANNED
    past = here.past.search(clause) is not None
    clause = _USED_TO.sub("", clause)
    match = _HAVE_DONE.search(clause)
    if match is not None:
        past = past or "have" not in match.group(1)
        clause = f"{clause[: match.start(3)]}{_BASES[match.group(3)]}{clause[match.end(3) :]}"
    return clause, Modality.PAST if past else Modality.STATED


def _is_name_will(clause: str) -> bool:
    """Whether the only sign of a plan is a person called Will."""
    return "Will" in clause and not table().lexicon.plan.search(clause.replace("Will", ""))


def _reason(plain: str, after: str, here: Lexicon) -> str:
    """The clause that says why, also where it stands in the next sentence."""
    for pattern, text in (
        (here.reason, plain),
        (here.reason_before, plain),
        (here.reason_next, _spelled(after).strip(" .!") if after else ""),
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


@cache
def _splitter() -> re.Pattern[str]:
    verbs = "|".join(sorted(table().lexicon.verbs))
    return re.compile(_CLAUSE.pattern.replace("{verbs}", verbs))
