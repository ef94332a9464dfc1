"""`python -m benchmarks wishes`: whether the owner's standing wish is at hand when it is needed.

BEAM's questions on following instructions and preferences: a question counts where one of the
wishes nearest to it rests on one of its gold messages. And in how many questions, of these kinds
and of the others, an answer is shown a wish at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.datasets import History, beam
from benchmarks.replay import lay_out
from localmem.ports import Embedder
from localmem.recall.lasting_search import LEAST_COSINE, MOST_WISHES
from localmem.tiers.longterm import keep, nearest, take_in
from localmem.tiers.wishes import entries_of
from localmem.types import LastingEntry, Role

KINDS = ("instruction_following", "preference_following")
SHOWN = (1, 3, 5, 10)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `wishes`."""
    parser.add_argument("--data", type=Path, required=True, help="a folder of BEAM chats")
    parser.add_argument("--json", type=Path, help="file for the figures")


def run(args: argparse.Namespace) -> int:
    """Prints the share of questions by kind and by how many wishes are looked at, then how often
    an answer is shown one."""
    from localmem.shelf import ModelShelf

    embedder = ModelShelf.open().embedder()
    places: dict[str, list[int | None]] = {kind: [] for kind in KINDS}
    entries = []
    shown: dict[bool, list[int]] = {True: [], False: []}
    try:
        for history in beam(args.data):
            kept = wishes_in(history)
            entries.append(len(kept))
            for kind, place in found_at(history, kept, embedder):
                places[kind].append(place)
            for is_wished, count in shown_in(history, kept, embedder):
                shown[is_wished].append(count)
    finally:
        embedder.close()
    report: dict[str, Any] = {"wishes by chat": entries}
    places["both"] = [place for kind in KINDS for place in places[kind]]
    for kind, found in places.items():
        report[kind] = {"questions": len(found)} | {
            f"among {k}": round(sum(p is not None and p < k for p in found) / len(found), 3)
            for k in SHOWN
        }
    for is_wished, counts in shown.items():
        report["shown in these" if is_wished else "shown in others"] = {
            "questions": len(counts),
            "with a wish": round(sum(count > 0 for count in counts) / len(counts), 3),
            "wishes each": round(sum(counts) / len(counts), 2),
        }
    text = json.dumps(report, indent=1)
    sys.stdout.write(text + "\n")
    if args.json:
        args.json.write_text(text, encoding="utf-8")
    return 0


def wishes_in(history: History) -> tuple[LastingEntry, ...]:
    """The entries that a memory of this history would keep."""
    found: list[LastingEntry] = []
    messages = lay_out(history).messages
    for message in messages:
        if message.role is Role.USER:
            found.extend(entries_of(message, len(found) + 1))
    now = max((m.said_at for m in messages if m.said_at is not None), default=None)
    return keep(take_in([], found), now).entries


def shown_in(
    history: History, kept: tuple[LastingEntry, ...], embedder: Embedder
) -> list[tuple[bool, int]]:
    """For each question whether it is of these kinds, and how many wishes an answer is shown."""
    rows = embedder.embed_passages([entry.text for entry in kept])
    found: list[tuple[bool, int]] = []
    for question in history.questions:
        near = nearest(kept, rows, embedder.embed_query(question.text), k=MOST_WISHES)
        found.append((question.kind in KINDS, sum(c >= LEAST_COSINE for _, c in near)))
    return found


def found_at(
    history: History, kept: tuple[LastingEntry, ...], embedder: Embedder
) -> list[tuple[str, int | None]]:
    """For each question its kind and the place of the first right wish, 0 the nearest."""
    keys = lay_out(history).keys
    rows = embedder.embed_passages([entry.text for entry in kept])
    found: list[tuple[str, int | None]] = []
    for question in history.questions:
        if question.kind not in KINDS:
            continue
        gold = {keys[key] for key in question.gold}
        near = nearest(kept, rows, embedder.embed_query(question.text), k=len(kept))
        right = (place for place, (one, _) in enumerate(near) if gold & set(one.sources))
        found.append((question.kind, next(right, None)))
    return found
