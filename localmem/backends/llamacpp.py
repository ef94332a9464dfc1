"""Language models in process, on llama-cpp-python's low-level interface.

Its own sampling loop, because the library's high-level one keeps a single prefix, cannot decode
several sequences under their own grammars, and computes log-probabilities only at a high price.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Final

import numpy as np

from localmem.backends.chat import ChatTemplate
from localmem.backends.cpu import physical_cores
from localmem.backends.gbnf import one_grammar
from localmem.backends.llama_native import (
    OUTPUTS,
    BatchItem,
    CacheFullError,
    Grammar,
    Logits,
    NativeModel,
    NativeOptions,
)
from localmem.backends.process_lock import ProcessLock
from localmem.backends.reply import ReplyText, repeats_endlessly
from localmem.backends.slots import Slot, SlotBook, common_prefix, one_begins_another
from localmem.errors import GenerationError, UsageError
from localmem.ports import JsonSchema
from localmem.types import ChatMessage, Choice, Completion, LlmFiles

_SLOTS: Final = 4
_WORKERS: Final = 8
_LEAST_REPLY: Final = 32
"""A prompt that leaves less room than this for its reply (or than it asks for) does not fit."""


@dataclass
class _Run:
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


class LlamaCppLlm:
    """A GGUF model behind the Llm port. Calls from several threads wait for each other."""

    def __init__(
        self,
        files: LlmFiles,
        *,
        context_tokens: int = 4096,
        threads: int | None = None,
        lock: ProcessLock | None = None,
    ) -> None:
        cells = context_tokens + context_tokens // 2
        options = NativeOptions(threads or physical_cores(), cells, _SLOTS + _WORKERS)
        self._native = NativeModel(files.weights, options)
        self._cells = cells
        self._context_tokens = min(context_tokens, self._native.trained_tokens)
        self._model_id = files.model_id
        self._template = ChatTemplate(
            self._native.chat_template, bos=self._native.bos, eos=self._native.eos
        )
        self._book = SlotBook(_SLOTS)
        self._thread_lock = RLock()
        self._process_lock = lock

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of a text as it stands in a prompt."""
        with self._thread_lock:
            return len(self._native.tokenize(text, special=False))

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
        """The model's reply at temperature 0, stopped where it repeats itself endlessly."""
        gbnf = one_grammar(schema, grammar)
        with self._held():
            prompt = self._tokens_of(messages, reply_prefix)
            slot, keep = self._place(prompt)
            run = _Run(
                sequence=slot.sequence,
                pending=prompt[keep:],
                position=keep,
                max_tokens=self._room_for_reply(prompt, max_tokens),
                text=ReplyText(on_token),
                held=slot.tokens,
                prompt_tokens=len(prompt),
                evaluated=len(prompt) - keep,
                grammar=self._native.grammar(gbnf) if gbnf else None,
            )
            with _closing([run]):
                while not run.done:
                    self._advance([run], spared=slot)
            return run.completion()

    def complete_many(
        self,
        prompts: Sequence[Sequence[ChatMessage]],
        *,
        max_tokens: int,
        schema: JsonSchema | None = None,
        grammar: str | None = None,
        reply_prefixes: Sequence[str] = (),
        on_done: Callable[[int, Completion], None] | None = None,
        on_step: Callable[[], None] | None = None,
    ) -> list[Completion]:
        """Replies to several prompts, eight at a time; a finished one makes room for the next."""
        if reply_prefixes and len(reply_prefixes) != len(prompts):
            raise UsageError(f"{len(reply_prefixes)} reply prefixes for {len(prompts)} prompts")
        gbnf = one_grammar(schema, grammar)
        with self._held():
            prefixes = reply_prefixes or [""] * len(prompts)
            tokens = [self._tokens_of(p, r) for p, r in zip(prompts, prefixes, strict=True)]
            return self._run_many(tokens, max_tokens, gbnf, on_done, on_step)

    def choose(self, messages: Sequence[ChatMessage], options: Sequence[str]) -> Choice:
        """Exact probabilities that the reply begins with each option, scaled to sum 1.

        Where one option is the beginning of another, the end of the reply counts for all.
        The engine's arithmetic depends on where in its cache a prompt lies, so that repeated
        calls may differ: by a hundredth for likely options, by a third for hopeless ones.
        """
        if len(options) < 2:
            raise UsageError(f"a choice needs at least two options, got {len(options)}")
        with self._held():
            prompt = self._tokens_of(messages, "")
            self._room_for_reply(prompt, 1)
            spellings = [self._native.tokenize(option, special=False) for option in options]
            if not all(spellings):
                raise UsageError("an option of a choice is empty")
            slot, keep = self._place(prompt)
            first = self._evaluate_prompt(slot, prompt, keep)
            scores = self._score_options(slot, first, spellings)
        weights = np.exp(scores - scores.max())
        shares = weights / weights.sum()
        return Choice(tuple(float(share) for share in shares), exact=True)

    def close(self) -> None:
        """Free the model."""
        with self._thread_lock:
            self._native.close()

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The engine for this thread alone, and the processor for this process alone."""
        with self._thread_lock:
            if self._process_lock is None:
                yield
                return
            with self._process_lock:
                yield

    def _tokens_of(self, messages: Sequence[ChatMessage], reply_prefix: str) -> list[int]:
        segments = self._template.segments(messages, reply_prefix=reply_prefix)
        tokens: list[int] = []
        bos = self._native.bos
        if self._native.adds_bos and not (bos and segments[0].text.startswith(bos)):
            tokens.append(self._native.bos_token)
        for segment in segments:
            tokens += self._native.tokenize(segment.text, special=segment.special)
        return tokens

    def _room_for_reply(self, prompt: Sequence[int], max_tokens: int) -> int:
        room = self._context_tokens - len(prompt)
        if room < min(max_tokens, _LEAST_REPLY):
            raise GenerationError(
                f"the prompt has {len(prompt)} tokens, the context {self._context_tokens}",
                hint="show the model less evidence, or set a larger context",
            )
        return min(max_tokens, room)

    def _place(self, prompt: Sequence[int]) -> tuple[Slot, int]:
        """The slot to evaluate a prompt in, and how many of its tokens are there already."""
        plan = self._book.plan(prompt)
        slot, keep, source = plan.target, plan.keep, plan.source
        holder = source or slot
        if not self._native.can_rewind and keep != len(holder.tokens):
            keep, source = 0, None
        if source is not None:
            self._native.copy_sequence(source.sequence, slot.sequence, keep)
        else:
            self._native.trim_sequence(slot.sequence, keep)
        slot.tokens = list(prompt[:keep])
        return slot, keep

    def _evaluate_prompt(self, slot: Slot, prompt: Sequence[int], keep: int) -> Logits:
        """Evaluate what is missing of a prompt; the logits after its last token, copied."""
        row = 0
        for start in range(keep, len(prompt), self._native.batch_tokens):
            part = prompt[start : start + self._native.batch_tokens]
            items = [
                BatchItem(token, start + i, slot.sequence, start + i == len(prompt) - 1)
                for i, token in enumerate(part)
            ]
            self._evaluate(items, spared=slot)
            slot.tokens += part
            row = len(part) - 1
        return self._native.logits(row).copy()

    def _evaluate(self, items: Sequence[BatchItem], *, spared: Slot | None) -> None:
        """Evaluate a batch; where the cache is full, give up what was used longest ago."""
        while True:
            try:
                self._native.evaluate(items)
                return
            except CacheFullError as error:
                oldest = self._book.give_up_oldest(spared)
                if oldest is None:
                    raise GenerationError(
                        f"the cache of {self._cells} tokens is full",
                        hint="set a larger context, or ask for shorter replies",
                    ) from error
                self._native.trim_sequence(oldest.sequence, 0)

    def _advance(self, runs: Sequence[_Run], *, spared: Slot | None) -> None:
        """Evaluate one batch from what the runs have pending, and sample where one is complete."""
        room = self._native.batch_tokens
        items: list[BatchItem] = []
        rows: list[tuple[_Run, int]] = []
        taken: list[tuple[_Run, int]] = []
        for run in sorted(runs, key=lambda run: len(run.pending)):
            count = min(len(run.pending), room - len(items))
            complete = count == len(run.pending)
            for i in range(count):
                wants = complete and i == count - 1
                items.append(BatchItem(run.pending[i], run.position + i, run.sequence, wants))
            taken.append((run, count))
            if complete and count:
                rows.append((run, len(items) - 1))
        self._evaluate(items, spared=spared)
        for run, count in taken:
            run.held += run.pending[:count]
            run.position += count
            run.pending = run.pending[count:]
        for run, row in rows:
            self._sample(run, self._native.logits(row))

    def _sample(self, run: _Run, logits: Logits) -> None:
        """Take the most probable legal token into the reply, or end it."""
        token = int(logits.argmax()) if run.grammar is None else run.grammar.best(logits)
        if token is None or token in self._native.end_tokens:
            run.finished, run.done = token is not None, True
            return
        if run.grammar is not None:
            run.grammar.accept(token)
        run.generated.append(token)
        run.text.feed(self._native.piece(token))
        if len(run.generated) >= run.max_tokens or repeats_endlessly(run.generated):
            run.done = True
            return
        run.pending = [token]

    def _run_many(
        self,
        prompts: Sequence[list[int]],
        max_tokens: int,
        gbnf: str | None,
        on_done: Callable[[int, Completion], None] | None,
        on_step: Callable[[], None] | None,
    ) -> list[Completion]:
        limits = [self._room_for_reply(prompt, max_tokens) for prompt in prompts]
        shared, slot, prefix_cost = self._share_prefix(prompts)
        waiting = deque(enumerate(prompts))
        free = list(range(_SLOTS + _WORKERS - 1, _SLOTS - 1, -1))
        active: dict[int, _Run] = {}
        results: dict[int, Completion] = {}
        try:
            while waiting or active:
                while waiting and free and self._fits(active, waiting[0][1], limits, shared):
                    number, prompt = waiting.popleft()
                    run = self._start(free.pop(), prompt, shared, slot, limits[number], gbnf)
                    run.evaluated += prefix_cost
                    prefix_cost = 0
                    active[number] = run
                if self._process_lock is not None:
                    self._process_lock.give_way()
                if on_step is not None:
                    on_step()
                self._advance(list(active.values()), spared=slot)
                for number in [n for n, run in active.items() if run.done]:
                    run = active.pop(number)
                    self._release(run)
                    free.append(run.sequence)
                    results[number] = run.completion()
                    if on_done is not None:
                        on_done(number, results[number])
        finally:
            for run in active.values():
                self._release(run)
        return [results[number] for number in range(len(prompts))]

    def _share_prefix(self, prompts: Sequence[list[int]]) -> tuple[int, Slot | None, int]:
        """Evaluate what all prompts begin with: its length, where it is, tokens it cost."""
        if not prompts:
            return 0, None, 0
        shared = min(common_prefix(prompts[0], prompt) for prompt in prompts)
        shared = min(shared, *(len(prompt) - 1 for prompt in prompts)) if prompts else 0
        if shared < 1:
            return 0, None, 0
        prefix = prompts[0][:shared]
        slot, keep = self._place(prefix)
        self._evaluate_prompt(slot, prefix, keep)
        return shared, slot, shared - keep

    def _fits(
        self,
        active: dict[int, _Run],
        prompt: Sequence[int],
        limits: Sequence[int],
        shared: int,
    ) -> bool:
        """Whether the cache can hold one more run to its end; one alone always may try."""
        if not active:
            return True
        most = max(limits)
        running = sum(run.prompt_tokens - shared + run.max_tokens for run in active.values())
        return shared + running + len(prompt) - shared + most <= self._cells

    def _start(
        self,
        sequence: int,
        prompt: Sequence[int],
        shared: int,
        slot: Slot | None,
        limit: int,
        gbnf: str | None,
    ) -> _Run:
        if slot is not None:
            self._native.copy_sequence(slot.sequence, sequence, shared)
        return _Run(
            sequence=sequence,
            pending=list(prompt[shared:]),
            position=shared,
            max_tokens=limit,
            text=ReplyText(),
            held=[],
            prompt_tokens=len(prompt),
            evaluated=len(prompt) - shared,
            grammar=self._native.grammar(gbnf) if gbnf else None,
        )

    def _release(self, run: _Run) -> None:
        self._native.trim_sequence(run.sequence, 0)
        if run.grammar is not None:
            run.grammar.close()

    def _score_options(
        self, slot: Slot, first: Logits, spellings: Sequence[list[int]]
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Summed log-probabilities of the options' tokens, float64 (options,)."""
        scores = np.array([_log_softmax(first)[tokens[0]] for tokens in spellings])
        ends_count = one_begins_another(spellings)
        longer = [n for n, tokens in enumerate(spellings) if ends_count or len(tokens) > 1]
        for some in _batches(longer, [len(tokens) for tokens in spellings]):
            for number, more in self._score_batch(slot, spellings, some, ends_count):
                scores[number] += more
        return scores

    def _score_batch(
        self,
        slot: Slot,
        spellings: Sequence[list[int]],
        numbers: Sequence[int],
        ends_count: bool,
    ) -> list[tuple[int, float]]:
        """What the tokens after the first add to each option's score, all in one batch."""
        position = len(slot.tokens)
        items: list[BatchItem] = []
        rows: list[int] = []
        for worker, number in enumerate(numbers):
            sequence = _SLOTS + worker
            self._native.copy_sequence(slot.sequence, sequence, position)
            rows.append(len(items))
            items += [
                BatchItem(token, position + i, sequence, wants_logits=True)
                for i, token in enumerate(spellings[number])
            ]
        self._evaluate(items, spared=slot)
        scored = [
            (number, self._tail_score(row, spellings[number], ends_count))
            for number, row in zip(numbers, rows, strict=True)
        ]
        for worker in range(len(numbers)):
            self._native.trim_sequence(_SLOTS + worker, 0)
        return scored

    def _tail_score(self, row: int, tokens: Sequence[int], ends_count: bool) -> float:
        total = 0.0
        for i, token in enumerate(tokens[1:]):
            total += float(_log_softmax(self._native.logits(row + i))[token])
        if ends_count:
            last = _log_softmax(self._native.logits(row + len(tokens) - 1))
            total += float(np.logaddexp.reduce(last[sorted(self._native.end_tokens)]))
        return total


def _batches(numbers: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Options grouped so that a group fits the workers and the outputs of one batch."""
    group: list[int] = []
    for number in numbers:
        if lengths[number] > OUTPUTS:
            raise UsageError(
                f"an option of a choice has {lengths[number]} tokens, at most {OUTPUTS}"
            )
        total = sum(lengths[one] for one in group) + lengths[number]
        if group and (len(group) == _WORKERS or total > OUTPUTS):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def _log_softmax(logits: Logits) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    wide = logits.astype(np.float64)
    wide -= wide.max()
    result: np.ndarray[tuple[int], np.dtype[np.float64]] = wide - np.log(np.exp(wide).sum())
    return result


@contextmanager
def _closing(runs: Sequence[_Run]) -> Iterator[None]:
    try:
        yield
    finally:
        for run in runs:
            if run.grammar is not None:
                run.grammar.close()
