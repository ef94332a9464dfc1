"""`python -m benchmarks ablation`: the deep depth with its parts switched off, one by one.

With `--measure retrieval` it is finding alone instead: benchmarks/ablation_retrieval.py.

For each row of APDMem's Tables 4 and 11: how good the answers are against the whole, how much of
the history was opened and how deep (Figure 2), where errors come from (retrieval or generation),
how many steps were taken (Appendix D). A controller and an answering model may be told apart
(Table 3); without a model the rules drive the loop and the answer is extracted. Rows are written
as they come, so that a run can go on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import ablation_retrieval
from benchmarks.answer_data import draw
from benchmarks.datasets import History, MessageKey, Question, load
from benchmarks.measures import percentile
from benchmarks.retrieval import all_messages, export_of, gold_sessions, keys_of
from benchmarks.rows import read_rows, rows_beside, write_row
from benchmarks.scoring import CATEGORY_NAMES, bootstrap_mean, locomo_f1
from localmem.config import Config, load_config
from localmem.memory import ImportOptions, Memory
from localmem.paths import config_file
from localmem.ports import Llm
from localmem.recall.deep import (
    DeepModels,
    DeepOptions,
    DeepQuestion,
    Limits,
    Switches,
    answer_deeply,
)
from localmem.recall.routing import Routes
from localmem.shelf import ModelShelf
from localmem.types import Answer, Budget, Message, MessageId, SessionId

WHOLE = "whole"
ROWS: Mapping[str, Switches] = {
    WHOLE: Switches(),
    "vanilla RAG": Switches(vanilla_rag=True),
    "no controller": Switches(controller=False),
    "no L1 reads": Switches(read_facts=False),
    "no L2 reads": Switches(read_turns=False),
    "no L3 reads": Switches(read_raw=False),
    "no reflect": Switches(reflect=False),
    "no decompose": Switches(decompose=False),
    "no interpret_dates": Switches(interpret_dates=False),
    "no notes": Switches(notes=False),
    "no draft": Switches(draft=False),
    "no list of items": Switches(list_items=False),
    "no plan_route": Switches(plan_route=False),
    "no expand_graph": Switches(expand_graph=False),
    "no timeline": Switches(timeline=False),
    "no read_persona": Switches(read_persona=False),
    "no open_episode": Switches(open_episode=False),
    "no recall_lasting": Switches(recall_lasting=False),
}
"""The switches of each row of the table."""

ROUTE_ROWS: Mapping[str, Routes] = {
    "with routes": Routes.ON,
    "without routes": Routes.OFF,
    "without graph": Routes.NO_GRAPH,
    "without fusion": Routes.NO_FUSION,
}
PART_ROWS: Mapping[str, Switches] = {
    "without routes": Switches(plan_route=False),
    "without graph": Switches(expand_graph=False),
    "without roles": Switches(controller=False, reflect=False),
}
SWEEPS: Mapping[str, Mapping[str, int]] = {
    **{f"K {most}": {"shown": most} for most in (5, 10, 15)},
    **{f"rounds {most}": {"reflections": most} for most in (1, 2, 3)},
}
"""AdaMem's ablations and sweeps (its section 4), on request."""

_RIGHT = 0.5
"""Token F1 from which an answer counts as right in the table of errors; no judge is asked."""
_TRUNCATED = 0.02
_MORE = tuple(dict.fromkeys((*ROUTE_ROWS, *PART_ROWS, *SWEEPS)))


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One question under one row of the table. `drills` counts sessions by their finest layer."""

    key: str
    row: str
    kind: str
    question: str
    gold: str
    answer: str
    found: bool
    f1: float
    gold_opened: float
    drills: dict[str, int]
    sessions_total: int
    opened_share: float
    decisions: int
    complete: bool
    model_calls: int
    prompt_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with the memory it is put to, and the sessions that hold its gold."""

    key: str
    question: Question
    memory: Memory
    people: tuple[str, ...]
    gold: frozenset[SessionId]
    keys: Mapping[MessageId, MessageKey]


@dataclass(frozen=True, slots=True)
class _Stored:
    """A history's memory with who takes part, its messages, and their keys in the dataset."""

    memory: Memory
    people: tuple[str, ...]
    messages: list[Message]
    keys: dict[MessageId, MessageKey]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--dataset", choices=["locomo", "longmemeval"], required=True)
    parser.add_argument("--data", type=Path, required=True, metavar="FILE")
    parser.add_argument("--model", default=None, help="answers; name or path; default: rules")
    parser.add_argument("--controller", default=None, metavar="MODEL", help="chooses the steps")
    parser.add_argument("--measure", choices=["answers", "retrieval"], default="answers")
    parser.add_argument(
        "--rows",
        default="",
        help=f"rows of the table, comma-separated; also {', '.join(_MORE)}",
    )
    parser.add_argument("--kinds", default="", help="question types, comma-separated; default all")
    parser.add_argument("--limit", type=int, default=None, metavar="N")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--budget-seconds", type=float, default=None, metavar="S")
    parser.add_argument(
        "--layer-seconds", type=float, default=0.0, help="for a model to make a session's facts"
    )
    parser.add_argument("--resume", action="store_true", help="go on where OUT's rows end")
    parser.add_argument("--memories", type=Path, default=None, metavar="FOLDER")
    parser.add_argument("--json", type=Path, required=True, metavar="OUT", dest="out")


def run(args: argparse.Namespace) -> int:
    """Ask every question under every row; write figures to OUT, rows to its neighbour .jsonl."""
    if args.measure == "retrieval":
        with _asked(args) as questions:
            return ablation_retrieval.run_retrieval(args, [_put(one) for one in questions])
    wanted = [name.strip() for name in args.rows.split(",")] if args.rows else list(ROWS)
    unknown = [name for name in wanted if name not in (*ROWS, *_MORE)]
    if unknown:
        sys.stderr.write(f"no rows {unknown}; there are {', '.join((*ROWS, *_MORE))}\n")
        return 2
    rows_file = rows_beside(args.out, resume=args.resume)
    known = {(row.row, row.key): row for row in read_rows(rows_file, _of_values)}
    with _asked(args) as questions, _models(args) as models, rows_file.open("a") as out:
        for number, asked in enumerate(questions, start=1):
            for name in wanted:
                if (name, asked.key) in known:
                    continue
                row = _row(asked, name, _answer(asked, name, models, args))
                known[name, asked.key] = row
                write_row(out, row)
            sys.stderr.write(f"\r{number} of {len(questions)} questions")
        keys = {asked.key for asked in questions}
    rows = [row for (name, key), row in known.items() if name in wanted and key in keys]
    report = _settings(args) | summary(rows)
    args.out.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")
    sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    return 0


def summary(rows: Sequence[AblationRow]) -> dict[str, Any]:
    """The table: each row's figures, and its paired gain over the whole."""
    by_row: dict[str, dict[str, AblationRow]] = {}
    for row in rows:
        by_row.setdefault(row.row, {})[row.key] = row
    whole = by_row.get(WHOLE, {})
    return {
        name: figures(list(asked.values())) | _against(asked, whole)
        for name, asked in by_row.items()
    }


def figures(rows: Sequence[AblationRow]) -> dict[str, Any]:
    """What one row of the table says."""
    drills: Counter[str] = Counter()
    for row in rows:
        drills.update(row.drills)
    interval = bootstrap_mean([row.f1 for row in rows])
    decisions = [float(row.decisions) for row in rows]
    kinds = sorted({row.kind for row in rows})
    return {
        "n": len(rows),
        "f1": round(interval.mean, 4),
        "f1_interval_95": [round(interval.low, 4), round(interval.high, 4)],
        "f1_by_type": {k: round(fmean(r.f1 for r in rows if r.kind == k), 4) for k in kinds},
        "selectivity": round(fmean(sum(r.drills.values()) / r.sessions_total for r in rows), 4),
        "tokens_opened_share": round(fmean(r.opened_share for r in rows), 4),
        "gold_sessions_opened": round(fmean(r.gold_opened for r in rows), 4),
        "questions_with_all_gold_opened": sum(r.gold_opened == 1.0 for r in rows),
        "depth_of_drills": {
            layer: round(count / drills.total(), 4) for layer, count in sorted(drills.items())
        },
        "errors": _errors(rows),
        "steps": {str(p): percentile(decisions, p / 100) for p in (50, 95, 99, 100)},
        "suggested_t_max": _suggested(decisions),
        "complete_share": round(fmean(r.complete for r in rows), 4),
        "model_calls": round(fmean(r.model_calls for r in rows), 2),
        "prompt_tokens": round(fmean(r.prompt_tokens for r in rows), 1),
        "seconds": round(fmean(r.seconds for r in rows), 2),
    }


def _errors(rows: Sequence[AblationRow]) -> dict[str, int]:
    """Two by two: whether all gold sessions were opened, whether the answer is right."""
    cells = Counter(
        f"retrieval {'right' if row.gold_opened == 1.0 else 'wrong'}, "
        f"answer {'right' if row.f1 >= _RIGHT else 'wrong'}"
        for row in rows
    )
    return dict(sorted(cells.items()))


def _suggested(decisions: Sequence[float]) -> int:
    """The smallest number of steps that cuts off less than 2% of the questions (Appendix D)."""
    ordered = sorted(decisions)
    return next(
        int(most)
        for most in ordered
        if sum(steps > most for steps in ordered) < _TRUNCATED * len(ordered)
    )


def _against(rows: Mapping[str, AblationRow], whole: Mapping[str, AblationRow]) -> dict[str, Any]:
    shared = sorted(rows.keys() & whole.keys())
    if not shared or rows is whole:
        return {}
    gain = bootstrap_mean([rows[key].f1 - whole[key].f1 for key in shared])
    return {
        "f1_against_whole": round(gain.mean, 4),
        "interval_95": [round(gain.low, 4), round(gain.high, 4)],
        "pairs": gain.n,
    }


# --- Asking -------------------------------------------------------------------------------


@contextmanager
def _asked(args: argparse.Namespace) -> Iterator[list[_Asked]]:
    """The drawn questions, each beside its memory."""
    kinds = {kind.strip() for kind in args.kinds.split(",") if kind.strip()}
    config = load_config(config_file())
    with ExitStack() as stack:
        folder = args.memories or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        everything = [
            (history, number, question)
            for history in load(args.dataset, args.data)
            for number, question in enumerate(history.questions)
            if not kinds or question.kind in kinds
        ]
        drawn = draw(everything, args.limit, args.seed)
        stored = {
            history.name: _stored(history, folder, config, stack)
            for history in {one.name: one for one, _, _ in drawn}.values()
        }
        yield [
            _one(f"{history.name}/{number}", question, stored[history.name])
            for history, number, question in drawn
        ]


def _stored(history: History, folder: Path, config: Config, stack: ExitStack) -> _Stored:
    """The history's memory, made where it is not there yet."""
    path = folder / f"{history.name.replace('/', '-')}.duckdb"
    memory = stack.enter_context(Memory.open(path, config=config, idle_s=3600.0))
    if memory.stats().messages == 0:
        options = ImportOptions(tz=UTC, question_id=history.question_id)
        memory.import_(export_of(history, folder), options)
    people: tuple[str, ...] = ()
    if history.dataset == "locomo":
        people = tuple(sorted({m.speaker for c in history.conversations for m in c.messages}))
    messages = all_messages(memory)
    return _Stored(memory, people, messages, keys_of(history, messages))


def _one(key: str, question: Question, stored: _Stored) -> _Asked:
    gold = gold_sessions(question, stored.keys, stored.messages)
    return _Asked(key, question, stored.memory, stored.people, gold, stored.keys)


def _put(asked: _Asked) -> ablation_retrieval.Put:
    """The question for finding alone."""
    return ablation_retrieval.Put(asked.key, asked.question, asked.memory, asked.people, asked.keys)


@contextmanager
def _models(args: argparse.Namespace) -> Iterator[DeepModels]:
    """The models by role; one that has both roles is loaded once."""
    with ExitStack() as stack:
        loaded: dict[str, Llm] = {}
        for name in {args.model, args.controller} - {None}:
            loaded[name] = ModelShelf.open(_config(name)).llm()
            stack.callback(loaded[name].close)
        yield DeepModels(loaded.get(args.model), loaded.get(args.controller))


def _config(model: str) -> Config:
    config = load_config(config_file())
    return replace(config, models=replace(config.models, llm=model))


def _answer(asked: _Asked, row: str, models: DeepModels, args: argparse.Namespace) -> Answer:
    question = asked.question
    moment = question.asked_at
    assert moment is not None  # every dataset gives one
    options = DeepOptions(
        budget=Budget(seconds=args.budget_seconds),
        limits=replace(Limits(layer_seconds=args.layer_seconds), **SWEEPS.get(row, {})),
        switches=ROWS.get(row) or PART_ROWS.get(row) or Switches(),
    )
    deep = DeepQuestion(question.text, moment, asked.people)
    doors = asked.memory.doors(asked_at=moment, routes=ROUTE_ROWS.get(row))
    return answer_deeply(deep, doors, models, options)


def _row(asked: _Asked, name: str, answer: Answer) -> AblationRow:
    question, trace = asked.question, answer.trace
    opened = trace.opened.keys()
    return AblationRow(
        key=asked.key,
        row=name,
        kind=question.kind,
        question=question.text,
        gold=question.answer,
        answer=answer.text,
        found=answer.found,
        f1=locomo_f1(answer.text, question.answer, _category(question.kind)),
        gold_opened=len(asked.gold & opened) / len(asked.gold) if asked.gold else 0.0,
        drills=dict(Counter(f"L{int(layer)}" for layer in trace.opened.values())),
        sessions_total=trace.sessions_total,
        opened_share=trace.opened_share or 0.0,
        decisions=max((step.decision for step in trace.steps), default=0),
        complete=answer.complete,
        model_calls=trace.model_calls,
        prompt_tokens=trace.prompt_tokens,
        seconds=trace.seconds,
    )


def _category(kind: str) -> int:
    """LoCoMo's number of a question type; plain token F1 for those of other datasets."""
    numbers = {name: number for number, name in CATEGORY_NAMES.items()}
    return numbers.get(kind, numbers["single-hop"])


def _of_values(values: Mapping[str, Any]) -> AblationRow:
    return AblationRow(**values)


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    names = ("dataset", "model", "controller", "limit", "seed", "budget_seconds", "layer_seconds")
    return {name: getattr(args, name) for name in names}
