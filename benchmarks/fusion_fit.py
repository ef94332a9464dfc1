"""Fits fusion weights: a conditional logit over the rows of each question. Pure NumPy.

Listwise softmax cross-entropy with L2, minimised by L-BFGS from zero, so that the same input gives
the same weights. Where only the session of the answer is known, the loss is of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
_MEMORY = 10


@dataclass(frozen=True, slots=True)
class Example:
    """One question. `inputs` (signals, rows), `features` (features,), `gold` bool (rows,).

    `whole_session` marks gold that is a session: any of its rows will do.
    """

    dataset: str
    history: str
    inputs: Floats
    features: Floats
    gold: NDArray[np.bool_]
    whole_session: bool


@dataclass(frozen=True, slots=True)
class FitOptions:
    """`l2` weighs the constant feature's weights, `l2_conditioned` those of the others.

    `pool` rows of each question compete: its gold and the strongest of the rest.
    """

    l2: float = 1e-3
    l2_conditioned: float = 1e-2
    pool: int = 150
    iterations: int = 80
    dataset_weights: Mapping[str, float] | None = None


def fit(examples: Sequence[Example], options: FitOptions) -> Floats:
    """The weights, float32 (signals, features)."""
    problem = _Problem.of(examples, options)
    shape = (examples[0].inputs.shape[0], len(examples[0].features))
    flat = minimise(
        lambda w: problem.loss(w.reshape(shape)), np.zeros(shape).ravel(), options.iterations
    )
    return flat.reshape(shape).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Problem:
    """Pooled rows of all questions, padded to one size."""

    inputs: Floats  # (questions, pool, signals)
    features: Floats  # (questions, features)
    present: NDArray[np.bool_]  # (questions, pool)
    gold: NDArray[np.bool_]  # (questions, pool)
    whole: NDArray[np.bool_]  # (questions, 1)
    weights: Doubles  # (questions, 1)
    penalty: Doubles  # (signals, features)

    @classmethod
    def of(cls, examples: Sequence[Example], options: FitOptions) -> _Problem:
        count, signals = len(examples), examples[0].inputs.shape[0]
        size = max(min(options.pool, e.inputs.shape[1]) for e in examples)
        inputs = np.zeros((count, size, signals), np.float32)
        present = np.zeros((count, size), np.bool_)
        gold = np.zeros((count, size), np.bool_)
        for number, example in enumerate(examples):
            rows = pooled(example, size)
            inputs[number, : len(rows)] = example.inputs[:, rows].T
            present[number, : len(rows)] = True
            gold[number, : len(rows)] = example.gold[rows]
        penalty = np.full((signals, len(examples[0].features)), options.l2_conditioned)
        penalty[:, 0] = options.l2
        return cls(
            inputs,
            np.stack([e.features for e in examples]),
            present,
            gold,
            np.array([[e.whole_session] for e in examples]),
            _question_weights(examples, options.dataset_weights or {}),
            penalty,
        )

    def loss(self, weights: Doubles) -> tuple[float, Doubles]:
        """The loss and its gradient (flat) at weights (signals, features)."""
        by_question = (self.features @ weights.T).astype(np.float32)
        scores = np.matmul(self.inputs, by_question[:, :, None])[:, :, 0].astype(np.float64)
        scores[~self.present] = -np.inf
        scores -= scores.max(axis=1, keepdims=True)
        powers = np.exp(scores)
        total = powers.sum(axis=1, keepdims=True)
        chances = powers / total
        of_gold = np.where(self.gold, chances, 0)
        share = of_gold.sum(axis=1, keepdims=True)
        even = self.gold / self.gold.sum(axis=1, keepdims=True)
        wanted = np.where(self.whole, of_gold / np.maximum(share, 1e-300), even)
        logs = np.where(self.gold, scores - np.log(total), 0)
        losses = np.where(
            self.whole,
            -np.log(np.maximum(share, 1e-300)),
            -(even * logs).sum(axis=1, keepdims=True),
        )
        error = (self.weights * (chances - wanted)).astype(np.float32)
        by_signal = np.matmul(error[:, None, :], self.inputs)[:, 0, :]
        gradient = by_signal.T.astype(np.float64) @ self.features + self.penalty * weights
        value = float((self.weights * losses).sum() + 0.5 * (self.penalty * weights**2).sum())
        return value, gradient.ravel()


def pooled(example: Example, size: int) -> NDArray[np.int64]:
    """Rows that compete: the gold, then the rows with the largest sum of signals."""
    strength = example.inputs.sum(axis=0) + np.where(example.gold, np.float32(1e6), 0)
    return np.argsort(-strength, kind="stable")[:size]


def _question_weights(examples: Sequence[Example], wanted: Mapping[str, float]) -> Doubles:
    """Weights that sum to 1, each dataset's in proportion to what is wanted (1 by default)."""
    counts: dict[str, int] = {}
    for example in examples:
        counts[example.dataset] = counts.get(example.dataset, 0) + 1
    weights = np.array([[wanted.get(e.dataset, 1.0) / counts[e.dataset]] for e in examples])
    return np.asarray(weights / weights.sum(), np.float64)


def minimise(
    function: Callable[[Doubles], tuple[float, Doubles]], start: Doubles, iterations: int
) -> Doubles:
    """The minimum of a smooth function by L-BFGS with backtracking (Nocedal and Wright, 7.2)."""
    place = start
    value, gradient = function(place)
    steps: list[tuple[Doubles, Doubles]] = []
    for _ in range(iterations):
        direction = -_curved(gradient, steps)
        slope = float(gradient @ direction)
        if slope > -1e-12:
            break
        length = 1.0 if steps else 1.0 / max(float(np.abs(gradient).sum()), 1.0)
        for _ in range(30):
            moved = place + length * direction
            new_value, new_gradient = function(moved)
            if new_value <= value + 1e-4 * length * slope:
                break
            length *= 0.5
        else:
            break
        step, change = moved - place, new_gradient - gradient
        if float(step @ change) > 1e-12:
            steps = [*steps, (step, change)][-_MEMORY:]
        place, value, gradient = moved, new_value, new_gradient
    return place


def _curved(gradient: Doubles, steps: Sequence[tuple[Doubles, Doubles]]) -> Doubles:
    """The gradient times the inverse curvature that past steps suggest."""
    result = gradient.copy()
    factors = []
    for step, change in reversed(steps):
        factor = float(step @ result) / float(change @ step)
        factors.append(factor)
        result -= factor * change
    if steps:
        step, change = steps[-1]
        result *= float(step @ change) / float(change @ change)
    for (step, change), factor in zip(steps, reversed(factors), strict=True):
        result += step * (factor - float(change @ result) / float(change @ step))
    return result
