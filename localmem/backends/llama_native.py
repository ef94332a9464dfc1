"""A thin, typed wrapper around llama.cpp's C interface, as llama-cpp-python 0.3.36 exposes it.

Every native handle of the engine lives here. It decides nothing: prompts, sampling and what the
cache holds are llamacpp.py's. Not safe for concurrent calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localmem.errors import GenerationError, MissingExtraError, ModelError, UsageError

Logits = NDArray[np.float32]

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
_NEAR_BEST = 256
"""Candidates tried against a grammar before the whole vocabulary is."""
_GRAMMARS_KEPT = 8
OUTPUTS = 64
"""Most tokens of one batch whose logits are wanted; each costs a vocabulary of memory."""


class CacheFullError(Exception):
    """The KV cache has no cells left for a batch; nothing was changed."""


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One token to evaluate: where it stands, in which sequence, and whether its logits count."""

    token: int
    position: int
    sequence: int
    wants_logits: bool = False


@dataclass(frozen=True, slots=True)
class NativeOptions:
    """How to open a model. `cells` is the size of the whole cache, in tokens."""

    threads: int
    cells: int
    sequences: int
    batch_tokens: int = 512


@cache
def _library() -> Any:
    """The C interface, silenced. The library is process-wide by nature, and so is this."""
    try:
        from llama_cpp import llama_cpp
    except ImportError as error:
        raise MissingExtraError("running a language model in process", extra="llm") from error
    except (OSError, RuntimeError) as error:
        raise ModelError(
            f"llama-cpp-python is installed but its library cannot be loaded: {error}",
            hint="build it again for this machine: make setup LLM=source",
        ) from error
    llama_cpp.llama_log_set(_log_keeper().callback(llama_cpp.llama_log_callback), None)
    return llama_cpp


@cache
def _log_keeper() -> _LogKeeper:
    return _LogKeeper()


class _LogKeeper:
    """Receives what llama.cpp would print to stderr and keeps its last error."""

    _ERROR_LEVEL = 4

    def __init__(self) -> None:
        self.last_error = ""
        self._kept: Any = None

    def callback(self, kind: Any) -> Any:
        """A C function that must live as long as the library may call it."""
        self._kept = kind(self._take)
        return self._kept

    def _take(self, level: int, text: bytes, _: Any) -> None:
        if level == self._ERROR_LEVEL:
            self.last_error = text.decode("utf-8", "replace").strip()


class NativeModel:
    """A loaded model with one context of several sequences over one shared cache."""

    def __init__(self, path: Path, options: NativeOptions) -> None:
        self._lib = _library()
        self._lib.llama_backend_init()
        self._model = self._load(path)
        self._vocab = self._lib.llama_model_get_vocab(self._model)
        self.vocab_size: int = self._lib.llama_vocab_n_tokens(self._vocab)
        self.trained_tokens: int = self._lib.llama_model_n_ctx_train(self._model)
        self.batch_tokens = options.batch_tokens
        self._context = self._open_context(path, options)
        self._memory = self._lib.llama_get_memory(self._context)
        self._batch = _Batch(self._lib, options.batch_tokens)
        self._pieces: dict[int, bytes] = {}
        self._grammars: dict[str, Any] = {}
        self.end_tokens = self._find_end_tokens()

    @property
    def can_rewind(self) -> bool:
        """Whether a part of a sequence can be dropped; recurrent models only know whole ones."""
        recurrent = self._lib.llama_model_is_recurrent(self._model)
        return not (recurrent or self._lib.llama_model_is_hybrid(self._model))

    @property
    def chat_template(self) -> str | None:
        raw = self._lib.llama_model_chat_template(self._model, None)
        return raw.decode("utf-8", "replace") if raw else None

    @property
    def bos(self) -> str:
        return self._special_text(self._lib.llama_vocab_bos(self._vocab))

    @property
    def eos(self) -> str:
        return self._special_text(self._lib.llama_vocab_eos(self._vocab))

    @property
    def adds_bos(self) -> bool:
        return bool(self._lib.llama_vocab_get_add_bos(self._vocab))

    @property
    def bos_token(self) -> int:
        return int(self._lib.llama_vocab_bos(self._vocab))

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokens of a text; `special`: control words become control tokens."""
        raw = text.encode("utf-8")
        room = len(raw) + 16
        tokens = (self._lib.llama_token * room)()
        count = self._lib.llama_tokenize(self._vocab, raw, len(raw), tokens, room, False, special)
        if count < 0:
            raise GenerationError(f"a text of {len(raw)} bytes could not be tokenised")
        return list(tokens[:count])

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; b"" for control tokens."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._piece(token, special=False)
        return known

    def evaluate(self, items: Sequence[BatchItem]) -> None:
        """Run one batch of at most `batch_tokens` tokens through the model, OUTPUTS with logits.

        Raises:
            CacheFullError: make room and try again.
            GenerationError: the engine failed.
        """
        status = self._lib.llama_decode(self._context, self._batch.filled(items))
        if status == 1:
            raise CacheFullError
        if status != 0:
            reason = _log_keeper().last_error or "no message"
            raise GenerationError(f"llama.cpp could not evaluate a batch ({status}): {reason}")

    def logits(self, row: int) -> Logits:
        """float32 (vocab,) after item `row` of the last batch; valid until the next batch."""
        pointer = self._lib.llama_get_logits_ith(self._context, row)
        if not pointer:
            raise GenerationError(f"no logits were computed for batch row {row}")
        return np.ctypeslib.as_array(pointer, shape=(self.vocab_size,))

    def copy_sequence(self, source: int, target: int, length: int) -> None:
        """Let `target` hold the first `length` tokens of `source`; no cell is duplicated."""
        self._lib.llama_memory_seq_rm(self._memory, target, -1, -1)
        self._lib.llama_memory_seq_cp(self._memory, source, target, 0, length)

    def trim_sequence(self, sequence: int, length: int) -> None:
        """Drop everything from position `length` on."""
        self._lib.llama_memory_seq_rm(self._memory, sequence, length if length else -1, -1)

    def grammar(self, gbnf: str) -> Grammar:
        """A fresh grammar state.

        Raises:
            UsageError: the text is no grammar.
        """
        prototype = self._grammars.get(gbnf)
        if prototype is None:
            prototype = self._lib.llama_sampler_init_grammar(
                self._vocab, gbnf.encode("utf-8"), b"root"
            )
            if not prototype:
                raise UsageError(f"not a GBNF grammar: {_log_keeper().last_error}")
            while len(self._grammars) >= _GRAMMARS_KEPT:
                self._lib.llama_sampler_free(self._grammars.pop(next(iter(self._grammars))))
            self._grammars[gbnf] = prototype
        return Grammar(self._lib, self._lib.llama_sampler_clone(prototype), self.end_tokens)

    def close(self) -> None:
        """Free everything; may be called twice."""
        if self._context is None:
            return
        for prototype in self._grammars.values():
            self._lib.llama_sampler_free(prototype)
        self._grammars.clear()
        self._lib.llama_free(self._context)
        self._lib.llama_model_free(self._model)
        self._context = self._model = None

    def _load(self, path: Path) -> Any:
        params = self._lib.llama_model_default_params()
        params.n_gpu_layers = 999 if self._lib.llama_supports_gpu_offload() else 0
        _log_keeper().last_error = ""
        model = self._lib.llama_model_load_from_file(str(path).encode(), params)
        if not model:
            raise ModelError(
                f"{path} cannot be loaded: {_log_keeper().last_error or 'no message'}",
                hint="check that it is a whole GGUF file: localmem models check NAME",
            )
        return model

    def _open_context(self, path: Path, options: NativeOptions) -> Any:
        params = self._lib.llama_context_default_params()
        params.n_ctx = options.cells
        params.n_batch = params.n_ubatch = options.batch_tokens
        params.n_outputs_max = params.n_outputs_max_per_seq = OUTPUTS
        params.n_seq_max = options.sequences
        params.n_threads = params.n_threads_batch = options.threads
        params.kv_unified = True
        params.swa_full = True
        params.no_perf = True
        context = self._lib.llama_init_from_model(self._model, params)
        if not context:
            reason = _log_keeper().last_error or "no message"
            self._lib.llama_model_free(self._model)
            raise ModelError(
                f"no context of {options.cells} tokens for {path.name}: {reason}",
                hint="close other programs, or set a smaller context in the configuration",
            )
        return context

    def _piece(self, token: int, *, special: bool) -> bytes:
        buffer = ctypes.create_string_buffer(256)
        count = self._lib.llama_token_to_piece(self._vocab, token, buffer, 256, 0, special)
        return buffer.raw[: max(count, 0)]

    def _special_text(self, token: int) -> str:
        return self._piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

    def _find_end_tokens(self) -> frozenset[int]:
        is_end = self._lib.llama_vocab_is_eog
        return frozenset(t for t in range(self.vocab_size) if is_end(self._vocab, t))


class Grammar:
    """Where one reply stands in a grammar.

    llama.cpp aborts the process when an illegal token is accepted, so `accept` is only for tokens
    that `best` returned.
    """

    def __init__(self, lib: Any, sampler: Any, end_tokens: Iterable[int]) -> None:
        self._lib = lib
        self._sampler = sampler
        self._ends = np.fromiter(sorted(end_tokens), dtype=np.int32)

    def best(self, logits: Logits) -> int | None:
        """The most probable legal token; None if the grammar allows none.

        The most probable token of all is tried alone first, then those near it with the ends of a
        reply, and only then the whole vocabulary.
        """
        first = int(logits.argmax())
        for ids in self._widening(first, logits):
            legal = self._best_of(ids, logits)
            if legal is not None:
                return legal
        return None

    def accept(self, token: int) -> None:
        """Go on by one token, which must be legal and no end of a reply."""
        self._lib.llama_sampler_accept(self._sampler, token)

    def close(self) -> None:
        """Free the native state; may be called twice."""
        if self._sampler is not None:
            self._lib.llama_sampler_free(self._sampler)
            self._sampler = None

    def _widening(self, first: int, logits: Logits) -> Iterable[NDArray[np.int32]]:
        yield np.array([first], dtype=np.int32)
        if len(logits) > _NEAR_BEST:
            near = np.argpartition(logits, -_NEAR_BEST)[-_NEAR_BEST:].astype(np.int32)
            yield np.union1d(near, self._ends).astype(np.int32)
        yield np.arange(len(logits), dtype=np.int32)

    def _best_of(self, ids: NDArray[np.int32], logits: Logits) -> int | None:
        candidates = np.zeros(len(ids), dtype=_CANDIDATE)
        candidates["id"] = ids
        candidates["logit"] = logits[ids]
        data = candidates.ctypes.data_as(self._lib.llama_token_data_p)
        array = self._lib.llama_token_data_array(data, len(ids), -1, False)
        self._lib.llama_sampler_apply(self._sampler, ctypes.byref(array))
        place = int(candidates["logit"].argmax())
        return int(candidates["id"][place]) if np.isfinite(candidates["logit"][place]) else None


class _Batch:
    """llama.cpp's batch over arrays of ours that are filled anew each time."""

    def __init__(self, lib: Any, size: int) -> None:
        self._tokens = np.zeros(size, dtype=np.int32)
        self._positions = np.zeros(size, dtype=np.int32)
        self._sequences = np.zeros(size, dtype=np.int32)
        self._counts = np.ones(size, dtype=np.int32)
        self._wants = np.zeros(size, dtype=np.int8)
        base = self._sequences.ctypes.data
        self._pointers = np.array([base + 4 * i for i in range(size)], dtype=np.uintp)
        self._native = lib.llama_batch()
        for name, array in (
            ("token", self._tokens),
            ("pos", self._positions),
            ("n_seq_id", self._counts),
            ("seq_id", self._pointers),
            ("logits", self._wants),
        ):
            kind = dict(lib.llama_batch._fields_)[name]
            setattr(self._native, name, array.ctypes.data_as(kind))

    def filled(self, items: Sequence[BatchItem]) -> Any:
        count = len(items)
        self._tokens[:count] = [item.token for item in items]
        self._positions[:count] = [item.position for item in items]
        self._sequences[:count] = [item.sequence for item in items]
        self._wants[:count] = [item.wants_logits for item in items]
        self._native.n_tokens = count
        return self._native
