"""The controller's model, asked for little: one choice, a yes or no, a few short queries.

A choice is read from log-probabilities, free words are written under a grammar. A model that fails
or answers garbage gives None or nothing, and the rules go on without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localmem.errors import GenerationError
from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.recall.deep.meter import Meter
from localmem.types import ChatMessage, Choice

LEAST_MARGIN = 0.15
"""How far the best option must lead the second for the model to be followed."""
SUFFICIENT = 0.6
"""The probability of "yes" from which evidence counts as sufficient."""

_QUERY = r"""root ::= word (" " word){2,7} ("\n" word (" " word){2,7})?
word ::= [a-zA-Z0-9\u00c0-\u024f'-]{1,20}"""
_LINE = r"root ::= [^\n<>]{3,140}"
_PARTS = r"""root ::= part ("\n" part){0,3}
part ::= [^\n<>]{6,120}"""
_WORDS = re.compile(r"\w[\w'-]*")


@dataclass(frozen=True, slots=True)
class Mind:
    """One model with the meter of one question."""

    llm: Llm
    meter: Meter

    def choose(self, state: str, options: Sequence[str]) -> int | None:
        """The option that the model takes; None where it fails or hardly prefers any."""
        prompt = load_prompt("choose_step")
        messages = prompt.messages(state=state, options=", ".join(options))
        choice = self.meter.choose(self.llm, messages, options)
        if choice is None:
            return None
        first, second = sorted(choice.probabilities, reverse=True)[:2]
        return choice.best if first - second >= LEAST_MARGIN else None

    def weigh(self, messages: Sequence[ChatMessage], options: Sequence[str]) -> Choice | None:
        """How likely each option is to the model; None where it fails."""
        return self.meter.choose(self.llm, messages, options)

    def is_sufficient(self, question: str, gathered: str) -> bool | None:
        """Whether the evidence answers the question; None where the model fails at it."""
        prompt = load_prompt("judge_evidence")
        messages = prompt.messages(question=question, evidence=gathered)
        choice = self.meter.choose(self.llm, messages, ("yes", "no"))
        return None if choice is None else choice.probabilities[0] >= SUFFICIENT

    def gap(self, question: str, gathered: str) -> str:
        """What is missing, in one line; "" where the model fails."""
        messages = load_prompt("name_gap").messages(question=question, evidence=gathered)
        return " ".join(self._lines(messages, _LINE, max_tokens=24)[:1])

    def queries(self, question: str, gathered: str, tried: Sequence[str]) -> tuple[str, ...]:
        """At most two new queries of 3 to 8 words."""
        messages = load_prompt("write_queries").messages(
            question=question, evidence=gathered, tried="; ".join(tried)
        )
        lines = self._lines(messages, _QUERY, max_tokens=32)
        return tuple(line for line in lines if 3 <= len(_WORDS.findall(line)) <= 8)[:2]

    def split(self, question: str, most: int) -> tuple[str, ...]:
        """The parts of a question; () where the model leaves it whole."""
        lines = self._lines(
            load_prompt("split_question").messages(question=question), _PARTS, max_tokens=64
        )
        parts = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))[:most]
        return parts if len(parts) > 1 else ()

    def _lines(
        self, messages: Sequence[ChatMessage], grammar: str, *, max_tokens: int
    ) -> list[str]:
        try:
            reply = self.meter.complete(self.llm, messages, max_tokens=max_tokens, grammar=grammar)
        except GenerationError:
            self.meter.failed += 1
            return []
        return [line.strip() for line in reply.text.splitlines() if line.strip()]
