"""The words of a sentence put plainly: contractions written out, clauses apart, in the present.

Pure; English.
"""

from __future__ import annotations

import re
from functools import cache

from localmem.participants.slots import Lexicon, table
from localmem.types import Modality

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


def without_opening(raw: str) -> str:
    """A sentence without "hey", "by the way" and the like before it."""
    return _OPENING.sub("", " ".join(raw.split()))


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


def spelled(sentence: str) -> str:
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


def in_present(clause: str, here: Lexicon) -> tuple[str, Modality]:
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


@cache
def _splitter() -> re.Pattern[str]:
    verbs = "|".join(sorted(table().lexicon.verbs))
    return re.compile(_CLAUSE.pattern.replace("{verbs}", verbs))
