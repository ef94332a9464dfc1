"""The ablation benchmark's figures, told from rows of questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import pytest

from benchmarks.ablation import ROWS, WHOLE, AblationRow, figures, summary
from localmem.recall.deep import Switches

ROW = AblationRow(
    key="chat/0",
    row=WHOLE,
    kind="multi-hop",
    question="Who?",
    gold="Ana",
    answer="Ana",
    found=True,
    f1=1.0,
    gold_opened=1.0,
    drills={"L1": 1, "L3": 1},
    sessions_total=10,
    opened_share=0.1,
    decisions=3,
    complete=True,
    model_calls=2,
    prompt_tokens=100,
    seconds=1.0,
)


def rows(*changes: Mapping[str, object]) -> list[AblationRow]:
    return [
        replace(ROW, **({"key": f"chat/{number}", **change}))  # type: ignore[arg-type]  # test data
        for number, change in enumerate(changes)
    ]


def test_every_switch_has_its_row() -> None:
    off = {
        field.name
        for field in fields(Switches)
        if any(getattr(row, field.name) != field.default for row in ROWS.values())
    }
    assert off == {field.name for field in fields(Switches)}


def test_selectivity_is_the_mean_share_of_sessions_that_were_drilled() -> None:
    found = figures(rows({}, {"drills": {"L1": 1}}, {"drills": {}}))
    assert found["selectivity"] == pytest.approx((0.2 + 0.1 + 0.0) / 3, abs=1e-4)
    assert found["depth_of_drills"] == {"L1": 0.6667, "L3": 0.3333}


def test_errors_are_told_apart_by_what_was_opened_and_what_was_answered() -> None:
    found = figures(rows({}, {"f1": 0.2}, {"gold_opened": 0.5}, {"gold_opened": 0.0, "f1": 0.0}))
    assert found["errors"] == {
        "retrieval right, answer right": 1,
        "retrieval right, answer wrong": 1,
        "retrieval wrong, answer right": 1,
        "retrieval wrong, answer wrong": 1,
    }
    assert found["questions_with_all_gold_opened"] == 2


def test_the_suggested_limit_cuts_off_less_than_two_percent() -> None:
    ninety_nine = [{"decisions": 5}] * 99
    assert figures(rows(*ninety_nine, {"decisions": 19}))["suggested_t_max"] == 5
    assert figures(rows(*ninety_nine[:90], *[{"decisions": 9}] * 10))["suggested_t_max"] == 9


def test_rows_are_set_against_the_whole_on_the_questions_that_both_answered() -> None:
    without = rows({"row": "no notes", "f1": 0.5}, {"row": "no notes", "f1": 1.0}, {}, {})[:2]
    report = summary([*rows({}, {}, {}), *without])
    assert report["no notes"]["pairs"] == 2
    assert report["no notes"]["f1_against_whole"] == -0.25
    assert "pairs" not in report[WHOLE]
