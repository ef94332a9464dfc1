"""Replies in the making: many runs evaluated in one batch, each under its own grammar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from localmem.backends.llama_cache import PromptCache
from localmem.backends.llama_native import BatchItem, Grammar, Logits
from localmem.backends.reply import ReplyText, repeats_endlessly
from localmem.backends.slots import Slot
from localmem.types import Completion


@dataclass
class Run:
    """One reply in the making: tokens still to evaluate, and what was generated so far."""

    sequence: int
    pending: list[int]
    position: int
    max_tokens: int
    text: ReplyText
    held: list[int]
    prompt_tokens: int
    evaluated: int
    grammar: Grammar | None = None
    generated: list[int] = field(default_factory=list)
    finished: bool = False
    done: bool = False

    def completion(self) -> Completion:
        return Completion(
            text=self.text.finish(),
            prompt_tokens=self.prompt_tokens,
            evaluated_tokens=self.evaluated,
            completion_tokens=len(self.generated),
            finished=self.finished,
        )


def advance(cache: PromptCache, runs: Sequence[Run], *, spared: Slot | None) -> None:
    """Evaluate one batch from what the runs have pending, and sample where one is complete."""
    room = cache.native.batch_tokens
    items: list[BatchItem] = []
    rows: list[tuple[Run, int]] = []
    taken: list[tuple[Run, int]] = []
    for run in sorted(runs, key=lambda run: len(run.pending)):
        count = min(len(run.pending), room - len(items))
        complete = count == len(run.pending)
        for i in range(count):
            wants = complete and i == count - 1
            items.append(BatchItem(run.pending[i], run.position + i, run.sequence, wants))
        taken.append((run, count))
        if complete and count:
            rows.append((run, len(items) - 1))
    cache.evaluate(items, spared=spared)
    for run, count in taken:
        run.held += run.pending[:count]
        run.position += count
        run.pending = run.pending[count:]
    for run, row in rows:
        _sample(cache, run, cache.native.logits(row))


@contextmanager
def closing(run: Run) -> Iterator[None]:
    """Free the run's grammar at the end; its prompt stays in the cache."""
    try:
        yield
    finally:
        if run.grammar is not None:
            run.grammar.close()


def _sample(cache: PromptCache, run: Run, logits: Logits) -> None:
    """Take the most probable legal token into the reply, or end it."""
    token = int(logits.argmax()) if run.grammar is None else run.grammar.best(logits)
    if token is None or token in cache.native.end_tokens:
        run.finished, run.done = token is not None, True
        return
    if run.grammar is not None:
        run.grammar.accept(token)
    run.generated.append(token)
    run.text.feed(cache.native.piece(token))
    if len(run.generated) >= run.max_tokens or repeats_endlessly(run.generated):
        run.done = True
        return
    run.pending = [token]
