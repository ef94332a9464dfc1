"""Engines behind the ports: language models and embedders. Nothing heavy is imported here."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING

from localmem.errors import MissingExtraError, ModelNotFoundError, UsageError
from localmem.types import EmbedderFiles, LlmFiles

if TYPE_CHECKING:
    from localmem.ports import Embedder, Llm

__all__ = ["Engine", "available_engines", "open_embedder", "open_llm"]


class Engine(StrEnum):
    """What runs a language model. AUTO: llama-cpp-python where installed, else xllamacpp."""

    AUTO = "auto"
    LLAMACPP = "llamacpp"
    XLLAMACPP = "xllamacpp"
    LOOPBACK = "loopback"


@dataclass(frozen=True, slots=True)
class _Options:
    context_tokens: int
    threads: int | None
    on_wait: Callable[[str], None] | None


def available_engines() -> list[Engine]:
    """The in-process engines that are installed, the preferred first; importing none of them."""
    modules = {Engine.LLAMACPP: "llama_cpp", Engine.XLLAMACPP: "xllamacpp"}
    return [engine for engine, module in modules.items() if find_spec(module) is not None]


def open_llm(
    model: LlmFiles | str,
    *,
    engine: Engine | str = Engine.AUTO,
    context_tokens: int = 4096,
    threads: int | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> Llm:
    """A language model from a file, or from a loopback server's address.

    An address may name the model: "http://127.0.0.1:11434#qwen3:1.7b". `on_wait` is told who holds
    the machine's one language model while this process waits for it.

    Raises:
        MissingExtraError, ModelError, ModelNotFoundError, NetworkDeniedError
    """
    if isinstance(model, str):
        from localmem.backends.loopback import LoopbackLlm

        if engine not in (Engine.AUTO, Engine.LOOPBACK):
            raise UsageError(f"{engine} opens a file, got the address {model}")
        url, _, name = model.partition("#")
        return LoopbackLlm(url, model=name, context_tokens=context_tokens)
    if not model.weights.is_file():
        raise ModelNotFoundError(
            f"{model.weights} does not exist", hint=f"localmem models pull {model.name}"
        )
    options = _Options(context_tokens, threads, on_wait)
    return _open_file(model, _chosen(Engine(engine)), options)


def open_embedder(files: EmbedderFiles, *, threads: int | None = None) -> Embedder:
    """The embedder in these files; `threads` None means one per physical core.

    Raises:
        ModelNotFoundError, ModelError
    """
    from localmem.backends.onnx import OnnxEmbedder

    return OnnxEmbedder(files, threads=threads)


def _chosen(engine: Engine) -> Engine:
    here = available_engines()
    if engine is Engine.LOOPBACK:
        raise UsageError("the loopback engine needs a server's address, got a file")
    wanted = here[0] if engine is Engine.AUTO and here else engine
    if wanted not in here:
        extra = "llm-wheels" if engine is Engine.XLLAMACPP else "llm"
        raise MissingExtraError("running a language model in process", extra=extra)
    return wanted


def _open_file(files: LlmFiles, engine: Engine, options: _Options) -> Llm:
    from localmem.backends.process_lock import ProcessLock
    from localmem.paths import home

    _keep_waiting_threads_off_the_processor()
    lock = ProcessLock(home() / "llm.lock", on_wait=options.on_wait)
    if engine is Engine.XLLAMACPP:
        from localmem.backends.xllama import XllamaLlm

        return XllamaLlm(
            files, context_tokens=options.context_tokens, threads=options.threads, lock=lock
        )
    from localmem.backends.engine_check import demand_runnable
    from localmem.backends.llamacpp import LlamaCppLlm

    demand_runnable(files.weights, home() / "engine_checks.json")
    return LlamaCppLlm(
        files, context_tokens=options.context_tokens, threads=options.threads, lock=lock
    )


def _keep_waiting_threads_off_the_processor() -> None:
    """Let OpenMP's threads sleep soon instead of spinning while they wait for each other.

    On a machine that is busy with other things, spinning makes llama.cpp several times slower. The
    variable is read when the library is loaded; a value of the user's own stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
