"""Which episodes a page might join, and how near they are. Arrays of fixed size, no words.

The rows are reused, so that memory is bounded by the number of episodes and a look costs the same
however many pages went before. (FluxMem, section 3.5; the mix of scores is ours.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

NEAREST = 10
_CENTROID_SHARE = 0.5
_FIRST_ROWS = 64


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows of candidate episodes, best first, with scores float64 (n,)."""

    rows: tuple[int, ...]
    scores: Doubles


NONE = Candidates((), np.zeros(0))


class EpisodeVectors:
    """Centroid and newest page of every episode: float32 (rows, dim) unit rows each."""

    def __init__(self, dimension: int) -> None:
        self._sums = np.zeros((_FIRST_ROWS, dimension), np.float32)
        self._centroids = np.zeros((_FIRST_ROWS, dimension), np.float32)
        self._newest = np.zeros((_FIRST_ROWS, dimension), np.float32)
        self._touched = np.zeros(_FIRST_ROWS, np.int64)
        self._used = np.zeros(_FIRST_ROWS, np.bool_)
        self._free: list[int] = []
        self._rows = 0
        self._steps = 0

    @property
    def rows(self) -> int:
        """How many rows have ever been in use at once."""
        return self._rows

    def centroid(self, row: int) -> Floats:
        """The unit centroid, float32 (dim,)."""
        return np.asarray(self._centroids[row], np.float32)

    def total(self, row: int) -> Floats:
        """The sum of the vectors of all its pages, float32 (dim,)."""
        return np.asarray(self._sums[row], np.float32)

    def newest(self, row: int) -> Floats:
        """The vector of its newest page, float32 (dim,)."""
        return np.asarray(self._newest[row], np.float32)

    def touched(self, row: int) -> int:
        """Counts up with every page: larger for the episode that got one later."""
        return int(self._touched[row])

    def found(self, vector: Floats) -> int:
        """A row for a new episode of one page."""
        row = self._free.pop() if self._free else self._next_row()
        self._sums[row] = 0
        self._used[row] = True
        self.join(row, vector)
        return row

    def join(self, row: int, vector: Floats) -> None:
        """The episode takes a page in."""
        self._sums[row] += vector
        self._centroids[row] = self._sums[row] / max(float(np.linalg.norm(self._sums[row])), 1e-9)
        self._newest[row] = vector
        self._steps += 1
        self._touched[row] = self._steps

    def restore(self, total: Floats, newest: Floats) -> int:
        """A row for an episode as it was stored; call in the order of their newest pages."""
        row = self.found(total)
        self._newest[row] = newest
        return row

    def drop(self, row: int) -> None:
        """The episode is gone; its row is free."""
        self._used[row] = False
        self._centroids[row] = 0
        self._free.append(row)

    def near(self, vector: Floats, also: int | None, bonus: Floats | None = None) -> Candidates:
        """The nearest episodes by centroid and the row `also`, best first.

        s = 0.5 cos(page, centroid) + 0.5 cos(page, newest page) + bonus[row]. Among equal scores
        the episode of the newer page comes first, then the lower row.
        """
        if not self._used[: self._rows].any():
            return NONE
        cosines = self._centroids[: self._rows] @ vector
        cosines[~self._used[: self._rows]] = -2.0
        rows = _largest(cosines, NEAREST)
        if also is not None and also not in rows:
            rows = np.append(rows, also)
        rows = rows[cosines[rows] > -2.0]
        scores = _CENTROID_SHARE * cosines[rows] + (1 - _CENTROID_SHARE) * (
            self._newest[rows] @ vector
        )
        if bonus is not None:
            scores = scores + bonus[rows]
        order = np.lexsort((rows, -self._touched[rows], -scores))
        return Candidates(tuple(rows[order].tolist()), scores[order].astype(np.float64))

    def mutual(self, rows: Sequence[int], k: int = 3) -> list[tuple[int, int]]:
        """Pairs of places in `rows` whose centroids are among each other's k nearest."""
        own = self._centroids[list(rows)]
        cosines = own @ own.T
        np.fill_diagonal(cosines, -2.0)
        nearest = [set(_largest(line, k).tolist()) for line in cosines]
        return [(a, b) for a in range(len(rows)) for b in nearest[a] if a < b and a in nearest[b]]

    def _next_row(self) -> int:
        if self._rows == len(self._sums):
            self._sums = _doubled(self._sums)
            self._centroids = _doubled(self._centroids)
            self._newest = _doubled(self._newest)
            self._touched = np.concatenate([self._touched, np.zeros_like(self._touched)])
            self._used = np.concatenate([self._used, np.zeros_like(self._used)])
        self._rows += 1
        return self._rows - 1


def _largest(values: Floats, k: int) -> Ints:
    if values.size <= k:
        return np.arange(values.size)
    return np.argpartition(-values, k)[:k]


def _doubled(rows: Floats) -> Floats:
    return np.concatenate([rows, np.zeros_like(rows)])
