"""Betters records in the background: what left working memory, five neighbours at a time.

The rules made every record at once; a model reads a message again where that may tell more. A
better record replaces a lesser one and never the other way round; where nothing of a reply stands
against the message, the record stays and is marked, so that this model is not asked again. The
memory is held only to read and to store, never while the model works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from localmem.jobs.remembering import renew_items
from localmem.layers.rewriting import tried_mark
from localmem.layers.source import SessionSource, load_source
from localmem.participants.understanding import (
    PROMPT,
    REPLY_TOKENS,
    bettered,
    is_worth_it,
    messages_for,
    read,
)
from localmem.participants.working import queue_of
from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.store import Store
from localmem.store.bettering import RecordMark
from localmem.store.items import CORRECTIONS
from localmem.types import (
    Completion,
    LayerCost,
    MessageId,
    MessageRecord,
    ParticipantId,
    SessionId,
)


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring messages of one participant that left working memory together.

    `open_ids` are those whose record a model may better; `session_id` is that of the newest.
    """

    participant_id: ParticipantId
    open_ids: tuple[MessageId, ...]
    session_id: SessionId


@dataclass(slots=True)
class RecordTally:
    """What bettering has come to so far. `refused` counts parts of replies that did not stand."""

    made: int = 0
    kept: int = 0
    unread: int = 0
    refused: int = 0


class RecordUpgrade:
    """Records by one model. `model_key` names it where it need not be loaded to look for work."""

    def __init__(self, store: Store, *, model_key: str) -> None:
        self._store = store
        self._prompt = load_prompt(PROMPT)
        self._mark = tried_mark(model_key, self._prompt)
        self.tally = RecordTally()

    def open_segments(self) -> tuple[Segment, ...]:
        """What has left working memory and was not read by this model or a better one."""
        with self._store.reading():
            people = [one for one in self._store.participants() if not one.is_assistant]
            found = [one for person in people for one in self._segments_of(person.id)]
        return tuple(found)

    def run(
        self,
        segment: Segment,
        llm: Llm,
        *,
        check: Callable[[], None],
        on_done: Callable[[int], None],
    ) -> LayerCost:
        """Ask about the open messages of a segment, store what stands, make their items anew.

        Raises:
            PostponedError: `check` did; nothing of this segment is stored.
            GenerationError: the model failed.
        """
        check()
        tasks = self._tasks(segment)
        worth = [task for task in tasks if task.is_worth_it]
        kept = [task.record.message_id for task in tasks if not task.is_worth_it]
        replies: list[Completion] = []
        if worth:
            replies = llm.complete_many(
                [messages_for(self._prompt, task.source, task.place) for task in worth],
                max_tokens=REPLY_TOKENS,
                schema=self._prompt.schema,
                on_step=check,
            )
        better: list[MessageRecord] = []
        for task, reply in zip(worth, replies, strict=True):
            record = self._judged(task, reply, llm.model_id)
            if record is None:
                kept.append(task.record.message_id)
            else:
                better.append(record)
        self._put(better, kept)
        on_done(len(segment.open_ids))
        return LayerCost(
            sum(reply.evaluated_tokens for reply in replies),
            sum(reply.completion_tokens for reply in replies),
        )

    def _segments_of(self, participant: ParticipantId) -> Iterator[Segment]:
        ordered = self._store.said_in_order(participant)
        marks = self._store.record_marks(participant)
        _, segments = queue_of(ordered)
        left = {several[-1]: self._open_in(several, marks) for several in segments}
        wanted = [newest for newest, numbers in left.items() if numbers]
        for message in self._store.messages(wanted):
            yield Segment(participant, left[message.id], message.session_id)

    def _open_in(
        self, several: Sequence[MessageId], marks: Mapping[MessageId, RecordMark]
    ) -> tuple[MessageId, ...]:
        there = [(number, marks[number]) for number in several if number in marks]
        return tuple(
            number for number, mark in there if not mark.is_bettered and mark.tried_by != self._mark
        )

    def _tasks(self, segment: Segment) -> list[_Task]:
        """The messages as they are now; those that are gone or were given away are left out."""
        with self._store.reading():
            records = self._store.records_of(segment.open_ids)
            messages = self._store.messages(list(records))
            sources = {
                number: load_source(self._store, number)
                for number in dict.fromkeys(message.session_id for message in messages)
            }
        places: Mapping[MessageId, tuple[SessionSource, int]] = {
            message.id: (source, place)
            for source in sources.values()
            for place, message in enumerate(source.messages)
        }
        return [
            _Task(*places[number], record)
            for number, record in records.items()
            if number in places and record.participant_id == segment.participant_id
        ]

    def _judged(self, task: _Task, reply: Completion, model_id: str) -> MessageRecord | None:
        told = read(reply.text)
        if told is None:
            self.tally.unread += 1
            return None
        found = bettered(task.source, task.place, task.record, told, model_id)
        self.tally.refused += found.refused
        return found.record

    def _put(self, better: Sequence[MessageRecord], kept: Sequence[MessageId]) -> None:
        with self._store.writing():
            made = self._store.better_records(better)
            self.tally.kept += self._store.mark_records_tried(kept, self._mark)
            self.tally.made += made
            if made:
                renew_items(self._store)


@dataclass(frozen=True, slots=True)
class _Task:
    """A message in its session, with its present record."""

    source: SessionSource
    place: int
    record: MessageRecord

    @property
    def is_worth_it(self) -> bool:
        """Whether the model is asked at all; never about what the owner said as a correction."""
        own = self.source.session.source == CORRECTIONS
        return not own and is_worth_it(self.source, self.place)
