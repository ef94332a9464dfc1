"""`answers --dataset personamem`: multiple choice about a person, read from log-probabilities.

The model sees the evidence, what the user says and the replies that could be given, each with a
letter, and is asked for a letter: what counts is how probable each letter is. Small models prefer
some letters whatever stands behind them. So each question is put once for each rotation of its
replies, every reply stands once at every letter, and the logarithms of its probabilities are
averaged: a liking for letters that adds to them cancels out. The arms differ in the evidence alone.

No text of the data set is kept but in the rows that a run writes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.personamem_data import (
    PersonaMemories,
    PersonaQuestion,
    contexts_beside,
    draw_by_kind,
    persona_questions,
    read_contexts,
)
from benchmarks.rows import read_rows, rows_beside, write_row
from benchmarks.scoring import bootstrap_mean
from localmem.memory import Memory
from localmem.ports import Llm
from localmem.recall.answer import Asked
from localmem.recall.evidence import show_evidence
from localmem.types import ChatMessage, Role

DEFAULT_QUESTIONS = 140
EVIDENCE_TOKENS = 800
ROTATIONS = 4
PLAIN = ("bm25", "dense")
"""Arms whose evidence is what one plain retrieval finds: whole messages, nothing else."""
WITHOUT = ("none", "closed-book")

_FOUND = 60
"""Messages that a search gives to choose from."""
_LEAST = 1e-12
_NOTHING = "<memory>\nNothing is remembered.\n</memory>"
_INSTRUCTIONS = (
    "You are an assistant. Between <memory> and </memory> stands what you remember of earlier "
    "conversations with this user. Of the replies that are offered, choose the one that agrees "
    "with what the user told you and suits this user best. Answer with its letter only."
)


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One question with what was chosen. `shares` are the options' probabilities in their order.

    `first_letter` is the mean probability of the first letter over the rotations: beyond 1 over the
    number of options, a liking for the letter. `said` counts messages or sentences of the evidence.
    """

    key: str
    kind: str
    question: str
    gold: int
    chosen: int
    right: bool
    shares: tuple[float, ...]
    first_letter: float
    rotations: int
    exact: bool
    evidence_tokens: int
    said: int
    search_seconds: float
    seconds: float
    model_id: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The evidence of a question: its block, how many messages or sentences, what it cost."""

    block: str
    said: int
    seconds: float


def run_choices(
    args: argparse.Namespace,
    llm: Llm,
    open_memory: Callable[[Path], Memory],
    *,
    weights_sha256: str = "",
) -> int:
    """Ask, score and write OUT (figures) and OUT's neighbour .jsonl (a row a question)."""
    questions = draw_by_kind(
        persona_questions(args.data),
        DEFAULT_QUESTIONS if args.limit is None else args.limit,
        args.seed,
    )
    rows_file = rows_beside(args.out, resume=args.resume)
    rows = read_choices(rows_file)
    with _memories(args, questions, open_memory) as memories, rows_file.open("a") as out:
        for question in _in_order(questions):
            if question.key in rows:
                continue
            shown = _evidence(question, memories, args, llm)
            rows[question.key] = answer_choice(question, shown, llm, rotations=args.rotations)
            write_row(out, rows[question.key])
            _tell([rows[q.key] for q in questions if q.key in rows], len(questions))
    figures = summary([rows[question.key] for question in questions])
    made_by = {"engine": type(llm).__name__, "weights_sha256": weights_sha256}
    report = {**_settings(args), **made_by, **figures}
    args.out.write_text(json.dumps(report, indent=2), encoding="utf-8")
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 0


def answer_choice(
    question: PersonaQuestion, shown: Shown, llm: Llm, *, rotations: int = ROTATIONS
) -> ChoiceRow:
    """Put a question once for each of `rotations` rotations of its options, evenly spread.

    The options' scores are the means of the logarithms of their probabilities; the best is chosen,
    the first of equals. One rotation is the order of the file.
    """
    began = time.perf_counter()
    count = len(question.options)
    turns = min(rotations, count)
    sums, first, exact = [0.0] * count, 0.0, True
    for number in range(turns):
        order = [(place + number * count // turns) % count for place in range(count)]
        choice = llm.choose(prompt(question, shown.block, order), _letters(count))
        for place, option in enumerate(order):
            sums[option] += math.log(max(choice.probabilities[place], _LEAST)) / turns
        first += choice.probabilities[0] / turns
        exact = exact and choice.exact
    weights = [math.exp(value - max(sums)) for value in sums]
    chosen = max(range(count), key=lambda option: (sums[option], -option))
    return ChoiceRow(
        key=question.key,
        kind=question.kind,
        question=question.text,
        gold=question.gold,
        chosen=chosen,
        right=chosen == question.gold,
        shares=tuple(round(weight / sum(weights), 6) for weight in weights),
        first_letter=round(first, 6),
        rotations=turns,
        exact=exact,
        evidence_tokens=llm.count_tokens(shown.block),
        said=shown.said,
        search_seconds=round(shown.seconds, 3),
        seconds=round(time.perf_counter() - began, 3),
        model_id=llm.model_id,
    )


def prompt(question: PersonaQuestion, block: str, order: Sequence[int]) -> list[ChatMessage]:
    """What the model sees; what does not turn with the options comes first, to be kept."""
    replies = "\n".join(
        f"{letter}. {question.options[option]}"
        for letter, option in zip(_letters(len(order)), order, strict=True)
    )
    asked = f"{block or _NOTHING}\n\nThe user says: {question.text}\n\nReplies:\n{replies}"
    ending = "Which reply agrees best with what is remembered of this user? The letter only."
    return [
        ChatMessage(Role.SYSTEM, _INSTRUCTIONS),
        ChatMessage(Role.USER, f"{asked}\n\n{ending}"),
    ]


# --- Evidence -----------------------------------------------------------------------------


def evidence_of(
    question: PersonaQuestion, memory: Memory, arm: str, llm: Llm, limit_tokens: int
) -> Shown:
    """What an arm shows the model of a memory, at most `limit_tokens` by the model's own count.

    Raises:
        ValueError: there is no such arm.
    """
    began = time.perf_counter()
    if arm == "localmem":
        own = memory.own_words(
            question.text,
            limit_tokens=limit_tokens,
            count_tokens=llm.count_tokens,
            asked_at=_moment(memory),
        )
        return Shown(own.block, len(own.said), time.perf_counter() - began)
    if arm not in PLAIN:
        raise ValueError(f"no arm {arm}; there are localmem, {', '.join((*PLAIN, *WITHOUT))}")
    result = memory.search(question.text, k=_FOUND, mode=arm, asked_at=_moment(memory))
    shown = show_evidence(
        Asked.from_search(result, _moment(memory)).evidence,
        question.text,
        limit_tokens=limit_tokens,
        count_tokens=llm.count_tokens,
    )
    return Shown(shown.block, len(shown.messages), time.perf_counter() - began)


def _evidence(
    question: PersonaQuestion,
    memories: PersonaMemories | None,
    args: argparse.Namespace,
    llm: Llm,
) -> Shown:
    if memories is None:
        return Shown("", 0, 0.0)
    return evidence_of(question, memories.at(question), args.arm, llm, args.evidence_tokens)


@contextmanager
def _memories(
    args: argparse.Namespace,
    questions: Sequence[PersonaQuestion],
    open_memory: Callable[[Path], Memory],
) -> Iterator[PersonaMemories | None]:
    """The memories of a run; None where its arm needs none."""
    if args.arm in WITHOUT:
        yield None
        return
    with ExitStack() as stack:
        folder = args.memories or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        wanted = {question.context for question in questions}
        contexts = read_contexts(args.contexts or contexts_beside(args.data), wanted)
        memories = PersonaMemories(folder, contexts, open_memory)
        stack.callback(memories.close)
        yield memories


def _in_order(questions: Sequence[PersonaQuestion]) -> list[PersonaQuestion]:
    """Questions of one memory after each other, shorter histories before longer ones."""
    return sorted(questions, key=lambda one: (one.context, one.end, one.key))


def _moment(memory: Memory) -> datetime:
    """When a question is asked: the end of the history; these histories have no times."""
    return memory.stats().last_said_at or datetime(2000, 1, 1, tzinfo=UTC)


def _letters(count: int) -> list[str]:
    return [chr(ord("A") + number) for number in range(count)]


# --- Figures ------------------------------------------------------------------------------


def summary(rows: Sequence[ChoiceRow]) -> dict[str, Any]:
    """Accuracy over all and by type with 95% bootstrap intervals, and what it cost."""
    kinds = sorted({row.kind for row in rows})
    by_type = {kind: accuracy([row for row in rows if row.kind == kind]) for kind in kinds}
    return {
        **accuracy(rows),
        "mean_of_types": _mean([figures["accuracy"] for figures in by_type.values()]),
        "by_type": by_type,
        "gold_share": _mean([row.shares[row.gold] for row in rows]),
        "first_letter": _mean([row.first_letter for row in rows]),
        "exact": all(row.exact for row in rows),
        "evidence_tokens": _mean([float(row.evidence_tokens) for row in rows]),
        "most_evidence_tokens": max((row.evidence_tokens for row in rows), default=0),
        "said_per_question": _mean([float(row.said) for row in rows]),
        "search_seconds": _mean([row.search_seconds for row in rows]),
        "seconds_per_question": _mean([row.seconds for row in rows]),
        "model_ids": sorted({row.model_id for row in rows}),
    }


def accuracy(rows: Sequence[ChoiceRow]) -> dict[str, Any]:
    """Share of right choices with its interval."""
    interval = bootstrap_mean([float(row.right) for row in rows])
    return {
        "n": interval.n,
        "accuracy": round(interval.mean, 4),
        "interval_95": [round(interval.low, 4), round(interval.high, 4)],
    }


def read_choices(path: Path) -> dict[str, ChoiceRow]:
    """The rows of a run by question; a last line that was cut off is left out."""
    return {row.key: row for row in read_rows(path, _row)}


def _row(values: Mapping[str, Any]) -> ChoiceRow:
    return ChoiceRow(**{**values, "shares": tuple(values["shares"])})


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 4) if values else 0.0


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "dataset": args.dataset,
        "arm": args.arm,
        "limit": DEFAULT_QUESTIONS if args.limit is None else args.limit,
        "seed": args.seed,
        "evidence_token_limit": args.evidence_tokens,
        "rotations": args.rotations,
    }


def _tell(rows: Sequence[ChoiceRow], total: int) -> None:
    right = _mean([float(row.right) for row in rows])
    sys.stderr.write(f"{len(rows)}/{total} accuracy {right:.3f}\n")
    sys.stderr.flush()
