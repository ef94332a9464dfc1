"""A sentence told in the third person: "I" becomes the speaker, "you" the one spoken to.

English only, by rule and without a parser: what the rules are not sure of stays as it was said.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from localmem import words

_ADVERB = (
    r"(?:also|just|really|always|never|still|usually|often|already|even|recently|finally|actually"
    r"|definitely|only|currently|mostly|sometimes|truly|totally|absolutely|genuinely|kinda|sure)"
)
_BASE_TEXT = """
    love like want need think know feel hope live work play go make take get try use see look find
    keep help enjoy prefer hate plan miss write run study teach own drive eat drink cook collect
    remember believe understand wish guess mean care wonder appreciate spend volunteer paint draw
    sing dance swim hike camp travel visit attend start stop watch listen talk speak call meet say
    tell ask give buy sell pay save order wear carry bring leave stay sleep wake walk ride climb
    practice practise train coach manage lead belong consider intend expect struggle suffer deal
    tend come become seem suggest recommend agree disagree hear notice realize realise admire
    respect trust support follow share create design build grow raise adopt foster bake knit sew
    garden fish ski surf jog meditate relax create compose record perform code program dream
    imagine worry regret avoid dislike adore value cherish celebrate commute rent owe earn invest
    donate organize organise host join lack require deserve assume suppose doubt bet swear promise
    aim look forward speak send receive answer reply learn rely apply crave treasure own mentor
    participate contribute exercise operate teach handle manage prepare choose focus
"""
_BASE = frozenset(_BASE_TEXT.split())
_IRREGULAR = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't",
              "go": "goes", "dont": "doesn't", "ain't": "isn't"}  # fmt: skip
_TAILS = {"'m": " is", "'ve": " has", "'ll": " will", "'d": " would", "m": " is", "ve": " has"}
_HAD = re.compile(r"^\s+(?:been|better|already|never|just|\w+ed|gone|done|seen|had|taken)\b")
_ES_ENDINGS = ("s", "sh", "ch", "x", "z", "o")

_FIRST = re.compile(
    rf"\b(?:I(?=\b|m |ve )|i(?=['’ ]))(?P<tail>['’](?:m|ve|ll|d)\b|m\b(?= )|ve\b(?= ))?"
    rf"(?P<adverbs>(?:\s+{_ADVERB})*)(?P<verb>\s+[a-z']+)?"
)
_IS_TEXT = (
    r"looking forward|hoping|thinking (?:of|about)|trying|feeling|wishing|planning|working on"
    r"|getting (?:ready|back|used)|going to|gonna|excited|glad|happy|thankful|grateful|proud|sorry"
    r"|relieved|stoked|thrilled|psyched|nervous|worried|tired|exhausted|ready"
)
_DID_TEXT = (
    r"had|was|went|got|took|made|bought|saw|met|found|started|finished|loved|enjoyed|felt|tried"
    r"|signed up|joined|moved|spent|ate|read|watched|visited|decided"
)
_SUBJECTLESS = (
    (rf"^(?=(?:so |really |very |super |pretty |just )*(?:{_IS_TEXT})\b)", " is "),
    (
        r"^(?=(?:can|can['’]t|cannot|won['’]t|couldn['’]t|didn['’]t|hadn['’]t|wouldn['’]t)"
        r" (?!you\b|we\b|i\b|they\b|he\b|she\b|it\b))",
        " ",
    ),
    (r"^haven['’]t(?= )", " hasn't"),
    (r"^(?=been )", " has "),
    (rf"^(?=(?:just |also |recently |finally )*(?:{_DID_TEXT})\b)", " "),
)
"""Beginnings without a subject, which a chat leaves out only where it is the speaker."""
_SUBJECTLESS_NOW = re.compile(
    r"^(?P<verb>love|appreciate|hope|wish|miss|need|want|enjoy)(?= (?!you\b))", re.I
)

_OWN = re.compile(r"\b(?P<word>[Mm]y|[Mm]ine|[Mm]e|[Mm]yself)\b(?:(?<=ine)['’]s\b)?")
_WE = re.compile(r"\b(?P<word>[Ww]e|[Uu]s|[Oo]ur)\b(?P<tail>['’](?:re|ve|ll|d)\b)?")
_WE_TAILS = {"'re": " are", "'ve": " have", "'ll": " will", "'d": " would"}
_SECOND = re.compile(
    r"(?P<lead>^|[.,;:!?]\s+|\b(?:that|when|if|because|and|but|so|since|while|as)\s+)?"
    r"\b(?P<word>[Yy]ou|[Yy]our|[Yy]ours|[Yy]ourself)\b(?P<tail>['’](?:re|ve|ll|d)\b)?"
    r"(?P<verb>\s+[a-z']+)?"
)
_SECOND_FIRST_WORD = re.compile(
    r"(?P<lead>^|[.,;:!?]\s+|^.{0,40}\b(?:hear|see|know|glad|happy|believe|think|sure|hope|that)\s+)"
    r"\b(?P<word>[Yy]ou|[Yy]our|[Yy]ours|[Yy]ourself)\b(?P<tail>['’](?:re|ve|ll|d)\b)?"
    r"(?P<verb>\s+[a-z']+)?"
)
"""Without a word of oneself "you" may be anybody: "those who back you". At the front it is not."""
_SPEAKS_OF_SELF = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur|[Uu]s|[Tt]hank\w*)\b")
_YOU_FIRST = re.compile(r"^\W*(?:\w+[,!]\s+)?you(?:r|['’]\w+)?\b", re.IGNORECASE)
_SECOND_VERBS = {"are": "is", "were": "was", "have": "has", "aren't": "isn't", "weren't": "wasn't",
                 "haven't": "hasn't", "do": "does", "don't": "doesn't"}  # fmt: skip
_SECOND_TAILS = {"'re": " is", "'ve": " has", "'ll": " will", "'d": " would"}


def is_english(text: str) -> bool:
    """Whether the rules of this module may be tried on a text."""
    return _analyser().language(words.words(text)) == words.DEFAULT_LANGUAGE


@cache
def _analyser() -> words.Analyser:
    """Only to tell languages, which threads may do at once; the stemmers are never used."""
    return words.Analyser()


def in_third_person(text: str, speaker: str, addressee: str | None, *, explain: bool = True) -> str:
    """The text with its first and second person written out; "we" is explained once.

    `addressee` None leaves "you" as it is. A text that is not English stays as it is.
    """
    if not is_english(text):
        return text
    told = _WE.sub(_explained(speaker), text, count=1) if explain else text
    whole = _with_subject(told, speaker)
    direct = whole != told or _is_direct(text, addressee)
    told = _FIRST.sub(lambda match: _first(match, speaker), whole)
    told = _OWN.sub(lambda match: _own(match, speaker), told)
    if addressee is not None:
        second = _SECOND if direct else _SECOND_FIRST_WORD
        told = second.sub(lambda match: _second(match, addressee), told)
    return told[:1].upper() + told[1:]


def _is_direct(text: str, addressee: str | None) -> bool:
    """Whether "you" is the one spoken to, and not anybody."""
    if _SPEAKS_OF_SELF.search(text) is not None or _YOU_FIRST.match(text) is not None:
        return True
    return addressee is not None and addressee.split()[0].casefold() in text.casefold()


def _with_subject(text: str, speaker: str) -> str:
    """The text with the speaker before a beginning that has no subject."""
    for beginning, link in _SUBJECTLESS:
        found = re.match(beginning, text, re.IGNORECASE)
        if found is not None:
            rest = text[found.end() :]
            return f"{speaker}{link}{rest[:1].lower()}{rest[1:]}"
    now = _SUBJECTLESS_NOW.match(text)
    if now is not None:
        return f"{speaker} {third_person_verb(now['verb'].lower())}{text[now.end() :]}"
    return text


def third_person_verb(verb: str) -> str:
    """ "love" -> "loves"; a form that is not a known base form stays."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb not in _BASE:
        return verb
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(_ES_ENDINGS) else f"{verb}s"


def possessive(name: str) -> str:
    """ "Ana's"."""
    return f"{name}'s"


def _explained(speaker: str) -> Callable[[re.Match[str]], str]:
    def explain(match: re.Match[str]) -> str:
        tail = (match.group("tail") or "").replace("’", "'")
        return f"{match.group('word')} ({speaker} and others){_WE_TAILS.get(tail, '')}"

    return explain


def _first(match: re.Match[str], speaker: str) -> str:
    tail = (match.group("tail") or "").replace("’", "'")
    adverbs, verb = match.group("adverbs"), match.group("verb") or ""
    if tail:
        after = f"{adverbs}{verb}"
        middle = " had" if tail == "'d" and _HAD.match(after) else _TAILS[tail]
        return f"{speaker}{middle}{after}"
    space = verb[: len(verb) - len(verb.lstrip())]
    return f"{speaker}{adverbs}{space}{third_person_verb(verb.strip())}"


def _own(match: re.Match[str], speaker: str) -> str:
    word = match.group("word").lower()
    return possessive(speaker) if word in ("my", "mine") else speaker


def _second(match: re.Match[str], addressee: str) -> str:
    lead, tail = match.group("lead") or "", (match.group("tail") or "").replace("’", "'")
    word, verb = match.group("word").lower(), match.group("verb") or ""
    if word in ("your", "yours"):
        return f"{lead}{possessive(addressee)}{verb}"
    if tail:
        return f"{lead}{addressee}{_SECOND_TAILS[tail]}{verb}"
    bare = verb.strip()
    space = verb[: len(verb) - len(verb.lstrip())]
    if bare in _SECOND_VERBS:
        return f"{lead}{addressee}{space}{_SECOND_VERBS[bare]}"
    leads = match.group("lead") is not None
    return f"{lead}{addressee}{space}{third_person_verb(bare) if leads else bare}"
