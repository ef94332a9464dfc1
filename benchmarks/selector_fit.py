"""Trains the selector: a 12-4-3 network by Adam on soft targets. Pure NumPy, seeded.

(FluxMem, Algorithm 3: scaler on the training part, mini-batches, cross-entropy, early stop.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from localmem.tiers.selector import LearnedSelector

Doubles = NDArray[np.float64]

_TEMPERATURE = 0.05
_FULL_WEIGHT_SPREAD = 0.1
_HARD_MARGIN = 0.02
_TIE_ORDER = (0, 2, 1)
"""Linear, hierarchical, graph: who wins an exact tie of hard labels."""


@dataclass(frozen=True, slots=True)
class FitPlan:
    """How the network is trained. `hidden` 0 makes it a multinomial logistic model."""

    hidden: int = 4
    rate: float = 3e-3
    batch: int = 32
    l2: float = 1e-3
    epochs: int = 300
    patience: int = 20
    seeds: int = 20
    validation_share: float = 0.15


@dataclass(frozen=True, slots=True)
class Examples:
    """`features` float64 (n, 12), `targets` (n, 3) rows that sum to 1, `weights` (n,)."""

    features: Doubles
    targets: Doubles
    weights: Doubles

    def part(self, rows: NDArray[np.int64]) -> Examples:
        return Examples(self.features[rows], self.targets[rows], self.weights[rows])


def soft_examples(features: Doubles, rewards: Doubles) -> Examples:
    """Targets softmax(r / .05), weight min(1, (max - min) / .1); instances without a difference go.

    Ties are the rule: half of the episodes tie at the top, and a hard label would be noise there.
    """
    spread = rewards.max(axis=1) - rewards.min(axis=1)
    keep = spread > 0
    odds = rewards[keep] / _TEMPERATURE
    powers = np.exp(odds - odds.max(axis=1, keepdims=True))
    targets = powers / powers.sum(axis=1, keepdims=True)
    return Examples(features[keep], targets, np.minimum(1.0, spread[keep] / _FULL_WEIGHT_SPREAD))


def hard_examples(features: Doubles, rewards: Doubles) -> Examples:
    """The paper's labels: the best structure; a lead under .02 is dropped unless it is a tie."""
    ordered = np.sort(rewards, axis=1)
    lead = ordered[:, -1] - ordered[:, -2]
    keep = (lead == 0) | (lead >= _HARD_MARGIN)
    preferred = rewards[:, _TIE_ORDER].argmax(axis=1)
    labels = np.array(_TIE_ORDER)[preferred]
    targets = np.eye(rewards.shape[1])[labels]
    return Examples(features[keep], targets[keep], np.ones(int(keep.sum())))


def train(examples: Examples, plan: FitPlan, *, seed: int) -> LearnedSelector:
    """The network of the median validation loss among `plan.seeds` trainings."""
    trained = sorted(
        (_train_once(examples, plan, seed * 1_000 + number) for number in range(plan.seeds)),
        key=lambda made: made[0],
    )
    return trained[len(trained) // 2][1]


def _train_once(examples: Examples, plan: FitPlan, seed: int) -> tuple[float, LearnedSelector]:
    random = np.random.default_rng(seed)
    order = random.permutation(len(examples.features))
    held = max(1, int(plan.validation_share * len(order)))
    learned_from, checked_on = examples.part(order[held:]), examples.part(order[:held])
    mean = learned_from.features.mean(axis=0)
    scale = np.maximum(learned_from.features.std(axis=0), 1e-3)
    inputs = (learned_from.features - mean) / scale
    checked_inputs = (checked_on.features - mean) / scale
    layers = _start(random, examples.features.shape[1], plan.hidden, examples.targets.shape[1])
    adam = _Adam(layers, plan.rate)
    best, best_layers, waited = np.inf, [layer.copy() for layer in layers], 0
    for _ in range(plan.epochs):
        shuffled = random.permutation(len(inputs))
        for begin in range(0, len(shuffled), plan.batch):
            rows = shuffled[begin : begin + plan.batch]
            adam.step(_gradients(layers, inputs[rows], learned_from.part(rows), plan.l2))
        loss = _loss(layers, checked_inputs, checked_on)
        if loss < best - 1e-5:
            best, best_layers, waited = loss, [layer.copy() for layer in layers], 0
        else:
            waited += 1
            if waited >= plan.patience:
                break
    return float(best), _as_selector(best_layers, mean, scale)


def _start(random: np.random.Generator, inputs: int, hidden: int, outputs: int) -> list[Doubles]:
    """Weights and biases of each layer (He's start)."""
    sizes = [inputs, hidden, outputs] if hidden else [inputs, outputs]
    layers: list[Doubles] = []
    for size, following in pairwise(sizes):
        layers.append(random.normal(0, np.sqrt(2 / size), (size, following)))
        layers.append(np.zeros(following))
    return layers


def _forward(layers: Sequence[Doubles], inputs: Doubles) -> tuple[Doubles, Doubles]:
    """The hidden layer (the inputs where there is none) and the chances."""
    hidden = inputs
    if len(layers) == 4:
        hidden = np.maximum(inputs @ layers[0] + layers[1], 0)
    odds = hidden @ layers[-2] + layers[-1]
    powers = np.exp(odds - odds.max(axis=1, keepdims=True))
    return hidden, powers / powers.sum(axis=1, keepdims=True)


def _loss(layers: Sequence[Doubles], inputs: Doubles, examples: Examples) -> float:
    _, chances = _forward(layers, inputs)
    entropy = -(examples.targets * np.log(np.maximum(chances, 1e-12))).sum(axis=1)
    return float((examples.weights * entropy).sum() / max(examples.weights.sum(), 1e-12))


def _gradients(
    layers: Sequence[Doubles], inputs: Doubles, examples: Examples, l2: float
) -> list[Doubles]:
    hidden, chances = _forward(layers, inputs)
    error = examples.weights[:, None] * (chances - examples.targets) / len(inputs)
    found = [hidden.T @ error + l2 * layers[-2], error.sum(axis=0)]
    if len(layers) == 4:
        back = (error @ layers[2].T) * (hidden > 0)
        found = [inputs.T @ back + l2 * layers[0], back.sum(axis=0), *found]
    return found


class _Adam:
    """Kingma and Ba's steps, in place."""

    def __init__(self, layers: list[Doubles], rate: float) -> None:
        self._layers, self._rate, self._steps = layers, rate, 0
        self._mean = [np.zeros_like(layer) for layer in layers]
        self._square = [np.zeros_like(layer) for layer in layers]

    def step(self, gradients: Sequence[Doubles]) -> None:
        self._steps += 1
        for place, gradient in enumerate(gradients):
            self._mean[place] = 0.9 * self._mean[place] + 0.1 * gradient
            self._square[place] = 0.999 * self._square[place] + 0.001 * gradient**2
            mean = self._mean[place] / (1 - 0.9**self._steps)
            square = self._square[place] / (1 - 0.999**self._steps)
            self._layers[place] -= self._rate * mean / (np.sqrt(square) + 1e-8)


def _as_selector(layers: Sequence[Doubles], mean: Doubles, scale: Doubles) -> LearnedSelector:
    """Rounded as it is stored. A logistic model becomes a network that splits by sign first."""
    if len(layers) == 2:
        inputs = layers[0].shape[0]
        eye = np.eye(inputs)
        first, bias = np.hstack([eye, -eye]), np.zeros(2 * inputs)
        second, last = np.vstack([layers[0], -layers[0]]), layers[1]
    else:
        first, bias, second, last = layers

    def stored(array: Doubles) -> NDArray[np.float32]:
        return np.round(array, 5).astype(np.float32)

    return LearnedSelector(
        stored(mean), stored(scale), stored(first), stored(bias), stored(second), stored(last)
    )
