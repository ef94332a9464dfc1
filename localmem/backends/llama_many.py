"""Replies to many prompts: what they begin with is evaluated once, then eight run at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from localmem.backends.llama_cache import SLOTS, WORKERS, PromptCache
from localmem.backends.llama_runs import Run, advance
from localmem.backends.reply import ReplyText
from localmem.backends.slots import Slot, common_prefix
from localmem.types import Completion


@dataclass(frozen=True, slots=True)
class _Prefix:
    """What all prompts begin with: its length, where it lies, how many tokens that has cost."""

    tokens: int = 0
    slot: Slot | None = None
    cost: int = 0


@dataclass(frozen=True, slots=True)
class ManyRuns:
    """Prompts that are replied to together, with the most tokens of each reply.

    `before_step` is called before each evaluation, `on_done` with a prompt's place and its reply.
    """

    cache: PromptCache
    prompts: Sequence[list[int]]
    limits: Sequence[int]
    gbnf: str | None
    before_step: Callable[[], None]
    on_done: Callable[[int, Completion], None] | None

    def replies(self) -> list[Completion]:
        """The replies, in the order of the prompts; a finished one makes room for the next."""
        prefix = self._share_prefix()
        cost = prefix.cost
        waiting = deque(enumerate(self.prompts))
        free = list(range(SLOTS + WORKERS - 1, SLOTS - 1, -1))
        active: dict[int, Run] = {}
        results: dict[int, Completion] = {}
        try:
            while waiting or active:
                while waiting and free and self._fits(active, waiting[0][1], prefix):
                    number, prompt = waiting.popleft()
                    active[number] = run = self._start(free.pop(), number, prompt, prefix)
                    run.evaluated += cost
                    cost = 0
                self.before_step()
                advance(self.cache, list(active.values()), spared=prefix.slot)
                for number in [n for n, run in active.items() if run.done]:
                    run = active.pop(number)
                    self._release(run)
                    free.append(run.sequence)
                    results[number] = run.completion()
                    if self.on_done is not None:
                        self.on_done(number, results[number])
        finally:
            for run in active.values():
                self._release(run)
        return [results[number] for number in range(len(self.prompts))]

    def _share_prefix(self) -> _Prefix:
        """Evaluate what all prompts begin with."""
        if not self.prompts:
            return _Prefix()
        first = self.prompts[0]
        shared = min(common_prefix(first, prompt) for prompt in self.prompts)
        shared = min(shared, *(len(prompt) - 1 for prompt in self.prompts))
        if shared < 1:
            return _Prefix()
        slot, keep = self.cache.place(first[:shared])
        self.cache.evaluate_prompt(slot, first[:shared], keep)
        return _Prefix(shared, slot, shared - keep)

    def _fits(self, active: Mapping[int, Run], prompt: Sequence[int], prefix: _Prefix) -> bool:
        """Whether the cache can hold one more run to its end; one alone always may try."""
        if not active:
            return True
        most = max(self.limits)
        shared = prefix.tokens
        running = sum(run.prompt_tokens - shared + run.max_tokens for run in active.values())
        return shared + running + len(prompt) - shared + most <= self.cache.cells

    def _start(self, sequence: int, number: int, prompt: Sequence[int], prefix: _Prefix) -> Run:
        native, shared = self.cache.native, prefix.tokens
        if prefix.slot is not None:
            native.copy_sequence(prefix.slot.sequence, sequence, shared)
        return Run(
            sequence=sequence,
            pending=list(prompt[shared:]),
            position=shared,
            max_tokens=self.limits[number],
            text=ReplyText(),
            held=[],
            prompt_tokens=len(prompt),
            evaluated=len(prompt) - shared,
            grammar=native.grammar(self.gbnf) if self.gbnf else None,
        )

    def _release(self, run: Run) -> None:
        self.cache.native.trim_sequence(run.sequence, 0)
        if run.grammar is not None:
            run.grammar.close()
