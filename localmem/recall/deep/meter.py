"""What a deep question has spent of its budget, and what a further call would cost.

Every call of a model goes through here, so that nothing escapes the count. A reply is stopped
between two tokens where the time is up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from localmem.errors import GenerationError
from localmem.ports import JsonSchema, Llm
from localmem.types import Budget, ChatMessage, Choice, Completion, Trace

_SPARE = 1.3
"""Estimates of time are taken this much too long."""


class OutOfTimeError(Exception):
    """The seconds are spent; raised between two tokens and caught where the call was made."""


@dataclass(slots=True)
class Meter:
    """The budget of one question. `started` is a value of `time.perf_counter`."""

    budget: Budget
    started: float
    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    failed: int = 0
    _evaluated: int = 0
    _busy_s: float = 0.0
    _models: set[str] = field(default_factory=set)

    @property
    def seconds(self) -> float:
        """Seconds since the question was asked."""
        return time.perf_counter() - self.started

    @property
    def seconds_left(self) -> float | None:
        """None: no limit."""
        return None if self.budget.seconds is None else self.budget.seconds - self.seconds

    @property
    def tokens_left(self) -> int | None:
        """None: no limit."""
        spent = self.prompt_tokens + self.completion_tokens
        return None if self.budget.tokens is None else self.budget.tokens - spent

    @property
    def models(self) -> tuple[str, ...]:
        """Which models were used."""
        return tuple(sorted(self._models))

    def exhausted(self) -> str:
        """Which part of the budget is spent: "seconds", "tokens" or ""."""
        seconds, tokens = self.seconds_left, self.tokens_left
        if seconds is not None and seconds <= 0:
            return "seconds"
        return "tokens" if tokens is not None and tokens <= 0 else ""

    def allows(self, tokens: int, *, reserve_s: float = 0.0) -> bool:
        """Whether a call with so many new tokens fits, going by the speed of the calls before."""
        left, left_s = self.tokens_left, self.seconds_left
        if left is not None and tokens > left:
            return False
        return left_s is None or self.seconds_for(tokens) + reserve_s <= left_s

    def seconds_for(self, tokens: int) -> float:
        """How long so many tokens take at the speed so far; 0 where nothing is known."""
        return _SPARE * tokens * self._busy_s / self._evaluated if self._evaluated else 0.0

    def check(self, _: str = "") -> None:
        """For `on_token`: stops a reply where the time is up.

        Raises:
            OutOfTimeError: it is.
        """
        left = self.seconds_left
        if left is not None and left <= 0:
            raise OutOfTimeError

    def complete(
        self,
        llm: Llm,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        grammar: str | None = None,
        schema: JsonSchema | None = None,
        on_token: Callable[[str], None] | None = None,
    ) -> Completion:
        """A counted reply.

        Raises:
            OutOfTimeError: the time was up before the end.
            GenerationError: the model failed.
        """

        def hear(token: str) -> None:
            if on_token is not None:
                on_token(token)
            self.check()

        began = self._begin(llm)
        done = llm.complete(
            messages, max_tokens=max_tokens, grammar=grammar, schema=schema, on_token=hear
        )
        self._count([done], began)
        return done

    def complete_many(
        self,
        llm: Llm,
        prompts: Sequence[Sequence[ChatMessage]],
        *,
        max_tokens: int,
        grammar: str | None = None,
    ) -> list[Completion | None]:
        """Counted replies in the order of the prompts; None for those that the time left out.

        Raises:
            GenerationError: the model failed.
        """
        replies: list[Completion | None] = [None] * len(prompts)

        def keep(number: int, reply: Completion) -> None:
            replies[number] = reply
            self.check()

        began = self._begin(llm, len(prompts))
        try:
            llm.complete_many(prompts, max_tokens=max_tokens, grammar=grammar, on_done=keep)
        except OutOfTimeError:
            self.calls -= sum(reply is None for reply in replies)
        self._count([reply for reply in replies if reply is not None], began)
        return replies

    def choose(
        self, llm: Llm, messages: Sequence[ChatMessage], options: Sequence[str]
    ) -> Choice | None:
        """A counted choice; None where the model failed at it."""
        tokens = sum(llm.count_tokens(message.content) for message in messages)
        began = self._begin(llm)
        try:
            choice = llm.choose(messages, options)
        except GenerationError:
            self.failed += 1
            return None
        self.prompt_tokens += tokens
        self._busy_s += time.perf_counter() - began
        return choice

    def add(self, trace: Trace, llm: Llm | None) -> None:
        """Counts what an answer by the direct depth took."""
        if llm is not None and trace.prompt_tokens:
            self._models.add(llm.model_id)
        self.calls += max(trace.model_calls, int(trace.prompt_tokens > 0))
        self.prompt_tokens += trace.prompt_tokens
        self.completion_tokens += trace.completion_tokens

    def _begin(self, llm: Llm, calls: int = 1) -> float:
        self._models.add(llm.model_id)
        self.calls += calls
        return time.perf_counter()

    def _count(self, replies: Sequence[Completion], began: float) -> None:
        self._busy_s += time.perf_counter() - began
        for reply in replies:
            self.prompt_tokens += reply.prompt_tokens
            self.completion_tokens += reply.completion_tokens
            self._evaluated += reply.evaluated_tokens + reply.completion_tokens
