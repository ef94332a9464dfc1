"""The public benchmarks as histories with questions and gold messages.

Histories come through the product's own importers, so that a benchmark reads what a user's import
would read; only questions and gold are read here. No benchmark text is kept in the repository.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from localmem.importers import open_export
from localmem.types import ImportedConversation

SESSION_GAP = timedelta(hours=8)
_LOCOMO_ADVERSARIAL = 5
_LOCOMO_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}

MessageKey = tuple[str, str]
"""A message by the source ids of its conversation and of itself."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its gold.

    `answer` is its text, "" where the file gives none. `gold` names the messages that hold it;
    empty where only conversations are known. `gold_conversations` names those then (LongMemEval,
    where one is a session). `asked_at` is the dataset's own time of asking, else the end of the
    history.
    """

    text: str
    kind: str
    gold: frozenset[MessageKey] = frozenset()
    gold_conversations: frozenset[str] = frozenset()
    asked_at: datetime | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """What one memory holds, and what it is asked. `path` and `question_id` import it anew."""

    name: str
    dataset: str
    conversations: tuple[ImportedConversation, ...]
    questions: tuple[Question, ...]
    path: Path
    question_id: str | None = None


def load(dataset: str, path: Path) -> list[History]:
    """The histories of a dataset ("locomo", "longmemeval", "beam") at a file or folder."""
    readers = {"locomo": locomo, "longmemeval": longmemeval, "beam": beam}
    return list(readers[dataset](path))


def locomo(path: Path) -> Iterator[History]:
    """LoCoMo: categories 1 to 4, evidence that names existing turns."""
    parsed = json.loads(path.read_text(encoding="utf-8"))
    for imported, chat in zip(_conversations(path), parsed, strict=True):
        known = {m.source_id for m in imported.messages}
        questions = []
        for item in chat["qa"]:
            named = {i for e in item.get("evidence", []) for i in re.split(r"[;,\s]+", e)}
            gold = frozenset((imported.source_id, i) for i in named & known)
            if item["category"] != _LOCOMO_ADVERSARIAL and gold:
                kind = _LOCOMO_KINDS[item["category"]]
                questions.append(
                    Question(
                        item["question"],
                        kind,
                        gold,
                        asked_at=_last_moment([imported]),
                        answer=str(item["answer"]),
                    )
                )
        yield History(chat["sample_id"], "locomo", (imported,), tuple(questions), path)


def beam(path: Path) -> Iterator[History]:
    """BEAM: one chat a folder; every question whose source_chat_ids name messages."""
    folders = (
        [path]
        if (path / "chat.json").is_file()
        else sorted(p.parent for p in path.glob("*/chat.json"))
    )
    for folder in folders:
        imported = _conversations(folder / "chat.json")
        known = {m.source_id: c.source_id for c in imported for m in c.messages}
        text = (folder / "probing_questions.json").read_text(encoding="utf-8")
        questions = []
        for kind, items in json.loads(text).items():
            for item in items if kind != "abstention" else []:
                named = set(_flat(item.get("source_chat_ids", [])))
                gold = frozenset((known[i], i) for i in named if i in known)
                if gold:
                    questions.append(
                        Question(item["question"], kind, gold, asked_at=_last_moment(imported))
                    )
        name = f"{folder.parent.name}/{folder.name}"
        yield History(name, "beam", tuple(imported), tuple(questions), folder / "chat.json")


def longmemeval(path: Path) -> Iterator[History]:
    """LongMemEval: one haystack a question, with the extra questions that two of them carry."""
    for item in json.loads(path.read_text(encoding="utf-8")):
        question_id = item["question_id"]
        imported = tuple(_conversations(path, question_id=question_id))
        asked_at = datetime.strptime(
            re.sub(r"\s*\(\w+\)", "", item["question_date"]), "%Y/%m/%d %H:%M"
        ).replace(tzinfo=UTC)
        own = Question(
            item["question"],
            item["question_type"],
            _flagged(item, imported),
            _chats(item, question_id),
            asked_at,
            str(item["answer"]),
        )
        extra = tuple(
            Question(
                e["question"],
                "extra",
                frozenset(),
                _chats(e, question_id),
                asked_at,
                str(e["answer"]),
            )
            for e in item.get("extra_questions", [])
        )
        yield History(
            question_id, "longmemeval", imported, (own, *extra), path, question_id=question_id
        )


def _chats(item: dict[str, Any], question_id: str) -> frozenset[str]:
    return frozenset(f"{question_id}/{name}" for name in item["answer_session_ids"])


def _flagged(
    item: dict[str, Any], imported: Sequence[ImportedConversation]
) -> frozenset[MessageKey]:
    known = {(c.source_id, m.source_id) for c in imported for m in c.messages}
    chats = zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True)
    flagged = {
        (f"{item['question_id']}/{name}", str(position))
        for name, turns in chats
        for position, turn in enumerate(turns)
        if turn.get("has_answer")
    }
    return frozenset(flagged & known)


def _conversations(path: Path, *, question_id: str | None = None) -> list[ImportedConversation]:
    export = open_export(path, tz=UTC, question_id=question_id)
    return [c for c in export if isinstance(c, ImportedConversation)]


def _last_moment(conversations: Sequence[ImportedConversation]) -> datetime | None:
    """When the history ends: the time of a question where the dataset gives none."""
    times = [m.said_at for c in conversations for m in c.messages if m.said_at is not None]
    return max(times, default=None)


def _flat(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [i for part in value.values() for i in _flat(part)]
    if isinstance(value, list):
        return [i for part in value for i in _flat(part)]
    return [str(value)]
