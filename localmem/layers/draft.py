"""What both ways of asking a model for layers share: drafts, tallies, and tidying its lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from localmem import dates as dating
from localmem.layers.support import Grounds
from localmem.types import Completion, LayerCost

_BULLET = re.compile(r"^\s*(?:[-*•–]|\d+[.)])\s*")
_WORD = re.compile(r"[^\W\d_]{2,}")
_EMPTY = re.compile(r"\(\s*\)")
_NONE = re.compile(r"^\W*(?:none|nothing|n/a|no facts?)\b\W*$", re.IGNORECASE)
_FENCE = re.compile(r"<\s*(/?)\s*(session|statements|message|before|memory)\b[^>]*>", re.IGNORECASE)
_LONGEST_WORDS = 60
_LEAST_WORDS = 3
_SHORTENED = 120

EXPECTED_PACE_S = 1.5
"""Seconds a message until a model's own pace is known: about a 1.5B model on two cores."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that may be kept, and which of its names, numbers and dates have no ground."""

    text: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A reply that could not be read; `reply` is "" where the model failed to say anything."""

    reason: str
    reply: str


@dataclass(slots=True)
class Tally:
    """What a piece of work has cost so far."""

    evaluated_tokens: int = 0
    completion_tokens: int = 0

    def add(self, completion: Completion) -> None:
        self.evaluated_tokens += completion.evaluated_tokens
        self.completion_tokens += completion.completion_tokens

    @property
    def is_empty(self) -> bool:
        """Whether no model was asked."""
        return not (self.evaluated_tokens or self.completion_tokens)

    def cost(self, seconds: float) -> LayerCost:
        return LayerCost(self.evaluated_tokens, self.completion_tokens, seconds)


Check = Callable[[], None]
"""Called between steps; raises where the work must stop."""


@dataclass(slots=True)
class Work:
    """One run over a session: what it costs, the check between its steps, and how fast it is.

    `seconds_left` gives None where there is no limit; `pace_s` are the seconds that one message
    takes, as far as that is known.
    """

    check: Check
    seconds_left: Callable[[], float | None] = lambda: None
    pace_s: float = EXPECTED_PACE_S
    tally: Tally = field(default_factory=Tally)

    def room(self, most: int) -> int:
        """How many messages to ask about at once, so that they can be done in time."""
        left = self.seconds_left()
        return most if left is None else max(1, min(most, int(left / self.pace_s)))


def tidy(reply: str) -> str:
    """A line without its bullet; "" where it states nothing or has no end."""
    body = " ".join(_EMPTY.sub("", _BULLET.sub("", reply)).split())
    if len(_WORD.findall(body)) < 2:
        return ""
    if _NONE.match(body) or not max(body.count(" ") + 1, len(body) // 8) >= _LEAST_WORDS:
        return ""
    return body if body.count(" ") < _LONGEST_WORDS else ""


def dated(text: str, grounds: Grounds) -> str:
    """The text with relative dates that the model left resolved beside their words."""
    open_ones = [
        one
        for one in dating.resolve(text, grounds.said_at)
        if not text[one.stop :].lstrip().startswith("(")
    ]
    return dating.annotate(text, open_ones, said_at=grounds.said_at)


def unfenced(text: str) -> str:
    """The text without anything that could be taken for the end of its fence."""
    return _FENCE.sub(r"(\1\2)", text)


def shortened(text: str) -> str:
    """The beginning of a text, for a reason or a context."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHORTENED else flat[:_SHORTENED].rsplit(" ", 1)[0] + "…"
