"""LoCoMo's scorer against cases worked out by hand."""

from __future__ import annotations

import pytest

from benchmarks.scoring import bleu_1, bootstrap_mean, locomo_f1, normalised_tokens, token_f1


def test_articles_commas_and_punctuation_do_not_count() -> None:
    assert normalised_tokens("The cat, and a dog!") == ["cat", "dog"]


def test_words_are_compared_by_their_stems() -> None:
    assert token_f1("painting sunsets", "painted a sunset") == 1.0


def test_f1_balances_what_is_missing_and_what_is_too_much() -> None:
    assert token_f1("7 May 2023", "May 2023") == pytest.approx(0.8)


def test_repeated_words_count_as_often_as_both_have_them() -> None:
    assert token_f1("very very good", "very good") == pytest.approx(0.8)


def test_nothing_shared_scores_nothing() -> None:
    assert token_f1("", "blue") == 0.0
    assert token_f1("red", "blue") == 0.0


def test_multi_hop_takes_the_best_part_for_each_gold_part() -> None:
    assert locomo_f1("hiking, pottery", "pottery, camping", 1) == pytest.approx(0.5)
    assert locomo_f1("camping, hiking, pottery", "pottery, camping", 1) == 1.0


def test_open_domain_gold_ends_at_the_semicolon() -> None:
    assert locomo_f1("likely yes", "Likely yes; because she said so", 3) == 1.0


def test_adversarial_questions_have_no_f1() -> None:
    with pytest.raises(ValueError, match="category 5"):
        locomo_f1("x", "y", 5)


def test_bleu_punishes_short_answers() -> None:
    assert bleu_1("sunset", "sunset") == 1.0
    assert bleu_1("sunset", "sunset over lake") == pytest.approx(0.1353, abs=1e-3)
    assert bleu_1("", "sunset") == 0.0


def test_interval_holds_the_mean_and_repeats() -> None:
    values = [0.0, 0.5, 1.0] * 20
    first, second = bootstrap_mean(values), bootstrap_mean(values)
    assert first == second
    assert first.mean == pytest.approx(0.5)
    assert first.low < first.mean < first.high
    assert bootstrap_mean([]).n == 0
