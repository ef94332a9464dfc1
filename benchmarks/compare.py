"""python -m benchmarks compare A.json B.json: the paired gain of one run over another."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.answers import AnswerRow, read_rows
from benchmarks.scoring import CATEGORY_NAMES, bootstrap_mean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("first", type=Path, metavar="A.json")
    parser.add_argument("second", type=Path, metavar="B.json")
    parser.add_argument("--json", type=Path, default=None, metavar="OUT", dest="out")


def run(args: argparse.Namespace) -> int:
    """Print B minus A in token F1 with its 95% bootstrap interval, over all and by category."""
    first = read_rows(args.first.with_suffix(".jsonl"))
    second = read_rows(args.second.with_suffix(".jsonl"))
    report = paired(first, second)
    text = json.dumps(report, indent=2)
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")
    print(text)
    return 0 if report["all"]["questions"] else 1


def paired(first: dict[str, AnswerRow], second: dict[str, AnswerRow]) -> dict[str, Any]:
    """The gain of the second run over the first on the questions that both answered."""
    keys = sorted(first.keys() & second.keys())
    groups = {"all": keys}
    for number, name in CATEGORY_NAMES.items():
        groups[name] = [key for key in keys if first[key].category == number]
    return {
        name: _gain([second[key].f1 - first[key].f1 for key in members])
        for name, members in groups.items()
        if members or name == "all"
    }


def _gain(differences: list[float]) -> dict[str, Any]:
    interval = bootstrap_mean(differences)
    return {
        "questions": interval.n,
        "f1_gain": round(interval.mean, 4),
        "interval_95": [round(interval.low, 4), round(interval.high, 4)],
        "better": sum(value > 0 for value in differences),
        "worse": sum(value < 0 for value in differences),
    }
