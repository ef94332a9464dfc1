"""python -m benchmarks answers: how good answers are, by LoCoMo's own scorer.

Each conversation is imported into a memory of its own through the product. Arms are compared on the
same questions: the product's finding and reading (`localmem`), plain BM25 turns or nearest vectors
without resolved dates before the same prompt and model (`bm25`, `dense`), and the question alone
(`closed-book`, also called `none`). Rows are written as they come, so that a run can go on where it
stopped. PersonaMem's questions are answered by choice: benchmarks/personamem.py.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import personamem
from benchmarks.answer_data import GoldQuestion, draw, locomo_questions, split_conversations
from benchmarks.rows import read_rows, rows_beside, write_row
from benchmarks.scoring import ADVERSARIAL, CATEGORY_NAMES, bleu_1, bootstrap_mean, locomo_f1
from localmem.config import Config, load_config
from localmem.memory import ImportOptions, Memory
from localmem.paths import config_file
from localmem.ports import Llm
from localmem.recall.answer import Asked, answer_question
from localmem.recall.deep import DeepModels, DeepOptions, DeepQuestion, answer_deeply
from localmem.recall.depth import choose_depth, is_doubtful
from localmem.recall.reply import plain_line
from localmem.shelf import ModelShelf
from localmem.types import Answer, Budget, ChatMessage, Depth, Evidence, Role, SearchResult

ARMS = ("localmem", "bm25", "dense", "closed-book", "none")
DEFAULT_EVIDENCE = 10
_CLOSED_BOOK = (
    "Answer the question with only the few words that answer it: a name, a date, a number, or "
    "several things separated by commas. No sentence. Guess where you do not know."
)


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One question with what was answered and how good that was. `f1` is 0.0 in category 5."""

    key: str
    category: int
    question: str
    gold: str
    answer: str
    found: bool
    f1: float
    bleu_1: float
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    sessions_opened: int
    sessions_total: int
    cited: int
    depth: str
    model_id: str | None
    notices: tuple[str, ...] = ()
    model_calls: int = 0
    complete: bool = True


Ask = Callable[[GoldQuestion], Answer]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--dataset", choices=["locomo", "personamem"], default="locomo")
    parser.add_argument("--data", type=Path, required=True, metavar="FILE")
    parser.add_argument(
        "--contexts", type=Path, default=None, metavar="FILE", help="personamem: if not beside DATA"
    )
    parser.add_argument("--model", default=None, help="name of the catalog, or a path")
    parser.add_argument("--depth", choices=[str(d) for d in Depth], default="direct")
    parser.add_argument(
        "--budget-seconds", type=float, default=None, metavar="S", help="for each question"
    )
    parser.add_argument(
        "--steered", action="store_true", help="deep: the model chooses the steps, not the rules"
    )
    parser.add_argument("--arm", choices=ARMS, default="localmem")
    parser.add_argument("--evidence", type=int, default=DEFAULT_EVIDENCE, metavar="MESSAGES")
    parser.add_argument(
        "--evidence-tokens",
        type=int,
        default=personamem.EVIDENCE_TOKENS,
        metavar="N",
        help="personamem: most tokens of evidence",
    )
    parser.add_argument(
        "--read",
        choices=(personamem.REPLIES, personamem.LETTERS),
        default=personamem.REPLIES,
        help="personamem: whose probabilities are read",
    )
    parser.add_argument(
        "--alone",
        type=Path,
        default=None,
        metavar="ROWS",
        help="personamem: take the replies' probabilities without a memory from another arm's rows",
    )
    parser.add_argument(
        "--rotations",
        type=int,
        choices=range(1, personamem.ROTATIONS + 1),
        default=personamem.ROTATIONS,
        help="personamem, letters: orders of the options to average over",
    )
    parser.add_argument("--limit", type=int, default=None, metavar="N")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--categories", default="1,2,3,4")
    parser.add_argument("--resume", action="store_true", help="go on where OUT's rows end")
    parser.add_argument(
        "--memories", type=Path, default=None, metavar="FOLDER", help="keep and reuse memories here"
    )
    parser.add_argument("--json", type=Path, required=True, metavar="OUT", dest="out")


def run(args: argparse.Namespace) -> int:
    """Ask, score and write OUT (figures) and OUT's neighbour .jsonl (a row a question)."""
    if not args.data.is_file():
        raise SystemExit(f"--data {args.data}: there is no such file; name the questions' file")
    if args.dataset == "personamem":
        return _run_choices(args)
    categories = {int(part) for part in args.categories.split(",")}
    questions = draw(locomo_questions(args.data, categories), args.limit, args.seed)
    rows_file = rows_beside(args.out, resume=args.resume)
    rows = read_answers(rows_file)
    with _asker(args) as (ask, engine), rows_file.open("a", encoding="utf-8") as out:
        for question in questions:
            if question.key in rows:
                continue
            rows[question.key] = _row(question, ask(question))
            write_row(out, rows[question.key])
            _tell([rows[q.key] for q in questions if q.key in rows], len(questions))
    figures = summary([rows[question.key] for question in questions])
    weights = _weights_sha256(_config(args.model)) if figures["model_ids"] else ""
    report = {**_settings(args), "engine": engine, "weights_sha256": weights, **figures}
    args.out.write_text(json.dumps(report, indent=2), encoding="utf-8")
    print(json.dumps(report, indent=2))
    return 0


def _run_choices(args: argparse.Namespace) -> int:
    config = _config(args.model)
    with _opened_llm(config) as llm:
        return personamem.run_choices(
            args,
            llm,
            lambda path: Memory.open(path, config=config, idle_s=3600.0),
            weights_sha256=_weights_sha256(config),
        )


def summary(rows: Sequence[AnswerRow]) -> dict[str, Any]:
    """The figures of a run: F1 and BLEU-1 with intervals and by category, costs, refusals."""
    scored = [row for row in rows if row.category != ADVERSARIAL]
    adversarial = [row for row in rows if row.category == ADVERSARIAL]
    by_category = {
        CATEGORY_NAMES[number]: _figures([row for row in scored if row.category == number])
        for number in sorted({row.category for row in scored})
    }
    means = [float(figures["f1"]) for figures in by_category.values()]
    return {
        "n": len(rows),
        **_figures(scored),
        "f1_interval_95": _interval([row.f1 for row in scored]),
        "f1_mean_of_categories": _mean(means),
        "by_category": by_category,
        "refused_answerable": _mean([float(not row.found) for row in scored]),
        "refused_adversarial": _mean([float(not row.found) for row in adversarial]),
        "adversarial_n": len(adversarial),
        "cited_share": _mean([float(row.cited > 0) for row in rows if row.found]),
        "seconds_per_question": _mean([row.seconds for row in rows]),
        "prompt_tokens_per_question": _mean([float(row.prompt_tokens) for row in rows]),
        "completion_tokens_per_question": _mean([float(row.completion_tokens) for row in rows]),
        "model_calls_per_question": _mean([float(row.model_calls) for row in rows]),
        "complete_share": _mean([float(row.complete) for row in rows]),
        "history_opened_share": _mean(
            [row.sessions_opened / row.sessions_total for row in rows if row.sessions_total]
        ),
        "depths": sorted({row.depth for row in rows}),
        "model_ids": sorted({row.model_id for row in rows if row.model_id}),
    }


# --- Asking -------------------------------------------------------------------------------


@contextmanager
def _asker(args: argparse.Namespace) -> Iterator[tuple[Ask, str]]:
    """How this run answers a question, and with which engine; memories and model are open."""
    config = _config(args.model)
    with ExitStack() as stack:
        depth = _depth(args.depth, config)
        llm = None if depth is Depth.INSTANT else stack.enter_context(_opened_llm(config))
        engine = type(llm).__name__ if llm is not None else "none"
        if args.arm in personamem.WITHOUT:
            yield (lambda question: _closed_book(question, _needed(llm))), engine
            return
        folder = args.memories or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        memories = _memories(args.data, folder, config, stack)
        ended = {name: _last_moment(memory) for name, memory in memories.items()}

        def ask(question: GoldQuestion) -> Answer:
            memory, asked_at = memories[question.conversation], ended[question.conversation]
            return _from_evidence(question, memory, asked_at, args, (depth, llm))

        yield ask, engine


def _from_evidence(
    question: GoldQuestion,
    memory: Memory,
    asked_at: datetime,
    args: argparse.Namespace,
    reader: tuple[Depth, Llm | None],
) -> Answer:
    depth, llm = reader
    mode = args.arm if args.arm in personamem.PLAIN else None
    result = memory.search(question.text, k=args.evidence, mode=mode, asked_at=asked_at)
    asked = Asked.from_search(result, asked_at)
    if args.arm in personamem.PLAIN:
        asked = replace(asked, evidence=[_undated(one) for one in asked.evidence])
    budget = Budget(seconds=args.budget_seconds)
    models = DeepModels(llm, llm if args.steered else None, llm)
    if depth is Depth.AUTO:
        asked = replace(asked, people=_people(asked))
        depth = choose_depth(asked, reads_well=True, steers=True)
    if depth is Depth.DEEP:
        return _deeply(asked, memory, budget, models)
    answer = answer_question(asked, depth=depth, llm=llm, budget=budget)
    goes_on = args.depth == Depth.AUTO and depth is Depth.DIRECT and is_doubtful(answer)
    if goes_on and answer.complete:
        return _deeply(asked, memory, budget, models, before=answer)
    return answer


def _deeply(
    asked: Asked,
    memory: Memory,
    budget: Budget,
    models: DeepModels,
    *,
    before: Answer | None = None,
) -> Answer:
    """As `ask --depth deep` does it; what the searches of a deep question take is in its time."""
    question = DeepQuestion(
        asked.question,
        asked.asked_at,
        _people(asked),
        draft=before.text if before is not None and before.found else "",
        notices=asked.notices,
        spent_s=before.trace.seconds if before is not None else asked.search_seconds,
    )
    doors = memory.doors(asked_at=asked.asked_at)
    return answer_deeply(question, doors, models, DeepOptions(budget))


def _people(asked: Asked) -> tuple[str, ...]:
    """Who takes part: LoCoMo's chats are among people."""
    return tuple(sorted({one.message.speaker for one in asked.evidence}))


def _depth(name: str, config: Config) -> Depth:
    """The depth of a run. `auto` goes on as `ask` does with a model that leads a search, whether or
    not this one passed that self-test; with one that reads no better than rules it is INSTANT."""
    wanted = Depth(name)
    if wanted is Depth.AUTO and not ModelShelf.open(config).reads_well():
        return Depth.INSTANT
    return wanted


def _undated(one: Evidence) -> Evidence:
    return replace(one, dates=())


def _closed_book(question: GoldQuestion, llm: Llm) -> Answer:
    """The control: what the model says without any memory."""
    began = time.perf_counter()
    completion = llm.complete(
        [ChatMessage(Role.SYSTEM, _CLOSED_BOOK), ChatMessage(Role.USER, question.text)],
        max_tokens=48,
    )
    nothing = SearchResult(question.text, "none", (), 0, 0.0)
    asked_at = datetime.now(UTC)
    blank = answer_question(Asked.from_search(nothing, asked_at), depth=Depth.INSTANT)
    trace = replace(
        blank.trace,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        seconds=time.perf_counter() - began,
        model_id=llm.model_id,
    )
    return replace(blank, text=plain_line(completion.text), found=True, trace=trace)


def _memories(data: Path, folder: Path, config: Config, stack: ExitStack) -> Mapping[str, Memory]:
    memories: dict[str, Memory] = {}
    for name, file in split_conversations(data, folder).items():
        memory = Memory.open(folder / f"{name}.duckdb", config=config, idle_s=3600.0)
        memories[name] = stack.enter_context(memory)
        if memory.stats().messages == 0:
            memory.import_(file, ImportOptions(tz=UTC))
        print(f"{name}: {memory.stats().messages} messages", file=sys.stderr)
    return memories


def _last_moment(memory: Memory) -> datetime:
    return memory.stats().last_said_at or datetime.now(UTC)


def _config(model: str | None) -> Config:
    config = load_config(config_file())
    return config if model is None else replace(config, models=replace(config.models, llm=model))


def _weights_sha256(config: Config) -> str:
    """The hash of the model's file; "" for a model behind an address."""
    name = config.models.llm
    if "://" in name:
        return ""
    with ModelShelf.open(config).path(name).open("rb") as weights:
        return hashlib.file_digest(weights, "sha256").hexdigest()


@contextmanager
def _opened_llm(config: Config) -> Iterator[Llm]:
    llm = ModelShelf.open(config).llm()
    try:
        yield llm
    finally:
        llm.close()


def _needed(llm: Llm | None) -> Llm:
    if llm is None:
        raise SystemExit("closed-book needs a model: --depth direct")
    return llm


# --- Rows and figures ---------------------------------------------------------------------


def _row(question: GoldQuestion, answer: Answer) -> AnswerRow:
    scored = question.category != ADVERSARIAL
    trace = answer.trace
    return AnswerRow(
        key=question.key,
        category=question.category,
        question=question.text,
        gold=question.gold,
        answer=answer.text,
        found=answer.found,
        f1=locomo_f1(answer.text, question.gold, question.category) if scored else 0.0,
        bleu_1=bleu_1(answer.text, question.gold) if scored else 0.0,
        seconds=trace.seconds,
        prompt_tokens=trace.prompt_tokens,
        completion_tokens=trace.completion_tokens,
        sessions_opened=trace.sessions_opened,
        sessions_total=trace.sessions_total,
        cited=len(answer.citations),
        depth=trace.depth.value,
        model_id=trace.model_id,
        notices=answer.notices,
        model_calls=trace.model_calls,
        complete=answer.complete,
    )


def read_answers(path: Path) -> dict[str, AnswerRow]:
    """The rows of a run by question key; a last line that was cut off is left out."""
    return {row.key: row for row in read_rows(path, _of_values)}


def _of_values(values: Mapping[str, Any]) -> AnswerRow:
    return AnswerRow(**{**values, "notices": tuple(values["notices"])})


def _figures(rows: Sequence[AnswerRow]) -> dict[str, float]:
    return {
        "f1": _mean([row.f1 for row in rows]),
        "bleu_1": _mean([row.bleu_1 for row in rows]),
        "questions": len(rows),
    }


def _interval(values: Sequence[float]) -> list[float]:
    interval = bootstrap_mean(values)
    return [round(interval.low, 4), round(interval.high, 4)]


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "dataset": args.dataset,
        "arm": args.arm,
        "depth": args.depth,
        "budget_seconds": args.budget_seconds,
        "steered": args.steered,
        "evidence": args.evidence,
        "categories": args.categories,
        "limit": args.limit,
        "seed": args.seed,
    }


def _tell(rows: Sequence[AnswerRow], total: int) -> None:
    done = len(rows)
    if done % 10 == 0 or done == total:
        scored = [row.f1 for row in rows if row.category != ADVERSARIAL]
        print(f"{done}/{total} F1 {_mean(scored):.3f}", file=sys.stderr, flush=True)
