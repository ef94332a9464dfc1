"""A model's raw reply -> the short answer in it. Pure text work, no judgement about truth."""

from __future__ import annotations

import re

from localmem.entities import expected_answer_type
from localmem.types import AnswerType
from localmem.words import Analyser

_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_LABEL = re.compile(r"^(?:short\s+)?(?:answer|reply)\s*[:>-]+\s*|^->\s*", re.IGNORECASE)
_REFERENCE = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
_QUOTED = re.compile(r"^[\"“](.*)[\"”]$")


def plain_line(reply: str) -> str:
    """The first line that says something, without label, message numbers, quotes or full stop."""
    for line in reply.splitlines():
        said = _REFERENCE.sub("", _LABEL.sub("", line.strip())).strip()
        said = _QUOTED.sub(r"\1", said).strip()
        if said.endswith(".") and not said.endswith("..") and ". " not in said:
            said = said[:-1].rstrip()
        if said:
            return said
    return ""


def only_repeats(answer: str, question: str) -> bool:
    """Whether an answer says nothing beyond the words of a question that asks for one thing and
    offers no choice."""
    if _CHOICE.search(question) or expected_answer_type(question) is AnswerType.LIST:
        return False
    analyser = Analyser()
    said = set(analyser.terms(answer))
    return bool(said) and said <= set(analyser.terms(question))
