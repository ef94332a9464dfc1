"""python -m benchmarks speed: how fast importing and finding are, against their own yardsticks.

Absolute times are noisy, so each figure stands beside one of the same run: ingestion between two
halves of the bare embedder's work over the same texts, a search beside the embedding of its query,
`--help` beside a Typer program of one command. Keyword-only ingestion is the median of three new
memories. The turns are made from the shipped sample's sentences.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from localmem.importers import open_export
from localmem.memory import ImportOptions, Memory
from localmem.sample import sample_export
from localmem.shelf import ModelShelf
from localmem.types import ImportedConversation

_TURNS_A_CONVERSATION = 20
_WORDS_A_TURN = (8, 45)
"""Least and most: about 26 words on average, as LoCoMo's turns have."""
_START = datetime(2020, 1, 6, 9, 0, tzinfo=UTC)
_MEASURED = """
import resource, subprocess, sys, time
started = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, capture_output=True)
seconds = time.perf_counter() - started
print(seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""
"""Prints seconds and the most memory in MB of a command. A small program of its own: a child begins
with the memory of the program that started it."""
_ONE_COMMAND = """
import typer
app = typer.Typer()
@app.command()
def hello(name: str) -> None:
    print(name)
app()
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, required=True, metavar="OUT")


def run(args: argparse.Namespace) -> int:
    """Measure, print and write the figures."""
    chance = random.Random(args.seed)  # noqa: S311  # the same turns each time, no secret
    sentences = _sentences()
    with tempfile.TemporaryDirectory() as folder:
        export = _write_export(Path(folder) / "chats.jsonl", sentences, args.turns, chance)
        memory_file = Path(folder) / "memory.duckdb"
        figures = {"turns": args.turns, "words_a_turn": _mean_words(export)}
        figures |= _ingestion(memory_file, export, args.turns)
        queries = [_query(sentences, chance) for _ in range(args.searches)]
        figures |= _searching(memory_file, queries)
        figures |= _cold_search(memory_file, queries[0])
    figures |= _help()
    args.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:36} {value:,}")
    return 0


def _ingestion(memory_file: Path, export: Path, turns: int) -> dict[str, float]:
    now, later = ImportOptions(tz=UTC), ImportOptions(tz=UTC, later=True)
    texts = [m.text for conversation in _conversations(export) for m in conversation.messages]
    embedder = ModelShelf.open().embedder()
    pieces = [piece for text in texts for piece in embedder.split(text)]
    middle = len(pieces) // 2
    keyword = []
    for number in range(3):
        with Memory.open(memory_file.with_name(f"{number}.duckdb")) as memory:
            keyword.append(_seconds(partial(memory.import_, export, later)))
    bare_s = _seconds(lambda: embedder.embed_passages(pieces[:middle]))
    with Memory.open(memory_file) as memory:
        both_s = _seconds(partial(memory.import_, export, now))
    bare_s += _seconds(lambda: embedder.embed_passages(pieces[middle:]))
    embedder.close()
    return {
        "keyword_only_turns_per_s": round(turns / statistics.median(keyword), 1),
        "ingest_turns_per_s": round(turns / both_s, 1),
        "embedder_turns_per_s": round(turns / bare_s, 1),
        "ingest_share_of_embedder": round(bare_s / both_s, 3),
    }


def _searching(memory_file: Path, queries: Sequence[str]) -> dict[str, float]:
    embedder = ModelShelf.open().embedder()
    search_ms: list[float] = []
    embed_ms: list[float] = []
    with Memory.open(memory_file, idle_s=60.0) as memory:
        memory.search(queries[0])
        for query in queries:
            embed_ms.append(_seconds(partial(embedder.embed_query, query)) * 1000)
            search_ms.append(_seconds(partial(memory.search, query)) * 1000)
    embedder.close()
    return {
        "embed_p50_ms": _percentile(embed_ms, 50),
        "embed_p95_ms": _percentile(embed_ms, 95),
        "search_p50_ms": _percentile(search_ms, 50),
        "search_p95_ms": _percentile(search_ms, 95),
        "search_p50_less_embed_p50_ms": round(
            _percentile(search_ms, 50) - _percentile(embed_ms, 50), 2
        ),
        "search_p95_less_embed_p95_ms": round(
            _percentile(search_ms, 95) - _percentile(embed_ms, 95), 2
        ),
    }


def _cold_search(memory_file: Path, query: str) -> dict[str, float]:
    command = [sys.executable, "-m", "localmem", "--memory", str(memory_file), "search", query]
    measured = [_quiet([sys.executable, "-c", _MEASURED, *command]) for _ in range(5)]
    seconds, peak_mb = zip(*(map(float, line.split()) for line in measured), strict=True)
    return {
        "cold_search_s": round(statistics.median(seconds), 3),
        "cold_search_peak_rss_mb": round(max(peak_mb), 1),
    }


def _help() -> dict[str, float]:
    own = [sys.executable, "-m", "localmem", "--help"]
    one = [sys.executable, "-c", _ONE_COMMAND, "--help"]
    pairs = [(_seconds(lambda: _quiet(own)), _seconds(lambda: _quiet(one))) for _ in range(9)]
    return {
        "help_s": round(statistics.median(p[0] for p in pairs), 3),
        "one_command_help_s": round(statistics.median(p[1] for p in pairs), 3),
        "help_ratio": round(statistics.median(p[0] / p[1] for p in pairs), 2),
    }


def _quiet(command: Sequence[str]) -> str:
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(command, check=True, capture_output=True, env=environment, text=True)
    return done.stdout


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _percentile(values: Sequence[float], percent: int) -> float:
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 2)


def _conversations(export: Path) -> list[ImportedConversation]:
    read = open_export(export, tz=UTC)
    return [item for item in read if isinstance(item, ImportedConversation)]


def _sentences() -> list[list[str]]:
    texts = [m.text for c in _conversations(sample_export()) for m in c.messages]
    return [line.split() for text in texts for line in text.split(". ") if len(line.split()) > 3]


def _query(sentences: list[list[str]], chance: random.Random) -> str:
    words = chance.choice(sentences)
    start = chance.randrange(max(1, len(words) - 7))
    return " ".join(words[start : start + 7])


def _write_export(
    path: Path, sentences: list[list[str]], turns: int, chance: random.Random
) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, turns, _TURNS_A_CONVERSATION):
            count = min(_TURNS_A_CONVERSATION, turns - first)
            start = _START + timedelta(days=first / _TURNS_A_CONVERSATION)
            messages = [
                {
                    "role": "user",
                    "name": ("Ada", "Ben")[number % 2],
                    "content": _turn(sentences, chance),
                    "timestamp": (start + timedelta(minutes=number)).isoformat(),
                }
                for number in range(count)
            ]
            file.write(json.dumps({"id": f"talk-{first}", "messages": messages}) + "\n")
    return path


def _turn(sentences: list[list[str]], chance: random.Random) -> str:
    wanted = chance.randint(*_WORDS_A_TURN)
    words: list[str] = []
    while len(words) < wanted:
        words += chance.choice(sentences)
    return " ".join(words[:wanted])


def _mean_words(export: Path) -> float:
    counts = [len(m.text.split()) for c in _conversations(export) for m in c.messages]
    return round(statistics.mean(counts), 1)
