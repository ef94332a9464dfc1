"""`python -m benchmarks gate`: the Beta gate on known mixtures and on labelled histories."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gate_mixtures import bayes_share, random_mixtures
from benchmarks.page_data import PagedHistory, paged_histories
from localmem.tiers.gate import BetaGate, FixedGate, Gate, GateOptions, PaperGate, prior_from
from localmem.tiers.midterm import MidTerm
from localmem.types import MergeDecision

DATASETS = ("msc", "beam", "locomo")
THRESHOLDS = tuple(round(0.2 + 0.02 * step, 2) for step in range(31))
TAUS = (0.4, 0.5, 0.6, 0.7)
KEEPS = (1, 2, 3)
_NEAREST_TOPICS = 10


@dataclass(frozen=True, slots=True)
class Grouping:
    """What a gate made of one history."""

    history: str
    dataset: str
    pair_f1: float
    precision: float
    recall: float
    episodes: int
    link_f1: float


def group(history: PagedHistory, gate: Gate) -> Grouping:
    """Runs the pages of a history through the middle of a memory and scores the grouping."""
    tier = MidTerm(history.vectors.shape[1], gate=gate)
    decisions = list(tier.consolidate(history.pages, history.vectors))
    episodes = [int(decision.episode_id) for decision in decisions]
    precision, recall, f1 = pair_scores(episodes, history.labels)
    links = link_f1(decisions, history.labels)
    return Grouping(history.name, history.dataset, f1, precision, recall, len(set(episodes)), links)


def pair_scores(groups: Sequence[object], labels: Sequence[object]) -> tuple[float, float, float]:
    """Precision, recall and F1 of "these two pages belong together" over all pairs of pages."""
    both = _pairs(Counter(zip(groups, labels, strict=True)).values())
    found, wanted = _pairs(Counter(groups).values()), _pairs(Counter(labels).values())
    precision = both / found if found else 0.0
    recall = both / wanted if wanted else 0.0
    return precision, recall, 2 * both / (found + wanted) if found + wanted else 0.0


def link_f1(decisions: Sequence[MergeDecision], labels: Sequence[str]) -> float:
    """F1 of the related links: a link is right where the episode so far mostly had that label.

    Wanted are, for each page, the links to all earlier episodes that mostly had its label.
    """
    topics: dict[int, Counter[str]] = {}
    right = made = wanted = 0
    for decision, label in zip(decisions, labels, strict=True):
        akin = {e for e, seen in topics.items() if seen.most_common(1)[0][0] == label}
        kept = set(map(int, decision.related))
        if decision.merged:
            kept.add(int(decision.episode_id))
        right, made, wanted = right + len(kept & akin), made + len(kept), wanted + len(akin)
        topics.setdefault(int(decision.episode_id), Counter())[label] += 1
    return 2 * right / (made + wanted) if made + wanted else 0.0


def _pairs(sizes: Iterable[int]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes)


def labelled_scores(history: PagedHistory) -> tuple[list[float], list[float]]:
    """Scores of each page with the ten nearest topics so far, and 1 where the topic is its own."""
    sums: dict[str, Any] = {}
    newest: dict[str, Any] = {}
    scores: list[float] = []
    same: list[float] = []
    for label, vector in zip(history.labels, history.vectors, strict=True):
        near = []
        for topic, total in sums.items():
            centroid = total / max(float(np.linalg.norm(total)), 1e-9)
            near.append((float(0.5 * centroid @ vector + 0.5 * newest[topic] @ vector), topic))
        for score, topic in sorted(near, reverse=True)[:_NEAREST_TOPICS]:
            scores.append(score)
            same.append(float(topic == label))
        sums[label] = sums.get(label, 0) + vector
        newest[label] = vector
    return scores, same


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gate`."""
    parser.add_argument("--data", type=Path, help="folder with msc, beam and locomo")
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--vectors", type=Path, help="folder that keeps vectors between runs")
    parser.add_argument("--mixtures", type=int, default=200, help="how many random mixtures")
    parser.add_argument("--speed", action="store_true", help="also place 1k, 10k, 100k pages")
    parser.add_argument("--png", type=Path, help="file for the sweep as a picture")
    parser.add_argument("--json", type=Path, help="file for the figures")


def run(args: argparse.Namespace) -> int:
    """Prints both parts; without `--data` only the mixtures."""
    report: dict[str, Any] = {"mixtures": mixtures(args.mixtures)}
    if args.speed:
        from benchmarks.gate_speed import speeds

        report["speed"] = speeds()
    if args.data:
        histories = _load(args)
        report["histories"] = compare(histories)
        report["sweep"] = sweep(histories)
        labelled = [labelled_scores(h) for h in histories if h.dataset in ("msc", "beam")]
        if labelled:
            scores = np.array([s for line, _ in labelled for s in line])
            same = np.array([s for _, line in labelled for s in line])
            middle, width = prior_from(scores, same)
            report["prior"] = {"middle": round(middle, 4), "width": round(width, 4)}
        if args.png:
            from benchmarks.gate_picture import draw

            draw(report["sweep"], args.png)
    text = json.dumps(report, indent=1)
    sys.stdout.write(text + "\n")
    if args.json:
        args.json.write_text(text, encoding="utf-8")
    return 0


def mixtures(count: int) -> dict[str, Any]:
    """Mean share of the best possible accuracy, and how many fits rise throughout."""
    report: dict[str, Any] = {}
    for size in (200, 1_000):
        found = [bayes_share(mixture, size) for mixture in random_mixtures(count, seed=0)]
        shares = [share for share, _ in found]
        report[f"n={size}"] = {
            "share_of_bayes": round(float(np.mean(shares)), 4),
            "worst": round(min(shares), 4),
            "monotone": sum(rises for _, rises in found),
            "fits": count,
        }
    return report


def compare(histories: Sequence[PagedHistory]) -> dict[str, Any]:
    """Pair-F1 of the gate, of the paper's, and of the best single fixed threshold in hindsight."""
    makers: dict[str, Callable[[], Gate]] = {"beta": BetaGate, "paper": PaperGate}
    report = {
        name: _summary([group(h, make()) for h in histories]) for name, make in makers.items()
    }
    fixed = {t: [group(h, FixedGate(t)) for h in histories] for t in THRESHOLDS}
    best = max(fixed, key=lambda t: (_summary(fixed[t])["mean"], -t))
    report["best fixed"] = {"threshold": best, **_summary(fixed[best])}
    names = sorted({h.dataset for h in histories})
    report["best fixed of each dataset"] = {
        name: max(
            (round(_mean([g.pair_f1 for g in made if g.dataset == name]), 4), t)
            for t, made in fixed.items()
        )
        for name in names
    }
    return report


def sweep(histories: Sequence[PagedHistory]) -> dict[str, Any]:
    """Pair-F1 by threshold and F1 of related links by minimum keep, as in the seed's Figure 3."""
    by_tau = {t: [group(h, BetaGate(GateOptions(threshold=t))) for h in histories] for t in TAUS}
    by_keep = {
        k: [group(h, BetaGate(GateOptions(minimum_keep=k))) for h in histories] for k in KEEPS
    }
    return {
        "threshold": {str(t): _by_dataset(made, "pair_f1") for t, made in by_tau.items()},
        "minimum_keep": {str(k): _by_dataset(made, "link_f1") for k, made in by_keep.items()},
    }


def _load(args: argparse.Namespace) -> list[PagedHistory]:
    from localmem.shelf import ModelShelf

    embedder = ModelShelf.open().embedder()
    try:
        return list(paged_histories(args.data, embedder, args.vectors, args.datasets))
    finally:
        embedder.close()


def _summary(made: Sequence[Grouping]) -> dict[str, Any]:
    """The mean over datasets of the means over their histories, and each dataset's own."""
    f1 = _by_dataset(made, "pair_f1")
    return {
        **f1,
        "precision": _by_dataset(made, "precision"),
        "recall": _by_dataset(made, "recall"),
        "episodes": {g.history: g.episodes for g in made},
    }


def _by_dataset(made: Sequence[Grouping], measure: str) -> dict[str, float]:
    names = sorted({g.dataset for g in made})
    means = {n: _mean([getattr(g, measure) for g in made if g.dataset == n]) for n in names}
    return {n: round(v, 4) for n, v in {"mean": _mean(list(means.values())), **means}.items()}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
