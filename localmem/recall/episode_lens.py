"""Episodes as a lens on what search found (FluxMem, section 3.3). A stage after the retrieval.

Hits that lie in one episode speak for each other, and the episodes that fit best are searched by
their own structures, with those that they link to: what a structure finds comes in, even if the
retrieval passed it over. How the two are put together is ours. Pure: episodes are handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localmem.errors import UsageError
from localmem.ports import FloatMatrix, Structure
from localmem.recall.corpus import Bools, Floats, Ints
from localmem.recall.ranking import Ranking, Stage, Staged

WEIGHT = 0.4
"""Of hits that speak for each other."""
STRUCTURE_WEIGHT = 0.4
"""Of what the structures find."""
_SEEN = 60
"""Of the ranking, how many may move."""
_SPEAKING = 20
"""How many of the best speak for their episodes, the one of rank r with 1 / (1 + r)."""
_BY_HITS = 3
_BY_CENTROID = 2
_LINKED = 3
"""Episodes that are searched for their hits, for their centroids, for links from those."""
_PAGES = 5
"""Pages that one episode gives."""
_TAKEN = 10
"""Pages that are taken in all."""
_EPISODE_FALL = 0.3
"""The episode of place p counts 1 / (1 + 0.3 p)."""
_LINK_SHARE = 0.5
"""How much a linked episode counts of one that was chosen itself."""
_RARE = 3
"""A name links episodes where so many or fewer hold it."""
_NAMING_PAGES = 3
_REPLY_SHARE = 0.5
"""What the other messages of a page get of what its best one gets."""


@dataclass(frozen=True, slots=True)
class OpenEpisode:
    """An episode ready for a search: its structure, and of each page its messages and names."""

    structure: Structure
    messages: Sequence[Sequence[int]]
    names: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class EpisodeMap:
    """Which episode each message is in, and where the episodes lie.

    `centroids` float32 (len(ids), dim) unit rows; (0, 0) where they are of another embedder.
    `related` names the episodes that the gate found akin, the most often first. `holders` keeps
    which episodes hold a name, once it was looked up.
    """

    episode_of: Mapping[int, int]
    ids: Sequence[int]
    centroids: FloatMatrix
    related: Mapping[int, Sequence[int]]
    holders: dict[str, frozenset[int]] = field(default_factory=dict)


class Shelf(Protocol):
    """Gives episodes out, ready for a search."""

    def open(self, ids: Iterable[int], ranking: Ranking) -> Mapping[int, OpenEpisode]:
        """These episodes; those that are not there any more are absent."""
        ...


@dataclass(frozen=True, slots=True)
class LensQuestion:
    """A question with its unit vector, float32 (dim,); None: by words alone."""

    text: str
    vector: Floats | None


@dataclass(frozen=True, slots=True)
class _FoundPage:
    """A page that a structure found; `share` above 0 and up to 1."""

    messages: tuple[int, ...]
    share: float


def lens_stage(episode_of: Mapping[int, int], *, weight: float = WEIGHT) -> Stage:
    """Hits of one episode speak for each other. Messages that are in none are absent.

    A row gains weight * deviation of the seen scores * the share of its episode, where the
    strongest episode has share 1.
    """

    def run(ranking: Ranking) -> Staged:
        added = _supported(ranking, episode_of, weight)
        return Staged(ranking.scores + added, ranking.evident, {"episode": added})

    return run


def structure_stage(
    question: LensQuestion, known: EpisodeMap, shelf: Shelf, *, weight: float = STRUCTURE_WEIGHT
) -> Stage:
    """What the structures of the best episodes find rises, or comes in.

    The best message of a page gains weight * deviation of the seen scores * the page's share, its
    other messages half of that. A page that the retrieval ranks lower starts from the score of the
    last hit that speaks for its episode.
    """

    def run(ranking: Ranking) -> Staged:
        rows = ranking.best(_SEEN)
        if not rows.size:
            return Staged(ranking.scores, ranking.evident)
        pages = found_pages(ranking, question, known, shelf)
        gained, evident = _gained(ranking, rows, pages, weight)
        return Staged(ranking.scores + gained, evident, {"structure": gained})

    return run


def found_pages(
    ranking: Ranking, question: LensQuestion, known: EpisodeMap, shelf: Shelf
) -> list[_FoundPage]:
    """The pages that the structures of the question's episodes find, best first."""
    chosen = _chosen(ranking, question, known)
    opened = shelf.open(chosen, ranking)
    own = {number: _ranked(opened[number], question) for number in chosen if number in opened}
    links = _links(ranking, known, opened, own)
    linked = _nearest(known, question, [n for n in links if n not in own])[:_LINKED]
    opened = {**opened, **shelf.open(linked, ranking)}
    pages = own | {n: _ranked(opened[n], question) for n in linked if n in opened}
    found = []
    for place, (number, ranked) in enumerate(pages.items()):
        share = (1.0 if number in own else _LINK_SHARE) / (1 + _EPISODE_FALL * place)
        for rank, page in enumerate(ranked):
            found.append(_FoundPage(tuple(opened[number].messages[page]), share / (1 + rank)))
    return sorted(found, key=lambda one: (-one.share, one.messages))[:_TAKEN]


def lens_wanted(name: str) -> bool:
    """Whether `search.episodes` wants the lens.

    Raises:
        UsageError: it is neither on nor off.
    """
    if name not in ("on", "off"):
        raise UsageError(f"search.episodes is {name!r}, want on or off", hint='episodes = "off"')
    return name == "on"


# --- Which episodes -------------------------------------------------------------------------


def _strengths(ranking: Ranking, rows: Ints, episode_of: Mapping[int, int]) -> dict[int, float]:
    """What the best hits say for their episodes."""
    strength: dict[int, float] = {}
    for rank, number in enumerate(ranking.corpus.message_ids[rows[:_SPEAKING]].tolist()):
        episode = episode_of.get(int(number))
        if episode is not None:
            strength[episode] = strength.get(episode, 0.0) + 1 / (1 + rank)
    return strength


def _chosen(ranking: Ranking, question: LensQuestion, known: EpisodeMap) -> list[int]:
    strength = _strengths(ranking, ranking.best(_SEEN), known.episode_of)
    by_hits = sorted(strength, key=lambda number: (-strength[number], number))[:_BY_HITS]
    near = (
        _nearest(known, question, known.ids)[:_BY_CENTROID] if _has_place(known, question) else []
    )
    return list(dict.fromkeys([*by_hits, *near]))


def _has_place(known: EpisodeMap, question: LensQuestion) -> bool:
    return question.vector is not None and known.centroids.shape[1:] == question.vector.shape


def _nearest(known: EpisodeMap, question: LensQuestion, ids: Sequence[int]) -> list[int]:
    """Episodes by the cosine of their centroid with the question; as they come without vectors."""
    if question.vector is None or not _has_place(known, question):
        return list(ids)
    cosines = dict(zip(known.ids, (known.centroids @ question.vector).tolist(), strict=True))
    return sorted((number for number in ids if number in cosines), key=lambda n: (-cosines[n], n))


def _links(
    ranking: Ranking,
    known: EpisodeMap,
    opened: Mapping[int, OpenEpisode],
    own: Mapping[int, Sequence[int]],
) -> list[int]:
    """What the chosen episodes link to: what the gate found akin, and what shares a rare name."""
    links: dict[int, None] = {}
    for number, pages in own.items():
        links.update(dict.fromkeys(known.related.get(number, ())[:_LINKED]))
        names = {name for page in pages[:_NAMING_PAGES] for name in opened[number].names[page]}
        for name in sorted(names):
            holders = _holders(ranking, known, name)
            if len(holders) <= _RARE:
                links.update(dict.fromkeys(sorted(holders)))
    return list(links)


def _holders(ranking: Ranking, known: EpisodeMap, name: str) -> frozenset[int]:
    """The episodes that hold a name."""
    if name not in known.holders:
        ids = ranking.corpus.message_ids[ranking.holding(name)].tolist()
        episodes = [known.episode_of.get(int(number)) for number in ids]
        known.holders[name] = frozenset(one for one in episodes if one is not None)
    return known.holders[name]


def _ranked(episode: OpenEpisode, question: LensQuestion) -> list[int]:
    return [one.place for one in episode.structure.rank(question.text, question.vector, k=_PAGES)]


# --- What rows gain -------------------------------------------------------------------------


def _supported(
    ranking: Ranking, episode_of: Mapping[int, int], weight: float
) -> NDArray[np.float32]:
    added = np.zeros(len(ranking.scores), np.float32)
    rows = ranking.best(_SEEN)
    strength = _strengths(ranking, rows, episode_of)
    if not strength:
        return added
    unit = weight * float(ranking.scores[rows].std()) / max(strength.values())
    episodes = [episode_of.get(int(n)) for n in ranking.corpus.message_ids[rows].tolist()]
    added[rows] = [
        0.0 if episode is None else unit * strength.get(episode, 0.0) for episode in episodes
    ]
    return added


def _gained(
    ranking: Ranking, rows: Ints, pages: Sequence[_FoundPage], weight: float
) -> tuple[Floats, Bools]:
    """What each row gains, and which rows have to do with the question now."""
    gained, evident = np.zeros(len(ranking.scores), np.float32), ranking.evident.copy()
    seen = ranking.scores[rows]
    unit, floor = weight * float(seen.std()), float(seen[min(_SPEAKING, len(seen)) - 1])
    for page in pages:
        its = ranking.corpus.places(page.messages)
        its = its[its >= 0]
        if not its.size:
            continue
        shares = np.full(len(its), _REPLY_SHARE * page.share, np.float32)
        shares[int(np.argmax(ranking.scores[its]))] = page.share
        lifted = np.maximum(floor - ranking.scores[its], 0.0)
        gained[its] = np.maximum(gained[its], lifted + unit * shares)
        evident[its] = True
    return gained, evident
