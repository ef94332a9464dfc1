"""python -m benchmarks items: how much is known of people after an import, and the source check.

One memory a history, made through the product's own import. Yield is of items for each 100
messages of people; "stated" leaves out what is planned or claimed by an assistant. An item is
unsupported where its own messages do not hold its sentence, or what its value names, or its day
(`localmem.jobs.known_quality`). What yields nothing is counted by kind of sentence. Examples go to
OUT's neighbour .txt: these hold benchmark text and are not for the repository.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC
from pathlib import Path

from localmem.jobs.freshness import session_sources
from localmem.jobs.known_quality import KnownQuality, known_quality
from localmem.layers.extractive import prose_of, sentence_spans
from localmem.memory import ImportOptions, Memory
from localmem.types import Item, Message, Role

_SAMPLE = 60
_KINDS = (
    ("question", re.compile(r"\?\W*$")),
    ("short", re.compile(r"^\W*(?:\S+\W+){0,3}\S*\W*$")),
    ("code", re.compile(r"[{}<>=]{1,2}|::|\w\(\w*\)|https?://|^\s*[#$]")),
    ("first person, name or number", re.compile(r"\b(?:I|my|we|our)\b.*(?:\d|\b[A-Z][a-z]+)")),
    ("first person", re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur|me|I['’]\w+)\b")),
    ("second person", re.compile(r"\b(?:you|your)\b", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Yield:
    """What one history gave."""

    name: str
    messages: int
    items: int
    stated: int
    by_kind: dict[str, int]
    items_per_100: float
    stated_per_100: float
    messages_with_none: int
    checked: int
    unsupported: int
    unsupported_share: float
    reasons: dict[str, int]
    sentences: int
    silent_sentences: dict[str, int] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--data", type=Path, required=True, nargs="+", metavar="PATH")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, required=True, metavar="OUT", dest="out")


def run(args: argparse.Namespace) -> int:
    """Import, count, check and write the files."""
    examples: list[str] = []
    rows = [measured(path, examples, random.Random(args.seed)) for path in args.data]  # noqa: S311  # examples
    report = {"histories": [asdict(row) for row in rows], "all": total(rows)}
    args.out.write_text(json.dumps(report, indent=2), encoding="utf-8")
    args.out.with_suffix(".txt").write_text("\n".join(examples), encoding="utf-8")
    print(json.dumps(report, indent=2))
    return 0


def measured(path: Path, examples: list[str], rng: random.Random) -> Yield:
    """The yield of one history; adds examples of what failed and of what gave nothing."""
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory.open(Path(folder) / "memory.duckdb")
        with memory:
            memory.import_(path, ImportOptions(tz=UTC, later=True))
            memory.work(vectors=False)
            store = memory.store
            with store.reading():
                sources = session_sources(store)
                items = store.items()
                own = {one.id for one in store.participants() if not one.is_assistant}
    people = [
        message
        for source in sources.values()
        for message in source.messages
        if message.participant_id in own and message.role is Role.USER
    ]
    theirs = [item for item in items if item.participant_id in own]
    quality = known_quality(sources, theirs, most=len(theirs) or 1)
    silent = silent_sentences(people, theirs)
    examples += [f"# {path}", *_examples(quality, silent, rng)]
    return _row(path.name, people, theirs, quality, silent)


def silent_sentences(messages: Sequence[Message], items: Sequence[Item]) -> list[tuple[str, str]]:
    """Sentences that no item rests on, each with its kind."""
    told: dict[int, set[str]] = {}
    for item in items:
        for number in item.message_ids:
            told.setdefault(int(number), set()).add(_flat(item.quote))
    found = []
    for message in messages:
        quotes = told.get(int(message.id), set())
        for sentence in _sentences(message):
            if not any(sentence in quote or quote in sentence for quote in quotes):
                found.append((_kind(sentence), sentence))
    return found


def total(rows: Sequence[Yield]) -> dict[str, float]:
    """The figures over all histories."""
    messages = max(sum(row.messages for row in rows), 1)
    checked = max(sum(row.checked for row in rows), 1)
    return {
        "messages": messages,
        "items_per_100": round(100 * sum(row.items for row in rows) / messages, 1),
        "stated_per_100": round(100 * sum(row.stated for row in rows) / messages, 1),
        "unsupported_share": round(sum(row.unsupported for row in rows) / checked, 4),
    }


def _row(
    name: str,
    people: Sequence[Message],
    items: Sequence[Item],
    quality: KnownQuality,
    silent: Sequence[tuple[str, str]],
) -> Yield:
    stated = [item for item in items if ":" not in item.slot]
    count = max(len(people), 1)
    told = {number for item in items for number in item.message_ids}
    return Yield(
        name=name,
        messages=len(people),
        items=len(items),
        stated=len(stated),
        by_kind=dict(Counter(item.kind.value for item in items)),
        items_per_100=round(100 * len(items) / count, 1),
        stated_per_100=round(100 * len(stated) / count, 1),
        messages_with_none=sum(message.id not in told for message in people),
        checked=quality.checked,
        unsupported=len(quality.unsupported),
        unsupported_share=round(quality.share, 4),
        reasons=dict(Counter(one.reason.split(" ", 1)[0] for one in quality.unsupported)),
        sentences=sum(len(_sentences(message)) for message in people),
        silent_sentences=dict(Counter(kind for kind, _ in silent)),
    )


def _examples(
    quality: KnownQuality, silent: Sequence[tuple[str, str]], rng: random.Random
) -> list[str]:
    failed = [
        f"UNSUPPORTED {one.reason} | {one.item.kind.value} {one.item.slot} "
        f"{one.item.value!r} {one.item.valid_from} | {one.item.quote}"
        for one in quality.unsupported
    ]
    chosen = rng.sample(list(silent), min(_SAMPLE, len(silent)))
    return [*failed, *(f"SILENT {kind} | {sentence}" for kind, sentence in chosen)]


def _kind(sentence: str) -> str:
    return next((name for name, pattern in _KINDS if pattern.search(sentence)), "other")


def _sentences(message: Message) -> list[str]:
    prose = prose_of(message.text)
    found = (_flat(message.text[begin:stop]) for begin, stop in sentence_spans(prose))
    return [sentence for sentence in found if any(map(str.isalpha, sentence))]


def _flat(text: str) -> str:
    return " ".join(text.split())
