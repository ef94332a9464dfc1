"""Pages into episodes, in the background: bounded for each run, stored batch by batch.

Only messages whose vectors are there are taken, so that nothing is placed by half of what it says.
A run that ends early loses nothing: what is stored is whole, and the next run goes on there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from localmem.ports import FloatMatrix
from localmem.store import Store
from localmem.store.tiers import Consolidated
from localmem.tiers.features import WINDOW
from localmem.tiers.longterm import keep, take_in
from localmem.tiers.midterm import MidTerm
from localmem.tiers.pages import message_rows, page_vector, split_pages, traits_of
from localmem.tiers.state import gate_named, running_of, selector_named, state_of
from localmem.tiers.wishes import entries_of
from localmem.types import (
    ConsolidateReport,
    ConversationKind,
    GateState,
    LastingEntry,
    Message,
    MessageId,
    Page,
    PageId,
    Role,
    SessionId,
)

MOST_MESSAGES = 20_000
"""So many messages are placed in one run; the rest waits for the next."""
_BATCH = 2_000

OnDone = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """Which gate decides ("beta", "paper", "fixed 0.45") and which structure episodes get.

    Other settings than those that made the episodes make all of them anew.
    """

    gate: str = "beta"
    structure: str = "graph"

    @property
    def name(self) -> str:
        return f"{self.gate}, {self.structure}"


@dataclass(frozen=True, slots=True)
class _Batch:
    """Pages with vectors float32 (n, dim), pages that have none, and what their owner wishes."""

    pages: list[Page]
    vectors: FloatMatrix
    loose: list[Page]
    wishes: list[LastingEntry]


def consolidate(
    store: Store,
    model_id: str,
    *,
    settings: Settings | None = None,
    most_messages: int = MOST_MESSAGES,
    on_done: OnDone | None = None,
) -> ConsolidateReport:
    """Place pages of the messages that have vectors of this embedder and are in no page yet.

    Raises:
        UsageError: the settings name a gate or structure that is not there.
    """
    started = time.perf_counter()
    settings = settings or Settings()
    selector_named(settings.structure)
    gate_named(settings.gate)
    if not _is_current(store, model_id, settings):
        store.clear_tiers()
    tally = [0, 0, 0, 0]
    done = 0
    for sessions in _portions(_ready(store, model_id), most_messages):
        stored = _place(store, model_id, settings, sessions)
        if stored is None:
            continue
        tally = [a + b for a, b in zip(tally, stored, strict=True)]
        done += sum(map(len, sessions.values()))
        if on_done is not None:
            on_done(done)
    pages, merged, founded, dissolved = tally
    return ConsolidateReport(
        pages=pages,
        merged=merged,
        founded=founded,
        dissolved=dissolved,
        open_messages=store.tier_counts().pending,
        seconds=time.perf_counter() - started,
    )


def _is_current(store: Store, model_id: str, settings: Settings) -> bool:
    known = store.tier_state()
    return known is None or (known[0] == model_id and known[1].settings == settings.name)


def _ready(store: Store, model_id: str) -> dict[SessionId, list[MessageId]]:
    """Messages in no page, by session in the order of time, without sessions that lack vectors."""
    with store.reading():
        open_ones = store.unpaged()
        if not open_ones:
            return {}
        order = [session.id for session in store.sessions()]
        waiting = store.ids_without_vectors(model_id)
    ready = {s: list(open_ones[s]) for s in order if s in open_ones}
    return {s: ids for s, ids in ready.items() if not waiting.intersection(ids)}


def _portions(
    ready: Mapping[SessionId, list[MessageId]], most: int
) -> Iterator[dict[SessionId, list[MessageId]]]:
    """Whole sessions, about `_BATCH` messages at a time and about `most` in all."""
    portion: dict[SessionId, list[MessageId]] = {}
    size = total = 0
    for session, ids in ready.items():
        portion[session] = ids
        size, total = size + len(ids), total + len(ids)
        if size >= _BATCH or total >= most:
            yield portion
            portion, size = {}, 0
        if total >= most:
            return
    if portion:
        yield portion


def _place(
    store: Store,
    model_id: str,
    settings: Settings,
    sessions: Mapping[SessionId, Sequence[MessageId]],
) -> tuple[int, int, int, int] | None:
    """Place one portion; pages, merged, founded, dissolved. None: messages went meanwhile."""
    with store.reading():
        seen = store.generation()
        known = store.tier_state()
        state = known[1] if known else None
        last_page, last_episode = store.last_tier_ids()
        known_entries = store.lasting()
        last_entry = max((one.id for one in known_entries), default=0)
        batch = _batch_of(store, model_id, sessions, (last_page, last_entry))
        tier = _tier(store, model_id, settings, state, last_episode, batch.vectors.shape[1])
    decisions = list(tier.consolidate(batch.pages, batch.vectors))
    made = Consolidated(
        model_id,
        batch.pages,
        decisions,
        tier.changed(),
        tier.dissolved(),
        state_of(settings.name, tier.gate, tier.running_state()),
        batch.loose,
        keep(take_in(known_entries, batch.wishes), tier.latest).entries,
    )
    if not store.put_consolidated(made, seen=seen):
        return None
    merged = sum(one.merged for one in decisions)
    return len(batch.pages), merged, len(decisions) - merged, len(made.dissolved)


def _tier(
    store: Store,
    model_id: str,
    settings: Settings,
    state: GateState | None,
    last_episode: int,
    dimension: int,
) -> MidTerm:
    """The middle of the memory as it was left."""
    selector = selector_named(settings.structure)
    tier = MidTerm(
        dimension,
        gate=gate_named(settings.gate, state),
        selector=selector,
        first_id=last_episode + 1,
    )
    if state is None:
        return tier
    episodes = store.episodes()
    previous = _read_pages(store, model_id, [state.previous_page] if state.previous_page else [])
    before = next(iter(previous.values()), None)
    tier.restore(episodes, running_of(state), before)
    if selector.reads_features:
        windows = store.newest_pages(WINDOW)
        for episode_id, page_ids in windows.items():
            read = _read_pages(store, model_id, page_ids)
            if read:
                pages, rows = zip(*read.values(), strict=True)
                tier.fill_window(episode_id, pages, np.stack(rows))
    return tier


def _read_pages(
    store: Store, model_id: str, page_ids: Sequence[PageId]
) -> dict[PageId, tuple[Page, FloatMatrix]]:
    """Stored pages with their vectors; those that have lost their messages are absent."""
    ids = store.page_messages(page_ids)
    messages = {m.id: m for m in store.messages([i for page in ids.values() for i in page])}
    rows = message_vectors(store, model_id, list(messages))
    read: dict[PageId, tuple[Page, FloatMatrix]] = {}
    for page_id, its in ids.items():
        said = [messages[i] for i in its]
        vectors = [rows[i] for i in its if i in rows]
        if vectors:
            read[page_id] = (_page(page_id, said), page_vector(np.stack(vectors))[0])
    return read


def _batch_of(
    store: Store,
    model_id: str,
    sessions: Mapping[SessionId, Sequence[MessageId]],
    last_ids: tuple[int, int],
) -> _Batch:
    last_page, last_entry = last_ids
    ids = [number for its in sessions.values() for number in its]
    messages = {message.id: message for message in store.messages(ids)}
    kinds = {session.id: session.kind for session in store.sessions_of(list(sessions))}
    rows = message_vectors(store, model_id, ids)
    batch = _Batch([], np.zeros((0, 0), np.float32), [], [])
    vectors: list[FloatMatrix] = []
    for session_id, its in sessions.items():
        speakers = {messages[i].speaker for i in its}
        if kinds[session_id] is ConversationKind.ASSISTANT:
            for number in its:
                if messages[number].role is Role.USER:
                    batch.wishes.extend(
                        entries_of(messages[number], last_entry + len(batch.wishes) + 1)
                    )
        for said in split_pages([messages[i] for i in its], kinds[session_id]):
            last_page += 1
            page = _page(PageId(last_page), said, speakers)
            own = [rows[message.id] for message in said if message.id in rows]
            if own:
                batch.pages.append(page)
                vectors.append(page_vector(np.stack(own))[0])
            else:
                batch.loose.append(page)
    joined = np.stack(vectors) if vectors else np.zeros((0, 1), np.float32)
    return _Batch(batch.pages, joined, batch.loose, batch.wishes)


def _page(page_id: PageId, said: Sequence[Message], speakers: set[str] | None = None) -> Page:
    ids = tuple(message.id for message in said)
    traits = traits_of(said, speakers or ())
    return Page(page_id, said[0].session_id, ids, said[0].said_at, traits)


def message_vectors(
    store: Store, model_id: str, ids: Sequence[MessageId]
) -> dict[MessageId, FloatMatrix]:
    """The unit mean, float32 (dim,), of each message's pieces; messages without are absent."""
    return message_rows(*store.vectors_of(model_id, ids))
