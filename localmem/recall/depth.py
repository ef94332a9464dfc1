"""Which depth a question gets when the caller leaves it open, and when to go deeper. By rule."""

from __future__ import annotations

from localmem.recall.answer import Asked
from localmem.types import Answer, Depth


def choose_depth(asked: Asked, *, reads_well: bool, steers: bool = False) -> Depth:
    """The depth to start with.

    INSTANT without evidence, or with a model that reads no better than extraction. DEEP where a
    model can lead a search (`steers`) and what was found does not seem enough. Else DIRECT.
    """
    if not reads_well or not asked.whole:
        return Depth.INSTANT
    return Depth.DEEP if steers and not has_enough(asked) else Depth.DIRECT


def has_enough(asked: Asked) -> bool:
    """Whether one of the found messages seems to answer the question; never where it asks for
    several things."""
    from localmem.recall.deep.question import split_question, understand
    from localmem.recall.deep.telling import is_sufficient, message_line

    question = understand(asked.question, asked.asked_at, asked.people or ())
    lines = [message_line(one, question) for one in asked.whole]
    return is_sufficient(lines, question, split_question(asked.question, 4))


def is_doubtful(answer: Answer) -> bool:
    """Whether an answer gives reason to look deeper: nothing found, or nothing that supports it."""
    return not answer.found or not answer.citations
