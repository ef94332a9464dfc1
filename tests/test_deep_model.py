"""Deep questions with a real small model in every role: whatever it says, the loop ends well."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from localmem.backends import open_llm
from localmem.ports import Llm
from localmem.recall.deep import DeepModels, DeepOptions, DeepQuestion, answer_deeply
from localmem.recall.deep.tools import TOOLS
from localmem.recall.refusal import NOT_FOUND
from localmem.types import Budget, LlmFiles
from tests.deep_history import History, filler

pytestmark = pytest.mark.model

HISTORY = History(
    {
        1: [("Ines", "I bought a red kayak at the harbour last week."), ("Ruben", "Lovely!")],
        2: [("Ines", "My new canoe is here, I bought it from Clara.")],
        **filler(3, 6),
    }
)


@pytest.fixture(scope="module")
def llm(small_llm: LlmFiles) -> Iterator[Llm]:
    opened = open_llm(small_llm, engine="auto", context_tokens=2048, threads=2)
    yield opened
    opened.close()


@pytest.mark.parametrize("question", ["What boats has Ines bought?", "Who sold Ines the canoe?"])
def test_a_small_model_in_every_role_ends_with_a_supported_answer_or_none(
    llm: Llm, question: str
) -> None:
    asked = DeepQuestion(question, datetime(2026, 1, 1, tzinfo=UTC), HISTORY.people)
    answer = answer_deeply(
        asked,
        HISTORY.sources(),
        DeepModels(answer=llm, controller=llm, notes=llm),
        DeepOptions(Budget(seconds=60.0)),
    )
    assert answer.text == NOT_FOUND or answer.citations
    tools = {step.tool for step in answer.trace.steps}
    assert tools <= {*TOOLS, "nudge", "list_items", "answer", "extract"}
    assert answer.trace.model_calls > 0 and answer.trace.seconds < 90
