"""Episodes of a memory ready for a search, kept until pages come or go. Reads, never writes.

An episode is read when a question first leads to it; its structure is kept for the next.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from localmem.ports import FloatMatrix
from localmem.recall.episode_lens import (
    EpisodeMap,
    LensQuestion,
    OpenEpisode,
    lens_stage,
    structure_stage,
)
from localmem.recall.ranking import Ranking, Stage, chained
from localmem.store import Store
from localmem.tiers.pages import message_rows, page_text, page_vector, traits_of
from localmem.tiers.relevance import EpisodePages
from localmem.tiers.structures import build_structure
from localmem.types import EpisodeId, Message, StructureKind

_MOST_OPEN = 200
"""Episodes that are kept ready."""

_Mark = tuple[tuple[int, int, int], str | None]


class EpisodeLens:
    """The lens of one memory, read anew where pages came or went. Call it inside `reading()`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mark: _Mark | None = None
        self._known: EpisodeMap | None = None
        self._kinds: Mapping[int, StructureKind] = {}
        self._open: OrderedDict[int, OpenEpisode] = OrderedDict()

    def stage(self, question: LensQuestion, model_id: str | None) -> Stage | None:
        """The stage for a question whose vector is of this embedder; None without episodes."""
        mark = (self._store.tier_mark(), model_id)
        if mark != self._mark:
            self._read(model_id)
            self._mark = mark
        known = self._known
        if known is None or not known.episode_of:
            return None
        return chained([lens_stage(known.episode_of), structure_stage(question, known, self)])

    def forget(self) -> None:
        """Drop what is kept; the next question reads it anew."""
        self._mark = self._known = None
        self._open.clear()

    def open(self, ids: Iterable[int], ranking: Ranking) -> Mapping[int, OpenEpisode]:
        """These episodes, ready for a search."""
        wanted = list(ids)
        missing = [number for number in wanted if number not in self._open]
        if missing:
            self._open.update(self._built(missing, ranking))
        found = {number: self._open[number] for number in wanted if number in self._open}
        for number in found:
            self._open.move_to_end(number)
        while len(self._open) > max(_MOST_OPEN, len(found)):
            self._open.popitem(last=False)
        return found

    def _read(self, model_id: str | None) -> None:
        self._open.clear()
        episodes, state = self._store.episodes(), self._store.tier_state()
        self._kinds = {int(one.id): one.structure for one in episodes}
        totals = [np.frombuffer(one.total, np.float32) for one in episodes]
        same = state is not None and state[0] == model_id
        self._known = EpisodeMap(
            self._store.episode_of_messages(),
            [int(one.id) for one in episodes],
            unit_rows(np.stack(totals)) if totals and same else np.zeros((0, 0), np.float32),
            {int(a): [int(b) for b in akin] for a, akin in self._store.related_episodes().items()},
        )

    def _built(self, ids: Sequence[int], ranking: Ranking) -> dict[int, OpenEpisode]:
        members = self._store.episode_members([EpisodeId(number) for number in ids])
        numbers = [n for pages in members.values() for page in pages for n in page]
        messages = {message.id: message for message in self._store.messages(numbers)}
        owners, rows = ranking.vectors_of(numbers)
        vectors = message_rows(owners, rows)
        built: dict[int, OpenEpisode] = {}
        for episode, pages in members.items():
            said = [[messages[number] for number in page] for page in pages]
            built[int(episode)] = open_episode(
                self._kinds[int(episode)], said, {int(n): row for n, row in vectors.items()}
            )
        return built


def open_episode(
    kind: StructureKind,
    pages: Sequence[Sequence[Message]],
    vectors: Mapping[int, FloatMatrix],
) -> OpenEpisode:
    """An episode of these pages, in the order of time. `vectors` float32 (dim,) by message."""
    dimension = len(next(iter(vectors.values()))) if vectors else 1
    rows = np.zeros((len(pages), dimension), np.float32)
    for place, page in enumerate(pages):
        own = [vectors[int(m.id)] for m in page if int(m.id) in vectors]
        if own:
            rows[place] = page_vector(np.stack(own))[0]
    names = [traits_of(page).entities for page in pages]
    texts = [page_text(page) for page in pages]
    structure = build_structure(kind, EpisodePages(texts, rows, names))
    return OpenEpisode(structure, [[int(m.id) for m in page] for page in pages], names)


def unit_rows(totals: FloatMatrix) -> FloatMatrix:
    """Rows of length 1; rows of zeros stay."""
    lengths = np.linalg.norm(totals, axis=1, keepdims=True)
    return np.asarray(totals / np.maximum(lengths, 1e-9), np.float32)
