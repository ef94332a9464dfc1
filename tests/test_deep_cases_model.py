"""The paper's two cases with a real model of 1.5B or more in every role.

They run where LOCALMEM_TEST_LLM names a GGUF file of an instruct model; a smaller one fails them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localmem.backends import open_llm
from localmem.ports import Llm
from localmem.recall.deep import DeepModels, DeepOptions, DeepQuestion, answer_deeply
from localmem.types import Answer, Budget, Layer, LlmFiles
from tests.deep_history import (
    TWO_HOPS,
    VERBATIM,
    WHAT_IT_IS_CALLED,
    WHERE_SHE_LIVES,
    History,
)

_NAMED = os.environ.get("LOCALMEM_TEST_LLM", "")
pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not _NAMED, reason="LOCALMEM_TEST_LLM names no model of 1.5B or more"),
]


@pytest.fixture(scope="module")
def llm() -> Iterator[Llm]:
    files = LlmFiles(name=Path(_NAMED).stem, weights=Path(_NAMED))
    opened = open_llm(files, engine="auto", context_tokens=4096, threads=2)
    yield opened
    opened.close()


def ask(history: History, question: str, llm: Llm) -> Answer:
    fresh = History(history.sessions, history.facts_of, history.notes_of)
    asked = DeepQuestion(question, datetime(2026, 1, 10, 12, 0, tzinfo=UTC), fresh.people)
    return answer_deeply(
        asked,
        fresh.sources(),
        DeepModels(answer=llm, controller=llm, notes=llm),
        DeepOptions(Budget(seconds=300.0)),
    )


def test_a_two_hop_question_is_answered_from_facts(llm: Llm) -> None:
    answer = ask(TWO_HOPS, WHERE_SHE_LIVES, llm)
    assert "Aveiro" in answer.text
    assert {c.session_id for c in answer.citations} == {2}
    searches = {step.decision for step in answer.trace.steps if step.tool == "search"}
    assert len(searches) >= 2
    assert answer.trace.deepest in (Layer.FACTS, Layer.NOTES, Layer.RAW)


def test_a_verbatim_detail_is_looked_for_down_to_the_raw_turn(llm: Llm) -> None:
    """What a model of 1.5B then makes of the turn is not asserted: it may name the wrong thing."""
    answer = ask(VERBATIM, WHAT_IT_IS_CALLED, llm)
    layers = [step.layer for step in answer.trace.steps if "session 1" in step.arguments]
    assert layers[:3] == [Layer.FACTS, Layer.NOTES, Layer.RAW]
