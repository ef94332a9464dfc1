"""Both in-process engines side by side on one model: reading, writing, batching, memory.

Each engine runs in a child process of its own, one after the other, so that its memory and its
threads are its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from localmem.backends import available_engines, open_llm
from localmem.modelstore import Catalog, ModelStore
from localmem.paths import models_folder
from localmem.ports import Llm
from localmem.types import ChatMessage, Completion, Role

_NOTES = (
    "Anna took the night train to Hamburg and met her brother at the harbour. "
    "They spoke about the flat in Lisbon, the new bicycle and the dentist on Tuesday. "
)
_SEQUENCES = 8
_SCHEMA = {
    "type": "object",
    "properties": {
        "who": {"type": "string", "maxLength": 40},
        "what": {"type": "string", "maxLength": 80},
        "tags": {
            "type": "array",
            "items": {"type": "string", "maxLength": 20},
            "minItems": 3,
            "maxItems": 6,
        },
    },
    "required": ["who", "what", "tags"],
}


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """What one engine did. Rates are tokens per second; of all sequences together in a batch.

    `batch_gain` is the batch under a grammar beside the same eight prompts one by one, both with
    the reading of what the prompts do not share. `batch_shared_tokens` are the tokens that all of
    them begin with, `batch_evaluated_tokens` those that a first batch really ran through.
    """

    engine: str
    model: str
    threads: int
    load_s: float
    prefill_tok_s: float
    decode_tok_s: float
    decode_grammar_tok_s: float
    batch_tok_s: float
    batch_grammar_tok_s: float
    one_by_one_grammar_tok_s: float
    batch_gain: float
    batch_prompt_tokens: int
    batch_shared_tokens: int
    batch_evaluated_tokens: int
    repeat_evaluated_tokens: int
    repeat_s: float
    alternating_evaluated_tokens: int
    choose_ms: float
    rss_mb: float
    load_average: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to measure, and where to write it."""
    parser.add_argument("--model", default="smollm2-135m", help="catalog name or a GGUF file")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of each reply")
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--engine", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Measures every installed engine; in a child with --engine, that one."""
    if args.engine:
        print(json.dumps(asdict(_measure(args))))
        return 0
    figures = [_in_child(engine, args) for engine in available_engines()]
    if not figures:
        print("no engine is installed; see the README for the extras", file=sys.stderr)
        return 1
    _print_table(figures)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


def _in_child(engine: str, args: argparse.Namespace) -> dict[str, object]:
    command = [sys.executable, "-m", "benchmarks", "engines", "--engine", engine]
    command += ["--model", args.model, "--tokens", str(args.tokens)]
    command += ["--context", str(args.context)]
    if args.threads:
        command += ["--threads", str(args.threads)]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, object] = json.loads(child.stdout.splitlines()[-1])
    return measured


def _measure(args: argparse.Namespace) -> EngineFigures:
    files = ModelStore(models_folder(), Catalog.load()).llm(args.model)
    started = time.perf_counter()
    llm = open_llm(files, engine=args.engine, context_tokens=args.context, threads=args.threads)
    load_s = time.perf_counter() - started
    llm.complete(_prompt("Say hello."), max_tokens=4)
    prefill, _ = _timed_reply(llm, _prompt(_NOTES * 16), 1)
    plain, _ = _timed_reply(llm, _prompt("Tell a long story about a lighthouse."), args.tokens)
    grammar_rate, _ = _timed_reply(llm, _prompt(_NOTES), args.tokens, schema=True)
    batch = _batch_rate(llm, args.tokens, schema=False)
    batch_grammar = _batch_rate(llm, args.tokens, schema=True)
    one_by_one = _one_by_one_rate(llm, args.tokens)
    counted = llm.complete_many(_many_prompts("Once more: "), max_tokens=1)
    repeat, repeat_s = _repeat(llm)
    alternating = _alternating(llm)
    choose_ms = _choose_ms(llm)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = EngineFigures(
        engine=args.engine,
        model=llm.model_id,
        threads=args.threads or _threads(),
        load_s=load_s,
        prefill_tok_s=prefill,
        decode_tok_s=plain,
        decode_grammar_tok_s=grammar_rate,
        batch_tok_s=batch,
        batch_grammar_tok_s=batch_grammar,
        one_by_one_grammar_tok_s=one_by_one,
        batch_gain=batch_grammar / one_by_one,
        batch_prompt_tokens=sum(reply.prompt_tokens for reply in counted),
        batch_shared_tokens=llm.count_tokens(f"Once more: {_NOTES}"),
        batch_evaluated_tokens=sum(reply.evaluated_tokens for reply in counted),
        repeat_evaluated_tokens=repeat,
        repeat_s=repeat_s,
        alternating_evaluated_tokens=alternating,
        choose_ms=choose_ms,
        rss_mb=peak / (1024 * 1024 if sys.platform == "darwin" else 1024),
        load_average=os.getloadavg()[0],
    )
    llm.close()
    return figures


def _threads() -> int:
    from localmem.backends.cpu import physical_cores

    return physical_cores()


def _prompt(text: str) -> list[ChatMessage]:
    return [ChatMessage(Role.SYSTEM, "You are brief."), ChatMessage(Role.USER, text)]


def _timed_reply(
    llm: Llm, prompt: Sequence[ChatMessage], max_tokens: int, *, schema: bool = False
) -> tuple[float, Completion]:
    """Rate of reading for one token, else of writing with the prompt already evaluated."""
    if max_tokens > 1:
        llm.complete(prompt, max_tokens=1)
    started = time.perf_counter()
    reply = llm.complete(prompt, max_tokens=max_tokens, schema=_SCHEMA if schema else None)
    seconds = time.perf_counter() - started
    tokens = reply.evaluated_tokens if max_tokens == 1 else reply.completion_tokens
    return tokens / seconds, reply


def _batch_rate(llm: Llm, max_tokens: int, *, schema: bool) -> float:
    prompts = _many_prompts("")
    constraint = _SCHEMA if schema else None
    llm.complete_many(prompts, max_tokens=1, schema=constraint)
    started = time.perf_counter()
    replies = llm.complete_many(prompts, max_tokens=max_tokens, schema=constraint)
    return sum(reply.completion_tokens for reply in replies) / (time.perf_counter() - started)


def _one_by_one_rate(llm: Llm, max_tokens: int) -> float:
    """The batch's prompts and grammar, one call each."""
    prompts = _many_prompts("")
    llm.complete(prompts[0], max_tokens=1)
    started = time.perf_counter()
    replies = [llm.complete(prompt, max_tokens=max_tokens, schema=_SCHEMA) for prompt in prompts]
    return sum(reply.completion_tokens for reply in replies) / (time.perf_counter() - started)


def _many_prompts(opening: str) -> list[list[ChatMessage]]:
    question = f"{opening}{_NOTES}Who is it about, what is said?"
    return [_prompt(f"{question} ({i})") for i in range(_SEQUENCES)]


def _repeat(llm: Llm) -> tuple[int, float]:
    """Tokens evaluated, and seconds, when the same prompt comes a second time."""
    prompt = _prompt(f"{_NOTES * 4}Who is it about?")
    llm.complete(prompt, max_tokens=1)
    started = time.perf_counter()
    again = llm.complete(prompt, max_tokens=1)
    return again.evaluated_tokens, time.perf_counter() - started


def _alternating(llm: Llm) -> int:
    """Tokens evaluated for a known prompt after a call on quite another."""
    prompt = _prompt(f"{_NOTES * 4}Who is it about?")
    llm.complete(prompt, max_tokens=1)
    llm.complete(_prompt("What is a lighthouse for?"), max_tokens=4)
    return llm.complete(prompt, max_tokens=1).evaluated_tokens


def _choose_ms(llm: Llm) -> float:
    prompt = _prompt(f"{_NOTES}Is a dentist named?")
    options = ["yes", "no", "not sure"]
    llm.choose(prompt, options)
    started = time.perf_counter()
    llm.choose(prompt, options)
    return (time.perf_counter() - started) * 1000


def _print_table(figures: Sequence[dict[str, object]]) -> None:
    names = [name for name in figures[0] if name != "engine"]
    print(f"{'':30}" + "".join(f"{figure['engine']!s:>24}" for figure in figures))
    for name in names:
        cells = (figure[name] for figure in figures)
        shown = (f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in cells)
        print(f"{name:30}" + "".join(f"{text[:22]:>24}" for text in shown))
