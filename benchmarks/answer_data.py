"""Questions with their gold answers, and which of them a run asks."""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_Asked = TypeVar("_Asked")


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """One question of LoCoMo. `number` counts all questions of its conversation in file order."""

    conversation: str
    number: int
    text: str
    gold: str
    category: int

    @property
    def key(self) -> str:
        """Names the question in every run."""
        return f"{self.conversation}/{self.number}"


def locomo_questions(path: Path, categories: Collection[int]) -> list[GoldQuestion]:
    """The questions of these categories in file order."""
    parsed = json.loads(path.read_text(encoding="utf-8"))
    return [
        GoldQuestion(
            conversation=chat["sample_id"],
            number=number,
            text=item["question"],
            gold=str(item.get("answer", "")),
            category=int(item["category"]),
        )
        for chat in parsed
        for number, item in enumerate(chat["qa"])
        if int(item["category"]) in categories
    ]


def draw(questions: list[_Asked], limit: int | None, seed: int) -> list[_Asked]:
    """`limit` questions drawn uniformly without repeats; all of them where there are no more."""
    if limit is None or limit >= len(questions):
        return questions
    return random.Random(seed).sample(questions, limit)  # noqa: S311 - a sample, not a secret


def split_conversations(path: Path, folder: Path) -> dict[str, Path]:
    """One file for each conversation of a LoCoMo file, so that each gets a memory of its own."""
    files: dict[str, Path] = {}
    for chat in json.loads(path.read_text(encoding="utf-8")):
        file = folder / f"{chat['sample_id']}.json"
        file.write_text(json.dumps([chat], ensure_ascii=False), encoding="utf-8")
        files[chat["sample_id"]] = file
    return files
