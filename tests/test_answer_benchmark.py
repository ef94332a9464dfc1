"""The answers benchmark: which questions it asks, its rows, its figures, paired comparison."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.answer_data import draw, locomo_questions, split_conversations
from benchmarks.answers import AnswerRow, read_answers, summary
from benchmarks.compare import paired

ROW = AnswerRow(
    key="talk-1/0",
    category=4,
    question="What colour is the boat?",
    gold="red",
    answer="red",
    found=True,
    f1=1.0,
    bleu_1=1.0,
    seconds=2.0,
    prompt_tokens=100,
    completion_tokens=3,
    sessions_opened=2,
    sessions_total=8,
    cited=1,
    depth="direct",
    model_id="m@1",
)


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """Two invented conversations with three questions each, one of them never answered."""
    chats = [
        {
            "sample_id": f"talk-{number}",
            "conversation": {"speaker_a": "Ines", "speaker_b": "Ruben"},
            "qa": [
                {"question": f"q{number}a", "answer": 2022, "category": 2},
                {"question": f"q{number}b", "answer": "red", "category": 4},
                {"question": f"q{number}c", "adversarial_answer": "no", "category": 5},
            ],
        }
        for number in (1, 2)
    ]
    path = tmp_path / "talks.json"
    path.write_text(json.dumps(chats), encoding="utf-8")
    return path


def test_questions_come_in_file_order_with_their_gold_as_text(talks: Path) -> None:
    questions = locomo_questions(talks, {2, 4})
    assert [q.key for q in questions] == ["talk-1/0", "talk-1/1", "talk-2/0", "talk-2/1"]
    assert questions[0].gold == "2022"


def test_a_drawing_repeats_with_its_seed(talks: Path) -> None:
    questions = locomo_questions(talks, {2, 4, 5})
    assert draw(questions, 3, 7) == draw(questions, 3, 7)
    assert len({q.key for q in draw(questions, 3, 7)}) == 3
    assert draw(questions, None, 7) == draw(questions, 99, 7) == questions


def test_each_conversation_gets_a_file_of_its_own(talks: Path, tmp_path: Path) -> None:
    files = split_conversations(talks, tmp_path)
    assert list(files) == ["talk-1", "talk-2"]
    assert [chat["sample_id"] for chat in json.loads(files["talk-2"].read_text())] == ["talk-2"]


def test_a_row_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(asdict(ROW)) + "\n" + '{"key": "talk-1/1", "cat', encoding="utf-8")
    assert read_answers(path) == {"talk-1/0": ROW}


def test_figures_keep_unanswerable_questions_apart() -> None:
    refused = replace(ROW, key="talk-1/2", category=5, found=False, f1=0.0, cited=0)
    wrong = replace(ROW, key="talk-1/1", category=2, f1=0.0)
    figures = summary([ROW, wrong, refused])
    assert figures["f1"] == 0.5 and figures["questions"] == 2
    assert figures["f1_mean_of_categories"] == 0.5
    assert figures["refused_adversarial"] == 1.0 and figures["refused_answerable"] == 0.0
    assert figures["history_opened_share"] == 0.25


def test_two_runs_are_compared_on_the_questions_that_both_answered() -> None:
    better = {f"t/{n}": replace(ROW, key=f"t/{n}") for n in range(20)}
    worse = {key: replace(row, f1=0.2) for key, row in better.items() if key != "t/0"}
    report = paired(worse, better)
    assert report["all"]["questions"] == 19
    assert report["all"]["f1_gain"] == pytest.approx(0.8)
    assert report["all"]["interval_95"][0] > 0
    assert set(report) == {"all", "single-hop"}
