"""Words of a text in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.words import Analyser, languages, stopwords, words


def test_words_are_case_folded_and_keep_their_order() -> None:
    assert words("The Cat sat; CAT!") == ["the", "cat", "sat", "cat"]


def test_a_number_loses_its_thousands_separators_and_keeps_its_decimals() -> None:
    assert words("$400,000 or 3.5") == ["400000", "or", "3.5"]


def test_numbers_in_a_list_are_told_apart() -> None:
    assert words("1,2,3") == ["1", "2", "3"]


def test_chinese_becomes_overlapping_pairs_and_latin_inside_it_stays_whole() -> None:
    assert words("北京大学 with GPS") == ["北京", "京大", "大学", "with", "gps"]


def test_a_single_unspaced_character_is_a_word() -> None:
    assert words("猫") == ["猫"]


def test_vowel_signs_stay_within_their_word() -> None:
    assert words("स्कूल।") == ["स्कूल"]


@pytest.mark.parametrize("text", ["", "   ", "?!…", "\n\t"])
def test_text_without_letters_has_no_words(text: str) -> None:
    assert words(text) == []
    assert Analyser().terms(text) == []


def test_english_terms_are_stems_without_stopwords_and_possessives() -> None:
    assert Analyser().terms("What are Ottilie's paintings?") == ["ottili", "paint"]


def test_typographic_and_plain_apostrophes_give_the_same_terms() -> None:
    assert Analyser().terms("Mel’s dog doesn’t bark") == Analyser().terms("Mel's dog doesn't bark")


def test_german_is_recognised_by_its_stopwords_and_stemmed_as_german() -> None:
    analyser = Analyser()
    found = words("Ich habe die Bilder nicht gesehen")
    assert analyser.language(found) == "de"
    assert analyser.terms("Ich habe die Bilder nicht gesehen") == ["bild", "geseh"]


def test_text_without_stopwords_counts_as_english() -> None:
    assert Analyser().language(["quantum", "chromodynamics"]) == "en"


def test_an_unknown_language_has_no_stopwords() -> None:
    assert stopwords("xx") == frozenset()
    assert "en" in languages()


@given(st.text(max_size=80))
def test_words_of_any_text_are_never_blank_and_terms_repeat(text: str) -> None:
    assert all(word.strip() for word in words(text))
    analyser = Analyser()
    assert analyser.terms(text) == analyser.terms(text)
