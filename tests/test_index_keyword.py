"""Keyword search against a plain reference, with rows that come and go."""

from __future__ import annotations

import logging
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localmem.errors import StaleIndexError
from localmem.index.blob import pack
from localmem.index.keyword import K1, B, KeywordIndex
from localmem.words import Analyser

TEXTS = [
    "The museum opened a new wing for modern art",
    "I went to the museum with Sara yesterday, the art was wonderful",
    "My dog ate the museum ticket",
    "",
    "art art art art museum",
    "Nothing to see here",
]


def textbook_bm25(query: str, texts: list[str]) -> list[float]:
    """BM25 as Lucene computes it, term by term and text by text."""
    analyser = Analyser()
    documents = [Counter(analyser.terms(text)) for text in texts]
    lengths = [document.total() for document in documents]
    mean = sum(lengths) / len(lengths)
    scores = []
    for document, length in zip(documents, lengths, strict=True):
        score = 0.0
        for term in set(analyser.terms(query)):
            df = sum(term in other for other in documents)
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            tf = document[term]
            score += idf * tf / (tf + K1 * (1 - B + B * length / mean)) if tf else 0.0
        scores.append(score)
    return scores


def index_of(texts: list[str]) -> KeywordIndex:
    index = KeywordIndex()
    index.add(list(range(len(texts))), texts)
    return index


@pytest.mark.parametrize("query", ["museum art", "Sara's dog", "yesterday", "wing ticket art"])
@pytest.mark.parametrize("merged_rows", [0, 3, len(TEXTS)])
def test_scores_are_textbook_bm25_whatever_part_is_merged(query: str, merged_rows: int) -> None:
    index = index_of(TEXTS[:merged_rows])
    index.merge()
    index.add(list(range(merged_rows, len(TEXTS))), TEXTS[merged_rows:])
    np.testing.assert_allclose(index.scores(query), textbook_bm25(query, TEXTS), rtol=1e-4)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["ant", "bee", "cat", "dog", "elk", "fox"]), max_size=30),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 8),
)
def test_any_rows_score_as_the_textbook_says(documents: list[list[str]], merged: int) -> None:
    texts = [" ".join(document) for document in documents]
    if not any(texts):
        texts.append("ant")
    index = index_of(texts[:merged])
    index.merge()
    index.add(list(range(len(texts[:merged]), len(texts))), texts[merged:])
    expected = textbook_bm25("ant bee fox", texts)
    np.testing.assert_allclose(index.scores("ant bee fox"), expected, rtol=1e-4, atol=1e-6)


def test_term_contributions_sum_to_the_score() -> None:
    index = index_of(TEXTS)
    index.merge()
    parts = index.contributions(index.terms("museum art"))
    np.testing.assert_allclose(parts.sum(axis=0), index.scores("museum art"), rtol=1e-5)


def test_a_removed_row_no_longer_counts_in_any_statistic() -> None:
    index = index_of(TEXTS)
    index.merge()
    index.remove([1, 4, 99])
    left = [t for n, t in enumerate(TEXTS) if n not in {1, 4}]
    assert index.ids == [0, 2, 3, 5]
    np.testing.assert_allclose(
        index.scores("museum art"), textbook_bm25("museum art", left), rtol=1e-4
    )


def test_removing_every_row_leaves_an_index_that_can_be_used_again() -> None:
    index = index_of(TEXTS)
    index.remove(range(len(TEXTS)))
    assert index.scores("museum").tolist() == []
    index.add([7], ["a museum"])
    assert index.scores("museum")[0] > 0


@pytest.mark.parametrize("query", ["", "   ", "the of and", "zyzzyva"])
def test_a_query_without_known_words_scores_nothing(query: str) -> None:
    index = index_of(TEXTS)
    index.merge()
    assert not index.scores(query).any()


def test_an_empty_index_has_no_scores() -> None:
    assert KeywordIndex().scores("museum").tolist() == []


def test_texts_in_scripts_without_spaces_are_found() -> None:
    index = index_of(["昨天我去了北京大学", "我喜欢猫", "ฉันรักแมวมาก"])
    assert index.scores("北京").argmax() == 0
    assert index.scores("แมว").argmax() == 2


def test_a_snapshot_gives_the_same_scores_and_can_grow() -> None:
    index = index_of(TEXTS)
    copy = KeywordIndex.from_bytes(index.to_bytes())
    assert copy.ids == index.ids
    np.testing.assert_array_equal(copy.scores("museum art"), index.scores("museum art"))
    copy.add([50], ["museum of art"])
    expected = textbook_bm25("museum art", [*TEXTS, "museum of art"])
    np.testing.assert_allclose(copy.scores("museum art"), expected, rtol=1e-4)


def test_equal_rows_give_equal_bytes_and_a_snapshot_is_no_pickle() -> None:
    in_one_go = index_of(TEXTS)
    one_by_one = KeywordIndex()
    for number, text in enumerate(TEXTS):
        one_by_one.add([number], [text])
    assert in_one_go.to_bytes() == one_by_one.to_bytes()
    assert in_one_go.to_bytes().startswith(b"localmem-index")


def test_a_damaged_snapshot_is_refused() -> None:
    snapshot = bytearray(index_of(TEXTS).to_bytes())
    snapshot[-9] ^= 1
    with pytest.raises(StaleIndexError, match="hash"):
        KeywordIndex.from_bytes(bytes(snapshot))


@pytest.mark.parametrize("snapshot", [b"", b"PK\x03\x04", b"localmem-index-1"])
def test_bytes_that_are_no_snapshot_are_refused(snapshot: bytes) -> None:
    with pytest.raises(StaleIndexError, match="format"):
        KeywordIndex.from_bytes(snapshot)


def test_a_snapshot_of_another_kind_is_refused() -> None:
    with pytest.raises(StaleIndexError, match="want 'keyword'"):
        KeywordIndex.from_bytes(pack({"kind": "vectors-exact"}, {}))


def test_many_single_additions_stay_findable_while_merges_happen() -> None:
    index = KeywordIndex()
    for number in range(2500):
        index.add([number], [f"entry number{number}"])
    assert index.scores("number2499").argmax() == 2499
    assert index.scores("number17").argmax() == 17


def test_ids_and_texts_must_have_one_length() -> None:
    with pytest.raises(ValueError, match="got 1 ids"):
        KeywordIndex().add([1], ["a", "b"])


def test_building_leaves_the_log_level_of_bm25s_alone() -> None:
    index_of(TEXTS).merge()
    assert logging.getLogger("bm25s").level == logging.NOTSET
