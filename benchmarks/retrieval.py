"""`python -m benchmarks retrieval`: does search find the messages that hold the answer, how fast.

Runs the product's own path: each history is imported into a memory of its own, and every question
is put to `Memory.search`. No language model is used.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.datasets import History, MessageKey, Question, load
from benchmarks.facts_in_search import NONE, RULES, FactMaker, FactsPut
from benchmarks.measures import ndcg, percentile, recall
from localmem.config import Config, load_config
from localmem.memory import ImportOptions, Memory
from localmem.paths import config_file
from localmem.ports import Embedder
from localmem.recall.routing import Routes
from localmem.shelf import ModelShelf
from localmem.types import Message, MessageId, SessionId

_DEEPEST = 100
"""Messages that are ranked for each question; sessions are taken from them."""

_PIECES_A_CALL = 1024


@dataclass(frozen=True, slots=True)
class Row:
    """One question's result; `found` names the best messages by conversation and source id."""

    history: str
    question: str
    kind: str
    search_ms: float
    turn_recall: dict[int, float] | None
    session_recall: dict[int, float]
    ndcg_at_10: float | None
    found: list[str]


@dataclass(frozen=True, slots=True)
class Rates:
    """What ingestion did: counts, and seconds of it and of the bare embedder on the same text.

    `facts` were made and put in after that; `fact_vectors_s` is what their vectors took.
    """

    turns: int
    ingest_s: float
    embedder_s: float
    facts: FactsPut
    fact_vectors_s: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--dataset", choices=["locomo", "longmemeval", "beam"], required=True)
    parser.add_argument("--data", type=Path, required=True, metavar="FILE_OR_DIR")
    parser.add_argument("--mode", choices=["learned", "rrf", "bm25", "dense"], default="learned")
    parser.add_argument("--weights", choices=["default", "open"], default="default")
    parser.add_argument("--routes", choices=[str(routes) for routes in Routes], default="off")
    parser.add_argument(
        "--facts", default=NONE, metavar="none|rules|MODEL|ROWS.jsonl",
        help="search L1 facts too: by rule, by a model, or the rows of `facts`",
    )  # fmt: skip
    parser.add_argument("--k", default="5,10", help="ranks at which recall is taken")
    parser.add_argument("--later", action="store_true", help="ingest keyword-only, search by words")
    parser.add_argument("--limit", type=int, default=None, metavar="N", help="first N histories")
    parser.add_argument("--json", type=Path, required=True, metavar="OUT", dest="out")


def run(args: argparse.Namespace) -> int:
    """Import, search, score; write figures and rows to OUT and print the figures."""
    ranks = [int(part) for part in args.k.split(",")]
    base = load_config(config_file())
    search = replace(
        base.search,
        weights=args.weights,
        routes=args.routes,
        facts="off" if args.facts == NONE else "on",
    )
    config = replace(base, search=search)
    embedder = None if args.later else ModelShelf.open(config).embedder()
    rows: list[Row] = []
    rates: list[Rates] = []
    embed_ms: list[float] = []
    with ExitStack() as stack:
        maker = FactMaker(args.facts, stack)
        for history in load(args.dataset, args.data)[: args.limit]:
            asked, rate = _one_history(history, config, embedder, maker, args, ranks)
            rows.extend(asked)
            rates.append(rate)
            embed_ms.extend(_query_times(embedder, history.questions))
            sys.stderr.write(f"{history.name}: {len(asked)} questions\n")
    report = _settings(args) | summary(rows, ranks) | _speed(rates, embed_ms) | _facts_cost(rates)
    args.out.write_text(
        json.dumps(report | {"rows": [asdict(row) for row in rows]}, ensure_ascii=False, indent=1),
        encoding="utf-8",
    )
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    return 0


def summary(rows: Sequence[Row], ranks: Sequence[int]) -> dict[str, Any]:
    """Means over questions, in all and by question type, and search times."""
    times = [row.search_ms for row in rows]
    kinds = sorted({row.kind for row in rows})
    return {
        **_means(rows, ranks),
        "p50_ms": round(percentile(times, 0.5), 2),
        "p95_ms": round(percentile(times, 0.95), 2),
        "by_type": {kind: _means([r for r in rows if r.kind == kind], ranks) for kind in kinds},
    }


def _means(rows: Sequence[Row], ranks: Sequence[int]) -> dict[str, Any]:
    """n counts questions; those without gold messages have a session recall only."""
    turns = [row.turn_recall for row in rows if row.turn_recall is not None]
    gains = [row.ndcg_at_10 for row in rows if row.ndcg_at_10 is not None]
    means: dict[str, Any] = {"n": len(rows), "n_with_gold_messages": len(turns)}
    for k in ranks:
        if turns:
            means[f"turn_recall@{k}"] = round(fmean(recalls[k] for recalls in turns), 4)
        means[f"session_recall@{k}"] = round(fmean(row.session_recall[k] for row in rows), 4)
    if gains:
        means["ndcg@10"] = round(fmean(gains), 4)
    return means


def _one_history(
    history: History,
    config: Config,
    embedder: Embedder | None,
    maker: FactMaker,
    args: argparse.Namespace,
    ranks: Sequence[int],
) -> tuple[list[Row], Rates]:
    with tempfile.TemporaryDirectory() as folder:
        export = export_of(history, Path(folder))
        options = ImportOptions(tz=UTC, later=args.later, question_id=history.question_id)
        with Memory.open(Path(folder) / "memory.duckdb", config=config, idle_s=3600.0) as memory:
            memory.search("warm-up", k=1, mode=_mode_of(args))
            began = time.perf_counter()
            report = memory.import_(export, options)
            ingest_s = time.perf_counter() - began
            messages = all_messages(memory)
            embedder_s = 0.0 if embedder is None else _bare_seconds(embedder, messages)
            facts = maker.put(memory, history.name, keys_of(history, messages))
            embedding_s = maker.embed(memory, embedder)
            memory.search("warm-up", k=1, mode=_mode_of(args))
            rows = [_ask(memory, history, messages, q, args, ranks) for q in history.questions]
    return rows, Rates(report.turns_added, ingest_s, embedder_s, facts, embedding_s)


def _mode_of(args: argparse.Namespace) -> str:
    return str(args.mode)


def export_of(history: History, folder: Path) -> Path:
    """A file that imports as this history alone."""
    if history.dataset != "locomo":
        return history.path
    chats = json.loads(history.path.read_text(encoding="utf-8"))
    own = [chat for chat in chats if chat["sample_id"] == history.name]
    file = folder / "locomo.json"
    file.write_text(json.dumps(own), encoding="utf-8")
    return file


def all_messages(memory: Memory) -> list[Message]:
    """All messages, conversation by conversation, in the order of speech."""
    sessions = sorted(memory.sessions(), key=lambda s: (s.conversation_id, s.id))
    return [m for s in sessions for m in memory.show(s.id).messages]


def keys_of(history: History, messages: Sequence[Message]) -> dict[MessageId, MessageKey]:
    """The source ids of stored messages: both sides hold the same messages in the same order."""
    keys = [(c.source_id, m.source_id) for c in history.conversations for m in c.messages]
    texts = [m.text for c in history.conversations for m in c.messages]
    if texts != [m.text for m in messages]:
        raise ValueError(f"{history.name}: the memory holds other messages than the export")
    return {m.id: key for m, key in zip(messages, keys, strict=True)}


def _ask(
    memory: Memory,
    history: History,
    messages: Sequence[Message],
    question: Question,
    args: argparse.Namespace,
    ranks: Sequence[int],
) -> Row:
    keys = keys_of(history, messages)
    began = time.perf_counter()
    result = memory.search(
        question.text, k=_DEEPEST, mode=_mode_of(args), asked_at=question.asked_at
    )
    search_ms = (time.perf_counter() - began) * 1000
    found = [keys[f.message.id] for f in result.found]
    sessions = list(dict.fromkeys(f.message.session_id for f in result.found))
    gold_in = gold_sessions(question, keys, messages)
    return Row(
        history=history.name,
        question=question.text,
        kind=question.kind,
        search_ms=round(search_ms, 3),
        turn_recall={k: recall(found, question.gold, k) for k in ranks} if question.gold else None,
        session_recall={k: recall(sessions, gold_in, k) for k in ranks},
        ndcg_at_10=ndcg(found, question.gold, 10) if question.gold else None,
        found=["/".join(key) for key in found[: max(ranks)]],
    )


def gold_sessions(
    question: Question, keys: dict[MessageId, MessageKey], messages: Sequence[Message]
) -> frozenset[SessionId]:
    """The stored sessions that hold the gold."""
    return frozenset(
        m.session_id
        for m in messages
        if (keys[m.id][0] in question.gold_conversations)
        or (not question.gold_conversations and keys[m.id] in question.gold)
    )


def _bare_seconds(embedder: Embedder, messages: Sequence[Message]) -> float:
    """The embedder alone over every text that ingestion embedded, in ingestion's batches."""
    pieces = [piece for m in messages for piece in embedder.split(m.whole_text)]
    began = time.perf_counter()
    for start in range(0, len(pieces), _PIECES_A_CALL):
        embedder.embed_passages(pieces[start : start + _PIECES_A_CALL])
    return time.perf_counter() - began


def _query_times(embedder: Embedder | None, questions: Sequence[Question]) -> list[float]:
    """Milliseconds of embedding each question alone."""
    times: list[float] = []
    if embedder is None:
        return times
    for question in questions:
        began = time.perf_counter()
        embedder.embed_query(question.text)
        times.append((time.perf_counter() - began) * 1000)
    return times


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "dataset": args.dataset,
        "data": args.data.name,
        "mode": args.mode,
        "weights": args.weights,
        "routes": args.routes,
        "facts": args.facts if args.facts in (NONE, RULES) else Path(args.facts).name,
        "vectors": not args.later,
    }


def _facts_cost(rates: Sequence[Rates]) -> dict[str, Any]:
    """What the facts came to; nothing where there are none."""
    sessions = sum(rate.facts.sessions for rate in rates)
    if not sessions:
        return {}
    return {
        "sessions_with_facts": sessions,
        "facts_stored": sum(rate.facts.facts for rate in rates),
        "facts_s_per_session": round(sum(r.facts.seconds for r in rates) / sessions, 3),
        "fact_vectors_s_per_session": round(sum(r.fact_vectors_s for r in rates) / sessions, 3),
    }


def _speed(rates: Sequence[Rates], embed_ms: Sequence[float]) -> dict[str, Any]:
    turns = sum(r.turns for r in rates)
    embedder_s = sum(r.embedder_s for r in rates)
    speed: dict[str, Any] = {
        "turns": turns,
        "ingest_turns_per_s": round(turns / sum(r.ingest_s for r in rates), 1),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    if embedder_s:
        speed["embedder_turns_per_s"] = round(turns / embedder_s, 1)
        speed["query_embedding_p95_ms"] = round(percentile(embed_ms, 0.95), 2)
    return speed
