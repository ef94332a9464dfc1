"""Long-term entries: who stays, who leaves, what holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from localmem.tiers.longterm import confidence, is_eligible, keep, nearest, recency, take_in
from localmem.types import EntryId, LastingEntry, LastingKind, MessageId
from tests.tiers_pages import START

_NOW = START + timedelta(days=400)


def entry(number: int, value: str = "", *, slot: str = "", days: float = 0.0) -> LastingEntry:
    when = START + timedelta(days=days)
    return LastingEntry(
        EntryId(number),
        LastingKind.PROFILE,
        f"says {value or number}",
        slot,
        value,
        when,
        when,
        (MessageId(number),),
    )


def test_an_entry_stays_while_usage_recency_and_confidence_pass() -> None:
    good = replace(entry(1, days=300), supporting=2)
    assert is_eligible(good, _NOW)
    assert not is_eligible(replace(good, supporting=1), _NOW)
    assert is_eligible(replace(good, supporting=1, used=1), _NOW)
    assert not is_eligible(replace(good, last_said_at=_NOW - timedelta(days=900)), _NOW)
    assert not is_eligible(replace(good, contradictions=1), _NOW)


def test_the_measures_are_as_defined() -> None:
    one = replace(entry(1), confirmations=3, contradictions=1)
    assert confidence(one) == pytest.approx(3 / 5)
    assert recency(one, START + timedelta(days=365)) == pytest.approx(np.exp(-1))
    assert recency(replace(one, last_said_at=None), _NOW) == 1.0
    assert recency(one, None) == 1.0


def test_failing_entries_stay_while_there_is_room() -> None:
    weak = [entry(n) for n in range(100)]
    kept = keep(weak, _NOW)
    assert len(kept.entries) == 100
    assert kept.left == ()


def test_over_the_limit_the_failing_leave_before_the_eligible() -> None:
    strong = [replace(entry(n, days=399), supporting=3) for n in range(4)]
    weak = [replace(entry(10 + n, days=400), used=0) for n in range(3)]
    kept = keep([*weak, *strong], _NOW, most=5)
    assert {e.id for e in kept.left} <= {e.id for e in weak}
    assert len(kept.entries) == 5


def test_if_all_are_eligible_the_least_useful_leaves() -> None:
    entries = [replace(entry(n, days=100.0 * n), supporting=2) for n in range(1, 4)]
    assert [e.id for e in keep(entries, _NOW, most=2).left] == [1]


def test_superseded_entries_leave_first_and_pinned_ones_never() -> None:
    old = replace(entry(1, days=399), supporting=9, superseded_by=EntryId(2))
    pinned = replace(entry(3), pinned=True)
    kept = keep([old, entry(2), pinned, entry(4, days=300)], _NOW, most=3)
    assert [e.id for e in kept.left] == [1]
    all_pinned = [replace(entry(n), pinned=True) for n in range(5)]
    assert len(keep(all_pinned, _NOW, most=2).entries) == 5


def test_the_same_said_again_confirms() -> None:
    first = entry(1, "oslo", slot="home")
    (known,) = take_in([first], [replace(entry(2, "oslo", slot="home", days=9))])
    assert (known.confirmations, known.supporting, known.contradictions) == (2, 2, 0)
    assert known.sources == (1, 2)
    assert known.last_said_at == START + timedelta(days=9)
    (again,) = take_in([known], [replace(first, id=EntryId(7))])
    assert again.confirmations == 2  # the same message counts once


def test_a_contradiction_is_resolved_by_time_in_whatever_order_it_comes() -> None:
    early, late = entry(1, "oslo", slot="home"), entry(2, "bergen", slot="home", days=30)
    for order in ((early, late), (late, early)):
        known = take_in(take_in([], [order[0]]), [order[1]])
        by_value = {e.value: e for e in known}
        assert by_value["bergen"].superseded_by is None
        assert by_value["oslo"].superseded_by == by_value["bergen"].id
        assert by_value["oslo"].contradictions == 1
        assert by_value["bergen"].contradictions == 0


def test_what_is_said_again_after_a_change_holds_again() -> None:
    known = take_in([], [entry(1, "oslo", slot="home"), entry(2, "bergen", slot="home", days=5)])
    known = take_in(known, [entry(3, "oslo", slot="home", days=9)])
    by_value = {e.value: e for e in known}
    assert by_value["oslo"].superseded_by is None
    assert by_value["bergen"].superseded_by == 1


def test_entries_without_a_slot_contradict_nothing() -> None:
    known = take_in([], [entry(1, "tea"), entry(2, "coffee")])
    assert [e.superseded_by for e in known] == [None, None]


def test_entries_are_found_by_similarity_among_those_that_hold() -> None:
    entries = [entry(1), replace(entry(2), superseded_by=EntryId(1)), entry(3)]
    rows = np.array([[0.6, 0.8], [1, 0], [1, 0]], np.float32)
    found = nearest(entries, rows, np.array([1, 0], np.float32), k=5)
    assert [e.id for e, _ in found] == [3, 1]
    assert nearest([], np.zeros((0, 2), np.float32), np.array([1, 0], np.float32), k=3) == []
