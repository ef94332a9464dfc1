"""Warming: layers made in the background, for the sessions that are likely to be wanted first.

It decides what is open and in which order it is done; what is done stands in `summarising` (L0)
and behind the layer maker's door (L1, L2).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from localmem.jobs.bettering import RecordUpgrade, Segment
from localmem.jobs.deriving import derive_layer0
from localmem.jobs.freshness import fresh_facts
from localmem.jobs.queue import Job, JobQueue, Questions
from localmem.jobs.remembering import derive_items
from localmem.jobs.summarising import SummaryUpgrade
from localmem.ports import Llm
from localmem.store import Store
from localmem.types import (
    Layer,
    LayerCost,
    QueueStatus,
    Session,
    SessionFacts,
    SessionId,
    SessionNotes,
    WarmReport,
)

DEFAULT_LAYERS = (Layer.SUMMARY, Layer.FACTS)
"""Where nothing else is asked for. Small models make L2 on the way to L1."""

_HALF_LIFE_DAYS = 30.0

Check = Callable[[], None]
OnPart = Callable[[int], None]
OnChange = Callable[[QueueStatus], None]


class LayerMaker(Protocol):
    """Makes L1 and L2 of a session, stored as it goes; stops where `check` raises."""

    def facts(
        self,
        session_id: SessionId,
        *,
        check: Check | None = None,
        on_done: Callable[[int, int], None] | None = None,
    ) -> SessionFacts: ...

    def notes(
        self,
        session_id: SessionId,
        *,
        check: Check | None = None,
        on_done: Callable[[int, int], None] | None = None,
    ) -> SessionNotes: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to warm: these layers, of so many sessions (None: all), for so long (None: no limit).

    `records`: what messages tell of people is read again too, where it left working memory.
    """

    layers: Collection[Layer] = DEFAULT_LAYERS
    sessions: int | None = None
    seconds: float | None = None
    records: bool = True


@dataclass(frozen=True, slots=True)
class WarmModel:
    """The model for layers, by what may be known without loading it.

    `windows`: it passed the self-test for whole sessions.
    """

    key: str
    windows: bool
    load: Callable[[], Llm]


class Warming:
    """One run of warming over a memory: prepare, run, report."""

    def __init__(
        self,
        store: Store,
        model: WarmModel,
        maker: LayerMaker,
        wanted: Wanted,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._model = model
        self._maker = maker
        self._wanted = wanted
        self._monotonic = monotonic
        self._upgrade = SummaryUpgrade(store, model_key=model.key, windows=model.windows)
        self._records = RecordUpgrade(store, model_key=model.key)
        self._with_facts = 0
        self._with_notes = 0

    def prepare(
        self,
        questions: Questions,
        *,
        on_change: OnChange | None = None,
        stop_when: Callable[[], bool] | None = None,
    ) -> JobQueue:
        """Find what is open. No model is loaded for that."""
        derive_layer0(self._store)
        if self._wanted.records:
            derive_items(self._store)
        return JobQueue(
            list(self._jobs()),
            questions,
            monotonic=self._monotonic,
            on_change=on_change,
            stop_when=stop_when,
        )

    def run(self, queue: JobQueue) -> WarmReport:
        """Work through the queue; what it made.

        Raises:
            ModelError: the model could not be loaded, or gives nothing.
        """
        began = self._monotonic()
        status = queue.run(seconds=self._wanted.seconds)
        tally = self._upgrade.tally
        return WarmReport(
            summaries_made=tally.made,
            summaries_kept=tally.kept,
            sessions_with_facts=self._with_facts,
            sessions_with_notes=self._with_notes,
            unread=tally.unread + self._records.tally.unread,
            failed=status.failed,
            left=status.total - status.done,
            cost=status.cost,
            seconds=self._monotonic() - began,
            model_id=self._model.key if status.total else None,
            records_made=self._records.tally.made,
            records_kept=self._records.tally.kept,
        )

    def _jobs(self) -> Iterator[Job]:
        """The most useful session first, and of each L0, then L1, then L2, then its records."""
        layers = sorted(self._wanted.layers)
        with self._store.reading():
            sessions = self._store.sessions()
            opened = self._store.opened_counts()
        open_turns = self._upgrade.open_turns() if Layer.SUMMARY in layers else {}
        done = fresh_facts(self._store, self._model.key) if Layer.FACTS in layers else frozenset()
        segments = self._open_segments()
        ordered = by_utility(sessions, opened)[: self._wanted.sessions]
        for place, (session, utility) in enumerate(ordered):
            first = (len(layers) + 1) * place
            for several in segments.get(session.id, ()):
                name = f"records of participant {several.participant_id}"
                run = self._better(several)
                number = first + len(layers)
                yield Job(name, len(several.open_ids), run, 0, utility, number)
            for layer in layers:
                number = first + layers.index(layer)
                if layer is Layer.SUMMARY and open_turns.get(session.id):
                    size, run = open_turns[session.id], self._summaries(session)
                elif layer is Layer.FACTS and session.id not in done:
                    size, run = session.turn_count, self._facts(session)
                elif layer is Layer.NOTES:
                    size, run = session.turn_count, self._notes(session)
                else:
                    continue
                yield Job(f"L{int(layer)} of session {session.id}", size, run, 0, utility, number)

    def _open_segments(self) -> Mapping[SessionId, list[Segment]]:
        """What left working memory and is open, by the session that it ended in."""
        found: dict[SessionId, list[Segment]] = {}
        for one in self._records.open_segments() if self._wanted.records else ():
            found.setdefault(one.session_id, []).append(one)
        return found

    def _better(self, segment: Segment) -> Callable[[Check, OnPart], LayerCost]:
        return lambda check, told: self._records.run(
            segment, self._model.load(), check=check, on_done=told
        )

    def _summaries(self, session: Session) -> Callable[[Check, OnPart], LayerCost]:
        return lambda check, told: self._upgrade.run(
            session.id, self._model.load(), check=check, on_done=told
        )

    def _facts(self, session: Session) -> Callable[[Check, OnPart], LayerCost]:
        def run(check: Check, told: OnPart) -> LayerCost:
            made = self._maker.facts(session.id, check=check, on_done=_as_turns(session, told))
            self._with_facts += not made.notices
            return made.cost

        return run

    def _notes(self, session: Session) -> Callable[[Check, OnPart], LayerCost]:
        def run(check: Check, told: OnPart) -> LayerCost:
            made = self._maker.notes(session.id, check=check, on_done=_as_turns(session, told))
            self._with_notes += not made.notices
            return made.cost

        return run


def by_utility(
    sessions: Iterable[Session], opened: Mapping[SessionId, int]
) -> list[tuple[Session, float]]:
    """Sessions with their utility, the highest first.

    Recency halves every 30 days, counted back from the memory's newest session, so that an old
    export is not stale as a whole; use is the logarithm of how often a session was opened, beside
    the most opened one. Both lie in [0, 1] and are added. Without a time: no recency.
    """
    several = list(sessions)
    newest = max((s.ended_at for s in several if s.ended_at is not None), default=None)
    most = max(opened.values(), default=0)
    scored = [(s, _recency(s.ended_at, newest) + _use(opened.get(s.id, 0), most)) for s in several]
    return sorted(scored, key=lambda one: (-one[1], -int(one[0].id)))


def _as_turns(session: Session, told: OnPart) -> Callable[[int, int], None]:
    """Messages done of messages, told as turns done."""
    return lambda part, whole: told(session.turn_count * part // max(whole, 1))


def _recency(ended_at: datetime | None, newest: datetime | None) -> float:
    if ended_at is None or newest is None:
        return 0.0
    return float(0.5 ** ((newest - ended_at).total_seconds() / 86_400 / _HALF_LIFE_DAYS))


def _use(opened: int, most: int) -> float:
    return math.log1p(opened) / math.log1p(most) if most else 0.0
