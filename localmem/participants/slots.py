"""The table of slots: what people say about themselves, as patterns that `slots.toml` holds.

A slot is a question that has an answer at any one time ("home"), or several ("pet"). This module
reads the table and matches single clauses; it knows no messages. English only.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

_LITTLE = (
    "have|had|am|was|just|recently|finally|now|also|still|actually|already|officially|currently"
    "|really|then|only|even|be|been|eventually|recently|mostly|both|all|absolutely|definitely"
    "|always|usually|mainly"
)
_ADVERBS = (
    "just|really|also|still|actually|already|now|always|truly|totally|absolutely|definitely|do"
    "|especially|particularly|generally|usually|only|even|mostly|quite|so|very much|simply"
)
_CAPITAL = "A-ZÀ-ÖØ-ÞĀĆČĐĘĞİŁŃŌŐŒŘŚŠŪŮŹŻŽ"
_NAME_WORD = rf"[{_CAPITAL}0-9][\w'’&-]*(?:\.(?=\w))?[\w'’&-]*"
_END = (
    r"(?=\s*(?:$|[;!?()\"”]|[.,:](?!\d)"
    r"| (?:and|but|because|since|so|when|while|after|before|which|who|that"
    r"|until|as|for now|now|nowadays|these days|anymore|any more|again|instead|though|last|this"
    r"|next|yesterday|today|tomorrow|every|if|than|lately|recently|right|more|at the moment"
    r"|in (?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december|the (?:spring|summer|autumn|fall|winter)|\d{4})|on (?:mon|tues|wednes"
    r"|thurs|fri|satur|sun)day"
    r"|on \d|a lot|so much|very much|too much)\b))"
)
_LIKED_END = _END.replace(
    "|in (?:jan", "|here|there|with (?:my|the)|about (?:it|this)|in (?:jan", 1
)
_SHORT_END = _END.replace(" (?:and|", " (?:with|from|on|in|at|for|to|per|near|of|and|", 1)
_CHARACTER = r"(?:[^.,;:!?()\"”]|[.,:](?=\w))"
_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_WEEKDAY = "(?:mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?)"
_NUMBER = r"[^\s,;!?()]*\d(?:[^\s;!?()]*[^\s,;!?.()])?"
_MACROS = {
    "{i}": rf"\b[Ii](?: (?:{_LITTLE}))*",
    "{my}": r"\b(?:my|our)(?: (?:new|current|old|actual))?",
    "{name}": (
        rf"(?-i:(?!I\b)(?:(?:Dr|Mr|Mrs|Ms|St|Prof)\. )?{_NAME_WORD}"
        rf"(?: (?:of |the |de |van |von |& )?{_NAME_WORD}){{0,3}})"
    ),
    "{place}": (
        rf"(?-i:(?:the )?(?!I\b){_NAME_WORD}(?:[ -]{_NAME_WORD}){{0,3}}(?:, {_NAME_WORD})?)"
    ),
    "{np}": rf"{_CHARACTER}{{2,60}}?{_END}",
    "{short}": rf"{_CHARACTER}{{2,50}}?{_SHORT_END}",
    "{thing}": r"[^\W\d][\w'’-]*(?: (?!is\b|are\b|was\b|has\b)[\w'’-]+){0,3}?",
    "{money}": (
        r"(?:(?:[$€£]|(?:usd|eur|gbp|nok|chf) )\s?\d[\d.,]*\d?k?"
        r"|\d[\d.,]*\d?k?\s?(?:dollars?|euros?|pounds?|francs?|crowns|kroner|usd|eur|gbp|nok|chf"
        r"|€|£|\$))"
    ),
    "{adverb}": f"(?:{_ADVERBS})",
    "{opens}": (
        r"(?:^|\b(?:and|but|because|so|why|that|think|guess|know|say|personally|honestly|also"
        r"|actually|well|yes|ok),? )"
    ),
    "{liked}": (
        r"(?!(?:to|it|you|that|this|these|those|how|when|them|your|him|her|me|us|what|being there"
        r"|was|were|is|are|a|each|everything|everywhere|things?|both|their|hearing|seeing you|all"
        r"|any|not|if|i|my life|who|where)\b)(?P<value>"
        + rf"(?:[\w’'&-]+ ){{0,5}}?[\w’'&-]+{_LIKED_END})"
    ),
    "{month}": _MONTH,
    "{clause_end}": r"(?=\s*(?:$|[.,;:!?()]))",
}
_EXACT = (
    rf"(?:the )?(?:{_WEEKDAY}|{_MONTH}\b|{_NUMBER}|[\w.+-]+@[\w.-]+\w)"
    rf"(?: (?:{_WEEKDAY}|{_MONTH}\b|{_NUMBER}|of|at|in the|noon|pm|am|morning|evening|afternoon|a"
    r"|per|month|week|day|year|hours?|minutes?|days|weeks|months|people|guests|kg|km|percent"
    r"|dollars?|euros?|pounds?)\b){0,4}"
)
_LEADING = re.compile(r"^(?:a|an|the|my|our|some|on|at|by)\s+")
_TRAILING = re.compile(
    r"(?:\s+(?:now|currently|again|too|as well|anymore|any more|instead|though|here|there|a lot"
    r"|so much))+$",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"['’]s?$")
_LONGEST_VALUE = 60
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Slot:
    """One row of the table. `asked` is what questions about it hold; `says`, `says_not` and `ends`
    are expressions over a clause, compiled when they are first needed."""

    name: str
    label: str
    many: bool
    is_plan: bool
    general: bool
    default_entity: str
    when: frozenset[str]
    asked: re.Pattern[str]
    says: tuple[str, ...]
    says_not: tuple[str, ...]
    ends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlotMatch:
    """What one pattern found in a clause. `ends`: it says that the value, or any, is over."""

    slot: Slot
    entity: str
    value: str
    old: str = ""
    positive: bool = True
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Word lists and expressions that no single slot owns."""

    plan: re.Pattern[str]
    past: re.Pattern[str]
    over: re.Pattern[str]
    end: re.Pattern[str]
    change: re.Pattern[str]
    mistake: re.Pattern[str]
    recalled: re.Pattern[str]
    recalled_block: re.Pattern[str]
    reason: re.Pattern[str]
    reason_next: re.Pattern[str]
    reason_before: re.Pattern[str]
    generic: frozenset[str]
    verbs: frozenset[str]
    positive: frozenset[str]
    negative: frozenset[str]
    negation: frozenset[str]
    others: frozenset[str]
    persons: frozenset[str]
    plain: frozenset[str]
    asks_why: re.Pattern[str]
    asks_before: re.Pattern[str]
    synonyms: Mapping[str, str]
    third: Mapping[str, str]
    events: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """The whole of `slots.toml`."""

    slots: tuple[Slot, ...]
    lexicon: Lexicon
    triggers: frozenset[str]

    def slot(self, name: str) -> Slot | None:
        """The slot with this name, prefixes like "plan:" left out."""
        bare = name.rpartition(":")[2]
        return next((slot for slot in self.slots if slot.name == bare), None)


@cache
def table() -> Table:
    """The shipped table."""
    text = (resources.files(__package__) / "slots.toml").read_text(encoding="utf-8")
    read = tomllib.loads(text)
    macros = {**_MACROS, "{occupation}": _occupation(read["occupation"])}
    macros["{exact}"] = _EXACT
    macros["{told}"] = f"(?:{_EXACT}|{macros['{name}']})"
    slots = tuple(_slot(row, macros) for row in read["slot"])
    triggers = frozenset[str]().union(*(slot.when for slot in slots))
    return Table(slots, _lexicon(read["words"]), triggers)


def may_match(text: str) -> bool:
    """Whether any slot may say something of a text: cheap, and never wrong with False."""
    return not table().triggers.isdisjoint(word.lower() for word in _WORD.findall(text))


def matches(clause: str) -> Iterator[SlotMatch]:
    """What a clause in the first person says in terms of slots, in the order of the table.

    What a clause says is over, it does not also say; a general slot speaks only where no other
    has.
    """
    folded = {word.lower() for word in _WORD.findall(clause)}
    here = table()
    if folded.isdisjoint(here.triggers):
        return
    found = False
    for slot in here.slots:
        if folded.isdisjoint(slot.when) or (slot.general and found):
            continue
        several = list(_of_slot(slot, clause))
        found = found or bool(several)
        yield from several


def _of_slot(slot: Slot, clause: str) -> Iterator[SlotMatch]:
    for patterns, positive, ends in (
        (slot.ends, True, True),
        (slot.says_not, False, False),
        (slot.says, True, False),
    ):
        said = [
            one
            for pattern in patterns
            for match in _compiled(pattern).finditer(clause)
            if (one := _match(slot, match, positive=positive, ends=ends)) is not None
        ]
        if said:
            telling = [one for one in said if one.value] or said[:1]
            yield from {(one.entity, one.value): one for one in reversed(telling)}.values()
            return


def _match(slot: Slot, match: re.Match[str], *, positive: bool, ends: bool) -> SlotMatch | None:
    groups = match.groupdict()
    value = _POSSESSIVE.sub("", tidy(groups.get("value") or ""))
    if not value and not ends:
        return None
    entity = tidy(groups.get("entity") or "").lower() or slot.default_entity
    rival = tidy(groups.get("rival") or "")
    if rival:
        entity = entity or " ".join(sorted({value.lower(), rival.lower()}))
        value = f"{value} over {rival}" if slot.name == "prefers" else value
    old = tidy(groups.get("old") or groups.get("old2") or "")
    return SlotMatch(slot, entity, value, old, positive, ends)


def tidy(phrase: str) -> str:
    """A captured phrase without articles before it and little words after it."""
    phrase = " ".join(phrase.split()).strip(" .,;:!?'\"“”")
    phrase = _TRAILING.sub("", _LEADING.sub("", phrase))
    return phrase[:_LONGEST_VALUE].strip()


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)


def _slot(row: Mapping[str, Any], macros: Mapping[str, str]) -> Slot:
    def filled(key: str) -> tuple[str, ...]:
        return tuple(_filled(source, macros) for source in row.get(key, ()))

    return Slot(
        name=row["name"],
        label=row["label"],
        many=row["values"] == "many",
        is_plan=row.get("is_plan", False),
        general=row.get("general", False),
        default_entity=row.get("default_entity", ""),
        when=_set(row["when"]),
        asked=re.compile(row["asked"], re.IGNORECASE),
        says=filled("says"),
        says_not=filled("says_not"),
        ends=filled("ends"),
    )


def _filled(source: str, macros: Mapping[str, str]) -> str:
    for name, pattern in macros.items():
        source = source.replace(name, pattern)
    return source


def _lexicon(read: Mapping[str, str]) -> Lexicon:
    def pattern(key: str, *, lines: bool = False) -> re.Pattern[str]:
        flags = re.IGNORECASE | (re.DOTALL | re.MULTILINE if lines else 0)
        return re.compile(read[key], flags)

    return Lexicon(
        plan=pattern("plan"),
        past=pattern("past"),
        over=pattern("over"),
        end=pattern("end"),
        change=pattern("change"),
        mistake=pattern("mistake"),
        recalled=pattern("recalled"),
        recalled_block=pattern("recalled_block", lines=True),
        reason=pattern("reason"),
        reason_next=pattern("reason_next"),
        reason_before=pattern("reason_before"),
        generic=_set(read["generic"]),
        verbs=_set(read["verbs"]),
        positive=_set(read["positive"]),
        negative=_set(read["negative"]),
        negation=_set(read["negation"]),
        others=_set(read["others"]),
        persons=_set(read["persons"]),
        plain=_set(read["plain"]),
        asks_why=pattern("asks_why"),
        asks_before=pattern("asks_before"),
        synonyms=_pairs(read["synonyms"]),
        third=_pairs(read["verbs_third"]),
        events=_pairs(read["events"]),
    )


def _occupation(row: Mapping[str, str]) -> str:
    """A word of the list with up to two words before it, or one with an ending of its kind."""
    listed = "|".join(row["words"].split())
    endings = "|".join(row["endings"].split())
    never = "|".join(row["not"].split())
    word = rf"(?!(?:{never})\b)(?:(?:{listed})|[a-z]{{4,}}(?:{endings}))\b"
    return rf"(?:(?!(?:{never})\b)[\w-]+ ){{0,2}}{word}(?! (?:of|who|that|to)\b)"


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> Mapping[str, str]:
    return {left: right for left, _, right in (pair.partition(":") for pair in text.split())}
