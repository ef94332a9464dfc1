"""Fusion: reciprocal ranks, standardising, and the fit of the weights."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fusion_fit import Example, FitOptions, fit, minimise, pooled
from benchmarks.measures import ndcg, percentile, recall
from localmem.index.fusion import FusionModel, load_weights, reciprocal_rank, standardised


def test_reciprocal_ranks_add_up_and_absent_units_get_nothing() -> None:
    lexical = np.array([3.0, 0.0, 1.0], np.float32)
    dense = np.array([0.2, 0.9, 0.0], np.float32)
    fused = reciprocal_rank([lexical, dense], weight=0.5, k=60)
    np.testing.assert_allclose(fused, [0.5 / 61 + 0.5 / 62, 0.5 / 61, 0.5 / 62], rtol=1e-6)


def test_standardised_rows_have_mean_zero_and_deviation_one() -> None:
    rows = np.array([[1, 2, 3, 4], [5, 5, 5, 5]], np.float32)
    result = standardised(rows)
    np.testing.assert_allclose(result[0].mean(), 0, atol=1e-6)
    np.testing.assert_allclose(result[0].std(), 1, rtol=1e-5)
    assert not result[1].any()


def test_the_weight_of_a_signal_depends_on_the_features() -> None:
    weights = np.array([[1.0, 0.0], [0.0, 2.0]], np.float32)
    ranges = np.array([[1, 0], [1, 1]], np.float32)
    model = FusionModel(("a", "b"), ("one", "people"), frozenset(), weights, ranges)
    assert model.question_weights({"one": 1, "people": 0}).tolist() == [1, 0]
    assert model.question_weights({"one": 1, "people": 1}).tolist() == [1, 2]
    # Outside of what was learned from, the edge counts.
    assert model.question_weights({"one": 1, "people": 9}).tolist() == [1, 2]


@pytest.mark.parametrize("name", ["default", "open"])
def test_shipped_weights_have_one_line_a_signal_and_one_number_a_feature(name: str) -> None:
    weights = load_weights(name)
    for model in (weights.full, weights.keyword):
        assert model.weights.shape == (len(model.signals), len(model.features))
        assert np.isfinite(model.weights).all()
    assert not any(signal.startswith("vector") for signal in weights.keyword.signals)


def examples(whole_session: bool = False) -> list[Example]:
    """Questions whose gold has the larger first signal; the second is noise."""
    random = np.random.default_rng(5)
    made = []
    for number in range(40):
        inputs = random.normal(size=(2, 30)).astype(np.float32)
        gold = np.zeros(30, np.bool_)
        gold[int(inputs[0].argmax())] = True
        features = np.array([1.0], np.float32)
        made.append(Example("d", f"h{number % 4}", inputs, features, gold, whole_session))
    return made


@pytest.mark.parametrize("whole_session", [False, True])
def test_the_fit_finds_the_signal_that_tells(whole_session: bool) -> None:
    weights = fit(examples(whole_session), FitOptions(l2=1e-3))
    assert weights[0, 0] > 1
    assert abs(weights[1, 0]) < 0.3 * weights[0, 0]


def test_the_same_examples_give_the_same_weights() -> None:
    assert (fit(examples(), FitOptions()) == fit(examples(), FitOptions())).all()


def test_gold_is_always_in_the_pool() -> None:
    example = examples()[0]
    assert example.gold[pooled(example, 3)].any()


def test_the_minimiser_finds_the_bottom_of_a_narrow_valley() -> None:
    def valley(w: np.ndarray) -> tuple[float, np.ndarray]:
        a, b = float(w[0]), float(w[1])
        value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
        slope = np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])
        return value, slope

    np.testing.assert_allclose(minimise(valley, np.array([-1.0, 1.0]), 200), [1, 1], atol=1e-3)


def test_recall_counts_the_gold_as_at_most_k() -> None:
    assert recall("abcdef", set("abxyzw"), 2) == 1.0
    assert recall("abcdef", set("ax"), 5) == 0.5


def test_ndcg_is_one_when_the_gold_comes_first() -> None:
    assert ndcg("abc", {"a", "b"}, 10) == pytest.approx(1)
    assert ndcg("xab", {"a"}, 10) == pytest.approx(1 / np.log2(3))


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([3.0, 1.0, 2.0, 4.0], 0.5) == 2.0
    assert percentile([3.0, 1.0, 2.0, 4.0], 0.95) == 4.0
