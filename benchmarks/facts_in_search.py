"""Facts for the memories of `retrieval --facts`: by rule, by a model, or from rows made before.

In the product only a model's facts are stored and searched; here those made by rule are stored
too, to see what they would be worth.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets import MessageKey
from benchmarks.facts import layer_model
from localmem.jobs.embedding_facts import derive_fact_vectors
from localmem.layers.cache import LayerModel
from localmem.layers.materialise import Materialiser
from localmem.memory import Memory
from localmem.ports import Embedder
from localmem.types import KeyFact, MadeFacts, MessageId, Provenance, SessionId

NONE = "none"
RULES = "rules"
_ROWS = ".jsonl"


@dataclass(frozen=True, slots=True)
class FactsPut:
    """What was put into one memory, and the seconds of making it (of rows: those they tell)."""

    sessions: int
    facts: int
    seconds: float


class FactMaker:
    """Puts facts into memories as `--facts` says; a model is loaded once."""

    def __init__(self, wanted: str, stack: ExitStack) -> None:
        """`wanted`: "none", "rules", a file of rows by `facts`, or a model by name or path."""
        self._wanted = wanted
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._model: LayerModel | None = None
        if wanted.endswith(_ROWS):
            self._rows = _rows_of(Path(wanted))
        elif wanted not in (NONE, RULES):
            named = argparse.Namespace(model=wanted, whole_session=False, threads=None)
            self._model = layer_model(named, stack)

    def put(self, memory: Memory, history: str, keys: Mapping[MessageId, MessageKey]) -> FactsPut:
        """Make or take the facts of a history and store them with their vectors."""
        if self._wanted == NONE:
            return FactsPut(0, 0, 0.0)
        began = time.perf_counter()
        told = 0.0
        if self._wanted.endswith(_ROWS):
            rows = self._rows.get(history, [])
            told = sum(float(row["seconds"]) for row in rows)
            made = list(_from_rows(memory, rows, keys))
        else:
            made = list(self._made(memory))
        for one in made:
            memory.store.put_facts(one)
        seconds = told or time.perf_counter() - began
        return FactsPut(len(made), sum(len(one.facts) for one in made), seconds)

    def embed(self, memory: Memory, embedder: Embedder | None) -> float:
        """Vectors of the facts; the seconds it took."""
        began = time.perf_counter()
        if embedder is not None and self._wanted != NONE:
            derive_fact_vectors(memory.store, embedder)
        return time.perf_counter() - began

    def _made(self, memory: Memory) -> Iterator[MadeFacts]:
        maker = Materialiser(memory.store, lambda: self._model)
        for session in memory.sessions():
            facts = maker.facts(session.id).facts
            yield MadeFacts(session.id, facts, Provenance(self._wanted, "", ""))


def _rows_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of a file by history; their key is "HISTORY/NUMBER"."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(str(row["key"]).rpartition("/")[0], []).append(row)
    return found


def _from_rows(
    memory: Memory, rows: Sequence[Mapping[str, Any]], keys: Mapping[MessageId, MessageKey]
) -> Iterator[MadeFacts]:
    """The facts of rows; a source that names no stored message is left out."""
    by_source = {source: number for number, (_, source) in keys.items()}
    session_of = {m.id: m.session_id for m in memory.store.messages(list(keys))}
    by = Provenance("rows", "", "")
    by_session: dict[SessionId, list[KeyFact]] = {}
    for fact in (fact for row in rows for fact in row["facts"]):
        ids = tuple(by_source[source] for source in fact["sources"] if source in by_source)
        if ids:
            facts = by_session.setdefault(session_of[ids[0]], [])
            missing = tuple(fact["missing"])
            facts.append(KeyFact(session_of[ids[0]], len(facts), fact["text"], ids, missing, by))
    for session_id, facts in by_session.items():
        yield MadeFacts(session_id, tuple(facts), by)
