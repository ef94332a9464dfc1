"""Twelve features by hand, the network, hysteresis, and its training."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.selector_data import Instance, reward
from benchmarks.selector_fit import FitPlan, hard_examples, soft_examples, train
from benchmarks.train_selector import as_json, figures, folds_of
from localmem.errors import UsageError
from localmem.tiers.features import NAMES, Window, features_of
from localmem.tiers.midterm import MidTerm
from localmem.tiers.selector import (
    KINDS,
    FixedSelector,
    LearnedSelector,
    choose,
    choose_again,
    load_selector,
    read_selector,
)
from localmem.types import StructureKind
from tests.tiers_pages import DIMENSION, page, topic_rows


def named(values: np.ndarray) -> dict[str, float]:
    return dict(zip(NAMES, values.tolist(), strict=True))


def test_features_are_as_the_table_says() -> None:
    rows = np.eye(4, dtype=np.float32)[[0, 0, 1, 0]]
    pages = [
        page(1, hours=0, words=100, entities=("oslo", "ilse"), relations=2, asks=True, weighs=True),
        page(2, hours=1, words=50, entities=("oslo",), asks=True, weighs=True),
        page(3, hours=2, words=50, asks=True, weighs=True),
        page(4, hours=3, words=200, entities=("bread",), asks=True, answer_asks=True),
    ]
    got = named(features_of(pages, rows, theta=0.5))
    assert got["page_count"] == pytest.approx(math.log2(5) / math.log2(65), rel=1e-5)
    assert got["avg_page_length"] == pytest.approx(math.log(101) / math.log(1001), rel=1e-5)
    assert got["entity_density"] == pytest.approx(0.1)
    assert got["relation_indicators"] == pytest.approx(100 * 0.5 / 100 / 2, rel=1e-5)
    assert got["topic_diversity"] == pytest.approx(1 / 3, rel=1e-5)
    assert got["topic_transitions"] == pytest.approx(2 / 3, rel=1e-5)
    assert got["is_qna_pattern"] == 1.0
    assert got["is_decision_tree"] == 1.0
    assert got["is_entity_centric"] == 1.0
    assert got["time_span"] == pytest.approx(math.log(4) / math.log(17_521), rel=1e-5)
    assert got["temporal_density"] == pytest.approx(math.log(1 + 4 / 3) / math.log(61), rel=1e-5)
    assert got["semantic_complexity"] == pytest.approx(1 - math.hypot(0.75, 0.25), rel=1e-3)


def test_features_stay_in_their_range_whatever_the_pages() -> None:
    random = np.random.default_rng(0)
    window = Window(most=8)
    for number in range(40):
        made = page(
            number,
            hours=float(random.integers(0, 60_000)),
            words=int(random.integers(0, 9_000)),
            entities=tuple(f"e{i}" for i in random.integers(0, 30, 20)),
            relations=int(random.integers(0, 400)),
            asks=bool(random.integers(2)),
        )
        window.add(made, topic_rows([number % 5], seed=number)[0])
        values = window.features(float(random.random()))
        assert np.all((values >= 0) & (values <= 1)), named(values)


def test_only_the_newest_pages_count() -> None:
    rows = topic_rows(list(range(12)))
    short = Window(most=4)
    for number in range(12):
        short.add(page(number, words=number, entities=(f"e{number}",)), rows[number])
    last = [page(n, words=n, entities=(f"e{n}",)) for n in range(8, 12)]
    np.testing.assert_allclose(
        short.features(0.3), features_of(last, rows[8:], 0.3), rtol=1e-5, atol=1e-6
    )


def test_no_or_one_page_gives_no_topics_and_no_time() -> None:
    assert not Window().features(0.5).any()
    one = named(features_of([page(1)], topic_rows([0]), 0.5))
    assert (one["topic_diversity"], one["topic_transitions"], one["semantic_complexity"]) == (
        0,
        0,
        0,
    )
    assert one["time_span"] == 0.0


def test_another_structure_needs_four_pages_and_a_lead() -> None:
    clear, close = np.array([0.2, 0.6, 0.2], np.float32), np.array([0.4, 0.5, 0.1], np.float32)
    linear, graph = StructureKind.LINEAR, StructureKind.GRAPH
    assert choose(close) is graph
    assert choose_again(linear, clear, pages=4) is graph
    assert choose_again(linear, clear, pages=3) is linear
    assert choose_again(linear, close, pages=9) is linear
    assert choose(np.array([0.4, 0.4, 0.2], np.float32)) is linear


def by_page_count() -> list[Instance]:
    """Made-up instances in which long episodes want a graph and short ones a sequence."""
    random = np.random.default_rng(7)
    made = []
    for number in range(240):
        features = random.random(12).astype(np.float32)
        wants_graph = features[0] > 0.5
        rewards = np.array([0.4, 0.6, 0.5] if wants_graph else [0.6, 0.4, 0.5])
        made.append(Instance("msc", f"h{number % 12}", number, 9, 3, features, rewards))
    return made


def test_training_finds_a_rule_and_beats_the_best_fixed_structure() -> None:
    plan = FitPlan(seeds=3)
    instances = by_page_count()
    features = np.stack([one.features for one in instances]).astype(np.float64)
    rewards = np.stack([one.rewards for one in instances])
    learned = train(soft_examples(features, rewards), plan, seed=0)
    picks = learned.chances(features.astype(np.float32)).argmax(axis=1)
    assert np.mean(picks == rewards.argmax(axis=1)) > 0.9
    again = train(soft_examples(features, rewards), plan, seed=0)
    np.testing.assert_array_equal(learned.first, again.first)


def test_targets_are_soft_and_ties_carry_no_weight() -> None:
    rewards = np.array([[0.5, 0.5, 0.5], [0.6, 0.5, 0.5], [0.9, 0.2, 0.2], [0.5, 0.5, 0.4]])
    soft = soft_examples(np.zeros((4, 12)), rewards)
    assert soft.weights.tolist() == pytest.approx([1.0, 1.0, 1.0])
    assert soft.targets[0] == pytest.approx(np.array([np.e**2, 1, 1]) / (np.e**2 + 2))
    hard = hard_examples(np.zeros((4, 12)), rewards)
    assert hard.targets.argmax(axis=1).tolist() == [0, 0, 0, 0]
    lead = hard_examples(np.zeros((1, 12)), np.array([[0.5, 0.51, 0.5]]))
    assert len(lead.targets) == 0
    tied = hard_examples(np.zeros((1, 12)), np.array([[0.4, 0.5, 0.5]]))
    assert tied.targets.argmax(axis=1).tolist() == [2]


def test_reward_is_quality_and_memory_use() -> None:
    assert reward([4, 1, 2], frozenset({4}), 100) == pytest.approx(0.7 + 0.3 / 3)
    assert reward([4, 1, 2], frozenset({4}), 1_200) == pytest.approx(0.7 + 0.3 / 6)
    assert reward([1, 2, 3], frozenset({9}), 100) == 0.0


def test_whole_histories_are_held_out() -> None:
    folds = folds_of(by_page_count())
    assert set(folds.values()) == set(range(6))


def test_the_weights_file_gives_the_same_network_back(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    shapes = ((12,), (12,), (12, 4), (4,), (4, 3), (3,))
    parts = [random.random(shape).round(5).astype(np.float32) + 1 for shape in shapes]
    mean, scale, first, first_bias, second, second_bias = parts
    learned = LearnedSelector(mean, scale, first, first_bias, second, second_bias)
    file = tmp_path / "selector.json"
    file.write_text(as_json(learned, "default", ("msc",)), encoding="utf-8")
    read = read_selector(file)
    features = random.random(12).astype(np.float32)
    np.testing.assert_allclose(read.chances(features), learned.chances(features), rtol=1e-4)
    assert read.learned_from == ("msc",)
    file.write_text(file.read_text(encoding="utf-8").replace("page_count", "pages"), "utf-8")
    with pytest.raises(UsageError, match="other features"):
        read_selector(file)


def test_figures_name_every_yardstick() -> None:
    report = figures(by_page_count(), labels="soft", seed=0, seeds=1)
    assert report["reward"]["oracle"] == pytest.approx(0.6)
    assert report["reward"]["always linear"] <= report["reward"]["network 12-4-3"] <= 0.6
    low, high = report["gain over best fixed"]["network 12-4-3"]["interval_95"]
    assert 0 < low < high


@pytest.mark.parametrize("name", ["default", "open"])
def test_the_shipped_networks_hold_67_numbers(name: str) -> None:
    learned = load_selector(name)
    parts = (learned.first, learned.first_bias, learned.second, learned.second_bias)
    assert sum(part.size for part in parts) == 67
    assert ("locomo" in learned.learned_from) == (name == "default")
    assert learned.chances(np.full(12, 0.5, np.float32)).sum() == pytest.approx(1.0)


def test_an_unknown_network_is_named() -> None:
    with pytest.raises(UsageError, match="no selector is called"):
        load_selector("other")


def test_an_episode_may_change_its_structure_as_it_grows() -> None:
    class GraphFromFivePages:
        reads_features = True

        def chances(self, features: np.ndarray) -> np.ndarray:
            many = features[0] > math.log2(1 + 5) / math.log2(65)
            return np.array([0.1, 0.8, 0.1] if many else [0.8, 0.1, 0.1], np.float32)

    tier = MidTerm(DIMENSION, selector=GraphFromFivePages())
    seen = []
    for number in range(8):
        list(tier.consolidate([page(number)], topic_rows([0], noise=0.01)))
        seen.append(tier.episodes[0].structure)
    assert seen[0] is StructureKind.LINEAR
    assert seen[-1] is StructureKind.GRAPH
    assert FixedSelector(KINDS[2]).chances(np.zeros(12, np.float32)).tolist() == [0, 0, 1]
