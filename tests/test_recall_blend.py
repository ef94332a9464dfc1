"""The four-term fusion, by hand-computed ranks."""

from __future__ import annotations

import pytest

from localmem.recall.blend import (
    TABLE_7,
    FusionTerms,
    append_graph,
    blend,
    clipped,
)
from localmem.types import MessageId


def _ids(*numbers: int) -> list[MessageId]:
    return [MessageId(number) for number in numbers]


def test_the_terms_are_those_of_the_paper() -> None:
    graph = {MessageId(3): 0.5, MessageId(2): 0.9}
    fused = dict(blend(_ids(1, 2), graph, TABLE_7, in_time=_ids(3, 1, 2, 9), with_facts=_ids(1)))
    # Oldest to newest: 3, 1, 2; ranks from 0; 0.1 is what a message without a fact gets.
    assert fused[MessageId(1)] == pytest.approx(0.7 * 1 + 0 + 0.1 * 0.5 + 0.1 * 1.0)
    assert fused[MessageId(2)] == pytest.approx(0.7 / 2 + 0.1 * 1 + 0.1 * 1.0 + 0.1 * 0.1)
    assert fused[MessageId(3)] == pytest.approx(0 + 0.1 / 2 + 0.1 * 0.0 + 0.1 * 0.1)


def test_the_best_stands_first_and_ties_go_to_the_lower_id() -> None:
    terms = FusionTerms(0.0, 0.0, 0.0, 1.0)
    assert [n for n, _ in blend(_ids(5, 4), {}, terms, in_time=_ids(4, 5))] == [4, 5]
    assert [n for n, _ in blend(_ids(5, 4), {}, TABLE_7, in_time=_ids(4, 5))] == [5, 4]


def test_a_single_message_is_the_newest() -> None:
    only_recency = FusionTerms(0.0, 0.0, 1.0, 0.0)
    assert blend(_ids(5), {}, only_recency, in_time=_ids(5)) == [(5, 1.0)]


def test_nothing_found_is_nothing_fused() -> None:
    assert blend([], {}, TABLE_7, in_time=[]) == []


def test_a_refiner_is_held_within_the_clips_outside_of_which_the_defaults_lie() -> None:
    assert clipped(TABLE_7) == FusionTerms(0.90, 0.08, 0.03, 0.03)
    assert clipped(FusionTerms(2.0, -1.0, 0.01, 0.02)) == FusionTerms(1.0, 0.0, 0.01, 0.02)


def test_without_fusion_the_graph_s_hits_come_last() -> None:
    graph = {MessageId(2): 0.9, MessageId(7): 0.1, MessageId(8): 0.3}
    assert append_graph(_ids(1, 2), graph) == _ids(1, 2, 8, 7)
