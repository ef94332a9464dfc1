"""Fusion of signals into one score: learned weights that depend on the question, and RRF.

Pure: arrays in, arrays out. The weights are data (fusion_weights*.json), made by
`python -m benchmarks train-fusion`; this module must not know what a signal measures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from localmem.errors import UsageError

Floats = NDArray[np.float32]

RRF_K = 60
WeightSet = Literal["default", "open"]
_FILES: Mapping[str, str] = {
    "default": "fusion_weights.json",
    "open": "fusion_weights_open.json",
}


@dataclass(frozen=True, slots=True)
class FusionModel:
    """A convex conditional logit: score_i = sum over j, f of weights[j, f] phi_f signal_j(i).

    `plain` names the signals that are taken as they are; the others are standardised over the
    rows of a search. `weights` is float32 (signals, features). `ranges` (2, features) holds the
    least and largest value of each feature that the weights were learned from: a question outside
    of them is taken as one at the edge, so that weights are never extrapolated.
    """

    signals: tuple[str, ...]
    features: tuple[str, ...]
    plain: frozenset[str]
    weights: Floats
    ranges: Floats

    def question_weights(self, features: Mapping[str, float]) -> Floats:
        """float32 (signals,): the weight of each signal for a question."""
        phi = np.array([features[name] for name in self.features], np.float32)
        return np.asarray(self.weights @ np.clip(phi, *self.ranges), np.float32)

    def inputs(self, signals: Mapping[str, Floats]) -> Floats:
        """float32 (signals, rows): the signals as the model takes them."""
        rows = np.stack([signals[name] for name in self.signals]).astype(np.float32, copy=False)
        graded = np.array([name not in self.plain for name in self.signals])
        rows[graded] = standardised(rows[graded])
        return rows

    @classmethod
    def of_json(cls, text: str, part: str) -> FusionModel:
        """The model of one part ("full", "keyword") of a weights file."""
        parsed = json.loads(text)["models"][part]
        return cls(
            tuple(parsed["signals"]),
            tuple(parsed["features"]),
            frozenset(parsed["plain"]),
            np.array(parsed["weights"], np.float32),
            np.array(parsed["ranges"], np.float32),
        )


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """The models of one weights file: with vectors, and with words alone."""

    name: str
    learned_from: tuple[str, ...]
    full: FusionModel
    keyword: FusionModel


def load_weights(name: str = "default") -> FusionWeights:
    """The shipped weights of that name, "default" or "open" (learned without LoCoMo).

    Raises:
        UsageError: no weights have that name.
    """
    if name not in _FILES:
        raise UsageError(f"no fusion weights are called {name!r}", hint=f"one of {sorted(_FILES)}")
    return read_weights(Path(__file__).with_name(_FILES[name]), name)


def read_weights(path: Path, name: str) -> FusionWeights:
    """The weights of a file that `train-fusion` wrote."""
    text = path.read_text(encoding="utf-8")
    return FusionWeights(
        name=name,
        learned_from=tuple(json.loads(text)["learned_from"]),
        full=FusionModel.of_json(text, "full"),
        keyword=FusionModel.of_json(text, "keyword"),
    )


def standardised(values: Floats) -> Floats:
    """Each row of (rows, n) with mean 0 and deviation 1; all 0 where it is all alike."""
    centred = values - values.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("ij,ij->i", centred, centred) / values.shape[1])
    scale = np.where(spread < 1e-5, 0, 1 / np.maximum(spread, 1e-5))
    return np.asarray(centred * scale[:, None], np.float32)


def reciprocal_rank(rankings: Sequence[Floats], *, weight: float, k: int = RRF_K) -> Floats:
    """Weighted reciprocal rank fusion: sum of weight / (k + rank), ranks from 1.

    `rankings` hold one score a unit; a unit with a score of 0 or less is absent from that ranking
    and gets nothing from it. Ties rank by place. (APDMem, appendix G.)
    """
    fused = np.zeros_like(rankings[0], dtype=np.float32)
    for scores in rankings:
        order = np.argsort(-scores, kind="stable")
        ranks = np.empty(len(scores), np.float32)
        ranks[order] = np.arange(1, len(scores) + 1)
        fused += np.where(scores > 0, weight / (k + ranks), 0).astype(np.float32)
    return fused
