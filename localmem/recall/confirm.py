"""Whether an answer belongs to the person asked about, as a model sees it.

Asked only where rules doubt it: the other person's words fit the question better. The model chooses
between the two names, once in each order, so that neither the first nor the second place counts;
it is shown the lines that speak for either, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.recall.evidence import shown_text
from localmem.recall.refusal import Fit
from localmem.types import ChatMessage, Evidence

_LONGEST_LINE = 300
"""Characters of a message that are shown."""
_MOST_CITED = 2
_LEAST_PROBABILITY = 1e-6
_LEAST_LEANING = 1.0
"""Log-odds for the person, both orders together: the rules speak against the answer already. Of 6
answerable and 25 unanswerable questions that rules doubted, a 1.5B model keeps 5 and 2 at it."""


def is_of_person(
    llm: Llm, fit: Fit, question: str, answer: str, cited: Sequence[Evidence]
) -> tuple[bool, int]:
    """Whether the model takes the answer to be told of the person, and the tokens it has read.

    `cited` are the messages that support the answer. True where nobody else is in question.

    Raises:
        GenerationError: the engine failed.
    """
    person, another = fit.person.name, fit.another
    if not another:
        return True, 0
    lines = _lines(fit, cited, question)
    leaning, tokens = 0.0, 0
    for first, second in ((person, another), (another, person)):
        messages = load_prompt("name_person").messages(
            lines=lines, question=question, answer=answer, first=first, second=second
        )
        chances = llm.choose(messages, (person, another)).probabilities
        leaning += math.log(max(chances[0], _LEAST_PROBABILITY))
        leaning -= math.log(max(chances[1], _LEAST_PROBABILITY))
        tokens += _counted(llm, messages)
    return leaning > _LEAST_LEANING, tokens


def _lines(fit: Fit, cited: Sequence[Evidence], question: str) -> str:
    """What supports the answer and what fits best of the other, in the order of speech."""
    shown = {one.message.id: one for one in cited[:_MOST_CITED]}
    if fit.best is not None:
        shown.setdefault(fit.best.message.id, fit.best)
    ordered = sorted(shown.values(), key=lambda one: (one.message.session_id, one.message.ordinal))
    return "\n".join(
        f"{one.message.speaker}: {shown_text(one, question, limit=_LONGEST_LINE)}"
        for one in ordered
    )


def _counted(llm: Llm, messages: Sequence[ChatMessage]) -> int:
    return llm.count_tokens("\n".join(message.content for message in messages))
