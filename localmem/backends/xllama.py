"""Language models in process through xllamacpp's wheels, for machines without a compiler.

The library brings llama.cpp's own server: slots, prefix cache, grammars. It is spoken to over a
socket file in a private folder (on Windows: a loopback port behind a random key), because only
there does it tokenise and stream.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Final

import numpy as np

from localmem.backends.chat import ChatTemplate
from localmem.backends.cpu import physical_cores
from localmem.backends.gbnf import one_grammar
from localmem.backends.http_json import LocalAddress, LocalServer
from localmem.backends.process_lock import ProcessLock
from localmem.backends.reply import ReplyText, repeats_endlessly
from localmem.backends.slots import one_begins_another
from localmem.errors import GenerationError, MissingExtraError, ModelError, UsageError
from localmem.ports import JsonSchema
from localmem.types import ChatMessage, Choice, Completion, LlmFiles

_SLOTS: Final = 8
_LEAST_REPLY: Final = 32
_TOP: Final = 200
"""Candidates whose probabilities are asked for; a token beyond them is asked for alone."""

_FORCED: Final = 10_000.0


class XllamaLlm:
    """A GGUF model behind the Llm port. Calls from several threads wait for each other."""

    def __init__(
        self,
        files: LlmFiles,
        *,
        context_tokens: int = 4096,
        threads: int | None = None,
        lock: ProcessLock | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="localmem-")
        token = secrets.token_urlsafe(24)
        cells = self._cells = context_tokens + context_tokens // 2
        self._engine = _start(
            files.weights, Path(self._folder.name), token, cells, threads or physical_cores()
        )
        address = LocalAddress.parse(self._engine.listening_address)
        self._server = LocalServer(address, token=token)
        props = self._server.get("/props")
        self._context_tokens = min(context_tokens, self._trained_tokens())
        self._bos = str(props.get("bos_token", ""))
        self._eos = str(props.get("eos_token", ""))
        self._template = ChatTemplate(props.get("chat_template"), bos=self._bos, eos=self._eos)
        self._adds_bos = self._asks_for_bos()
        self._model_id = files.model_id
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
        return len(self._tokenize(text, special=False))

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
            return self._reply(prompt, max_tokens, gbnf, on_token)

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
        """Replies to several prompts in eight slots.

        The common prefix is evaluated once in each slot, not once in all as the port would like,
        and kept there for later calls.
        """
        if reply_prefixes and len(reply_prefixes) != len(prompts):
            raise UsageError(f"{len(reply_prefixes)} reply prefixes for {len(prompts)} prompts")
        gbnf = one_grammar(schema, grammar)
        told = None if on_step is None else lambda piece: on_step()
        with self._held(), ThreadPoolExecutor(_SLOTS) as pool:
            prefixes = reply_prefixes or [""] * len(prompts)
            tokens = [self._tokens_of(p, r) for p, r in zip(prompts, prefixes, strict=True)]
            workers = max(1, min(_SLOTS, self._cells // _longest(tokens, max_tokens)))
            results: list[Completion] = []
            for start in range(0, len(tokens), workers):
                if self._process_lock is not None:
                    self._process_lock.give_way()
                if on_step is not None:
                    on_step()
                part = tokens[start : start + workers]
                replies = pool.map(lambda p: self._reply(p, max_tokens, gbnf, told), part)
                for number, reply in enumerate(replies, start):
                    results.append(reply)
                    if on_done is not None:
                        on_done(number, reply)
            return results

    def choose(self, messages: Sequence[ChatMessage], options: Sequence[str]) -> Choice:
        """Exact probabilities that the reply begins with each option, scaled to sum 1.

        Where one option is the beginning of another, the end of the reply counts for all.
        """
        if len(options) < 2:
            raise UsageError(f"a choice needs at least two options, got {len(options)}")
        with self._held():
            prompt = self._tokens_of(messages, "")
            self._room_for_reply(prompt, 1)
            spellings = [self._tokenize(option, special=False) for option in options]
            if not all(spellings):
                raise UsageError("an option of a choice is empty")
            if one_begins_another(spellings):
                end = self._tokenize(self._eos, special=True)
                spellings = [tokens + end for tokens in spellings]
            tree: dict[tuple[int, ...], dict[int, float]] = {}
            scores = np.array([self._score(prompt, tokens, tree) for tokens in spellings])
        weights = np.exp(scores - scores.max())
        shares = weights / weights.sum()
        return Choice(tuple(float(share) for share in shares), exact=True)

    def close(self) -> None:
        """Stop the engine and remove its socket; may be called twice."""
        with self._thread_lock:
            self._engine = None
            self._folder.cleanup()

    @contextmanager
    def _held(self) -> Iterator[None]:
        with self._thread_lock:
            if self._engine is None:
                raise ModelError("this model was closed")
            if self._process_lock is None:
                yield
                return
            with self._process_lock:
                yield

    def _tokenize(self, text: str, *, special: bool) -> list[int]:
        body = {"content": text, "parse_special": special, "add_special": False}
        return [int(token) for token in self._server.post("/tokenize", body)["tokens"]]

    def _asks_for_bos(self) -> bool:
        plain = self._tokenize("a", special=False)
        body = {"content": "a", "parse_special": False, "add_special": True}
        return bool(self._server.post("/tokenize", body)["tokens"][0] != plain[0])

    def _trained_tokens(self) -> int:
        meta = self._server.get("/v1/models")["data"][0].get("meta") or {}
        return int(meta.get("n_ctx_train", 1 << 30))

    def _tokens_of(self, messages: Sequence[ChatMessage], reply_prefix: str) -> list[int]:
        segments = self._template.segments(messages, reply_prefix=reply_prefix)
        tokens: list[int] = []
        if self._adds_bos and not (self._bos and segments[0].text.startswith(self._bos)):
            tokens += self._tokenize(self._bos, special=True)
        for segment in segments:
            tokens += self._tokenize(segment.text, special=segment.special)
        return tokens

    def _room_for_reply(self, prompt: Sequence[int], max_tokens: int) -> int:
        room = self._context_tokens - len(prompt)
        if room < min(max_tokens, _LEAST_REPLY):
            raise GenerationError(
                f"the prompt has {len(prompt)} tokens, the context {self._context_tokens}",
                hint="show the model less evidence, or set a larger context",
            )
        return min(max_tokens, room)

    def _reply(
        self,
        prompt: Sequence[int],
        max_tokens: int,
        gbnf: str | None,
        on_token: Callable[[str], None] | None,
    ) -> Completion:
        body: dict[str, Any] = {
            "prompt": list(prompt),
            "n_predict": self._room_for_reply(prompt, max_tokens),
            "temperature": 0,
            "cache_prompt": True,
            "stream": True,
        }
        if gbnf is not None:
            body["grammar"] = gbnf
        text, generated, last = ReplyText(on_token), list[int](), dict[str, Any]()
        for event in self._server.stream("/completion", body):
            text.feed(str(event.get("content", "")).encode())
            if event.get("stop"):
                last = event
                break
            generated += event.get("tokens", ())
            if repeats_endlessly(generated):
                break
        return Completion(
            text=text.finish(),
            prompt_tokens=len(prompt),
            evaluated_tokens=int(last.get("timings", {}).get("prompt_n", len(prompt))),
            completion_tokens=int(last.get("tokens_predicted", len(generated))),
            finished=last.get("stop_type") in ("eos", "word"),
        )

    def _score(
        self,
        prompt: Sequence[int],
        path: Sequence[int],
        tree: dict[tuple[int, ...], dict[int, float]],
    ) -> float:
        """Summed log-probabilities of one option's tokens; `tree` remembers what was asked."""
        return sum(
            self._log_probability(prompt, tuple(path[:i]), token, tree)
            for i, token in enumerate(path)
        )

    def _log_probability(
        self,
        prompt: Sequence[int],
        before: tuple[int, ...],
        token: int,
        tree: dict[tuple[int, ...], dict[int, float]],
    ) -> float:
        known = tree.setdefault(before, {})
        if not known:
            known |= self._next_tokens([*prompt, *before], None)
        if token not in known:
            known |= self._next_tokens([*prompt, *before], token)
        if token not in known:
            raise GenerationError(f"the engine told no probability of token {token}")
        return known[token]

    def _next_tokens(self, prompt: Sequence[int], forced: int | None) -> dict[int, float]:
        """Log-probabilities of the likeliest next tokens, and of the forced one."""
        body: dict[str, Any] = {
            "prompt": list(prompt),
            "n_predict": 1,
            "temperature": 0,
            "cache_prompt": True,
            "n_probs": _TOP if forced is None else 1,
            "response_fields": ["completion_probabilities"],
        }
        if forced is not None:
            body["logit_bias"] = [[forced, _FORCED]]
        told = self._server.post("/completion", body).get("completion_probabilities") or [{}]
        listed = [*told[0].get("top_logprobs", ()), *([told[0]] if told[0] else ())]
        return {int(one["id"]): float(one["logprob"]) for one in listed}


def _longest(prompts: Sequence[Sequence[int]], max_tokens: int) -> int:
    return max((len(prompt) for prompt in prompts), default=1) + max_tokens


def _start(path: Path, folder: Path, token: str, cells: int, threads: int) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtraError(
            "running a language model in process", extra="llm-wheels"
        ) from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.kv_unified = cells, _SLOTS, True
    params.n_batch = params.n_ubatch = 512
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup = params.fit_params = params.ui = params.endpoint_slots = False
    params.verbosity, params.cache_ram_mib, params.n_threads_http = -1, 256, _SLOTS + 2
    params.api_keys, params.cors_origins = [token], ""
    if os.name == "posix":
        params.hostnames = [str(folder / "engine.sock")]
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise ModelError(
            f"{path} cannot be loaded: {error}",
            hint="check that it is a whole GGUF file: localmem models check NAME",
        ) from error
