"""`python -m benchmarks lens`: retrieval with episodes as a lens, against the same without."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import History, load
from benchmarks.measures import recall
from benchmarks.page_data import paged
from benchmarks.replay import replay
from benchmarks.scoring import bootstrap_mean
from localmem.dates import resolve_question
from localmem.ports import Embedder
from localmem.recall.episode_lens import lens_stage
from localmem.tiers.midterm import MidTerm

DATASETS = ("locomo", "beam")
WEIGHTS = (0.0, 0.2, 0.4, 0.8, 1.2)
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Found:
    """Recall@10 of one question by weight of the lens."""

    kind: str
    recalls: tuple[float, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `lens`."""
    parser.add_argument("--dataset", choices=DATASETS, required=True)
    parser.add_argument("--data", type=Path, required=True, help="its file or folder")
    parser.add_argument("--vectors", type=Path, help="folder that keeps vectors between runs")
    parser.add_argument("--json", type=Path, help="file for the figures")


def run(args: argparse.Namespace) -> int:
    """Prints recall@10 by weight, over all and by kind of question, with paired intervals."""
    from localmem.shelf import ModelShelf

    embedder = ModelShelf.open().embedder()
    found: list[Found] = []
    try:
        for history in load(args.dataset, args.data):
            found.extend(_asked(history, embedder, args.vectors))
            sys.stderr.write(f"{history.name}: {_figures(found)}\n")
    finally:
        embedder.close()
    kinds = sorted({one.kind for one in found})
    report = {"all": _figures(found)}
    report |= {kind: _figures([one for one in found if one.kind == kind]) for kind in kinds}
    text = json.dumps(report, indent=1)
    sys.stdout.write(text + "\n")
    if args.json:
        args.json.write_text(text, encoding="utf-8")
    return 0


def _asked(history: History, embedder: Embedder, cache: Path | None) -> Iterator[Found]:
    pages = paged(history, None, embedder, cache)
    tier = MidTerm(embedder.dimension)
    episode_of = {
        int(message): int(decision.episode_id)
        for page, decision in zip(
            pages.pages, tier.consolidate(pages.pages, pages.vectors), strict=True
        )
        for message in page.message_ids
    }
    replayed = replay(history, embedder, cache)
    for number, question in enumerate(history.questions):
        gold = replayed.gold(question)
        if not gold:
            continue
        dates = resolve_question(question.text, question.asked_at) if question.asked_at else ()
        recalls = []
        for weight in WEIGHTS:
            hits = replayed.retriever.search(
                question.text,
                embed_query=replayed.question_vectors[number],
                k=_SHOWN,
                question_dates=dates,
                stage=lens_stage(episode_of, weight=weight),
            )
            recalls.append(recall([hit.message_id for hit in hits], gold, _SHOWN))
        yield Found(question.kind, tuple(recalls))


def _figures(found: list[Found]) -> dict[str, Any]:
    table = np.array([one.recalls for one in found])
    report: dict[str, Any] = {
        "questions": len(found),
        "recall@10": round(float(table[:, 0].mean()), 4),
    }
    for place, weight in enumerate(WEIGHTS[1:], 1):
        gain = bootstrap_mean((table[:, place] - table[:, 0]).tolist(), rounds=2_000)
        report[f"weight {weight}"] = [round(v, 4) for v in (gain.mean, gain.low, gain.high)]
    return report
