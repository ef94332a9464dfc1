"""When the right answer is "not found": by rule, before a wrong answer is told.

Pure: texts and evidence in, a verdict out. Thresholds were set on development conversations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from localmem.entities import named_participants
from localmem.recall.wanted import Stems
from localmem.recall.whose import questions_in, tells_of, told_by
from localmem.types import Citation, Evidence, Role

NOT_FOUND = "I don't find that in your memory."

SURELY_ANOTHER = 0.1
"""Share of the question's words, weighed, by which what is told of another must fit better than
all that is told of the person asked about."""

_NOT_FOUND_WORDS = re.compile(
    r"^(?:\(?(?:none|unknown|n/?a|nothing|not found|not (?:specified|mentioned|stated|given|known)"
    r"|no (?:information|answer|mention|data)|there is no (?:information|mention)"
    r"|i (?:don't|do not|cannot|can't) (?:know|find|tell))\b)"
    r"|\b(?:is|are|was|were|does) ?n[o']t (?:mentioned|specified|stated|mention|say)\b"
    r"|\bnot (?:mentioned|specified|stated) in\b",
    re.IGNORECASE,
)
_INFERS = re.compile(r"\b(?:would|might|may|could|likely|probably|considered)\b", re.IGNORECASE)
_OPINION_TEXT = """
    say says said tell tells told ask asks asked think thinks thought mean means suggest suggests
    suggested recommend recommends recommended advise advises advised advice describe describes
    described encourage encourages encouraged react reacts reacted respond responds responded
    response reaction opinion offer offers offered compliment complimented according
"""
_OPINION = re.compile(rf"\b(?:{'|'.join(_OPINION_TEXT.split())})\b", re.IGNORECASE)


def says_not_found(reply: str) -> bool:
    """Whether a reply says that the evidence holds no answer."""
    return _NOT_FOUND_WORDS.search(reply) is not None


@dataclass(frozen=True, slots=True)
class Person:
    """The one person a question asks about, and all who take part."""

    name: str
    people: tuple[str, ...]


def person_asked_about(
    question: str, evidence: Sequence[Evidence], people: Sequence[str] | None
) -> Person | None:
    """The one participant whom a question names, in a chat among people; else None.

    `people` are those who take part; by default they are told from the evidence.
    """
    speakers = tuple(people) if people is not None else _speakers(evidence)
    named = named_participants(question, speakers)
    return Person(named[0], speakers) if len(speakers) > 1 and len(named) == 1 else None


def about_somebody_else(
    question: str,
    cited: Sequence[tuple[Evidence, Citation]],
    evidence: Sequence[Evidence],
    people: Sequence[str] | None,
) -> str:
    """Why an answer is not about the person asked about; "" where nothing speaks against it.

    Holds only in a chat among people, where the question names one of them: then what another
    said of themselves is no answer, nor what the person said of who heard it. A name that only
    calls somebody does not count. What somebody says or thinks may be of anybody.
    """
    person = person_asked_about(question, evidence, people)
    if person is None or not cited:
        return ""
    free = _INFERS.search(question) or _OPINION.search(question)
    for source, citation in cited:
        speaker = source.message.speaker
        if speaker == person.name and free:
            return ""
        if tells_of(citation.quote, speaker, person.name, person.people):
            return ""
    others = sorted({source.message.speaker for source, _ in cited} - {person.name})
    if not others:
        return f"{person.name} said something like it, but of somebody else"
    return f"{' and '.join(others)} said something like it, but not about {person.name}"


@dataclass(frozen=True, slots=True)
class Fit:
    """How well the evidence fits a question: shares of its words, weighed, from 0 to 1.

    `of_person` is the best of a message's sentences that tell of the person asked about,
    `of_another` of those that tell of somebody else; `best` is the message of the latter.
    """

    person: Person
    of_person: float = 0.0
    of_another: float = 0.0
    best: Evidence | None = None

    @property
    def is_sure(self) -> bool:
        """Whether what is told of another fits clearly better."""
        return self.of_another - self.of_person > SURELY_ANOTHER

    @property
    def another(self) -> str:
        """Of whom the best of the others' sentences is: its speaker, or who hears it."""
        if self.best is not None and self.best.message.speaker != self.person.name:
            return self.best.message.speaker
        return next((name for name in self.person.people if name != self.person.name), "")


def fit_by_person(
    question: str, evidence: Sequence[Evidence], people: Sequence[str] | None
) -> Fit | None:
    """How well what is told of the person asked about fits, and what is told of others.

    A reply is read with the question before it, where that is among the evidence. None where the
    question names no one person, or asks for an inference, whose words nobody need have said.
    """
    person = person_asked_about(question, evidence, people)
    if person is None or _INFERS.search(question):
        return None
    stems = Stems()
    asked = _Weighed.of(question, person, evidence, stems)
    opinion = _OPINION.search(question) is not None
    places = {(one.message.session_id, one.message.ordinal): one.message for one in evidence}
    best = Fit(person)
    for one in evidence:
        message = one.message
        told = told_by(message, person.name, person.people)
        own = message.speaker == person.name
        mine = (message.whole_text,) if own and opinion else told.of_person
        before = places.get((message.session_id, message.ordinal - 1))
        answered = before is not None and before.speaker != message.speaker
        question_before = questions_in(before.text) if before is not None and answered else ()
        of_person = asked.share(stems, mine, question_before if own else ())
        of_another = asked.share(stems, told.of_others, () if own else question_before)
        best = Fit(
            person,
            max(best.of_person, of_person),
            max(best.of_another, of_another),
            one if of_another > best.of_another else best.best,
        )
    return best


def told_of_another(fit: Fit | None) -> str:
    """Why the evidence does not answer a question of the person it names; "" where it may.

    What is told of another holds clearly more of the question's words than all that is told of
    that person: then the answer would be the other's.
    """
    if fit is None or not fit.is_sure:
        return ""
    return f"what was found tells of {fit.another or 'somebody else'}, not of {fit.person.name}"


@dataclass(frozen=True, slots=True)
class _Weighed:
    """The question's words without the person's name; rare ones among the evidence tell more."""

    weights: dict[str, float]

    @classmethod
    def of(
        cls, question: str, person: Person, evidence: Sequence[Evidence], stems: Stems
    ) -> _Weighed:
        said = [stems.of_text(one.message.whole_text) for one in evidence]
        count = len(said) + 1
        terms = stems.of_text(question) - stems.of_text(person.name)
        return cls(
            {
                term: math.log(1 + count / (0.5 + sum(term in words for words in said)))
                for term in sorted(terms)
            }
        )

    def share(self, stems: Stems, told: Sequence[str], before: Sequence[str]) -> float:
        """The share of the weights that is told; the question before counts beside something."""
        total = sum(self.weights.values())
        if not told or not total:
            return 0.0
        words = stems.of_text(" ".join((*told, *before)))
        return sum(weight for term, weight in self.weights.items() if term in words) / total


def _speakers(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """The names of those who talk, where nobody is an assistant; else nobody."""
    messages = [one.message for one in evidence]
    if any(message.role is not Role.USER for message in messages):
        return ()
    return tuple(sorted({message.speaker for message in messages}))
