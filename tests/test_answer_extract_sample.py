"""The demo's three questions, answered at the instant depth with the real embedder."""

from __future__ import annotations

from pathlib import Path

import pytest

from localmem.memory import Memory
from localmem.ports import Embedder
from localmem.sample import asked_at, questions, sample_export
from localmem.testing import FixedModels, build_memory
from localmem.types import Depth

pytestmark = pytest.mark.model

RIGHT = {
    "What was my bib number for the Elbtal Marathon?": ("4172", "bib number came by mail: 4172"),
    "When did I pick Tofu up from the shelter?": ("1 November 2025", "Picked her up yesterday"),
    "On which day did I really start at Hollerbusch?": ("4 May 2026", "I started on the 4th"),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, minilm: Embedder) -> Memory:
    place: Path = tmp_path_factory.mktemp("sample")
    built = build_memory(place / "sample.duckdb", models=FixedModels(the_embedder=minilm))
    built.import_(sample_export())
    return built


def test_the_demo_s_questions_are_answered_rightly_and_cite_the_right_sentence(
    memory: Memory,
) -> None:
    assert set(questions()) == set(RIGHT)
    for question, (text, quoted) in RIGHT.items():
        answer = memory.ask(question, asked_at=asked_at(), depth=Depth.INSTANT)
        assert answer.found and answer.text == text, question
        assert quoted in answer.citations[0].quote, question
