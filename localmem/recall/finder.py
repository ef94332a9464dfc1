"""Searches a memory: from a question to the messages to show.

It holds the memory only while it reads; the embedder works outside of that. Keeping the index in
step with the memory is `LoadedIndex`'s, weighing and ranking are the retriever's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from localmem.dates import resolve_question
from localmem.ports import Embedder
from localmem.recall.episode_lens import LensQuestion, lens_wanted
from localmem.recall.episode_shelf import EpisodeLens
from localmem.recall.fact_search import FactSearch, facts_wanted
from localmem.recall.loaded import Loaded, LoadedIndex
from localmem.recall.ranking import Stage, chained
from localmem.recall.route import Route
from localmem.recall.routing import (
    GraphInTime,
    Plan,
    Routes,
    graph_of,
    make_stage,
    needs_stage,
    neighbours,
    plan,
    routes_named,
)
from localmem.store import Store
from localmem.store.personas import PersonaNode
from localmem.types import (
    ConversationKind,
    FoundMessage,
    Hit,
    Message,
    MessageId,
    ResolvedDate,
    SearchFilter,
    SearchResult,
    Session,
    SessionId,
)
from localmem.wording import counted

_MOST_AT_HAND = 50_000
"""Messages; about 50 MB."""

Vector = NDArray[np.float32]

_GraphStamp = tuple[int, bool, tuple[PersonaNode, ...]]
"""Generation, whether items are in it, and the persona snapshots, which change with neither."""


@dataclass(frozen=True, slots=True)
class _AtHand:
    """All messages and their dates as they were at a generation."""

    generation: int
    messages: Mapping[MessageId, Message]
    dates: Mapping[MessageId, tuple[ResolvedDate, ...]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call of `Finder.search`."""

    query: str
    k: int
    mode: str
    limits: SearchFilter
    asked_at: datetime
    routes: Routes
    evidence_only: bool = False


class Finder:
    """Search over one memory. Safe for threads: one search at a time.

    `embedder_of` gives the embedder with a model id, or None where it is not on this machine.
    """

    def __init__(
        self,
        store: Store,
        embedder_of: Callable[[str], Embedder | None],
        *,
        weights: str = "default",
        routes: str = Routes.OFF,
        facts: str = "off",
        episodes: str = "off",
    ) -> None:
        self._store = store
        self._embedder_of = embedder_of
        self._index = LoadedIndex(store, weights)
        self._routes = routes_named(routes)
        self._facts = FactSearch(store) if facts_wanted(facts) else None
        self._lens = EpisodeLens(store) if lens_wanted(episodes) else None
        self._at_hand: _AtHand | None = None
        self._searched_at: int | None = None
        self._graph: tuple[_GraphStamp, GraphInTime] | None = None
        self._lock = threading.RLock()

    def search(
        self,
        query: str,
        *,
        k: int,
        mode: str,
        limits: SearchFilter,
        asked_at: datetime,
        routes: Routes | None = None,
        evidence_only: bool = False,
    ) -> SearchResult:
        """The best `k` messages, as `Memory.search` gives them. `routes` stands for the finder's.

        `evidence_only` passes over what the memory itself replied to its owner or was only asked.

        Raises:
            UsageError, RecordNotFoundError, StoreError
        """
        started = time.perf_counter()
        asked = _Asked(query, k, mode, limits, asked_at, routes or self._routes, evidence_only)
        with self._lock:
            found, notices, sessions_total = self._search(asked)
        return SearchResult(
            query=query,
            mode=mode,
            found=found,
            sessions_total=sessions_total,
            seconds=time.perf_counter() - started,
            notices=notices,
        )

    def forget(self) -> None:
        """Drop what is loaded; the next search reads the memory anew."""
        with self._lock:
            self._index.forget()
            self._at_hand = self._searched_at = self._graph = None
            if self._facts is not None:
                self._facts.forget()
            if self._lens is not None:
                self._lens.forget()

    def save_snapshots(self) -> None:
        """Store the index as bytes with the generation it stands for, for the next start."""
        with self._lock:
            with self._store.reading():
                loaded = self._index.current()
            self._index.save(loaded)
            if self._facts is not None:
                self._facts.save(loaded.model_id)

    def neighbours(
        self,
        query: str,
        found: Sequence[MessageId],
        *,
        most: int,
        route: Route | None = None,
    ) -> tuple[FoundMessage, ...]:
        """What the graph leads to from messages that a search found, best first, at most `most`.

        Scores are those of the graph, up to 1. `route` stands for the route by rule.
        """
        with self._lock, self._store.reading():
            loaded = self._index.current()
            if not len(loaded.retriever):
                return ()
            graph = self._graph_at(loaded, with_items=True).graph
            planned = self._plan(query, loaded)
            planned = planned if route is None else replace(planned, route=route)
            reached = neighbours(graph, planned, found, most)
            corpus = loaded.retriever.corpus
            places = corpus.places(list(reached)).tolist()
            hits = [
                Hit(number, score, "graph")
                for place, (number, score) in zip(places, reached.items(), strict=True)
                if corpus.is_evidence[place]
            ]
            return self._found(hits, loaded.sessions)

    def fetched(
        self, ids: Sequence[MessageId], score: float, mode: str
    ) -> tuple[FoundMessage, ...]:
        """Messages by their ids, in that order, as if a search had found them with this score.

        Raises:
            RecordNotFoundError: one of them is not stored.
        """
        with self._store.reading():  # without our lock, which is taken before the memory's
            loaded, at_hand = self._index.loaded, self._at_hand
            now = self._store.generation()
            if loaded is not None and at_hand is not None and at_hand.generation == now:
                messages = [at_hand.messages[n] for n in ids if n in at_hand.messages]
                if loaded.generation == now and len(messages) == len(ids):
                    hits = [Hit(number, score, mode) for number in ids]
                    return _shown(hits, messages, at_hand.dates, loaded.sessions)
            messages = list(self._store.messages(ids))
            sessions = self._store.sessions_of([message.session_id for message in messages])
            return _shown(
                [Hit(number, score, mode) for number in ids],
                messages,
                self._store.dates_of(ids),
                {session.id: session for session in sessions},
            )

    def _search(self, asked: _Asked) -> tuple[tuple[FoundMessage, ...], tuple[str, ...], int]:
        query, mode, limits = asked.query, asked.mode, asked.limits
        vector, embedded_by = self._query_vector(query, mode)
        dates = resolve_question(query, asked.asked_at)
        planned = self._planned(asked)
        about = self._about(planned, vector, embedded_by)
        with self._store.reading():
            loaded = self._index.current()
            if limits.participant is not None:
                person = self._store.find_participant(limits.participant)
                limits = replace(limits, participant=person.name)
            if dates or (planned is not None and planned.terms.dated):
                self._index.with_dates(loaded)
            if mode == "rrf":
                self._index.with_summaries(loaded)
            same = embedded_by == loaded.model_id
            stages = self._with_facts(asked, loaded, vector if same else None)
            if planned is not None and len(loaded.retriever):
                graph = self._graph_at(loaded, with_items=asked.routes.is_paper)
                stages.append(make_stage(planned, asked.routes, graph, about if same else None))
            stages += self._with_episodes(asked, loaded, vector if same else None)
            hits = loaded.retriever.search(
                query,
                embed_query=vector if same else None,
                mode=mode,
                k=asked.k,
                limits=limits,
                question_dates=dates,
                stage=chained(stages) if stages else None,
                evidence_only=asked.evidence_only,
            )
            found = self._found(hits, loaded.sessions)
        notices = self._notices(loaded, embedded_by, mode)
        if stages and same and self._facts is not None:
            notices += self._facts.notices()
        return found, notices, len(loaded.sessions)

    def _with_facts(self, asked: _Asked, loaded: Loaded, vector: Vector | None) -> list[Stage]:
        """The stage of the facts, where they are searched and there are some."""
        if self._facts is None or asked.mode != "learned":
            return []
        stage = self._facts.stage(asked.query, vector, loaded.model_id)
        return [] if stage is None else [stage]

    def _with_episodes(self, asked: _Asked, loaded: Loaded, vector: Vector | None) -> list[Stage]:
        """The stage of the episodes, where it is wanted and there are some."""
        if self._lens is None or asked.mode != "learned":
            return []
        stage = self._lens.stage(LensQuestion(asked.query, vector), loaded.model_id)
        return [] if stage is None else [stage]

    def _planned(self, asked: _Asked) -> Plan | None:
        """The route of a question; None where it changes nothing."""
        if asked.mode != "learned" or self._index.loaded is None or asked.routes is Routes.OFF:
            return None
        planned = self._plan(asked.query, self._index.loaded)
        return planned if needs_stage(planned, asked.routes) else None

    def _plan(self, query: str, loaded: Loaded) -> Plan:
        kinds = {session.kind for session in loaded.sessions.values()}
        return plan(query, loaded.people, among_people=ConversationKind.PEOPLE in kinds)

    def _about(
        self, planned: Plan | None, vector: Vector | None, embedded_by: str | None
    ) -> Vector | None:
        """The vector of the question without its people; a second embedding only where needed."""
        if planned is None or not planned.about or vector is None or embedded_by is None:
            return None
        return self._embedded(planned.about, embedded_by)[0]

    def _graph_at(self, loaded: Loaded, *, with_items: bool) -> GraphInTime:
        """The graph of what is loaded, made anew after a change; only some uses want items."""
        snapshots = self._store.persona_nodes() if with_items else ()
        stamp = (loaded.generation, with_items, snapshots)
        if self._graph is None or self._graph[0] != stamp:
            topics = {int(one.turn_id): one.keywords for one in self._store.all_summaries()}
            items = self._store.items() if with_items else ()
            made = graph_of(loaded.retriever.corpus, loaded.sessions, topics, items, snapshots)
            self._graph = (stamp, made)
        return self._graph[1]

    def _query_vector(self, query: str, mode: str) -> tuple[Vector | None, str | None]:
        """The query's vector and the embedder that made it, while the memory is being loaded."""
        if mode == "bm25" or not query.strip():
            self._refresh()
            return None, None
        model_id = (
            self._index.loaded.model_id if self._index.loaded else self._store.active_embedder()
        )
        if model_id is None:
            self._refresh()
            model_id = self._index.loaded.model_id if self._index.loaded else None
            return self._embedded(query, model_id)
        if self._index.loaded is not None:
            return self._embedded(query, model_id)
        with ThreadPoolExecutor(max_workers=1) as beside:
            vector = beside.submit(self._embedded, query, model_id)
            self._refresh()
            return vector.result()

    def _embedded(self, query: str, model_id: str | None) -> tuple[Vector | None, str | None]:
        embedder = self._embedder_of(model_id) if model_id else None
        if embedder is None:
            return None, None
        return embedder.embed_query(query), embedder.model_id

    def _refresh(self) -> None:
        with self._store.reading():
            self._index.current()

    def _found(
        self, hits: Sequence[Hit], sessions: Mapping[SessionId, Session]
    ) -> tuple[FoundMessage, ...]:
        ids = [hit.message_id for hit in hits]
        messages, dates = self._read(ids)
        return _shown(hits, messages, dates, sessions)

    def _read(
        self, ids: Sequence[MessageId]
    ) -> tuple[Sequence[Message], Mapping[MessageId, tuple[ResolvedDate, ...]]]:
        """The messages with their dates: from the store, or from what is at hand.

        A program that searches a memory again takes all messages to hand until the memory changes,
        if they are not too many: two queries of the store cost more than the search itself.
        """
        loaded, at_hand = self._index.loaded, self._at_hand
        if loaded is None or len(loaded.retriever) > _MOST_AT_HAND:
            return self._store.messages(ids), self._store.dates_of(ids)
        if at_hand is None or at_hand.generation != loaded.generation:
            if self._searched_at != loaded.generation:
                self._searched_at = loaded.generation
                return self._store.messages(ids), self._store.dates_of(ids)
            at_hand = self._at_hand = _AtHand(
                loaded.generation,
                {message.id: message for message in self._store.shown_messages()},
                self._store.all_dates(),
            )
        return [at_hand.messages[number] for number in ids], at_hand.dates

    def _notices(self, loaded: Loaded, embedded_by: str | None, mode: str) -> tuple[str, ...]:
        if mode == "bm25" or not len(loaded.retriever):
            return ()
        if loaded.model_id is None:
            return ("no message has a vector yet: found by words only (localmem work)",)
        if embedded_by != loaded.model_id:
            return (
                f"the embedder {loaded.model_id} is not on this machine: found by words only "
                "(localmem models pull)",
            )
        missing = loaded.retriever.without_vector
        if missing:
            return (
                f"{counted(missing, 'message has', 'messages have')} no vector yet: "
                "found by words only (localmem work)",
            )
        return ()


def _shown(
    hits: Sequence[Hit],
    messages: Sequence[Message],
    dates: Mapping[MessageId, tuple[ResolvedDate, ...]],
    sessions: Mapping[SessionId, Session],
) -> tuple[FoundMessage, ...]:
    return tuple(
        FoundMessage(hit, message, sessions[message.session_id], dates.get(message.id, ()))
        for hit, message in zip(hits, messages, strict=True)
    )
