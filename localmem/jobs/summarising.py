"""Upgrades L0 in the background: a session's open turns through the model, each stored when done.

A better line replaces a lesser one and never the other way round. The memory is held only to read
and to store, never while the model works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from localmem.layers import rewriting
from localmem.layers.rewriting import TurnText
from localmem.layers.source import load_source
from localmem.ports import Llm
from localmem.prompts import Prompt, load_prompt
from localmem.store import Store
from localmem.types import (
    Completion,
    Layer,
    LayerCost,
    Provenance,
    SessionId,
    TurnId,
    TurnSummary,
    UnreadReply,
)
from localmem.wording import counted

_TURNS_A_CALL = 24
"""Stored after each call: an interruption loses at most so many turns."""

_KEPT_CHARACTERS = 2_000


@dataclass(slots=True)
class SummaryTally:
    """What the upgrade has come to so far."""

    made: int = 0
    kept: int = 0
    unread: int = 0
    refusals: dict[str, int] = field(default_factory=dict)


class SummaryUpgrade:
    """L0 of sessions by one model. `windows`: several turns at once as JSON, for models that can.

    `model_key` names the model where it must not be loaded to learn whether there is work.
    """

    def __init__(self, store: Store, *, model_key: str, windows: bool) -> None:
        self._store = store
        self._windows = windows
        self._prompt = load_prompt("summarise_window" if windows else "summarise_turn")
        self._mark = rewriting.tried_mark(model_key, self._prompt)
        self._window_sha = load_prompt("summarise_window").sha
        self.tally = SummaryTally()

    def open_turns(self) -> Mapping[SessionId, int]:
        """Turns that the model has not seen yet, by session; sessions without are absent."""
        return _counted(
            session_id
            for session_id, provenance in self._store.summary_marks()
            if self._is_open(provenance)
        )

    def run(
        self,
        session_id: SessionId,
        llm: Llm,
        *,
        check: Callable[[], None],
        on_done: Callable[[int], None],
    ) -> LayerCost:
        """Upgrade the open turns of a session.

        Raises:
            PostponedError: `check` did; what was finished is stored.
        """
        evaluated = completed = done = 0
        for batch in _batches(self._open_in(session_id)):
            check()
            worth = [turn for turn in batch if turn.is_worth_it]
            self._keep([turn.summary for turn in batch if not turn.is_worth_it])
            attempt = _Attempt(session_id, llm.model_id, batch[0].source.seen)
            try:
                self._ask(llm, worth, attempt)
            finally:
                self._put(attempt)
            evaluated += sum(reply.evaluated_tokens for reply in attempt.replies)
            completed += sum(reply.completion_tokens for reply in attempt.replies)
            done += len(batch)
            on_done(done)
        return LayerCost(evaluated, completed)

    def _is_open(self, provenance: Provenance) -> bool:
        return rewriting.is_open(
            provenance.model_id,
            provenance.prompt_sha,
            mark=self._mark,
            form="window" if self._windows else "line",
            window_sha=self._window_sha,
        )

    def _open_in(self, session_id: SessionId) -> list[TurnText]:
        with self._store.reading():
            source = load_source(self._store, session_id)
            summaries = {s.turn_id: s for s in self._store.session_summaries(session_id)}
        places: dict[TurnId, list[int]] = {}
        for place, message in enumerate(source.messages):
            places.setdefault(message.turn_id, []).append(place)
        turns = [
            TurnText(source, tuple(places[turn_id]), summaries[turn_id])
            for turn_id in places
            if turn_id in summaries
        ]
        return [turn for turn in turns if self._is_open(turn.summary.provenance)]

    def _ask(self, llm: Llm, turns: Sequence[TurnText], attempt: _Attempt) -> None:
        if not turns:
            return
        if not self._windows:
            self._ask_lines(llm, turns, attempt)
            return
        by_size: dict[int, list[list[TurnText]]] = {}
        for window in rewriting.windows_of(turns):
            by_size.setdefault(len(window), []).append(window)
        for windows in by_size.values():
            self._ask_windows(llm, windows, attempt)

    def _ask_lines(self, llm: Llm, turns: Sequence[TurnText], attempt: _Attempt) -> None:
        def told(number: int, reply: Completion) -> None:
            attempt.replies.append(reply)
            turn = turns[number]
            self._judge(turn, turn.subject + reply.text, attempt, [turn.teller_place])

        llm.complete_many(
            [rewriting.line_messages(self._prompt, turn) for turn in turns],
            max_tokens=rewriting.LINE_TOKENS,
            grammar=rewriting.LINE_GRAMMAR,
            reply_prefixes=[turn.reply_prefix for turn in turns],
            on_done=told,
        )

    def _ask_windows(self, llm: Llm, windows: Sequence[list[TurnText]], attempt: _Attempt) -> None:
        size = len(windows[0])

        def told(number: int, reply: Completion) -> None:
            attempt.replies.append(reply)
            sentences = rewriting.read_window(reply.text, size)
            if sentences is None:
                attempt.unread(windows[number], reply, self._prompt)
                return
            for turn, sentence in zip(windows[number], sentences, strict=True):
                self._judge(turn, sentence, attempt, turn.places)

        llm.complete_many(
            [rewriting.window_messages(self._prompt, window) for window in windows],
            max_tokens=rewriting.window_tokens(size),
            schema=rewriting.window_schema(size),
            on_done=told,
        )

    def _judge(self, turn: TurnText, line: str, attempt: _Attempt, places: Sequence[int]) -> None:
        provenance = rewriting.provenance_of(turn, attempt.model_id, self._prompt)
        judged = rewriting.judge(turn, line, provenance, places=places)
        if judged.summary is not None:
            attempt.made.append(judged.summary)
            return
        attempt.kept.append(turn.summary)
        kind = judged.reason.split(" ", 1)[0]
        self.tally.refusals[kind] = self.tally.refusals.get(kind, 0) + 1

    def _put(self, attempt: _Attempt) -> None:
        """Store what an attempt came to, where the turns are still what the model saw."""
        self.tally.unread += len(attempt.unreadable)
        with self._store.writing():
            self._store.put_unread(attempt.unreadable, seen=attempt.seen)
            made = self._unchanged(attempt.made)
            self._store.put_summaries(made)
            self._keep(attempt.kept)
        self.tally.made += len(made)

    def _keep(self, summaries: Sequence[TurnSummary]) -> None:
        """Mark summaries as ones that this model could not better."""
        if not summaries:
            return
        with self._store.writing():
            stay = self._unchanged([rewriting.kept(one, self._mark) for one in summaries])
            self._store.remark_summaries(stay)
        self.tally.kept += len(stay)

    def _unchanged(self, summaries: Sequence[TurnSummary]) -> list[TurnSummary]:
        """Those whose turn has still the text that they were made from, and no better line."""
        now = {s.turn_id: s for s in self._store.summaries([s.turn_id for s in summaries])}
        return [
            one
            for one in summaries
            if (there := now.get(one.turn_id)) is not None
            and there.provenance.source_sha == one.provenance.source_sha
            and self._is_open(there.provenance)
        ]


@dataclass(slots=True)
class _Attempt:
    """What one call of the model came to."""

    session_id: SessionId
    model_id: str
    seen: int | None
    made: list[TurnSummary] = field(default_factory=list)
    kept: list[TurnSummary] = field(default_factory=list)
    unreadable: list[UnreadReply] = field(default_factory=list)
    replies: list[Completion] = field(default_factory=list)

    def unread(self, window: Sequence[TurnText], reply: Completion, prompt: Prompt) -> None:
        first = window[0]
        self.kept += [turn.summary for turn in window]
        self.unreadable.append(
            UnreadReply(
                layer=Layer.SUMMARY,
                unit_id=int(first.summary.turn_id),
                session_id=self.session_id,
                place=f"{counted(len(window), 'turn')} from turn {first.summary.turn_id}",
                reason="no JSON with a sentence for each turn",
                reply=reply.text[:_KEPT_CHARACTERS],
                provenance=rewriting.provenance_of(first, self.model_id, prompt),
            )
        )


def _counted(ids: Iterable[SessionId]) -> dict[SessionId, int]:
    counts: dict[SessionId, int] = {}
    for number in ids:
        counts[number] = counts.get(number, 0) + 1
    return counts


def _batches(turns: Sequence[TurnText]) -> Iterable[Sequence[TurnText]]:
    for start in range(0, len(turns), _TURNS_A_CALL):
        yield turns[start : start + _TURNS_A_CALL]
