"""How long work gets on, and what upkeep did and found."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from localmem.types.layers import LayerCost


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long operation is. `total` is None where it cannot be known."""

    stage: str
    done: int
    total: int | None
    unit: str


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """What a memory holds. Messages and turns are those of the branches that are shown.

    `hidden_messages` stand on other branches. `turns_without_summary` and
    `messages_without_vectors` (for the embedder in use; all of them where none is) are open work.
    `sessions_with_facts` and `messages_with_notes` count what a model made of L1 and L2.
    """

    conversations: int
    sessions: int
    turns: int
    messages: int
    hidden_messages: int
    participants: int
    without_time: int
    first_said_at: datetime | None
    last_said_at: datetime | None
    turns_without_summary: int
    messages_without_vectors: int
    dates: int
    embedder: str | None
    generation: int
    file_bytes: int
    unused_bytes: int
    sessions_with_facts: int = 0
    messages_with_notes: int = 0


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export to Markdown did. Counts are of session files; the index is not counted."""

    folder: Path
    sessions: int
    written: int
    unchanged: int
    removed: int
    by_rule: int


@dataclass(frozen=True, slots=True)
class WorkReport:
    """What was derived by one run of background work, and what is still open.

    `pages_placed` counts the pages that went into episodes or founded one.
    """

    summaries_made: int
    vectors_made: int
    summaries_open: int
    vectors_open: int
    seconds: float
    pages_placed: int = 0


class QueueState(StrEnum):
    """What a queue of background work does. PAUSED: told to, or because a question runs."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """How far background work is. `done` and `total` count turns, once for each layer.

    `tokens_per_s` are those that a model wrote; it and `seconds_left` are None while unknown.
    `failed` counts jobs for which the model gave nothing usable.
    """

    state: QueueState
    done: int
    total: int
    jobs_done: int
    jobs_total: int
    failed: int = 0
    tokens_per_s: float | None = None
    seconds_left: float | None = None
    cost: LayerCost = field(default_factory=LayerCost)


@dataclass(frozen=True, slots=True)
class WarmReport:
    """What warming made. `summaries_kept` are L0 lines that the model did not better.

    `records_made` and `records_kept` are the same for what messages tell of people.
    `unread` counts replies that could not be read. `left` counts the turns, once for each layer,
    that are still open; 0 with nothing made: there was nothing to do.
    """

    summaries_made: int
    summaries_kept: int
    sessions_with_facts: int
    sessions_with_notes: int
    unread: int
    failed: int
    left: int
    cost: LayerCost
    seconds: float
    model_id: str | None
    records_made: int = 0
    records_kept: int = 0


class Verdict(StrEnum):
    """How serious a finding of `doctor` is."""

    OK = "ok"
    NOTICE = "notice"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `doctor`: what was looked at, what was found, and the cure."""

    verdict: Verdict
    subject: str
    detail: str
    cure: str = ""
