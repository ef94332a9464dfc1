"""A two-component Beta mixture by expectation and maximisation, with rising odds. Pure NumPy.

Which similarity is high differs from memory to memory, so the gate learns it from the scores
themselves. This module knows nothing of pages or episodes: numbers in, a fit out.
(FluxMem, A.3, equations 17 to 26; the projection that keeps the odds rising is ours.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

EDGE = 1e-3
"""Scores are kept this far from 0 and 1, where a Beta density may be 0 or infinite."""
ROUNDS = 60
SMALLEST_SHARE = 0.01
STARTS = ((0.3, 0.7), (0.1, 0.9), (0.5, 0.95))
"""Quantiles at which the means of the two components start."""
_CLOSE_START = 0.02
_START_GAP = 0.1
_START_VARIANCE = 0.02
_SETTLED = 1e-4
_MEANS = (0.01, 0.99)
_SMALLEST_VARIANCE = 1e-4
_PRECISION = (2.0, 500.0)


@dataclass(frozen=True, slots=True)
class Beta:
    """One component: Beta(a, b) with its share of the mixture."""

    a: float
    b: float
    share: float

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    @property
    def log_norm(self) -> float:
        """ln share - ln B(a, b)."""
        return (
            math.log(max(self.share, 1e-300))
            + math.lgamma(self.a + self.b)
            - math.lgamma(self.a)
            - math.lgamma(self.b)
        )


@dataclass(frozen=True, slots=True)
class Mixture:
    """A fitted mixture: `high` has the larger mean. `log_likelihood` is the mean over the scores.

    `rounds` counts the M-steps of the start that was kept.
    """

    low: Beta
    high: Beta
    log_likelihood: float
    rounds: int

    def posterior(self, x: Doubles) -> Doubles:
        """P(high | x) for x in [EDGE, 1 - EDGE] (equation 25), worked out in logarithms."""
        a, b = self.high.a - self.low.a, self.high.b - self.low.b
        odds = a * np.log(x) + b * np.log1p(-x) + self.high.log_norm - self.low.log_norm
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -700, 700))), np.float64)

    def rises_on(self, begin: float, end: float) -> bool:
        """Whether the posterior falls nowhere on [begin, end]; exact.

        The slope of the log-odds has the sign of (a_h - a_l)(1 - x) - (b_h - b_l) x, which is
        linear in x, so that its ends decide.
        """
        a, b = self.high.a - self.low.a, self.high.b - self.low.b
        return all(a * (1 - x) - b * x >= -1e-12 for x in (begin, end))

    @property
    def is_split(self) -> bool:
        """Whether it tells two kinds of scores apart: neither share vanishes, means differ."""
        apart = self.high.mean - self.low.mean >= 0.05
        return apart and min(self.low.share, self.high.share) >= SMALLEST_SHARE


def fit_mixture(
    x: Doubles, *, monotone: bool = True, starts: Sequence[tuple[float, float]] = STARTS
) -> Mixture:
    """The best of three starts on scores in (0, 1); they are clipped to [EDGE, 1 - EDGE].

    The starts run side by side; each stops where its mean log-likelihood settles or one of its
    shares vanishes. `monotone` False leaves out the projection (for comparison).

    Raises:
        ValueError: there are no scores.
    """
    if not x.size:
        raise ValueError("got no scores, want at least one")
    clipped = np.clip(x.astype(np.float64), EDGE, 1 - EDGE)
    scores = _Scores(clipped, clipped * clipped, np.log(clipped), np.log1p(-clipped))
    pairs = _start(scores, starts, monotone=monotone)
    likelihood, posterior = _expected(scores, pairs)
    best: Mixture | None = None
    for rounds in range(1, ROUNDS + 1):
        pairs = _maximised(scores, posterior)
        if monotone:
            pairs = pairs.projected()
        before = likelihood
        likelihood, posterior = _expected(scores, pairs)
        done = (np.abs(likelihood - before) < _SETTLED) | (pairs.share_low < SMALLEST_SHARE)
        done |= (pairs.share_high < SMALLEST_SHARE) | (rounds == ROUNDS)
        for line in np.flatnonzero(done).tolist():
            if best is None or likelihood[line] > best.log_likelihood:
                best = pairs.mixture(line, float(likelihood[line]), rounds)
        if done.all():
            break
        going = ~done
        pairs, likelihood, posterior = pairs.only(going), likelihood[going], posterior[going]
    assert best is not None  # noqa: S101 - the last round ends every start
    return best


@dataclass(frozen=True, slots=True)
class _Scores:
    """Float64 (n,) each: the scores, their squares, ln x and ln(1 - x)."""

    x: Doubles
    squared: Doubles
    log: Doubles
    log_rest: Doubles


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The two components of several starts: float64 (starts,) each."""

    a_low: Doubles
    b_low: Doubles
    share_low: Doubles
    a_high: Doubles
    b_high: Doubles
    share_high: Doubles

    def only(self, wanted: NDArray[np.bool_]) -> _Pairs:
        return _Pairs(
            self.a_low[wanted],
            self.b_low[wanted],
            self.share_low[wanted],
            self.a_high[wanted],
            self.b_high[wanted],
            self.share_high[wanted],
        )

    def ordered(self) -> _Pairs:
        """The same components, the one of the larger mean as the high one."""
        swap = self.a_low * self.b_high > self.a_high * self.b_low
        if not swap.any():
            return self
        return _Pairs(
            np.where(swap, self.a_high, self.a_low),
            np.where(swap, self.b_high, self.b_low),
            np.where(swap, self.share_high, self.share_low),
            np.where(swap, self.a_low, self.a_high),
            np.where(swap, self.b_low, self.b_high),
            np.where(swap, self.share_low, self.share_high),
        )

    def projected(self) -> _Pairs:
        """Pairs with a_high >= a_low and b_high <= b_low, so that the odds rise everywhere.

        A parameter that is in the wrong order becomes the mean of both.
        """
        pair = self.ordered()
        a, b = (pair.a_low + pair.a_high) / 2, (pair.b_low + pair.b_high) / 2
        wrong_a, wrong_b = pair.a_high < pair.a_low, pair.b_high > pair.b_low
        return _Pairs(
            np.where(wrong_a, a, pair.a_low),
            np.where(wrong_b, b, pair.b_low),
            pair.share_low,
            np.where(wrong_a, a, pair.a_high),
            np.where(wrong_b, b, pair.b_high),
            pair.share_high,
        )

    def mixture(self, line: int, log_likelihood: float, rounds: int) -> Mixture:
        pair = self.ordered()
        low = (float(pair.a_low[line]), float(pair.b_low[line]), float(pair.share_low[line]))
        high = (float(pair.a_high[line]), float(pair.b_high[line]), float(pair.share_high[line]))
        return Mixture(Beta(*low), Beta(*high), log_likelihood, rounds)


def _start(scores: _Scores, starts: Sequence[tuple[float, float]], *, monotone: bool) -> _Pairs:
    """Means at pairs of quantiles; a pair that is too close is moved apart."""
    low, high = np.quantile(scores.x, np.array(starts)).T
    middle, close = (low + high) / 2, high - low < _CLOSE_START
    low = np.where(close, middle - _START_GAP / 2, low)
    high = np.where(close, middle + _START_GAP / 2, high)
    variance, half = np.full(len(starts), _START_VARIANCE), np.full(len(starts), 0.5)
    pairs = _Pairs(*_by_moments(low, variance), half, *_by_moments(high, variance), half)
    return pairs.projected() if monotone else pairs


def _expected(scores: _Scores, pairs: _Pairs) -> tuple[Doubles, Doubles]:
    """E-step: mean log-likelihood (starts,), and P(high | x) (starts, n)."""
    norm_low = _log_norm(pairs.a_low, pairs.b_low, pairs.share_low)
    norm_high = _log_norm(pairs.a_high, pairs.b_high, pairs.share_high)
    a, b = pairs.a_high - pairs.a_low, pairs.b_high - pairs.b_low
    odds = np.outer(a, scores.log)
    odds += np.outer(b, scores.log_rest)
    odds += (norm_high - norm_low)[:, None]
    fading = np.exp(-np.abs(odds))
    whole = 1.0 + fading
    rising = np.maximum(odds, 0.0).mean(axis=1) + np.log(whole).mean(axis=1)
    of_low = (pairs.a_low - 1) * scores.log.mean() + (pairs.b_low - 1) * scores.log_rest.mean()
    posterior = np.where(odds >= 0, 1.0, fading) / whole
    return np.asarray(norm_low + of_low + rising, np.float64), posterior


def _log_norm(a: Doubles, b: Doubles, share: Doubles) -> Doubles:
    """ln share - ln B(a, b) of each start."""
    lines = zip(a.tolist(), b.tolist(), share.tolist(), strict=True)
    return np.array([Beta(*line).log_norm for line in lines])


def _maximised(scores: _Scores, of_high: Doubles) -> _Pairs:
    """M-step by moments (equations 22 to 24)."""
    count = scores.x.size
    weight = np.maximum(of_high.sum(axis=1), 1e-12)
    first, second = of_high @ scores.x, of_high @ scores.squared
    rest = np.maximum(count - weight, 1e-12)
    low = _moments(float(scores.x.sum()) - first, float(scores.squared.sum()) - second, rest)
    high = _moments(first, second, weight)
    return _Pairs(*low, rest / count, *high, weight / count)


def _moments(first: Doubles, second: Doubles, weight: Doubles) -> tuple[Doubles, Doubles]:
    mean = first / weight
    return _by_moments(mean, second / weight - mean * mean)


def _by_moments(mean: Doubles, variance: Doubles) -> tuple[Doubles, Doubles]:
    """Beta parameters of a mean and a variance, both within bounds."""
    mean = np.clip(mean, *_MEANS)
    variance = np.maximum(variance, _SMALLEST_VARIANCE)
    precision = np.clip(mean * (1 - mean) / variance - 1, *_PRECISION)
    return mean * precision, (1 - mean) * precision
