"""Random mixtures with known truth: how near a fit comes to the best possible decision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localmem.tiers.gate_fit import EDGE, Beta, fit_mixture

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KnownMixture:
    """Two Beta components with the seed that draws from them."""

    low: Beta
    high: Beta
    seed: int

    def draw(self, size: int) -> tuple[Doubles, NDArray[np.bool_]]:
        """Scores float64 (size,), and whether each is of the high component."""
        random = np.random.default_rng(self.seed)
        is_high = random.random(size) < self.high.share
        of_high = random.beta(self.high.a, self.high.b, size)
        of_low = random.beta(self.low.a, self.low.b, size)
        return np.clip(np.where(is_high, of_high, of_low), EDGE, 1 - EDGE), is_high

    def best(self, x: Doubles) -> NDArray[np.bool_]:
        """The decision of one who knows the mixture."""
        densities = [
            part.log_norm + (part.a - 1) * np.log(x) + (part.b - 1) * np.log1p(-x)
            for part in (self.low, self.high)
        ]
        return np.asarray(densities[1] >= densities[0])


def random_mixtures(count: int, seed: int) -> Iterator[KnownMixture]:
    """Low mean U(.15, .45), high U(low + .2, .9), precisions U(5, 40), high share U(.2, .8)."""
    random = np.random.default_rng(seed)
    for number in range(count):
        low = random.uniform(0.15, 0.45)
        high = random.uniform(low + 0.2, 0.9)
        precision_low, precision_high = random.uniform(5, 40, 2).tolist()
        share = random.uniform(0.2, 0.8)
        yield KnownMixture(
            Beta(low * precision_low, (1 - low) * precision_low, 1 - share),
            Beta(high * precision_high, (1 - high) * precision_high, share),
            seed=1_000 * seed + number,
        )


def bayes_share(mixture: KnownMixture, size: int) -> tuple[float, bool]:
    """Accuracy of a fit as a share of the best possible, and whether its odds rise throughout."""
    x, is_high = mixture.draw(size)
    fit = fit_mixture(x)
    ours = float(np.mean((fit.posterior(x) >= 0.5) == is_high))
    best = float(np.mean(mixture.best(x) == is_high))
    return ours / best if best else math.nan, fit.rises_on(EDGE, 1 - EDGE)
