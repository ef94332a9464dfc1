"""The ablation of finding on two invented people: every row asks, all are set against the whole."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from benchmarks.ablation import add_arguments
from benchmarks.ablation_retrieval import (
    RANKS,
    ROWS,
    WHOLE,
    FoundRow,
    Put,
    found_row,
    run_retrieval,
    table,
)
from benchmarks.datasets import locomo
from benchmarks.retrieval import all_messages, keys_of
from localmem.memory import ImportOptions, Memory
from localmem.testing import build_memory

SAID = [
    ("Ines", "I bought a red kayak last Saturday."),
    ("Ruben", "Nice! I am learning the accordion."),
    ("Ines", "The kayak leaks already, I am taking it back on Monday."),
    ("Ruben", "My accordion teacher moved to Lyon."),
]


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    turns = [
        {"speaker": who, "dia_id": f"D1:{number}", "text": text}
        for number, (who, text) in enumerate(SAID, start=1)
    ]
    chat = {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Ruben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": turns,
        },
        "qa": [
            {
                "question": "When did Ines buy a kayak?",
                "answer": "6 May 2023",
                "evidence": ["D1:1"],
                "category": 2,
            },
            {
                "question": "What does Ruben play?",
                "answer": "accordion",
                "evidence": ["D1:2; D1:4"],
                "category": 1,
            },
        ],
    }
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([chat]), encoding="utf-8")
    return path


@pytest.fixture
def questions(chats: Path, tmp_path: Path) -> list[Put]:
    (history,) = locomo(chats)
    memory: Memory = build_memory(tmp_path / "memory.duckdb")
    memory.import_(chats, ImportOptions())
    keys = keys_of(history, all_messages(memory))
    return [
        Put(f"talk-1/{number}", question, memory, ("Ines", "Ruben"), keys)
        for number, question in enumerate(history.questions)
    ]


def row(key: str, name: str, recalls: tuple[float, ...], kind: str = "temporal") -> FoundRow:
    return FoundRow(key, name, kind, recalls, 5.0)


def test_every_row_searches_the_same_memory(questions: list[Put]) -> None:
    found = [found_row(put, name) for put in questions for name in ROWS]
    assert len(found) == 2 * len(ROWS)
    assert all(len(one.recalls) == len(RANKS) for one in found)
    assert {one.recalls[1] for one in found if one.key == "talk-1/0"} == {1.0}


def test_rows_are_set_against_the_whole_question_by_question() -> None:
    report = table(
        [
            row("a", WHOLE, (0.5, 1.0, 1.0)),
            row("b", WHOLE, (1.0, 1.0, 1.0), kind="multi-hop"),
            row("a", "without graph", (0.5, 0.5, 1.0)),
            row("b", "without graph", (1.0, 1.0, 1.0), kind="multi-hop"),
        ]
    )
    assert report[WHOLE]["recall@5"] == 0.75 and report[WHOLE]["by_type"]["temporal"]["n"] == 1
    assert report["without graph"]["recall@10_against_whole"] == -0.25
    assert "interval_95" not in report[WHOLE]


def test_a_run_writes_figures_and_rows(questions: list[Put], tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    out = tmp_path / "out.json"
    told = ["--dataset", "locomo", "--data", "talks.json", "--json", str(out)]
    args = parser.parse_args([*told, "--measure", "retrieval", "--rows", "whole, without graph"])
    assert run_retrieval(args, questions) == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["whole"]["n"] == 2 and len(report["questions"]) == 4
    args = parser.parse_args([*told, "--measure", "retrieval", "--rows", "without wings"])
    assert run_retrieval(args, questions) == 2
