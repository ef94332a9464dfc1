"""What can be told of a question before anything is searched: by rule, from its words and its time.

Compound questions are split here too. Nothing is looked up; where the words do not tell, the
question stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from localmem.dates import describe, is_absolute, resolve_question
from localmem.entities import named_participants
from localmem.recall.wanted import Stems, Wanted, wanted
from localmem.types import AnswerType, Message, ResolvedDate, Role

_COUNTS = re.compile(
    r"\bhow many\b(?! (?:days|weeks|months|years|hours|minutes)\b)"
    r"|\b(?:number|total) of\b|\bin total\b",
    re.IGNORECASE,
)
_AUX = r"(?:do|does|did|has|have|had|is|are|was|were|can|could|will|would|should|might|may)"
_PLURAL = rf"(?!{_AUX}\b)(?:(?!{_AUX}\b)[\w+&/-]+ ){{0,4}}[\w/-]*(?:[^\Wsiu]s|people|children)"
_LISTS = re.compile(
    rf"\b(?:what|which) {_PLURAL} (?:has|have|had|did|does|do|is|are|were|can)\b"
    rf"|\b(?:what|which) (?:kind|type|sort|form|genre)s of (?:[\w-]+ ){{1,3}}{_AUX}\b"
    r"|\b(?:what|which) (?:areas|parts|places) of\b"
    r"|\b(?:what|where|which|who)(?: (?!kind|type|sort)[\w-]+)? (?:has|have) "
    r"(?:(?!been\b|found\b|to\b)[\w'’-]+ ){1,3}(?!been\b|to\b)\w"
    r"|\bwhat (?:are|were) (?:all|some|the names|[\w’']+['’]s?)\b.*s\b"
    r"|\bin (?:what|which) ways\b|\bnames of\b|['’]s? names\b|^list\b|\ball (?:the|of)\b"
    r"|\bwhat .* both\b"
    r"|^what (?:do|does) .{2,40} (?:do|like|enjoy|collect|own)\b(?! about\b)",
    re.IGNORECASE,
)
_VERBATIM = re.compile(
    r"\bwhat (?:exactly )?(?:did|do|have|has) .{1,40} (?:say|said|recommend\w*|suggest\w*|call\w*"
    r"|tell|told|write|written|reply|answer)\b|\b(?:exact|word for word|verbatim|quote)\b",
    re.IGNORECASE,
)
_PAIR = re.compile(r"\b([A-Z][\w’'-]+) and ([A-Z][\w’'-]+)\b")
_ASK = r"(?:who|what|when|where|which|why|how)"
_SECOND = re.compile(rf",? and (?={_ASK}\b)|\? +(?={_ASK}\b)|; +", re.IGNORECASE)
_CLAUSE = re.compile(r",? \b(?:when|before|after|while|since) (?=\w+ \w+)", re.IGNORECASE)
_BOTH = re.compile(r"\bboth\b ?", re.IGNORECASE)
_CHAINED = re.compile(r"[’']s\b.*[’']s\b|\bof\b.*[’']s\b", re.IGNORECASE)
_COMPOUND = re.compile(
    r"\b(?:and|or|than|when|before|after|while|since|between|compared|difference|same|both)\b"
    r"|[’']s\b.*[’']s\b|\bof\b.*[’']s\b|\b(?:who|whose|that|which) (?:\w+ed|was|is|has|had)\b.*\?",
    re.IGNORECASE,
)
_LEAST_PART_WORDS = 2


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what its words tell. `terms` are its content stems, `own_terms` those
    without the people it names.

    `lists` asks for several things, `counts` for how many; both want a wide net. `verbatim` asks
    for something said, which only raw text holds; `compound` may need several facts,
    `both` asks for what holds of each of several people.
    """

    text: str
    asked_at: datetime
    want: Wanted
    terms: frozenset[str]
    own_terms: frozenset[str]
    people: tuple[str, ...]
    named: tuple[str, ...]
    lists: bool
    counts: bool
    verbatim: bool
    compound: bool
    both: bool
    stems: Stems = field(compare=False)

    @property
    def is_wide(self) -> bool:
        """Whether one telling message is not enough."""
        return self.lists or self.counts


def understand(text: str, asked_at: datetime, people: Sequence[str]) -> Question:
    """The question as far as rules understand it."""
    stems = Stems()
    want = wanted(text, stems)
    named = named_participants(text, people)
    terms = stems.of_text(text)
    names = frozenset(stem for name in named for stem in stems.of_text(name))
    counts = _COUNTS.search(text) is not None
    plain = want.kind in (AnswerType.LIST, AnswerType.OTHER, AnswerType.PLACE, AnswerType.PERSON)
    lists = plain and _LISTS.search(text) is not None
    return Question(
        text=text,
        asked_at=asked_at,
        want=want,
        terms=terms,
        own_terms=(terms - names) or terms,
        people=tuple(people),
        named=named,
        lists=lists,
        counts=counts,
        verbatim=want.kind is AnswerType.QUOTE or _VERBATIM.search(text) is not None,
        compound=looks_compound(text),
        both=len(named) > 1 and _BOTH.search(text) is not None,
        stems=stems,
    )


def is_about(message: Message, question: Question) -> bool:
    """Whether a message can tell of the one person whom the question names; true where it names
    nobody, or several."""
    if len(question.named) != 1 or message.role is not Role.USER:
        return True
    name = question.named[0]
    return message.speaker == name or name.split()[0] in message.text


def question_dates(question: Question) -> tuple[ResolvedDate, ...]:
    """The dates that the question names, resolved against its own time."""
    return resolve_question(question.text, question.asked_at)


def described_dates(question: Question, dates: Sequence[ResolvedDate]) -> tuple[str, ...]:
    """Relative dates with what they mean: '"last May" is May 2023'."""
    return tuple(
        f'"{one.words}" is {describe(one, said_at=question.asked_at)}'
        for one in dates
        if not is_absolute(one)
    )


def looks_compound(text: str) -> bool:
    """Whether a question may need several facts: worth a model's look where rules do not split."""
    return _COMPOUND.search(text) is not None


def is_chained(text: str) -> bool:
    """Whether the person named is only where a chain begins: "the sister of Ana's partner"."""
    return _CHAINED.search(text) is not None


def split_question(text: str, most: int) -> tuple[str, ...]:
    """The parts of a compound question, at most `most`; () where it is not one.

    "What have Ana and Ben both seen?" gives one part for each; a second question after "and", and
    a clause after "when", "before" or "after", are parts of their own.
    """
    pair = _PAIR.search(text)
    if pair is not None:
        parts = [
            _BOTH.sub("", text[: pair.start()] + name + text[pair.end() :])
            for name in pair.groups()
        ]
        return tuple(parts)[:most]
    parts = [part for whole in _SECOND.split(text) for part in _CLAUSE.split(whole)]
    parts = [part.strip(" ?.,") for part in parts]
    parts = [part for part in parts if len(part.split()) >= _LEAST_PART_WORDS]
    return tuple(parts[:most]) if len(parts) > 1 else ()
