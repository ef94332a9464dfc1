"""`python -m benchmarks train-fusion`: learns the fusion weights that localmem ships.

Two sets: `default` from all three datasets, `open` without LoCoMo, whose licence is
non-commercial. Each holds a model with vectors and one for words alone. Figures are
cross-validated: a history's questions are ranked by weights that never saw it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.datasets import load
from benchmarks.fusion_fit import Example, FitOptions, Floats, fit
from benchmarks.measures import recall
from benchmarks.replay import Replay, replay
from localmem.dates import resolve_question
from localmem.index.fusion import FusionModel
from localmem.ports import Embedder
from localmem.recall.signals import PLAIN, VECTOR_SIGNALS

FOLDS = 5


@dataclass(frozen=True, slots=True)
class WeightPlan:
    """How one set of weights is learned: from which datasets, with which features."""

    datasets: tuple[str, ...]
    features: tuple[str, ...]
    options: FitOptions


PLANS = {
    "default": WeightPlan(
        ("locomo", "beam", "longmemeval"),
        ("one", "names_speaker", "first_person", "people", "long_messages"),
        FitOptions(l2=1e-3, l2_conditioned=6e-2),
    ),
    # Holds no chats among people, so what only those could teach is left out, and a stronger
    # penalty keeps the weights near those that serve an unseen kind of history.
    "open": WeightPlan(
        ("beam", "longmemeval"),
        ("one", "first_person", "long_messages"),
        FitOptions(l2=3e-2, l2_conditioned=3e-2),
    ),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One question with what it was measured by and what it is judged by."""

    dataset: str
    history: str
    kind: str
    signals: dict[str, Floats]
    features: dict[str, float]
    gold: frozenset[int]
    sessions: tuple[int, ...]
    gold_sessions: frozenset[int]


def cases_of(replayed: Replay) -> list[Case]:
    """Every question of a history, measured."""
    cases = []
    for number, question in enumerate(replayed.history.questions):
        dates = resolve_question(question.text, question.asked_at) if question.asked_at else ()
        corpus, signals, features = replayed.retriever.measured(
            question.text, replayed.question_vectors[number], dates
        )
        gold = {int(m) for m in replayed.gold(question)}
        rows = [row for row, m in enumerate(corpus.message_ids.tolist()) if m in gold]
        cases.append(
            Case(
                replayed.history.dataset,
                replayed.history.name,
                question.kind,
                signals,
                features,
                frozenset(rows),
                tuple(corpus.session_ids.tolist()),
                frozenset(int(s) for s in replayed.gold_sessions(question)),
            )
        )
    return cases


def layout(cases: Sequence[Case], features: tuple[str, ...], *, with_vectors: bool) -> FusionModel:
    """A model of zero weights: which signals and features take part."""
    signals = list(cases[0].signals)
    if not with_vectors:
        signals = [s for s in signals if s not in VECTOR_SIGNALS]
    zero = np.zeros((len(signals), len(features)), np.float32)
    seen = np.array([[c.features[f] for f in features] for c in cases], np.float32)
    ranges = np.round(np.stack([seen.min(axis=0), seen.max(axis=0)]), 4)
    return FusionModel(tuple(signals), features, PLAIN & set(signals), zero, ranges)


def learn(cases: Sequence[Case], plan: FusionModel, options: FitOptions) -> FusionModel:
    """The model of `plan`'s layout fitted to cases."""
    examples = [_example(case, plan) for case in cases]
    return replace(plan, weights=np.round(fit(examples, options), 4))


def _learn_anew(
    features: tuple[str, ...], cases: Sequence[Case], *, with_vectors: bool, options: FitOptions
) -> FusionModel:
    """Weights, and the ranges of their features, from these cases alone."""
    return learn(cases, layout(cases, features, with_vectors=with_vectors), options)


def _example(case: Case, plan: FusionModel) -> Example:
    rows = np.zeros(len(case.sessions), np.bool_)
    if case.gold:
        rows[list(case.gold)] = True
    else:
        rows |= np.isin(np.array(case.sessions), np.array(sorted(case.gold_sessions)))
    return Example(
        case.dataset,
        case.history,
        plan.inputs(case.signals),
        np.array([case.features[f] for f in plan.features], np.float32),
        rows,
        not case.gold,
    )


def ranking(case: Case, model: FusionModel) -> list[int]:
    """The rows of a case, best first."""
    scores = model.question_weights(case.features) @ model.inputs(case.signals)
    return [int(row) for row in np.argsort(-scores, kind="stable")]


def held_out(
    cases: Sequence[Case], train: Callable[[Sequence[Case]], FusionModel], folds: int = FOLDS
) -> list[list[int]]:
    """The ranking of each case by a model that did not see its history."""
    fold = _folds(cases, folds)
    ranked: list[list[int]] = [[] for _ in cases]
    for number in sorted(set(fold.values())):
        model = train([c for c in cases if fold[c.history] != number])
        for place, case in enumerate(cases):
            if fold[case.history] == number:
                ranked[place] = ranking(case, model)
    return ranked


def _folds(cases: Sequence[Case], folds: int) -> dict[str, int]:
    """Histories dealt to folds, each dataset's in turn."""
    dealt: dict[str, int] = {}
    for dataset in sorted({c.dataset for c in cases}):
        histories = list(dict.fromkeys(c.history for c in cases if c.dataset == dataset))
        dealt |= {history: place % folds for place, history in enumerate(histories)}
    return dealt


def figures(cases: Sequence[Case], ranked: Sequence[list[int]]) -> dict[str, dict[str, float]]:
    """Mean recall by dataset: of gold messages at 5 and 10, of gold sessions at 5."""
    collected: dict[str, dict[str, list[float]]] = {}
    for case, rows in zip(cases, ranked, strict=True):
        lists = collected.setdefault(case.dataset, {})
        if case.gold:
            lists.setdefault("recall@5", []).append(recall(rows, case.gold, 5))
            lists.setdefault("recall@10", []).append(recall(rows, case.gold, 10))
        sessions = list(dict.fromkeys(case.sessions[row] for row in rows))
        lists.setdefault("session@5", []).append(recall(sessions, case.gold_sessions, 5))
    return {
        dataset: {name: round(float(np.mean(values)), 4) for name, values in lists.items()}
        for dataset, lists in collected.items()
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `train-fusion`."""
    for name in ("locomo", "beam", "longmemeval"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="development data")
    parser.add_argument("--vectors", type=Path, help="folder that keeps vectors between runs")
    parser.add_argument("--out", type=Path, required=True, help="folder for the two weights files")
    parser.add_argument("--json", type=Path, help="file for the figures")


def run(args: argparse.Namespace) -> int:
    """Learns both sets of weights, writes them and prints their figures."""
    from localmem.shelf import ModelShelf

    embedder = ModelShelf.open().embedder()
    try:
        cases = _measured(args, embedder)
    finally:
        embedder.close()
    report: dict[str, object] = {}
    for name in PLANS:
        report[name] = _learn_set(args.out, name, cases, args)
    report["best fixed"] = _fixed(cases)
    text = json.dumps(report, indent=1)
    sys.stdout.write(text + "\n")
    if args.json:
        args.json.write_text(text, encoding="utf-8")
    return 0


def _measured(args: argparse.Namespace, embedder: Embedder) -> list[Case]:
    cases: list[Case] = []
    for dataset in ("locomo", "beam", "longmemeval"):
        for history in load(dataset, getattr(args, dataset)):
            cases.extend(cases_of(replay(history, embedder, args.vectors)))
            sys.stderr.write(f"{dataset} {history.name}: measured\n")
    return cases


def _learn_set(
    out: Path, name: str, cases: Sequence[Case], args: argparse.Namespace
) -> dict[str, object]:
    """Learns a set of weights and writes it; returns its figures."""
    plan = PLANS[name]
    chosen = [c for c in cases if c.dataset in plan.datasets]
    report: dict[str, object] = {}
    models: dict[str, object] = {}
    for part in ("full", "keyword"):
        empty = layout(chosen, plan.features, with_vectors=part == "full")
        model = learn(chosen, empty, plan.options)
        models[part] = _as_json(model)
        train = partial(
            _learn_anew, plan.features, with_vectors=part == "full", options=plan.options
        )
        report[part] = {
            "cross-validated": figures(chosen, held_out(chosen, train)),
            "in sample, and on data not learned from": figures(
                cases, [ranking(c, model) for c in cases]
            ),
        }
    learned_from = [getattr(args, dataset).name for dataset in plan.datasets]
    file = "fusion_weights.json" if name == "default" else f"fusion_weights_{name}.json"
    stored = {"name": name, "learned_from": learned_from, "models": models}
    out.mkdir(parents=True, exist_ok=True)
    (out / file).write_text(_compact(stored), encoding="utf-8")
    return report


def _as_json(model: FusionModel) -> dict[str, object]:
    return {
        "signals": list(model.signals),
        "features": list(model.features),
        "plain": sorted(model.plain),
        "ranges": [[round(float(v), 4) for v in line] for line in model.ranges],
        "weights": [[round(float(w), 4) for w in line] for line in model.weights],
    }


def _compact(stored: object) -> str:
    """JSON with each list of numbers on one line."""
    text = json.dumps(stored, indent=1)
    return (
        re.sub(r"\[\s+((?:-?[\d.e-]+,?\s+)+)\]", lambda m: f"[{' '.join(m[1].split())}]", text)
        + "\n"
    )


def _fixed(cases: Sequence[Case]) -> dict[str, object]:
    """The best fixed weights of each dataset, learned on it alone, cross-validated."""
    report: dict[str, object] = {}
    for dataset in ("locomo", "beam"):
        own = [c for c in cases if c.dataset == dataset]
        options = PLANS["default"].options
        train = partial(_learn_anew, ("one",), with_vectors=True, options=options)
        report[dataset] = figures(own, held_out(own, train))[dataset]
    return report
