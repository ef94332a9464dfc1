"""`python -m benchmarks lens`: retrieval with episodes as a lens, against the same without."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import History, load
from benchmarks.measures import percentile, recall
from benchmarks.page_data import PagedHistory, paged
from benchmarks.replay import replay
from benchmarks.scoring import bootstrap_mean
from localmem.dates import resolve_question
from localmem.ports import Embedder
from localmem.recall.episode_lens import (
    EpisodeMap,
    LensQuestion,
    OpenEpisode,
    lens_stage,
    structure_stage,
)
from localmem.recall.episode_shelf import unit_rows
from localmem.recall.ranking import Ranking, Stage, chained
from localmem.tiers.midterm import MidTerm
from localmem.tiers.relevance import EpisodePages
from localmem.tiers.selector import BEST_FIXED
from localmem.tiers.structures import build_structure

DATASETS = ("locomo", "beam")
SUPPORT = "hits support each other"
STRUCTURES = (0.2, 0.4, 0.8, 1.2)
ARMS = ("off", SUPPORT, *(f"with structures, weight {weight}" for weight in STRUCTURES))
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Found:
    """Recall@10 and processor seconds of one question by arm."""

    kind: str
    recalls: tuple[float, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class BenchShelf:
    """The episodes of a paged history; each is opened once."""

    history: PagedHistory
    places: Mapping[int, list[int]]
    opened: dict[int, OpenEpisode] = field(default_factory=dict)

    def open(self, ids: Iterable[int], ranking: Ranking) -> Mapping[int, OpenEpisode]:
        """These episodes, a graph each, as the product gives them by default."""
        for number in (n for n in ids if n not in self.opened):
            own = self.places[number]
            names = [self.history.pages[place].traits.entities for place in own]
            texts = [self.history.texts[place] for place in own]
            pages = EpisodePages(texts, self.history.vectors[own], names)
            messages = [[int(m) for m in self.history.pages[place].message_ids] for place in own]
            structure = build_structure(BEST_FIXED, pages)
            self.opened[number] = OpenEpisode(structure, messages, names)
        return {number: self.opened[number] for number in ids}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `lens`."""
    parser.add_argument("--dataset", choices=DATASETS, required=True)
    parser.add_argument("--data", type=Path, required=True, help="its file or folder")
    parser.add_argument("--vectors", type=Path, help="folder that keeps vectors between runs")
    parser.add_argument("--json", type=Path, help="file for the figures")


def run(args: argparse.Namespace) -> int:
    """Prints recall@10 by arm, over all and by kind of question, with paired intervals."""
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
    known, shelf = _episodes(paged(history, None, embedder, cache))
    replayed = replay(history, embedder, cache)
    for number, question in enumerate(history.questions):
        gold = replayed.gold(question)
        if not gold:
            continue
        dates = resolve_question(question.text, question.asked_at) if question.asked_at else ()
        vector = replayed.question_vectors[number]
        recalls, seconds = [], []
        for stage in _stages(LensQuestion(question.text, vector), known, shelf):
            began = time.process_time()
            hits = replayed.retriever.search(
                question.text,
                embed_query=vector,
                k=_SHOWN,
                question_dates=dates,
                stage=stage,
            )
            seconds.append(time.process_time() - began)
            recalls.append(recall([hit.message_id for hit in hits], gold, _SHOWN))
        yield Found(question.kind, tuple(recalls), tuple(seconds))


def _episodes(history: PagedHistory) -> tuple[EpisodeMap, BenchShelf]:
    """The episodes that the gate makes of a history."""
    tier = MidTerm(history.vectors.shape[1])
    decisions = list(tier.consolidate(history.pages, history.vectors))
    places: dict[int, list[int]] = {}
    akin: dict[int, Counter[int]] = {}
    for place, one in enumerate(decisions):
        places.setdefault(int(one.episode_id), []).append(place)
        akin.setdefault(int(one.episode_id), Counter()).update(map(int, one.related))
    totals = np.stack([history.vectors[own].sum(axis=0) for own in places.values()])
    known = EpisodeMap(
        {
            int(message): episode
            for episode, own in places.items()
            for place in own
            for message in history.pages[place].message_ids
        },
        list(places),
        unit_rows(totals),
        {episode: [n for n, _ in counts.most_common()] for episode, counts in akin.items()},
    )
    return known, BenchShelf(history, places)


def _stages(question: LensQuestion, known: EpisodeMap, shelf: BenchShelf) -> Iterator[Stage | None]:
    """The stage of each arm, in the order of `ARMS`."""
    yield None
    support = lens_stage(known.episode_of)
    yield support
    for weight in STRUCTURES:
        yield chained([support, structure_stage(question, known, shelf, weight=weight)])


def _figures(found: list[Found]) -> dict[str, Any]:
    table = np.array([one.recalls for one in found])
    seconds = np.array([one.seconds for one in found])
    report: dict[str, Any] = {
        "questions": len(found),
        "recall@10": round(float(table[:, 0].mean()), 4),
        "p95 ms": [round(1e3 * percentile(column.tolist(), 0.95), 2) for column in seconds.T],
    }
    for place, arm in enumerate(ARMS[1:], 1):
        gain = bootstrap_mean((table[:, place] - table[:, 0]).tolist(), rounds=2_000)
        report[arm] = [round(v, 4) for v in (gain.mean, gain.low, gain.high)]
    return report
