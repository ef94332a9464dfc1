"""Which episode a page joins, if any: decided by the distribution of scores, not by a threshold.

The scores of the last pages are pooled and a mixture is fitted to the pool, so that "high" means
high in this memory. With one page's candidates alone the best would always look high; that is what
the paper's own algorithm does (`PaperGate`), and it founds one episode for everything.
(FluxMem, section 3.5 and A.3.) This module knows no episodes: scores in, a verdict out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from localmem.tiers.gate_fit import EDGE, Doubles, Mixture, fit_mixture
from localmem.types import GateKind

POOL = 4_000
LEAST_SCORES = 40
PRIOR_MIDDLE = 0.45
PRIOR_WIDTH = 0.05
"""Between what labelled pages of MSC (.34) and BEAM (.64) ask for (`benchmarks gate`)."""
_BOUNDS = (0.001, 0.999)
_GROWTH = 1.1
_PAGES_PER_FIT = 25


@dataclass(frozen=True, slots=True)
class GateOptions:
    """How strict the gate is.

    `threshold`: the probability from which a candidate is admitted. `minimum_keep`: how many
    candidates are kept as related however improbable they are.
    """

    threshold: float = 0.5
    minimum_keep: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of one page's candidates.

    `merges`: the best candidate takes the page in. `kept` are places of related candidates, the
    best included. `fit` numbers the fit that decided, 0 before the first.
    """

    merges: bool
    probability: float
    kept: tuple[int, ...]
    kind: GateKind
    fit: int = 0


NOTHING = Verdict(False, 0.0, (), GateKind.NONE)
"""The verdict where there is no candidate."""


class Gate(Protocol):
    """Decides about one page after the other."""

    def admit(self, scores: Doubles) -> Verdict:
        """The verdict on a page's candidates, whose scores float64 (n,) come best first."""
        ...


@dataclass(frozen=True, slots=True)
class PoolFit:
    """A mixture with the bounds of the pool that it was fitted to, and its number from 1."""

    mixture: Mixture
    low: float
    high: float
    number: int

    def posterior(self, scores: Doubles) -> Doubles:
        """P(high) of raw scores."""
        return self.mixture.posterior(normalised(scores, self.low, self.high))


@dataclass(slots=True)
class ScorePool:
    """The last `POOL` scores. `since_fit` counts pages, `size_at_fit` scores at the last fit."""

    values: Doubles = field(default_factory=lambda: np.zeros(0))
    since_fit: int = 0
    size_at_fit: int = 0

    def add(self, scores: Doubles) -> None:
        """One page's scores; the oldest leave where there are too many."""
        self.values = np.concatenate([self.values, scores])[-POOL:]
        self.since_fit += 1

    @property
    def wants_fit(self) -> bool:
        if self.values.size < LEAST_SCORES:
            return False
        grown = self.values.size >= _GROWTH * self.size_at_fit
        return self.size_at_fit == 0 or grown or self.since_fit >= _PAGES_PER_FIT


class BetaGate:
    """The gate over pooled scores, fitted again as the memory grows."""

    def __init__(
        self,
        options: GateOptions | None = None,
        *,
        pool: ScorePool | None = None,
        fit: PoolFit | None = None,
    ) -> None:
        """`pool` and `fit` go on where an earlier gate stopped."""
        self.options = options or GateOptions()
        self.pool = pool or ScorePool()
        self.fit = fit

    def admit(self, scores: Doubles) -> Verdict:
        """The verdict; the scores join the pool first. (Equation 25 on the bounds of the pool.)"""
        if not scores.size:
            return NOTHING
        self.pool.add(scores)
        if self.pool.wants_fit:
            self._refit()
        if self.fit is None or not self.fit.mixture.is_split:
            number = self.fit.number if self.fit else 0
            return _verdict(prior(scores), self.options, GateKind.PRIOR, number)
        chances = self.fit.posterior(scores)
        return _verdict(chances, self.options, GateKind.FITTED, self.fit.number)

    def _refit(self) -> None:
        values = self.pool.values
        low, high = np.quantile(values, _BOUNDS).tolist()
        number = self.fit.number + 1 if self.fit else 1
        mixture = fit_mixture(normalised(values, low, high))
        self.fit = PoolFit(mixture, low, high, number)
        self.pool.since_fit, self.pool.size_at_fit = 0, values.size


class FixedGate:
    """One threshold on the score itself, for comparison."""

    def __init__(self, threshold: float, options: GateOptions | None = None) -> None:
        self._threshold = threshold
        self._options = options or GateOptions()

    def admit(self, scores: Doubles) -> Verdict:
        """The best candidate takes the page in from the threshold on."""
        if not scores.size:
            return NOTHING
        chances = np.where(scores >= self._threshold, 1.0, 0.0)
        return _verdict(chances, self._options, GateKind.FIXED, 0)


class PaperGate:
    """Algorithm 1 as it is printed: min-max over one page's candidates, one start, literal keep."""

    def __init__(self, options: GateOptions | None = None) -> None:
        self._options = options or GateOptions()

    def admit(self, scores: Doubles) -> Verdict:
        """With a minimum keep of one, any candidate at all takes the page in."""
        if not scores.size:
            return NOTHING
        low, high = float(scores.min()), float(scores.max())
        if scores.size < 4 or high - low < 1e-9:
            chances = prior(scores)
        else:
            x = normalised(scores, low, high)
            chances = fit_mixture(x, monotone=False, starts=((0.3, 0.7),)).posterior(x)
        kept = _kept(chances, self._options)
        return Verdict(bool(kept), float(chances[0]), kept, GateKind.PAPER)


def normalised(scores: Doubles, low: float, high: float) -> Doubles:
    """Scores on [EDGE, 1 - EDGE] by bounds; all 0.5 where the bounds are equal (equation 17)."""
    if high - low < 1e-12:
        return np.full(scores.shape, 0.5)
    x = EDGE + (1 - 2 * EDGE) * (scores - low) / (high - low)
    return np.asarray(np.clip(x, EDGE, 1 - EDGE), np.float64)


def prior(scores: Doubles) -> Doubles:
    """How probable it is that a score is high, before a memory has shown its own distribution."""
    return np.asarray(1.0 / (1.0 + np.exp(-(scores - PRIOR_MIDDLE) / PRIOR_WIDTH)), np.float64)


def _verdict(chances: Doubles, options: GateOptions, kind: GateKind, fit: int) -> Verdict:
    best = float(chances[0])
    merges = best >= options.threshold
    return Verdict(merges, best, _kept(chances, options), kind, fit)


def _kept(chances: Doubles, options: GateOptions) -> tuple[int, ...]:
    """Places at or above the threshold, or the first few."""
    kept = np.flatnonzero(chances >= options.threshold)
    if kept.size >= options.minimum_keep:
        return tuple(kept.tolist())
    return tuple(range(min(options.minimum_keep, chances.size)))


def prior_from(labelled: Doubles, same: Doubles) -> tuple[float, float]:
    """Middle and width of the prior gate for labelled scores, by logistic regression (Newton).

    `labelled` float64 (n,) scores, `same` float64 (n,) 1 where both sides share a topic. Both
    kinds weigh the same, however many there are: how common a topic is, the prior cannot know.

    Raises:
        ValueError: scores do not rise with the topic.
    """
    slope, offset = 1.0, 0.0
    share = max(float(same.mean()), 1e-9)
    balance = np.where(same > 0.5, 0.5 / share, 0.5 / max(1 - share, 1e-9))
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(slope * labelled + offset, -30, 30)))
        weight = balance * np.maximum(chance * (1 - chance), 1e-9)
        error = balance * (same - chance)
        gradient = np.array([error @ labelled - 1e-3 * slope, error.sum()])
        cross = float(weight @ labelled)
        curve = np.array(
            [[float(weight @ labelled**2) + 1e-3, cross], [cross, float(weight.sum())]]
        )
        step = np.linalg.solve(curve, gradient)
        slope, offset = slope + float(step[0]), offset + float(step[1])
        if float(np.abs(step).max()) < 1e-9:
            break
    if not math.isfinite(slope) or slope <= 0:
        raise ValueError(f"scores do not rise with the topic: slope {slope}")
    return -offset / slope, 1 / slope
