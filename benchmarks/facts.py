"""python -m benchmarks facts: facts and notes against LoCoMo's own lists of observations.

A gold fact is found when one note (or fact) that rests on the same message shares at least half
of its content words, stemmed. "without names" leaves the speakers' names out on both sides, since
every note has them. Figures go to OUT, a line a session to OUT's neighbour .jsonl, and 100 facts
drawn at random, each with its message, to OUT's neighbour -sample.txt for reading by hand: these
hold benchmark text and are not for the repository.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import Any

from benchmarks.answer_data import split_conversations
from benchmarks.rows import read_rows, rows_beside, write_row
from localmem.backends import open_llm
from localmem.config import load_config
from localmem.layers.cache import LayerModel
from localmem.layers.choosing import body_of
from localmem.layers.materialise import Materialiser
from localmem.memory import ImportOptions, Memory
from localmem.modelstore import Catalog, ModelStore
from localmem.paths import config_file, models_folder
from localmem.types import KeyFact, LlmFiles, Message, Session, TurnNote
from localmem.words import Analyser

RULES = "rules"
FOUND_FROM = 0.5
_SAMPLE = 100
_SESSION_KEY = re.compile(r"session_(\d+)_observation")


@dataclass(frozen=True, slots=True)
class GoldFact:
    """One observation: the text, and the ids of the messages it was made from."""

    text: str
    source_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """One note or fact with the messages it rests on, as a row keeps it."""

    text: str
    sources: tuple[str, ...]
    missing: tuple[str, ...]
    maker: str


@dataclass(frozen=True, slots=True)
class SessionRow:
    """What one session gave."""

    key: str
    messages: int
    gold: int
    found_notes: int
    found_facts: int
    found_notes_without_names: int
    found_facts_without_names: int
    seconds: float
    evaluated_tokens: int
    completion_tokens: int
    notices: tuple[str, ...]
    notes: tuple[Told, ...]
    facts: tuple[Told, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("--data", type=Path, required=True, metavar="FILE")
    parser.add_argument("--model", default=RULES, help="name of the catalog, a path, or 'rules'")
    parser.add_argument("--conversations", default="conv-26,conv-49", metavar="NAMES")
    parser.add_argument("--whole-session", action="store_true", help="ask as the paper does")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--limit", type=int, default=None, metavar="SESSIONS")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--resume", action="store_true", help="go on where OUT's rows end")
    parser.add_argument("--json", type=Path, required=True, metavar="OUT", dest="out")


def run(args: argparse.Namespace) -> int:
    """Make, score and write the files."""
    rows_file = rows_beside(args.out, resume=args.resume)
    rows = {row.key: row for row in read_rows(rows_file, _of_values)}
    with ExitStack() as stack, rows_file.open("a", encoding="utf-8") as out:
        model = None if args.model == RULES else layer_model(args, stack)
        for key, make in _sessions(args, stack, model):
            if key in rows:
                continue
            rows[key] = make()
            write_row(out, rows[key])
            print(f"{key}: {rows[key].found_notes}/{rows[key].gold}", file=sys.stderr, flush=True)
    report = {"model": args.model, "whole_session": args.whole_session, **summary(rows.values())}
    args.out.write_text(json.dumps(report, indent=2), encoding="utf-8")
    _write_sample(args.out, list(rows.values()), args.seed)
    print(json.dumps(report, indent=2))
    return 0


def summary(rows: Any) -> dict[str, Any]:
    """The figures of a run."""
    found = list(rows)
    gold = sum(row.gold for row in found)
    messages = sum(row.messages for row in found)
    notes = [note for row in found for note in row.notes]
    facts = [fact for row in found for fact in row.facts]
    asked = [note for note in notes if note.maker != RULES]
    return {
        "sessions": len(found),
        "messages": messages,
        "gold": gold,
        "recall_notes": _share(sum(row.found_notes for row in found), gold),
        "recall_facts": _share(sum(row.found_facts for row in found), gold),
        "recall_notes_without_names": _share(
            sum(row.found_notes_without_names for row in found), gold
        ),
        "recall_facts_without_names": _share(
            sum(row.found_facts_without_names for row in found), gold
        ),
        "notes": len(notes),
        "facts": len(facts),
        "facts_per_session": _share(len(facts), len(found)),
        "notes_per_message": _share(len(notes), messages),
        "words_per_note": _share(sum(len(note.text.split()) for note in notes), len(notes)),
        "unsupported_notes": _share(sum(bool(note.missing) for note in notes), len(notes)),
        "unsupported_facts": _share(sum(bool(fact.missing) for fact in facts), len(facts)),
        "notes_by_rule": len(notes) - len(asked),
        "seconds_per_message": _share(sum(row.seconds for row in found), messages),
        "evaluated_tokens_per_message": _share(
            sum(row.evaluated_tokens for row in found), messages
        ),
        "completion_tokens_per_message": _share(
            sum(row.completion_tokens for row in found), messages
        ),
    }


def count_found(gold: Sequence[GoldFact], told: Sequence[Told], names: Sequence[str] = ()) -> int:
    """How many gold facts a told one from the same message shares half the content words with.

    `names` are left out on both sides.
    """
    analyser = Analyser()
    left_out = set(analyser.terms(" ".join(names)))
    said = [(frozenset(one.sources), set(analyser.terms(body_of(one.text)))) for one in told]
    found = 0
    for fact in gold:
        words = set(analyser.terms(fact.text)) - left_out
        near = (terms for sources, terms in said if sources & set(fact.source_ids))
        found += any(len(words & terms) >= FOUND_FROM * len(words) for terms in near)
    return found


def observations(chat: Mapping[str, Any]) -> dict[int, list[GoldFact]]:
    """A conversation's gold facts by the number of the session in the file."""
    found: dict[int, list[GoldFact]] = {}
    for key, by_speaker in chat["observation"].items():
        match = _SESSION_KEY.fullmatch(key)
        if match is None:
            continue
        facts = found.setdefault(int(match.group(1)), [])
        for several in by_speaker.values():
            facts += [GoldFact(str(text), _source_ids(named)) for text, named in several]
    return found


def _source_ids(named: Any) -> tuple[str, ...]:
    parts = named if isinstance(named, list) else [named]
    return tuple(i for part in parts for i in re.split(r"[;,\s]+", str(part)) if i)


# --- Making -------------------------------------------------------------------------------


def _sessions(
    args: argparse.Namespace, stack: ExitStack, model: LayerModel | None
) -> Iterator[tuple[str, Any]]:
    """Each session's key, with what makes its row."""
    wanted = args.conversations.split(",")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    files = split_conversations(args.data, folder)
    chats = {c["sample_id"]: c for c in json.loads(args.data.read_text(encoding="utf-8"))}
    done = 0
    for name in wanted:
        memory = stack.enter_context(Memory.open(folder / f"{name}.duckdb", idle_s=3600.0))
        memory.import_(files[name], ImportOptions(tz=UTC, later=True))
        made = Materialiser(memory.store, lambda: model)
        gold = observations(chats[name])
        for session in reversed(memory.sessions()):
            messages = memory.store.session_messages(session.id)
            ids = source_ids(chats[name], messages)
            number = int(ids[0].partition(":")[0].removeprefix("D"))
            if args.limit is not None and done >= args.limit:
                return
            done += 1
            yield (
                f"{name}/{number}",
                lambda s=session, m=messages, i=ids, n=number, made=made, gold=gold, name=name: (
                    _row(f"{name}/{n}", made, s, m, i, gold.get(n, []))
                ),
            )


def source_ids(chat: Mapping[str, Any], messages: Sequence[Message]) -> list[str]:
    """The file's ids ("D1:3") of a session's messages, found by speaker and text."""
    by_text: dict[tuple[str, str], list[str]] = {}
    for key, turns in chat["conversation"].items():
        if re.fullmatch(r"session_\d+", key):
            for turn in turns:
                place = (turn["speaker"], " ".join(str(turn["text"]).split()))
                by_text.setdefault(place, []).append(turn["dia_id"])
    return _nearest(messages, by_text)


def _nearest(
    messages: Sequence[Message], by_text: Mapping[tuple[str, str], Sequence[str]]
) -> list[str]:
    options = [by_text.get((m.speaker, " ".join(m.text.split())), ()) for m in messages]
    sessions = [i.partition(":")[0] for several in options if len(several) == 1 for i in several]
    home = max(set(sessions), key=sessions.count)
    return [
        next((i for i in several if i.partition(":")[0] == home), f"{home}:?")
        for several in options
    ]


def _row(
    key: str,
    made: Materialiser,
    session: Session,
    messages: Sequence[Message],
    ids: Sequence[str],
    gold: Sequence[GoldFact],
) -> SessionRow:
    began = time.perf_counter()
    notes = made.notes(session.id)
    facts = made.facts(session.id)
    seconds = time.perf_counter() - began
    names = sorted({message.speaker for message in messages})
    by_id = dict(zip((message.id for message in messages), ids, strict=True))
    told_notes = tuple(_told(note, [by_id[note.message_id]]) for note in notes.notes)
    told_facts = tuple(_told(f, [by_id[i] for i in f.message_ids]) for f in facts.facts)
    return SessionRow(
        key=key,
        messages=len(messages),
        gold=len(gold),
        found_notes=count_found(gold, told_notes),
        found_facts=count_found(gold, told_facts),
        found_notes_without_names=count_found(gold, told_notes, names),
        found_facts_without_names=count_found(gold, told_facts, names),
        seconds=seconds,
        evaluated_tokens=notes.cost.evaluated_tokens + facts.cost.evaluated_tokens,
        completion_tokens=notes.cost.completion_tokens + facts.cost.completion_tokens,
        notices=tuple(dict.fromkeys((*notes.notices, *facts.notices))),
        notes=told_notes,
        facts=told_facts,
    )


def _told(one: TurnNote | KeyFact, sources: Sequence[str]) -> Told:
    return Told(one.text, tuple(sources), one.missing, one.provenance.model_id)


def layer_model(args: argparse.Namespace, stack: ExitStack) -> LayerModel:
    """The model of `--model`, loaded until the stack ends."""
    config = load_config(config_file())
    path = Path(args.model).expanduser()
    if path.is_file():
        files = LlmFiles(path.stem, path)
    else:
        files = ModelStore(models_folder(), Catalog.load()).llm(args.model)
    llm = open_llm(
        replace(files),
        engine=config.models.engine,
        context_tokens=8192 if args.whole_session else 4096,
        threads=args.threads,
    )
    stack.callback(llm.close)
    return LayerModel(llm, args.whole_session)


# --- Rows ---------------------------------------------------------------------------------


def _of_values(values: Mapping[str, Any]) -> SessionRow:
    told = {
        name: tuple(
            Told(o["text"], tuple(o["sources"]), tuple(o["missing"]), o["maker"])
            for o in values[name]
        )
        for name in ("notes", "facts")
    }
    return SessionRow(**{**values, **told, "notices": tuple(values["notices"])})


def _write_sample(out: Path, rows: Sequence[SessionRow], seed: int) -> None:
    drawn = [(row.key, fact) for row in rows for fact in row.facts]
    if len(drawn) > _SAMPLE:
        drawn = random.Random(seed).sample(drawn, _SAMPLE)  # noqa: S311 - a sample, not a secret
    lines = [
        f"{number}. [{key} {', '.join(fact.sources)}] {fact.text}"
        + (f"   (missing: {', '.join(fact.missing)})" if fact.missing else "")
        for number, (key, fact) in enumerate(drawn, start=1)
    ]
    out.with_name(f"{out.stem}-sample.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0
