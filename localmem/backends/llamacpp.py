"""Language models in process, on llama-cpp-python's low-level interface.

Its own sampling loop, because the library's high-level one keeps a single prefix, cannot decode
several sequences under their own grammars, and computes log-probabilities only at a high price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import RLock
from typing import Final

import numpy as np

from localmem.backends.chat import ChatTemplate
from localmem.backends.cpu import physical_cores
from localmem.backends.gbnf import one_grammar
from localmem.backends.llama_cache import SLOTS, WORKERS, PromptCache
from localmem.backends.llama_choice import score_options
from localmem.backends.llama_many import ManyRuns
from localmem.backends.llama_native import NativeModel, NativeOptions
from localmem.backends.llama_runs import Run, advance, closing
from localmem.backends.process_lock import ProcessLock
from localmem.backends.reply import ReplyText
from localmem.errors import GenerationError, UsageError
from localmem.ports import JsonSchema
from localmem.types import ChatMessage, Choice, Completion, LlmFiles

_LEAST_REPLY: Final = 32
"""A prompt that leaves less room than this for its reply (or than it asks for) does not fit."""


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
        options = NativeOptions(threads or physical_cores(), cells, SLOTS + WORKERS)
        self._native = NativeModel(files.weights, options)
        self._cache = PromptCache(self._native, cells)
        self._context_tokens = min(context_tokens, self._native.trained_tokens)
        self._model_id = files.model_id
        self._template = ChatTemplate(
            self._native.chat_template, bos=self._native.bos, eos=self._native.eos
        )
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
            slot, keep = self._cache.place(prompt)
            run = Run(
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
            with closing(run):
                while not run.done:
                    advance(self._cache, [run], spared=slot)
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
            limits = [self._room_for_reply(prompt, max_tokens) for prompt in tokens]
            before_step = partial(self._before_step, on_step)
            return ManyRuns(self._cache, tokens, limits, gbnf, before_step, on_done).replies()

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
            spellings = [self._native.tokenize(option, special=False) for option in options]
            if not all(spellings):
                raise UsageError("an option of a choice is empty")
            self._room_for_reply(prompt, max(len(tokens) for tokens in spellings))
            slot, keep = self._cache.place(prompt)
            first = self._cache.evaluate_prompt(slot, prompt, keep)
            scores = score_options(self._cache, slot, first, spellings)
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

    def _before_step(self, on_step: Callable[[], None] | None) -> None:
        """Let a question of another process go first, and the caller stop."""
        if self._process_lock is not None:
            self._process_lock.give_way()
        if on_step is not None:
            on_step()

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
