"""`answers --dataset personamem`: multiple choice about a person, read from log-probabilities.

Two ways to read what a model would choose (`--read`):

- `replies`: the log-probability of each reply, word for word, as what the model itself says. What
  counts is how much more probable the evidence makes a reply: the same without the evidence is
  taken off. So neither the length of a reply nor how common its words are is measured
  (pointwise mutual information, as in Holtzman et al., "Surface Form Competition", 2021). Without
  a memory nothing can be taken off.
- `letters`: each reply has a letter, and counts by how probable its letter is. Small models like
  some letters whatever stands behind them. So a question is put once for each rotation of its
  replies, and logarithms are averaged: a liking for letters that adds to them cancels out.

The arms differ in the evidence alone. No text of the data set is kept but in the rows of a run.
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
EVIDENCE_TOKENS = 400
ROTATIONS = 4
REPLIES, LETTERS = "replies", "letters"
PLAIN = ("bm25", "dense")
"""Arms whose evidence is what one plain retrieval finds: whole messages, nothing else."""
WITHOUT = ("none", "closed-book")

_FOUND = 60
"""Messages that a search gives to choose from."""
_LEAST = 1e-12
_LEAST_SHARE = 1e-300
_NOTHING = "<memory>\nNothing is remembered.\n</memory>"
_KNOWS = "You are an assistant who knows this user from earlier chats. Reply as suits this user."
_INSTRUCTIONS = (
    "You are an assistant. Between <memory> and </memory> stands what you remember of earlier "
    "conversations with this user. Of the replies that are offered, choose the one that agrees "
    "with what the user told you and suits this user best. Answer with its letter only."
)


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One question with what was chosen. `shares` are the options' scores in order, as shares.

    `first_letter` is the mean probability of the first letter over the rotations: beyond 1 over the
    number of options, a liking for the letter. `said` counts messages or sentences of the evidence.
    `alone` are the natural logarithms of the replies' shares without a memory; () where letters
    were read.
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
    read: str = LETTERS
    alone: tuple[float, ...] = ()


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
    known = _known_alone(args.alone, llm)
    rows_file = rows_beside(args.out, resume=args.resume)
    rows = read_choices(rows_file)
    if any(row.read != args.read for row in rows.values()):
        raise SystemExit(f"{rows_file} holds rows of another --read: give another --json")
    with _memories(args, questions, open_memory) as memories, rows_file.open("a") as out:
        for question in _in_order(questions):
            if question.key in rows:
                continue
            shown = _evidence(question, memories, args, llm)
            if args.read == REPLIES:
                row = choose_reply(question, shown, llm, alone=known.get(question.key, ()))
            else:
                row = choose_letter(question, shown, llm, rotations=args.rotations)
            rows[question.key] = row
            write_row(out, rows[question.key])
            _tell([rows[q.key] for q in questions if q.key in rows], len(questions))
    figures = summary([rows[question.key] for question in questions])
    made_by = {"engine": type(llm).__name__, "weights_sha256": weights_sha256}
    report = {**_settings(args), **made_by, **figures}
    args.out.write_text(json.dumps(report, indent=2), encoding="utf-8")
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 0


def choose_reply(
    question: PersonaQuestion, shown: Shown, llm: Llm, *, alone: Sequence[float] = ()
) -> ChoiceRow:
    """Choose the reply that the evidence makes more probable than the others, word for word.

    `alone` are the logarithms of the replies' shares without a memory, where they are known.
    Where there is no evidence, they are what counts.
    """
    began = time.perf_counter()
    exact = True
    if not alone:
        alone, exact = _log_shares(question, "", llm)
    scores = list(alone)
    if shown.block:
        informed, is_exact = _log_shares(question, shown.block, llm)
        exact = exact and is_exact
        scores = [after - before for after, before in zip(informed, alone, strict=True)]
    return ChoiceRow(
        **_chosen(question, scores),
        **_cost(shown, llm, began),
        first_letter=0.0,
        rotations=0,
        exact=exact,
        read=REPLIES,
        alone=tuple(round(value, 4) for value in alone),
    )


def choose_letter(
    question: PersonaQuestion, shown: Shown, llm: Llm, *, rotations: int = ROTATIONS
) -> ChoiceRow:
    """Put a question once for each of `rotations` rotations of its options, evenly spread.

    The options' scores are the means of the logarithms of their letters' probabilities. One
    rotation is the order of the file.
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
    return ChoiceRow(
        **_chosen(question, sums),
        **_cost(shown, llm, began),
        first_letter=round(first, 6),
        rotations=turns,
        exact=exact,
        read=LETTERS,
    )


def _known_alone(path: Path | None, llm: Llm) -> dict[str, tuple[float, ...]]:
    """The replies' log-shares without a memory from another run's rows, by question."""
    if path is None:
        return {}
    rows = read_choices(path)
    if not rows or any(row.model_id != llm.model_id or not row.alone for row in rows.values()):
        raise SystemExit(f"--alone {path}: want the .jsonl of a run with this model and replies")
    return {key: row.alone for key, row in rows.items()}


def _log_shares(question: PersonaQuestion, block: str, llm: Llm) -> tuple[tuple[float, ...], bool]:
    """Natural logarithms of the replies' shares of probability, and whether they are exact."""
    remembered = f"What is remembered of this user:\n{block}\n\n" if block else ""
    asked = f"{remembered}The user says: {question.text}"
    choice = llm.choose(
        [ChatMessage(Role.SYSTEM, _KNOWS), ChatMessage(Role.USER, asked)], question.options
    )
    return tuple(math.log(max(one, _LEAST_SHARE)) for one in choice.probabilities), choice.exact


def _chosen(question: PersonaQuestion, scores: Sequence[float]) -> dict[str, Any]:
    """Which reply has the best score, the first of equals, and the scores as shares."""
    weights = [math.exp(score - max(scores)) for score in scores]
    chosen = max(range(len(scores)), key=lambda option: (scores[option], -option))
    return {
        "key": question.key,
        "kind": question.kind,
        "question": question.text,
        "gold": question.gold,
        "chosen": chosen,
        "right": chosen == question.gold,
        "shares": tuple(round(weight / sum(weights), 6) for weight in weights),
    }


def _cost(shown: Shown, llm: Llm, began: float) -> dict[str, Any]:
    return {
        "evidence_tokens": llm.count_tokens(shown.block),
        "said": shown.said,
        "search_seconds": round(shown.seconds, 3),
        "seconds": round(time.perf_counter() - began, 3),
        "model_id": llm.model_id,
    }


def prompt(question: PersonaQuestion, block: str, order: Sequence[int]) -> list[ChatMessage]:
    """What the model sees for letters; what does not turn with the options is first, to be kept."""
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

    Looked for is what bears on the question and on the replies that are offered.

    Raises:
        ValueError: there is no such arm.
    """
    began = time.perf_counter()
    looked_for = " ".join((question.text, *question.options))
    if arm == "localmem":
        own = memory.own_words(
            looked_for,
            limit_tokens=limit_tokens,
            count_tokens=llm.count_tokens,
            asked_at=_moment(memory),
        )
        return Shown(own.block, len(own.said), time.perf_counter() - began)
    if arm not in PLAIN:
        raise ValueError(f"no arm {arm}; there are localmem, {', '.join((*PLAIN, *WITHOUT))}")
    result = memory.search(looked_for, k=_FOUND, mode=arm, asked_at=_moment(memory))
    shown = show_evidence(
        Asked.from_search(result, _moment(memory)).evidence,
        looked_for,
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
    told = {name: tuple(values.get(name, ())) for name in ("shares", "alone")}
    return ChoiceRow(**{**values, **told})


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 4) if values else 0.0


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "dataset": args.dataset,
        "arm": args.arm,
        "limit": DEFAULT_QUESTIONS if args.limit is None else args.limit,
        "seed": args.seed,
        "evidence_token_limit": args.evidence_tokens,
        "read": args.read,
        "rotations": args.rotations if args.read == LETTERS else 0,
    }


def _tell(rows: Sequence[ChoiceRow], total: int) -> None:
    right = _mean([float(row.right) for row in rows])
    sys.stderr.write(f"{len(rows)}/{total} accuracy {right:.3f}\n")
    sys.stderr.flush()
