"""Layers on demand: looked up in the store, made by a model where time allows, else by rule.

What a model made is stored with what it was made from and by, and is fresh only while that is
so. What is made by rule takes milliseconds, so it is never stored: it cannot grow old, and a
model's work is never replaced by it. A reply that cannot be read becomes no memory; the message
it was about is noted by rule, and the same model is not asked about it again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from localmem.errors import GenerationError, ModelError
from localmem.layers import messagewise, whole
from localmem.layers.cache import LayerCache, LayerModel
from localmem.layers.choosing import choose_facts
from localmem.layers.draft import Check, Failure, Work, shortened
from localmem.layers.keeper import NoteKeeper, as_facts, as_unread
from localmem.layers.source import SessionSource, load_source
from localmem.store import Store
from localmem.types import (
    Layer,
    LayerCost,
    MadeFacts,
    MessageId,
    SessionFacts,
    SessionId,
    SessionNotes,
)

NO_TIME = "partly made by rule: the time did not allow more"
NO_MODEL = "made by rule, without a language model"
OLDER = "partly made from an older state of the session"
UNREAD = "partly made by rule: a reply of the model could not be read"

OnDone = Callable[[int, int], None]
"""Hears how many messages of how many are done."""

_POLL_S = 0.05
_LEAST_PACE_S = 0.01


class _TimeIsUpError(Exception):
    """The seconds that a request may take are over."""


@dataclass(slots=True)
class _Request:
    """One call: its limits, what it cost, and why something of it is made by rule."""

    seconds: float | None
    check: Check | None
    stale_ok: bool
    on_done: OnDone | None
    monotonic: Callable[[], float]
    reason: str = ""
    began: float = field(init=False)
    work: Work = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.monotonic()
        self.work = Work(self.step, self.seconds_left)

    def step(self) -> None:
        """Raises where the time is up or the caller stops."""
        if self.check is not None:
            self.check()
        left = self.seconds_left()
        if left is not None and left <= 0:
            raise _TimeIsUpError

    def seconds_left(self) -> float | None:
        """How much of the time is left; None where there is no limit."""
        if self.seconds is None:
            return None
        return self.began + self.seconds - self.monotonic()

    def tell(self, done: int, total: int) -> None:
        if self.on_done is not None:
            self.on_done(done, total)

    def cost(self) -> LayerCost:
        """All zero where no model was asked."""
        if self.work.tally.is_empty:
            return LayerCost()
        return self.work.tally.cost(self.monotonic() - self.began)

    def notices(self, *, stale: bool, by_rule: bool) -> tuple[str, ...]:
        found = (OLDER if stale else "", self.reason if by_rule else "")
        return tuple(notice for notice in found if notice)


class Materialiser:
    """L1 and L2 of sessions. Safe for threads: two that want one session wait for one job.

    Two processes may both make the same layer; the second stores the same rows again.
    """

    def __init__(
        self,
        store: Store,
        model: Callable[[], LayerModel | None],
        *,
        on_facts: Callable[[], None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`model` loads the model for layers; None, or ModelError: layers are made by rule.

        `on_facts` hears that L1 of a session was stored.
        """
        self._store = store
        self._model = model
        self._on_facts = on_facts
        self._monotonic = monotonic
        self._paces: dict[str, float] = {}
        self._cache = LayerCache(store)
        self._flights: dict[SessionId, threading.Lock] = {}
        self._guard = threading.Lock()

    def facts(
        self,
        session_id: SessionId,
        *,
        seconds: float | None = None,
        stale_ok: bool = False,
        check: Check | None = None,
        on_done: OnDone | None = None,
    ) -> SessionFacts:
        """L1 of a session, best first.

        `seconds` bounds what a model may take (0: none is loaded, and an older state of the layer
        may be served, which `fresh` tells). `stale_ok` allows an older state in any case where
        the model does not make it now. `check` is called between steps and may raise to stop.

        Raises:
            RecordNotFoundError: there is no such session.
            PostponedError: `check` raised it; what was finished by then is stored.
        """
        request = self._request(seconds, check, on_done, stale_ok=stale_ok)
        model = self._loaded(request, seconds)
        source = load_source(self._store, session_id)
        found = self._cache.fresh_facts(source, model)
        if found is None and model is not None:
            with self._flight(session_id, request) as taken:
                if taken:
                    source = load_source(self._store, session_id)
                    found = self._cache.fresh_facts(source, model)
                    found = found or self._make_facts(source, model, request)
        if found is not None:
            return SessionFacts(session_id, found.facts, fresh=True, cost=request.cost())
        at_hand = self._cache.facts_at_hand(source, model, stale_ok=request.stale_ok)
        notices = request.notices(stale=at_hand.stale, by_rule=at_hand.by_rule)
        return SessionFacts(session_id, at_hand.facts, not at_hand.stale, request.cost(), notices)

    def notes(
        self,
        session_id: SessionId,
        *,
        message_ids: Sequence[MessageId] | None = None,
        seconds: float | None = None,
        stale_ok: bool = False,
        check: Check | None = None,
        on_done: OnDone | None = None,
    ) -> SessionNotes:
        """L2 of a session, or of these messages of it, in their order; the rest as `facts`.

        Raises:
            RecordNotFoundError: there is no such session.
            PostponedError: `check` raised it; what was finished by then is stored.
        """
        request = self._request(seconds, check, on_done, stale_ok=stale_ok)
        model = self._loaded(request, seconds)
        source = load_source(self._store, session_id)
        places = _places(source, message_ids)
        if model is not None and self._cache.open_places(source, places, model):
            with self._flight(session_id, request) as taken:
                if taken:
                    source = load_source(self._store, session_id)
                    places = _places(source, message_ids)
                    self._make_notes(source, places, model, request)
        at_hand = self._cache.notes_at_hand(source, places, model, stale_ok=request.stale_ok)
        notices = request.notices(stale=at_hand.stale > 0, by_rule=at_hand.by_rule > 0)
        return SessionNotes(session_id, at_hand.notes, not at_hand.stale, request.cost(), notices)

    def _request(
        self,
        seconds: float | None,
        check: Check | None,
        on_done: OnDone | None,
        *,
        stale_ok: bool,
    ) -> _Request:
        never = seconds is not None and seconds <= 0
        return _Request(seconds, check, stale_ok or never, on_done, self._monotonic)

    def _loaded(self, request: _Request, seconds: float | None) -> LayerModel | None:
        request.reason = NO_TIME
        if seconds is not None and seconds <= 0:
            return None
        try:
            model = self._model()
        except ModelError as error:
            request.reason = f"{error.message}: made by rule"
            return None
        # With a model at hand, what remains by rule is what it could not say.
        request.reason = NO_MODEL if model is None else UNREAD
        return model

    @contextmanager
    def _flight(self, session_id: SessionId, request: _Request) -> Iterator[bool]:
        """Inside the block nobody else makes this session's layers; False where time ran out."""
        with self._guard:
            lock = self._flights.setdefault(session_id, threading.Lock())
        try:
            while not lock.acquire(timeout=_POLL_S):
                request.step()
        except _TimeIsUpError:
            request.reason = NO_TIME
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _make_facts(
        self, source: SessionSource, model: LayerModel, request: _Request
    ) -> MadeFacts | None:
        """L1 by the model, stored; None where it could not be made to its end."""
        made = None
        wanted = model.facts_provenance(source)
        if model.whole_session:
            made = self._list_facts(source, model, request)
        else:
            places = range(len(source.messages))
            self._make_notes(source, places, model, request)
            at_hand = self._cache.notes_at_hand(source, places, model, stale_ok=False)
            if not at_hand.by_rule:
                facts = choose_facts(source, at_hand.notes, wanted)
                made = MadeFacts(source.session.id, facts, wanted)
        if made is not None:
            self._store.put_facts(made, seen=source.seen)
            if self._on_facts is not None:
                self._on_facts()
        return made

    def _list_facts(
        self, source: SessionSource, model: LayerModel, request: _Request
    ) -> MadeFacts | None:
        """L1 as the paper makes it; None where time ran out or a reply could not be read."""
        if self._cache.could_not_list(source, model):
            return None
        wanted = model.facts_provenance(source)
        listed: list[whole.Cited] = []
        unread: Failure | None = None
        with self._stopping(request) as stopped:
            for window in whole.list_facts(model.llm, source, request.work):
                unread = unread or window.failure
                listed += window.lines
                request.tell(window.places.stop, len(source.messages))
        failure = stopped.failure or unread
        if failure is not None:
            if not failure.reply:
                request.reason = f"{failure.reason}: made by rule"
            unit = int(source.session.id)
            reply = as_unread(source, Layer.FACTS, unit, failure, wanted)
            self._store.put_unread([reply], seen=source.seen)
        if failure is not None or not stopped.finished:
            return None
        return MadeFacts(source.session.id, as_facts(source, listed, wanted), wanted)

    def _make_notes(
        self,
        source: SessionSource,
        places: Sequence[int],
        model: LayerModel,
        request: _Request,
    ) -> None:
        """L2 by the model, stored as it comes."""
        wanted = self._cache.open_places(source, places, model)
        if not wanted:
            return
        keeper = NoteKeeper(self._store, source, model, wanted, request.tell)
        request.work.pace_s = self._paces.get(model.llm.model_id, request.work.pace_s)
        began = self._monotonic()
        with self._stopping(request) as stopped:
            try:
                if model.whole_session:
                    for window in whole.list_notes(model.llm, source, wanted, request.work):
                        keeper.take(window)
                else:
                    messagewise.write_notes(
                        model.llm, source, wanted, request.work, keeper.on_draft
                    )
            finally:
                keeper.store()
                if keeper.done:
                    spent = self._monotonic() - began
                    self._paces[model.llm.model_id] = max(spent / keeper.done, _LEAST_PACE_S)
        if stopped.failure is not None:
            request.reason = f"{stopped.failure.reason}: made by rule"
            keeper.keep_failure(stopped.failure)

    @contextmanager
    def _stopping(self, request: _Request) -> Iterator[_Stopped]:
        """Lets a model's work end early: told in what is yielded, not raised."""
        stopped = _Stopped()
        try:
            yield stopped
            stopped.finished = True
        except _TimeIsUpError:
            request.reason = NO_TIME
        except GenerationError as error:
            stopped.failure = Failure(shortened(error.message), "")


@dataclass(slots=True)
class _Stopped:
    """How a model's work ended."""

    finished: bool = False
    failure: Failure | None = None


def _places(source: SessionSource, message_ids: Sequence[MessageId] | None) -> list[int]:
    wanted = None if message_ids is None else frozenset(message_ids)
    return [
        place
        for place, message in enumerate(source.messages)
        if wanted is None or message.id in wanted
    ]
