"""Who may use the language model now: a question always goes before background work.

Between processes the file lock sees to that; here it is the threads of one process. Background
work is told to stop between two steps and tries again later, so that a question waits for one step
and not for a whole job.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from localmem.ports import JsonSchema, Llm
from localmem.types import ChatMessage, Choice, Completion

Check = Callable[[], None]
"""Raises PostponedError where background work must stop."""


class Turns:
    """The questions that run now, and the checks of the threads that work in the background."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._questions = 0
        self._last_question = -float("inf")
        self._local = threading.local()

    @contextmanager
    def question(self) -> Iterator[None]:
        """A question runs: background work stops at its next step."""
        with self._changed:
            self._questions += 1
        try:
            yield
        finally:
            with self._changed:
                self._questions -= 1
                self._last_question = self._monotonic()
                self._changed.notify_all()

    @property
    def is_wanted(self) -> bool:
        """Whether a question runs."""
        return self._questions > 0

    def quiet_s(self) -> float:
        """Seconds since the last question ended; 0 while one runs, infinite before the first."""
        with self._changed:
            return 0.0 if self._questions else self._monotonic() - self._last_question

    def wait_for_quiet(self, timeout_s: float) -> None:
        """Wait until no question runs, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._questions == 0, timeout=timeout_s)

    def after(self, idle_s: float) -> Quiet:
        """Whether nothing was asked for so long, as a queue of background work wants to know it."""
        return Quiet(self, idle_s)

    @contextmanager
    def background(self, check: Check) -> Iterator[None]:
        """What this thread asks of a `TurnTakingLlm` is background work that `check` may stop."""
        before = self.check
        self._local.check = check
        try:
            yield
        finally:
            self._local.check = before

    @property
    def check(self) -> Check | None:
        """The check of this thread; None where it works for a question."""
        found: Check | None = getattr(self._local, "check", None)
        return found


class Quiet:
    """Questions as background work sees them that waits for some idle time after each."""

    def __init__(self, turns: Turns, idle_s: float) -> None:
        self._turns = turns
        self._idle_s = idle_s

    @property
    def is_wanted(self) -> bool:
        """Whether a question runs, or ran a moment ago."""
        return self._turns.is_wanted or self._turns.quiet_s() < self._idle_s

    def wait_for_quiet(self, timeout_s: float) -> None:
        """Wait until it is quiet, at most so long; may return early."""
        if self._turns.is_wanted:
            self._turns.wait_for_quiet(timeout_s)
        else:
            time.sleep(min(timeout_s, max(self._idle_s - self._turns.quiet_s(), 0.0)))


class TurnTakingLlm:
    """A language model whose background callers stop when a question comes.

    Raises PostponedError, beside what the model raises, in threads inside `Turns.background`.
    """

    def __init__(self, llm: Llm, turns: Turns) -> None:
        self._llm = llm
        self._turns = turns

    @property
    def model_id(self) -> str:
        return self._llm.model_id

    @property
    def context_tokens(self) -> int:
        return self._llm.context_tokens

    def count_tokens(self, text: str) -> int:
        return self._llm.count_tokens(text)

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        schema: JsonSchema | None = None,
        grammar: str | None = None,
        reply_prefix: str = "",
        on_token: Callable[[str], None] | None = None,
    ) -> Completion:
        """As the model does it; stopped between two tokens."""
        check = self._turns.check
        if check is not None:
            check()
        return self._llm.complete(
            messages,
            max_tokens=max_tokens,
            schema=schema,
            grammar=grammar,
            reply_prefix=reply_prefix,
            on_token=_checked(on_token, check),
        )

    def complete_many(
        self,
        prompts: Sequence[Sequence[ChatMessage]],
        *,
        max_tokens: int,
        schema: JsonSchema | None = None,
        grammar: str | None = None,
        reply_prefixes: Sequence[str] = (),
        on_done: Callable[[int, Completion], None] | None = None,
        on_step: Check | None = None,
    ) -> list[Completion]:
        """As the model does it; stopped between two steps."""
        check = self._turns.check
        if check is not None:
            check()
        return self._llm.complete_many(
            prompts,
            max_tokens=max_tokens,
            schema=schema,
            grammar=grammar,
            reply_prefixes=reply_prefixes,
            on_done=on_done,
            on_step=_both(check, on_step),
        )

    def choose(self, messages: Sequence[ChatMessage], options: Sequence[str]) -> Choice:
        """As the model does it."""
        check = self._turns.check
        if check is not None:
            check()
        return self._llm.choose(messages, options)

    def close(self) -> None:
        self._llm.close()


def _checked(
    on_token: Callable[[str], None] | None, check: Check | None
) -> Callable[[str], None] | None:
    if check is None:
        return on_token

    def told(piece: str) -> None:
        check()
        if on_token is not None:
            on_token(piece)

    return told


def _both(first: Check | None, second: Check | None) -> Check | None:
    if first is None or second is None:
        return first or second

    def step() -> None:
        first()
        second()

    return step
