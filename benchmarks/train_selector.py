"""`python -m benchmarks train-selector`: learns the selector and says whether it is worth having.

Two sets: `default` from LoCoMo, BEAM and MSC, `open` without LoCoMo, whose licence is
non-commercial. Figures are cross-validated with whole histories held out; intervals come from a
paired bootstrap over episodes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gate import DATASETS
from benchmarks.page_data import paged_histories
from benchmarks.selector_data import Instance, instances_of
from benchmarks.selector_fit import FitPlan, hard_examples, soft_examples, train
from localmem.tiers.features import NAMES
from localmem.tiers.selector import KINDS, LearnedSelector, choose_again

Doubles = NDArray[np.float64]

FOLDS = 6
ROUNDS = 10_000
SETS = {"default": DATASETS, "open": ("msc", "beam")}
_FILES = {"default": "selector.json", "open": "selector_open.json"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `train-selector`."""
    parser.add_argument("--data", type=Path, required=True, help="folder with msc, beam, locomo")
    parser.add_argument("--vectors", type=Path, help="folder that keeps vectors between runs")
    parser.add_argument("--out", type=Path, required=True, help="folder for the weights files")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--labels", choices=("soft", "hard"), default="soft")
    parser.add_argument("--seed", type=int, default=0)


def run(args: argparse.Namespace) -> int:
    """Learns both sets, writes them and prints their figures."""
    from localmem.shelf import ModelShelf

    embedder = ModelShelf.open().embedder()
    try:
        histories = paged_histories(args.data, embedder, args.vectors, DATASETS)
        instances = [one for history in histories for one in instances_of(history)]
    finally:
        embedder.close()
    report = learn_sets(instances, args.out, labels=args.labels, seed=args.seed)
    text = json.dumps(report, indent=1)
    sys.stdout.write(text + "\n")
    if args.json:
        args.json.write_text(text, encoding="utf-8")
    return 0


def learn_sets(
    instances: Sequence[Instance], out: Path, *, labels: str, seed: int
) -> dict[str, Any]:
    """Learns and writes both sets; the figures of each."""
    report: dict[str, Any] = {}
    out.mkdir(parents=True, exist_ok=True)
    for name, datasets in SETS.items():
        own = [one for one in instances if one.dataset in datasets]
        learned = _learn(own, FitPlan(), labels=labels, seed=seed)
        (out / _FILES[name]).write_text(as_json(learned, name, datasets), encoding="utf-8")
        report[name] = figures(own, labels=labels, seed=seed)
    return report


def figures(
    instances: Sequence[Instance], *, labels: str, seed: int, seeds: int = FitPlan().seeds
) -> dict[str, Any]:
    """Mean reward on held-out histories of the network, a logistic model, and the yardsticks.

    `seeds` trainings are made for each fold, of which the median one counts.
    """
    rewards = np.stack([one.rewards for one in instances])
    chosen = {
        "network 12-4-3": held_out(instances, FitPlan(seeds=seeds), labels=labels, seed=seed),
        "logistic": held_out(instances, FitPlan(hidden=0, seeds=seeds), labels=labels, seed=seed),
    }
    chosen["network, only with a lead"] = with_lead(
        instances, labels=labels, seed=seed, seeds=seeds
    )
    rows = np.arange(len(instances))
    by_policy: dict[str, Doubles] = {
        **{f"always {kind}": rewards[:, place] for place, kind in enumerate(KINDS)},
        "random": rewards.mean(axis=1),
        "oracle": rewards.max(axis=1),
        **{name: rewards[rows, picks] for name, picks in chosen.items()},
    }
    best_fixed = max((f"always {k}" for k in KINDS), key=lambda name: by_policy[name].mean())
    spread = rewards.max(axis=1) - rewards.min(axis=1)
    top = np.sort(rewards, axis=1)
    return {
        "instances": len(instances),
        "by dataset": {d: sum(i.dataset == d for i in instances) for d in DATASETS},
        "ties at the top": round(float(np.mean(top[:, -1] == top[:, -2])), 3),
        "all three tie": round(float(np.mean(spread == 0)), 3),
        "reward": {name: round(float(v.mean()), 4) for name, v in by_policy.items()},
        "reward by dataset": {
            d: {
                name: round(float(v[[i.dataset == d for i in instances]].mean()), 4)
                for name, v in by_policy.items()
            }
            for d in sorted({i.dataset for i in instances})
        },
        "best fixed": best_fixed,
        "gain over best fixed": {
            name: gain(instances, by_policy[name] - by_policy[best_fixed]) for name in chosen
        },
        "chosen": {
            name: {str(k): int((picks == p).sum()) for p, k in enumerate(KINDS)}
            for name, picks in chosen.items()
        },
    }


def held_out(
    instances: Sequence[Instance], plan: FitPlan, *, labels: str, seed: int
) -> NDArray[np.int64]:
    """For each instance, the structure chosen by weights that never saw its history."""
    picks = np.zeros(len(instances), np.int64)
    for inside, others in _split(instances):
        learned = _learn(others, plan, labels=labels, seed=seed)
        asked = np.stack([one.features for one in instances])[inside]
        picks[inside] = learned.chances(asked).argmax(axis=1)
    return picks


def with_lead(
    instances: Sequence[Instance], *, labels: str, seed: int, seeds: int
) -> NDArray[np.int64]:
    """The same, but the best fixed structure of the training part stays unless another leads."""
    picks = np.zeros(len(instances), np.int64)
    for inside, others in _split(instances):
        learned = _learn(others, FitPlan(seeds=seeds), labels=labels, seed=seed)
        present = KINDS[int(np.stack([one.rewards for one in others]).mean(axis=0).argmax())]
        for place in np.flatnonzero(inside).tolist():
            one = instances[place]
            chances = learned.chances(one.features)
            picks[place] = KINDS.index(choose_again(present, chances, one.pages))
    return picks


def _split(instances: Sequence[Instance]) -> Iterator[tuple[NDArray[np.bool_], list[Instance]]]:
    """Each fold: which instances it holds out, and the others."""
    folds = folds_of(instances)
    for fold in range(FOLDS):
        inside = np.array([folds[one.history] == fold for one in instances])
        if inside.any():
            yield inside, [one for one, held in zip(instances, inside, strict=True) if not held]


def folds_of(instances: Sequence[Instance]) -> dict[str, int]:
    """Histories dealt to the folds, dataset by dataset."""
    dealt: dict[str, int] = {}
    for dataset in sorted({one.dataset for one in instances}):
        names = sorted({one.history for one in instances if one.dataset == dataset})
        dealt |= {name: place % FOLDS for place, name in enumerate(names)}
    return dealt


def gain(instances: Sequence[Instance], differences: Doubles) -> dict[str, Any]:
    """Mean difference with its 95% interval; episodes are drawn, with all their cuts."""
    groups: dict[tuple[str, int], list[int]] = {}
    for row, one in enumerate(instances):
        groups.setdefault((one.history, one.episode), []).append(row)
    sums = np.array([differences[rows].sum() for rows in groups.values()])
    sizes = np.array([len(rows) for rows in groups.values()])
    random = np.random.default_rng(0)
    drawn = random.integers(0, len(sums), (ROUNDS, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975)).tolist()
    return {
        "mean": round(float(differences.mean()), 4),
        "interval_95": [round(low, 4), round(high, 4)],
        "episodes": len(groups),
    }


def as_json(learned: LearnedSelector, name: str, datasets: Sequence[str]) -> str:
    """The weights file, one line a row."""
    parts = ("mean", "scale", "first", "first_bias", "second", "second_bias")
    lines = [f' "name": {json.dumps(name)}', f' "learned_from": {json.dumps(list(datasets))}']
    lines.append(f' "features": {json.dumps(list(NAMES))}')
    for part in parts:
        rows = np.round(getattr(learned, part).astype(np.float64), 5).tolist()
        lines.append(f' "{part}": {json.dumps(rows)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _learn(
    instances: Sequence[Instance], plan: FitPlan, *, labels: str, seed: int
) -> LearnedSelector:
    features = np.stack([one.features for one in instances]).astype(np.float64)
    rewards = np.stack([one.rewards for one in instances])
    make: Callable[[Doubles, Doubles], Any] = soft_examples if labels == "soft" else hard_examples
    return train(make(features, rewards), plan, seed=seed)
