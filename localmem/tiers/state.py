"""The gate between two runs: as values that a store can keep, and back."""

from __future__ import annotations

import numpy as np

from localmem.errors import UsageError
from localmem.tiers.gate import (
    BetaGate,
    FixedGate,
    Gate,
    GateOptions,
    PaperGate,
    PoolFit,
    ScorePool,
)
from localmem.tiers.gate_fit import Beta, Mixture
from localmem.tiers.midterm import RunningState
from localmem.tiers.selector import FixedSelector, Selector, load_selector
from localmem.types import GateState, StructureKind

GATES = ("beta", "paper")
LEARNED = "learned"
STRUCTURES = (*(kind.value for kind in StructureKind), LEARNED)


def gate_named(name: str, state: GateState | None = None) -> Gate:
    """The gate of that name, "beta" or "paper" or "fixed 0.45", going on where `state` stopped.

    Raises:
        UsageError: no gate has that name.
    """
    if name == "beta":
        return BetaGate(pool=_pool_of(state), fit=fit_of(state)) if state else BetaGate()
    if name == "paper":
        return PaperGate(GateOptions())
    kind, _, threshold = name.partition(" ")
    if kind == "fixed" and threshold.replace(".", "", 1).isdigit():
        return FixedGate(float(threshold))
    raise UsageError(f"no gate is called {name!r}", hint=f"one of {', '.join(GATES)}")


def selector_named(name: str) -> Selector:
    """A selector that gives every episode the structure of that name, or the learned one.

    Raises:
        UsageError: no structure has that name.
    """
    if name == LEARNED:
        return load_selector()
    if name not in STRUCTURES:
        raise UsageError(f"no structure is called {name!r}", hint=f"one of {', '.join(STRUCTURES)}")
    return FixedSelector(StructureKind(name))


def state_of(settings: str, gate: Gate, running: RunningState) -> GateState:
    """What is to be kept of a gate and of the running conversation."""
    common = GateState(
        settings,
        theta=running.theta,
        adjacent=running.adjacent.astype(np.float32).tobytes(),
        previous_page=running.previous_page,
        previous_episode=running.previous_episode,
    )
    if not isinstance(gate, BetaGate):
        return common
    fit = gate.fit
    return GateState(
        settings,
        pool=gate.pool.values.astype(np.float64).tobytes(),
        since_fit=gate.pool.since_fit,
        size_at_fit=gate.pool.size_at_fit,
        fit=fit.number if fit else 0,
        low=fit.low if fit else 0.0,
        high=fit.high if fit else 0.0,
        mixture=_numbers_of(fit.mixture) if fit else (),
        theta=common.theta,
        adjacent=common.adjacent,
        previous_page=common.previous_page,
        previous_episode=common.previous_episode,
    )


def running_of(state: GateState) -> RunningState:
    """The running conversation as it was when the state was taken."""
    return RunningState(
        state.theta,
        np.frombuffer(state.adjacent, np.float32),
        state.previous_page,
        state.previous_episode,
    )


def _pool_of(state: GateState) -> ScorePool:
    return ScorePool(np.frombuffer(state.pool, np.float64), state.since_fit, state.size_at_fit)


def fit_of(state: GateState) -> PoolFit | None:
    """The fit that decided last; None before the first."""
    if not state.mixture:
        return None
    low, high = Beta(*state.mixture[:3]), Beta(*state.mixture[3:6])
    mixture = Mixture(low, high, state.mixture[6], int(state.mixture[7]))
    return PoolFit(mixture, state.low, state.high, state.fit)


def _numbers_of(mixture: Mixture) -> tuple[float, ...]:
    low, high = mixture.low, mixture.high
    parts = (low.a, low.b, low.share, high.a, high.b, high.share)
    return (*parts, mixture.log_likelihood, float(mixture.rounds))
