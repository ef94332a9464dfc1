"""The gate: mixtures of known kind, odds that rise, verdicts, few or odd scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.gate_mixtures import bayes_share, random_mixtures
from localmem.tiers.gate import (
    POOL,
    BetaGate,
    FixedGate,
    GateOptions,
    PaperGate,
    ScorePool,
    normalised,
    prior,
    prior_from,
)
from localmem.tiers.gate_fit import EDGE, fit_mixture
from localmem.types import GateKind


def two_kinds(seed: int, low: int = 300, high: int = 100) -> np.ndarray:
    random = np.random.default_rng(seed)
    scores = np.concatenate([random.normal(0.2, 0.04, low), random.normal(0.6, 0.04, high)])
    random.shuffle(scores)
    return scores


def filled(scores: np.ndarray, options: GateOptions | None = None) -> BetaGate:
    gate = BetaGate(options)
    for start in range(0, scores.size, 8):
        gate.admit(np.sort(scores[start : start + 8])[::-1])
    return gate


@pytest.mark.parametrize(("size", "wanted"), [(200, 0.97), (1_000, 0.99)])
def test_random_mixtures_are_told_apart_nearly_as_well_as_can_be(size: int, wanted: float) -> None:
    found = [bayes_share(mixture, size) for mixture in random_mixtures(200, seed=0)]
    assert np.mean([share for share, _ in found]) >= wanted
    assert all(rises for _, rises in found)


def test_a_fit_without_the_projection_may_fall() -> None:
    falling = [
        fit_mixture(mixture.draw(200)[0], monotone=False).rises_on(EDGE, 1 - EDGE)
        for mixture in random_mixtures(60, seed=1)
    ]
    assert not all(falling)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=120))
def test_the_posterior_never_falls_whatever_the_scores(values: list[float]) -> None:
    fit = fit_mixture(np.array(values))
    grid = np.linspace(EDGE, 1 - EDGE, 200)
    assert fit.rises_on(EDGE, 1 - EDGE)
    assert np.all(np.diff(fit.posterior(grid)) >= -1e-12)


def test_the_likelihood_of_a_fit_is_that_of_its_densities() -> None:
    x = two_kinds(3)
    fit = fit_mixture(x)
    densities = sum(
        np.exp(part.log_norm + (part.a - 1) * np.log(x) + (part.b - 1) * np.log1p(-x))
        for part in (fit.low, fit.high)
    )
    assert fit.log_likelihood == pytest.approx(float(np.log(densities).mean()), rel=1e-9)
    assert fit.low.share + fit.high.share == pytest.approx(1.0)


def test_scores_are_needed_for_a_fit() -> None:
    with pytest.raises(ValueError, match="no scores"):
        fit_mixture(np.zeros(0))


def test_before_forty_scores_the_prior_decides_and_says_so() -> None:
    gate = BetaGate()
    verdict = gate.admit(np.array([0.7, 0.2]))
    assert (verdict.kind, verdict.merges, verdict.fit) == (GateKind.PRIOR, True, 0)
    assert not gate.admit(np.array([0.3, 0.2])).merges


def test_scores_of_one_kind_leave_the_prior_in_charge() -> None:
    random = np.random.default_rng(0)
    gate = filled(random.normal(0.3, 0.001, 200))
    narrow = gate.fit is not None and not gate.fit.mixture.is_split
    assert not narrow or gate.admit(np.array([0.9])).kind is GateKind.PRIOR
    alike = filled(np.full(200, 0.3))
    assert alike.admit(np.array([0.3, 0.3])).kind is GateKind.PRIOR


def test_the_middle_is_learned_from_the_memorys_own_scores() -> None:
    low, high = filled(two_kinds(1)), filled(two_kinds(1) + 0.25)
    score = np.array([0.5])
    assert low.admit(score).merges
    assert not high.admit(score).merges
    assert low.admit(score).kind is GateKind.FITTED


def test_a_page_unlike_all_others_founds_an_episode() -> None:
    verdict = filled(two_kinds(2)).admit(np.array([0.12, 0.1, 0.05]))
    assert not verdict.merges
    assert verdict.kept == (0,)  # minimum keep: a related link, not a merge


def test_minimum_keep_and_the_threshold_decide_what_is_related() -> None:
    scores = np.array([0.62, 0.6, 0.2, 0.1])
    assert filled(two_kinds(4)).admit(scores).kept == (0, 1)
    assert filled(two_kinds(4), GateOptions(minimum_keep=3)).admit(scores).kept == (0, 1, 2)
    assert filled(two_kinds(4), GateOptions(minimum_keep=9)).admit(scores).kept == (0, 1, 2, 3)


def test_without_candidates_there_is_no_verdict_to_give() -> None:
    for gate in (BetaGate(), PaperGate(), FixedGate(0.3)):
        verdict = gate.admit(np.zeros(0))
        assert (verdict.kind, verdict.merges, verdict.kept) == (GateKind.NONE, False, ())


def test_the_paper_gate_takes_every_page_in() -> None:
    gate = PaperGate()
    assert gate.admit(np.array([0.05, 0.04, 0.03, 0.02, 0.01])).merges
    assert gate.admit(np.array([0.2])).merges


def test_a_fixed_gate_has_one_threshold() -> None:
    gate = FixedGate(0.3)
    assert gate.admit(np.array([0.3, 0.1])).merges
    assert not gate.admit(np.array([0.29])).merges


def test_the_pool_keeps_the_newest_scores_and_asks_for_fits_as_it_grows() -> None:
    pool = ScorePool()
    pool.add(np.full(39, 0.5))
    assert not pool.wants_fit
    pool.add(np.array([0.1]))
    assert pool.wants_fit
    pool.size_at_fit, pool.since_fit = 40, 0
    pool.add(np.array([0.1, 0.2, 0.3]))
    assert not pool.wants_fit
    pool.add(np.array([0.1]))
    assert pool.wants_fit
    pool.add(np.arange(POOL, dtype=np.float64))
    assert pool.values.size == POOL
    assert pool.values[0] == 0.0


def test_a_gate_goes_on_where_it_stopped() -> None:
    first = filled(two_kinds(5))
    second = BetaGate(pool=ScorePool(first.pool.values, first.pool.since_fit, 0), fit=first.fit)
    assert second.fit is first.fit
    assert second.admit(np.array([0.6])).fit == (first.fit.number + 1 if first.fit else 0)


def test_equal_bounds_put_every_score_in_the_middle() -> None:
    assert normalised(np.array([0.3, 0.3]), 0.3, 0.3).tolist() == [0.5, 0.5]
    x = normalised(np.array([-1.0, 0.0, 1.0, 2.0]), 0.0, 1.0)
    assert x.tolist() == pytest.approx([EDGE, EDGE, 1 - EDGE, 1 - EDGE])


def test_the_prior_is_fitted_on_labelled_scores() -> None:
    random = np.random.default_rng(0)
    scores = random.uniform(0, 1, 4_000)
    same = (random.random(4_000) < 1 / (1 + np.exp(-(scores - 0.4) / 0.07))).astype(np.float64)
    middle, width = prior_from(scores, same)
    share = float(same.mean())  # both kinds weigh the same, which moves the middle
    moved = 0.4 + 0.07 * np.log(share / (1 - share))
    assert middle == pytest.approx(moved, abs=0.02)
    assert width == pytest.approx(0.07, abs=0.015)
    with pytest.raises(ValueError, match="rise"):
        prior_from(scores, 1 - same)


def test_the_prior_rises_with_the_score() -> None:
    assert np.all(np.diff(prior(np.linspace(0, 1, 50))) > 0)
