"""What the tiers hold, as it is shown: numbers, the gate, episodes with the why of each page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from localmem.store import Store
from localmem.tiers.gate import PRIOR_MIDDLE
from localmem.tiers.state import fit_of
from localmem.tiers.utility import utility
from localmem.types import (
    EpisodeId,
    EpisodeOverview,
    EpisodePage,
    EpisodeView,
    GateKind,
    GateState,
    MessageId,
    PageId,
    StoredEpisode,
    TiersView,
    TurnId,
)

_DAY_S = 86_400.0
_GRID = np.linspace(0.0, 1.0, 1_001)


def tiers_view(store: Store, *, most: int = 20) -> TiersView:
    """The counts, what decides now, and the `most` most useful episodes with their summaries."""
    with store.reading():
        counts = store.tier_counts()
        known = store.tier_state()
        overviews = _overviews(store.episodes())[:most]
        told = _summaries(store, overviews)
        lasting = store.lasting()
    state = known[1] if known else GateState("")
    kind, low, high, middle = _gate(state)
    shown = [_with_summary(one, told.get(one.id, "")) for one, _ in overviews]
    return TiersView(counts, kind, state.fit, low, high, middle, state.theta, tuple(shown), lasting)


def episode_view(store: Store, episode_id: EpisodeId) -> EpisodeView:
    """An episode with its pages, oldest first.

    Raises:
        RecordNotFoundError: there is no such episode.
    """
    with store.reading():
        decisions = store.episode_pages(episode_id)
        overviews = _overviews(store.episodes())
        (found,) = [pair for pair in overviews if pair[0].id == episode_id]
        told = _summaries(store, [found])
        ids = store.page_messages([decision.page_id for decision, _ in decisions])
        messages = {m.id: m for m in store.messages([i for its in ids.values() for i in its])}
    pages = tuple(
        EpisodePage(
            decision.page_id,
            session,
            decision,
            tuple(messages[number] for number in ids.get(decision.page_id, ())),
        )
        for decision, session in decisions
    )
    related = tuple(dict.fromkeys(akin for page in pages for akin in page.decision.related))
    return EpisodeView(_with_summary(found[0], told.get(episode_id, ""), related), pages)


def _overviews(
    episodes: Sequence[StoredEpisode],
) -> list[tuple[EpisodeOverview, StoredEpisode]]:
    """Every episode in numbers, the most useful first. Now is the newest page of the memory."""
    seen = [_seen_at(one) for one in episodes]
    now = max((moment.timestamp() for moment in seen if moment), default=0.0)
    days = [(now - moment.timestamp()) / _DAY_S if moment else np.nan for moment in seen]
    useful = utility(
        np.array([one.opened for one in episodes], np.float64),
        np.array([one.pages for one in episodes], np.float64),
        np.array(days, np.float64),
    )
    made = [
        (
            EpisodeOverview(
                one.id,
                one.structure,
                one.pages,
                one.first_said_at,
                one.last_said_at,
                round(float(value), 6),
                opened=one.opened,
                chances=one.chances,
            ),
            one,
        )
        for one, value in zip(episodes, useful, strict=True)
    ]
    return sorted(made, key=lambda pair: (-pair[0].utility, pair[0].id))


def _seen_at(one: StoredEpisode) -> datetime | None:
    return max((t for t in (one.last_said_at, one.visited_at) if t is not None), default=None)


def _with_summary(
    one: EpisodeOverview, summary: str, related: tuple[EpisodeId, ...] = ()
) -> EpisodeOverview:
    return EpisodeOverview(
        one.id,
        one.structure,
        one.pages,
        one.first_said_at,
        one.last_said_at,
        one.utility,
        one.opened,
        one.chances,
        summary,
        related,
    )


def _summaries(
    store: Store, episodes: Sequence[tuple[EpisodeOverview, StoredEpisode]]
) -> dict[EpisodeId, str]:
    """L0 of the most central page and of the newest, carried together (FluxMem, meta-summary)."""
    telling: dict[EpisodeId, list[PageId]] = {
        stored.id: [p for p in dict.fromkeys((stored.central_page, stored.last_page)) if p]
        for _, stored in episodes
    }
    ids = store.page_messages([page for pages in telling.values() for page in pages])
    turn_of = _turns(store, ids)
    lines = {one.turn_id: one.sentence for one in store.summaries(set(turn_of.values()))}
    return {
        episode: " ".join(
            dict.fromkeys(
                line for page in pages if (line := lines.get(turn_of.get(page, TurnId(0)), ""))
            )
        )
        for episode, pages in telling.items()
    }


def _turns(store: Store, ids: Mapping[PageId, tuple[MessageId, ...]]) -> dict[PageId, TurnId]:
    """The turn of each page's first message."""
    first = {page: its[0] for page, its in ids.items() if its}
    turn_of = {message.id: message.turn_id for message in store.messages(list(first.values()))}
    return {page: turn_of[number] for page, number in first.items()}


def _gate(state: GateState) -> tuple[GateKind, float, float, float]:
    """What decides now; the raw scores of its two kinds; the score from which a page merges."""
    if state.settings.startswith("paper"):
        return GateKind.PAPER, 0.0, 0.0, 0.0
    fit = fit_of(state)
    if fit is None or not fit.mixture.is_split:
        return GateKind.PRIOR, 0.0, 0.0, PRIOR_MIDDLE
    width = fit.high - fit.low
    merges = fit.posterior(_GRID) >= 0.5
    middle = float(_GRID[int(merges.argmax())]) if merges.any() else 1.0
    low, high = (fit.low + part.mean * width for part in (fit.mixture.low, fit.mixture.high))
    return GateKind.FITTED, low, high, middle
