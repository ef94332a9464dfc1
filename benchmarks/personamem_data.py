"""PersonaMem: its questions, which of them a run asks, and a memory as it was at each of them.

A question is asked in the middle of a context: what the memory holds is the context up to there,
imported through the product. Nothing here looks at the right option.
"""

from __future__ import annotations

import ast
import csv
import json
import random
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from localmem.memory import ImportOptions, Memory

_LABELS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class PersonaQuestion:
    """What a user says, and replies of which one fits what they told before.

    `options` are without their labels; `gold` is an index among them. The memory holds the first
    `end` messages of the context.
    """

    key: str
    kind: str
    text: str
    options: tuple[str, ...]
    gold: int
    context: str
    end: int


def persona_questions(path: Path) -> list[PersonaQuestion]:
    """The questions of a file in its order.

    Raises:
        ValueError: options that are no list, or whose labels are not a, b, c… in order.
    """
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", newline="") as file:
        return [_question(row) for row in csv.DictReader(file)]


def contexts_beside(questions: Path) -> Path:
    """The contexts that belong to a file of questions, by name.

    Raises:
        ValueError: there are none, or several that may be meant.
    """
    found = sorted(questions.parent.glob("*contexts*.jsonl"))
    named = questions.stem.replace("questions", "shared_contexts")
    exact = [file for file in found if file.stem == named]
    if len(exact or found) != 1:
        raise ValueError(f"{len(found)} files of contexts beside {questions}, want one: --contexts")
    return (exact or found)[0]


def read_contexts(path: Path, wanted: Collection[str]) -> dict[str, list[Any]]:
    """The messages of these contexts as the file tells them.

    Raises:
        ValueError: a context is not in the file.
    """
    contexts: dict[str, list[Any]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            contexts.update({k: v for k, v in json.loads(line).items() if k in wanted})
    missing = sorted(set(wanted) - contexts.keys())
    if missing:
        raise ValueError(f"{path} lacks {len(missing)} contexts, the first is {missing[0]}")
    return contexts


def draw_by_kind(
    questions: Sequence[PersonaQuestion], limit: int | None, seed: int
) -> list[PersonaQuestion]:
    """`limit` questions, of each kind its share of all (largest remainders), in file order."""
    if limit is None or limit >= len(questions):
        return list(questions)
    kinds = sorted({question.kind for question in questions})
    of_kind = {kind: [q for q in questions if q.kind == kind] for kind in kinds}
    exact = {kind: limit * len(of_kind[kind]) / len(questions) for kind in kinds}
    counts = {kind: int(exact[kind]) for kind in kinds}
    by_rest = sorted(kinds, key=lambda kind: (counts[kind] - exact[kind], kind))
    for kind in by_rest[: limit - sum(counts.values())]:
        counts[kind] += 1
    drawn: set[str] = set()
    for kind in kinds:
        pool = random.Random(f"{seed}/{kind}")  # noqa: S311 - a sample, not a secret
        drawn.update(q.key for q in pool.sample(of_kind[kind], counts[kind]))
    return [question for question in questions if question.key in drawn]


class PersonaMemories:
    """A memory file for each place at which a context is cut; one is open at a time.

    A cut grows out of the longest shorter one of its context, so that only what is new is read.
    Files are kept in `folder` and used again.
    """

    def __init__(
        self,
        folder: Path,
        contexts: Mapping[str, Sequence[Any]],
        open_memory: Callable[[Path], Memory],
    ) -> None:
        self._folder = folder
        self._contexts = contexts
        self._open_memory = open_memory
        self._open: tuple[Path, Memory] | None = None

    def at(self, question: PersonaQuestion) -> Memory:
        """The memory as it was when the question was asked; open until the next call."""
        path = self._path(question.context, question.end)
        if self._open is not None and self._open[0] == path:
            return self._open[1]
        self.close()
        if not path.exists():
            self._make(question.context, question.end, path)
        self._open = path, self._open_memory(path)
        return self._open[1]

    def close(self) -> None:
        """Close what is open."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _make(self, context: str, end: int, path: Path) -> None:
        """Import the context up to `end`; the file gets its name when it is whole."""
        unfinished = path.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        shorter = self._longest_before(context, end)
        if shorter is not None:
            shutil.copyfile(shorter, unfinished)
        export = path.with_suffix(".json")
        turns = list(self._contexts[context][:end])
        export.write_text(json.dumps({context: turns}, ensure_ascii=False), encoding="utf-8")
        with self._open_memory(unfinished) as memory:
            memory.import_(export, ImportOptions(tz=UTC))
            sys.stderr.write(f"{path.stem}: {memory.stats().messages} messages\n")
        export.unlink()
        unfinished.rename(path)
        for left in self._folder.glob(f"{unfinished.name}.*"):
            left.unlink()

    def _longest_before(self, context: str, end: int) -> Path | None:
        ends = [
            int(file.stem.rpartition("-")[2])
            for file in self._folder.glob(f"{context[:16]}-*.duckdb")
        ]
        shorter = [one for one in ends if one < end]
        return self._path(context, max(shorter)) if shorter else None

    def _path(self, context: str, end: int) -> Path:
        return self._folder / f"{context[:16]}-{end}.duckdb"


def _question(row: Mapping[str, str]) -> PersonaQuestion:
    labelled = _listed(row["all_options"])
    options = tuple(
        text.removeprefix(f"({label})").strip()
        for label, text in zip(_LABELS, labelled, strict=False)
    )
    if any(
        not text.startswith(f"({label})") for label, text in zip(_LABELS, labelled, strict=False)
    ):
        raise ValueError(f"{row['question_id']}: options are not labelled (a), (b), …")
    return PersonaQuestion(
        key=row["question_id"],
        kind=row["question_type"],
        text=row["user_question_or_message"].removeprefix("User: ").strip(),
        options=options,
        gold=_LABELS.index(row["correct_answer"].strip("() ")),
        context=row["shared_context_id"],
        end=int(row["end_index_in_shared_context"]),
    )


def _listed(text: str) -> list[str]:
    """A list of texts, written as JSON or as Python writes it."""
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        parsed = ast.literal_eval(text)
    if not isinstance(parsed, list):
        raise ValueError(f"options are no list: {text[:40]}")
    return [str(one) for one in parsed]
