"""Which structure fits an episode: a small network over the twelve features. Pure NumPy.

12 inputs, one hidden layer of 4 with ReLU, softmax over 3: 67 numbers (FluxMem, 3.4 and 4.1). The
weights are data (selector*.json), made by `python -m benchmarks train-selector`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from localmem.errors import UsageError
from localmem.tiers.features import NAMES
from localmem.types import StructureKind

Floats = NDArray[np.float32]

KINDS = tuple(StructureKind)
LEAST_PAGES = 4
"""An episode with fewer pages keeps the structure that it has."""
LEAD = 0.15
"""How far another structure's chance must be ahead of the present one's."""
BEST_FIXED = StructureKind.GRAPH
"""The structure that earned most when it was given to every episode (`train-selector`)."""
_FILES = {"default": "selector.json", "open": "selector_open.json"}


class Selector(Protocol):
    """Gives each structure a chance."""

    @property
    def reads_features(self) -> bool:
        """False: any features give the same chances, so that none need be taken."""
        ...

    def chances(self, features: Floats) -> Floats:
        """float32 (3,) that sum to 1, in the order of `KINDS`, for features float32 (12,)."""
        ...


@dataclass(frozen=True, slots=True)
class FixedSelector:
    """One structure for every episode."""

    kind: StructureKind

    @property
    def reads_features(self) -> bool:
        return False

    def chances(self, features: Floats) -> Floats:
        """1 for the structure, 0 for the others."""
        return np.array([float(kind is self.kind) for kind in KINDS], np.float32)


@dataclass(frozen=True, slots=True)
class LearnedSelector:
    """The network. `mean` and `scale` float32 (12,) standardise the features.

    `first` (12, 4), `first_bias` (4,), `second` (4, 3), `second_bias` (3,), all float32.
    """

    mean: Floats
    scale: Floats
    first: Floats
    first_bias: Floats
    second: Floats
    second_bias: Floats
    learned_from: tuple[str, ...] = ()

    @property
    def reads_features(self) -> bool:
        return True

    def chances(self, features: Floats) -> Floats:
        """float32 (3,) or, for features (n, 12), float32 (n, 3)."""
        hidden = np.maximum((features - self.mean) / self.scale @ self.first + self.first_bias, 0)
        odds = hidden @ self.second + self.second_bias
        powers = np.exp(odds - odds.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float32)


def choose(chances: Floats) -> StructureKind:
    """The structure of the largest chance; the first of `KINDS` among equals."""
    return KINDS[int(np.argmax(chances))]


def choose_again(present: StructureKind, chances: Floats, pages: int) -> StructureKind:
    """The structure of an episode after it has grown: the present one unless another leads."""
    if pages < LEAST_PAGES:
        return present
    best = choose(chances)
    lead = float(chances[KINDS.index(best)] - chances[KINDS.index(present)])
    return best if lead >= LEAD else present


@cache
def load_selector(name: str = "default") -> LearnedSelector:
    """The shipped weights of that name, "default" or "open" (learned without LoCoMo).

    Raises:
        UsageError: no weights have that name.
    """
    if name not in _FILES:
        raise UsageError(f"no selector is called {name!r}", hint=f"one of {sorted(_FILES)}")
    return read_selector(Path(__file__).with_name(_FILES[name]))


def read_selector(path: Path) -> LearnedSelector:
    """The network of a file that `train-selector` wrote."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    if tuple(stored["features"]) != NAMES:
        raise UsageError(f"{path.name} is for other features: {stored['features']}")
    layers = ("mean", "scale", "first", "first_bias", "second", "second_bias")
    arrays = {layer: np.array(stored[layer], np.float32) for layer in layers}
    return LearnedSelector(**arrays, learned_from=tuple(stored["learned_from"]))
