"""`python -m benchmarks ablation --measure retrieval`: finding with its parts left out, one by one.

AdaMem's ablations (its section 4: without graph, without fusion) and its sweep of K, taken where
they act: on which messages are found, with no language model in between. Beside the paper's own
planning and fusion stands localmem's. "Without targets" is the question with the names of people
taken out: nobody can be told apart then. Memories are made once, and every row asks them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from benchmarks.datasets import MessageKey, Question
from benchmarks.measures import percentile, recall
from benchmarks.scoring import bootstrap_mean
from localmem.memory import Memory
from localmem.recall.route_terms import without_names
from localmem.recall.routing import Routes
from localmem.types import MessageId

RANKS = (5, 10, 15)
"""The K of AdaMem's sweep."""
_COMPARED = 10


@dataclass(frozen=True, slots=True)
class Variant:
    """How a row searches. `named`: the question keeps the names of people."""

    routes: Routes
    named: bool = True


WHOLE = "whole"
ROWS: Mapping[str, Variant] = {
    WHOLE: Variant(Routes.ON),
    "without routes": Variant(Routes.OFF),
    "without graph": Variant(Routes.NO_GRAPH),
    "without fusion": Variant(Routes.NO_FUSION),
    "without targets": Variant(Routes.ON, named=False),
    "adamem": Variant(Routes.PAPER),
    "adamem without graph": Variant(Routes.PAPER_NO_GRAPH),
    "adamem without targets": Variant(Routes.PAPER_NO_TARGET),
}
"""The rows of the table. Without fusion, what the graph finds stands behind the whole ranking."""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """One question under one row: the share of its gold among the first 5, 10 and 15."""

    key: str
    row: str
    kind: str
    recalls: tuple[float, ...]
    search_ms: float


@dataclass(frozen=True, slots=True)
class Put:
    """A question with the memory it is put to, who takes part, and its messages' keys."""

    key: str
    question: Question
    memory: Memory
    people: tuple[str, ...]
    keys: Mapping[MessageId, MessageKey]


def run_retrieval(args: argparse.Namespace, questions: Sequence[Put]) -> int:
    """Ask every question with gold messages under every row; write figures and rows to OUT."""
    names = [name.strip() for name in args.rows.split(",")] if args.rows else list(ROWS)
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        sys.stderr.write(f"no rows {unknown}; there are {', '.join(ROWS)}\n")
        return 2
    asked = [put for put in questions if put.question.gold]
    rows: list[FoundRow] = []
    for number, put in enumerate(asked, start=1):
        rows += [found_row(put, name) for name in names]
        if number % 50 == 0 or number == len(asked):
            sys.stderr.write(f"{number} of {len(asked)} questions\n")
    report = {"dataset": args.dataset, "limit": args.limit, "seed": args.seed, **table(rows)}
    told = report | {"questions": [asdict(row) for row in rows]}
    args.out.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
    sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    return 0


def found_row(put: Put, name: str) -> FoundRow:
    """What one row finds for one question."""
    variant, moment = ROWS[name], put.question.asked_at
    assert moment is not None  # every dataset gives one
    text = put.question.text
    if not variant.named:
        text = without_names(text, put.people) or text
    search = put.memory.doors(asked_at=moment, routes=variant.routes).search
    began = time.perf_counter()
    found = [put.keys[one.message.id] for one in search(text, max(RANKS))]
    return FoundRow(
        key=put.key,
        row=name,
        kind=put.question.kind,
        recalls=tuple(recall(found, put.question.gold, rank) for rank in RANKS),
        search_ms=round((time.perf_counter() - began) * 1000, 2),
    )


def table(rows: Sequence[FoundRow]) -> dict[str, Any]:
    """Each row's figures, and its paired gain in recall@10 over the whole."""
    by_row: dict[str, dict[str, FoundRow]] = {}
    for row in rows:
        by_row.setdefault(row.row, {})[row.key] = row
    whole = by_row.get(WHOLE, {})
    return {
        name: _figures(list(asked.values())) | _against(asked, whole)
        for name, asked in by_row.items()
    }


def _figures(rows: Sequence[FoundRow]) -> dict[str, Any]:
    kinds = sorted({row.kind for row in rows})
    return {
        "n": len(rows),
        **_recalls(rows),
        "by_type": {kind: _of_kind([row for row in rows if row.kind == kind]) for kind in kinds},
        "median_ms": round(percentile([row.search_ms for row in rows], 0.5), 2),
    }


def _of_kind(rows: Sequence[FoundRow]) -> dict[str, Any]:
    return {"n": len(rows), **_recalls(rows)}


def _recalls(rows: Sequence[FoundRow]) -> dict[str, float]:
    return {
        f"recall@{rank}": round(fmean(row.recalls[place] for row in rows), 4)
        for place, rank in enumerate(RANKS)
    }


def _against(rows: Mapping[str, FoundRow], whole: Mapping[str, FoundRow]) -> dict[str, Any]:
    """The paired difference; nothing for the whole itself."""
    shared = sorted(rows.keys() & whole.keys())
    if not shared or rows is whole:
        return {}
    place = RANKS.index(_COMPARED)
    gain = bootstrap_mean([rows[k].recalls[place] - whole[k].recalls[place] for k in shared])
    return {
        f"recall@{_COMPARED}_against_whole": round(gain.mean, 4),
        "interval_95": [round(gain.low, 4), round(gain.high, 4)],
    }
