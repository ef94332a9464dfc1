"""What a question wants: its kind of answer, the noun it asks for, what is said of whom.

By rule, from the question's words alone; no evidence is seen here. Where the words do not tell,
the fields stay empty and the caller goes by shared words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from localmem.entities import expected_answer_type
from localmem.types import AnswerType
from localmem.words import Analyser

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_ASKS = re.compile(r"\b(?:what|which|how much|how many)\b", re.IGNORECASE)
_BE_TEXT = "is are was were s"
_AUXILIARIES_TEXT = "do does did have has had will would can could should might may must"
_PRONOUNS_TEXT = "i you we they he she it me us them everybody somebody"
_OPENING_TEXT = "my the a an your our his her their its this that"
_PREPOSITIONS_TEXT = """
    of for in on at to from with by about after before during when that which who while as
"""
_ADVERBS_TEXT = "ever also really nearly actually usually finally used to just both"
_BE = frozenset(_BE_TEXT.split())
_AUXILIARIES = _BE | frozenset(_AUXILIARIES_TEXT.split())
_PRONOUNS = frozenset(_PRONOUNS_TEXT.split())
_OPENING = frozenset(_OPENING_TEXT.split())
_PREPOSITIONS = frozenset(_PREPOSITIONS_TEXT.split())
_ADVERBS = frozenset(_ADVERBS_TEXT.split())
_CHAIN_TEXT = "want wants plan hope intend try decide need like have start begin"
_CHAIN = frozenset(_CHAIN_TEXT.split())
_VALUES_TEXT = """
    number code pin reading salary wage income price cost fee rent deposit budget amount sum size
    weight height length width distance speed channel frequency temperature score result time
    dose percentage share rate version iban phone zip postcode bill tax premium fine reference id
    policy licence license plate password mileage pace record
"""
_MONEY_TEXT = """
    pay cost price salary wage income rent deposit budget fee spend earn sell buy charge fine bill
    premium expensive worth money
"""
_CLASSES_TEXT = "activity activities hobby pastime thing event item object"
_NOW = re.compile(
    r"\b(?:now|nowadays|these days|currently|at the moment|at present|in the end|finally|final"
    r"|eventually|latest|actually|really|still|today|after (?:it|they|this|that) (?:was|were)"
    r" (?:\w+ed|moved|put off))\b",
    re.IGNORECASE,
)
_MANNER = re.compile(
    r"^how (?:do|does|did|is|are|was|were|has|have|can|could)\b(?!.*\bfeel)", re.IGNORECASE
)
_COUNTED = re.compile(r"\b(?:number|amount) of\b", re.IGNORECASE)
_CLASS_OF = re.compile(r"\b(?:number|amount|kinds?|types?|sorts?|names?) of\b", re.IGNORECASE)
_FUTURE = re.compile(
    r"\b(?:will|going to|(?:does|do) .{1,30} (?:want|plan|hope|intend)|next)\b",
    re.IGNORECASE,
)
_IRREGULAR_TEXT = """
    buy bought, take took taken, give gave given, get got gotten, go went gone, see saw seen,
    eat ate eaten, drink drank drunk, write wrote written, find found, make made, say said,
    tell told, think thought, feel felt, leave left, meet met, win won, lose lost, pay paid,
    sell sold, run ran, begin began begun, break broke broken, choose chose chosen, choice chose,
    drive drove driven, fly flew flown, grow grew grown, hold held, keep kept, know knew known,
    ride rode ridden, sing sang sung, speak spoke spoken, spend spent, swim swam swum,
    teach taught, wear wore worn, come came, become became, bring brought, build built,
    catch caught, hear heard, send sent, sleep slept, draw drew drawn, fall fell fallen,
    show shown, do did done, weigh weight, steal stole stolen, forget forgot forgotten
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question as far as its words tell what would answer it. Words are stems.

    `phrase` is the asked noun with its modifiers, the noun last. `is_class`: that noun only says
    what kind of thing is asked for ("activity"), and nobody who tells of one names it.
    `predicate` is what is said of the subject ("drink" of "What do I drink?"). `is_value` asks for
    something with digits, `has_value_noun` names it ("bib number"), `money` is a sum; `manner` asks
    how something is done; `latest` how things stand now, `future` what is to come.
    """

    kind: AnswerType
    phrase: tuple[str, ...]
    predicate: str
    is_value: bool
    has_value_noun: bool
    money: bool
    manner: bool
    latest: bool
    future: bool
    is_class: bool = False


class Stems:
    """Stems of words, one word at a time, with irregular verbs brought together."""

    def __init__(self) -> None:
        self._analyser = Analyser()
        self._known: dict[str, str] = {}
        self._same = _regular_stems()

    def of_text(self, text: str) -> frozenset[str]:
        """The stems of a text's words that carry a topic."""
        return frozenset(self._merged(self._analyser.terms(text)))

    def of_word(self, word: str) -> str:
        """The stem of a word; "" for a word without a topic."""
        if word not in self._known:
            self._known[word] = " ".join(self._merged(self._analyser.terms(word)))
        return self._known[word]

    def _merged(self, terms: Iterable[str]) -> list[str]:
        return [self._same.get(term, term) for term in terms]


def wanted(question: str, stems: Stems) -> Wanted:
    """What the question wants."""
    kind = expected_answer_type(question)
    phrase, predicate = _parts(question, stems)
    values, money = _stems_of(_VALUES_TEXT), _stems_of(_MONEY_TEXT)
    every = stems.of_text(question)
    counted = kind is AnswerType.OTHER and _COUNTED.search(question) is not None
    is_value = (
        counted
        or kind is AnswerType.NUMBER
        or (kind in (AnswerType.OTHER, AnswerType.LIST) and bool(phrase) and phrase[-1] in values)
    )
    return Wanted(
        kind=AnswerType.NUMBER if is_value else kind,
        phrase=phrase,
        predicate=predicate,
        is_value=is_value,
        has_value_noun=is_value and phrase[-1:] != () and phrase[-1] in values,
        money=is_value and bool(every & money) and not (set(phrase[-1:]) & (values - money)),
        manner=_MANNER.search(question) is not None,
        latest=_NOW.search(question) is not None,
        future=_FUTURE.search(question) is not None,
        is_class=phrase[-1:] != () and phrase[-1] in _stems_of(_CLASSES_TEXT),
    )


def _parts(question: str, stems: Stems) -> tuple[tuple[str, ...], str]:
    """The asked noun phrase and the predicate of a question with what, which or how much."""
    question = _CLASS_OF.sub(" ", question)
    match = _ASKS.search(question)
    rest = question[match.end() :] if match else question
    tokens = _WORD.findall(rest.split(",")[0] if match else rest)
    lowered = [token.casefold() for token in tokens]
    place = next((i for i, word in enumerate(lowered[:6]) if word in _AUXILIARIES), -1)
    if place < 0:
        first = next((word for word in lowered if stems.of_word(word)), "")
        return (), stems.of_word(first) if match else ""
    before, after = tokens[:place], tokens[place + 1 :]
    if match and lowered[place] in _BE and not before:
        return _noun_phrase(after, stems), ""
    phrase = _noun_phrase(before, stems) if match else ()
    return phrase, _predicate(after, stems)


def _noun_phrase(tokens: list[str], stems: Stems) -> tuple[str, ...]:
    phrase: list[str] = []
    for token in tokens:
        word = token.casefold()
        if phrase and (word in _PREPOSITIONS or word in _AUXILIARIES or word in _OPENING):
            break
        stem = stems.of_word(token)
        if stem:
            phrase.append(stem)
    return tuple(phrase[-4:])


def _predicate(tokens: list[str], stems: Stems) -> str:
    """The first word after the subject that carries a topic."""
    at = 0
    while at < len(tokens):
        word = tokens[at].casefold()
        if word in _PRONOUNS:
            at += 1
            break
        if word in _OPENING:
            at += 2
        elif tokens[at][0].isupper() or (word == "and" and at):
            at += 1
        else:
            break
    rest = tokens[at:]
    if len(rest) > 2 and rest[0].casefold() in _CHAIN and rest[1].casefold() == "to":
        rest = rest[2:] if stems.of_word(rest[2]) else rest
    for token in rest:
        if token.casefold() not in _ADVERBS and (stem := stems.of_word(token)):
            return stem
    return ""


@cache
def _regular_stems() -> dict[str, str]:
    """The stem of each irregular form with the stem of its verb."""
    analyser = Analyser()
    same: dict[str, str] = {}
    for forms in _IRREGULAR_TEXT.split(","):
        stems = ["".join(analyser.terms(form)) for form in forms.split()]
        same.update({stem: stems[0] for stem in stems[1:] if stem and stems[0]})
    return same


@cache
def _stems_of(text: str) -> frozenset[str]:
    return Stems().of_text(text)
