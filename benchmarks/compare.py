"""python -m benchmarks compare A.json B.json: the paired gain of one run over another.

Runs of `answers` are compared in token F1, those on PersonaMem in accuracy.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.answers import AnswerRow, read_answers
from benchmarks.personamem import ChoiceRow, read_choices
from benchmarks.scoring import CATEGORY_NAMES, bootstrap_mean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("first", type=Path, metavar="A.json")
    parser.add_argument("second", type=Path, metavar="B.json")
    parser.add_argument("--json", type=Path, default=None, metavar="OUT", dest="out")


def run(args: argparse.Namespace) -> int:
    """Print B minus A with its 95% bootstrap interval, over all and by kind of question."""
    first, second = args.first.with_suffix(".jsonl"), args.second.with_suffix(".jsonl")
    if _holds_choices(first) != _holds_choices(second):
        raise SystemExit(f"{args.first} and {args.second} are runs on different data sets")
    if _holds_choices(first):
        report = paired_choices(read_choices(first), read_choices(second))
    else:
        report = paired(read_answers(first), read_answers(second))
    text = json.dumps(report, indent=2)
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")
    print(text)
    return 0 if report["all"]["questions"] else 1


def paired(first: dict[str, AnswerRow], second: dict[str, AnswerRow]) -> dict[str, Any]:
    """The gain of the second run over the first on the questions that both answered."""
    gains = {key: second[key].f1 - first[key].f1 for key in first.keys() & second.keys()}
    kinds = {key: CATEGORY_NAMES[first[key].category] for key in gains}
    return _by_kind("f1_gain", gains, kinds, list(CATEGORY_NAMES.values()))


def paired_choices(first: dict[str, ChoiceRow], second: dict[str, ChoiceRow]) -> dict[str, Any]:
    """The same in accuracy: 1 for a right choice, 0 for a wrong one."""
    gains = {
        key: float(second[key].right) - float(first[key].right)
        for key in first.keys() & second.keys()
    }
    kinds = {key: first[key].kind for key in gains}
    return _by_kind("accuracy_gain", gains, kinds, sorted(set(kinds.values())))


def _by_kind(
    name: str, gains: Mapping[str, float], kinds: Mapping[str, str], order: list[str]
) -> dict[str, Any]:
    """The gain over all and for each kind that has questions, in this order."""
    keys = sorted(gains)
    groups = {kind: [gains[key] for key in keys if kinds[key] == kind] for kind in order}
    told = {"all": _gain(name, [gains[key] for key in keys])}
    return told | {kind: _gain(name, values) for kind, values in groups.items() if values}


def _gain(name: str, differences: list[float]) -> dict[str, Any]:
    interval = bootstrap_mean(differences)
    return {
        "questions": interval.n,
        name: round(interval.mean, 4),
        "interval_95": [round(interval.low, 4), round(interval.high, 4)],
        "better": sum(value > 0 for value in differences),
        "worse": sum(value < 0 for value in differences),
    }


def _holds_choices(rows: Path) -> bool:
    """Whether a file of rows comes from PersonaMem; an empty one does not."""
    with rows.open(encoding="utf-8") as lines:
        first = lines.readline()
    return first.endswith("\n") and "chosen" in json.loads(first)
