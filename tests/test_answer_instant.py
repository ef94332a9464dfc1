"""The extractive answer: a span of the expected type, cited, or an honest nothing."""

from __future__ import annotations

import time

import pytest

from localmem.recall.answer import answer_question
from localmem.recall.refusal import NOT_FOUND
from localmem.types import Answer, Depth
from tests.test_answer import HISTORY, asked, said


def instant(question: str) -> Answer:
    return answer_question(asked(question), depth=Depth.INSTANT)


@pytest.mark.parametrize(
    ("question", "text", "message_id"),
    [
        ("When was Ines at the pottery course?", "7 May 2023", 1),
        ("How much did Ruben pay for the red kayak?", "450 euros", 2),
        ("Why did Clara move to Lisbon?", "because of her new job", 3),
        ("Who moved to Lisbon?", "Clara", 3),
    ],
)
def test_the_span_of_the_expected_type_is_taken(question: str, text: str, message_id: int) -> None:
    answer = instant(question)
    assert answer.found and answer.text == text
    assert answer.citations[0].message_id == message_id


def test_the_quote_is_literal() -> None:
    answer = instant("What did Ruben buy for 450 euros?")
    message = next(e.message for e in HISTORY if e.message.id == answer.citations[0].message_id)
    assert answer.citations[0].quote in message.text


def test_weak_evidence_is_not_found() -> None:
    answer = instant("Which university did Fatima's grandmother attend?")
    assert not answer.found and answer.text == NOT_FOUND and not answer.citations


def test_no_model_stands_behind_it() -> None:
    trace = instant("Who moved to Lisbon?").trace
    assert trace.model_id is None and trace.prompt_tokens == 0
    assert [step.tool for step in trace.steps] == ["extract"]


def test_it_takes_tens_of_milliseconds() -> None:
    evidence = tuple(
        said(n, "Ines", f"Sentence {n} speaks of things. Another one follows it, {n} of them.")
        for n in range(1, 13)
    )
    question = asked("What does Ines speak of?", evidence)
    answer_question(question, depth=Depth.INSTANT)
    began = time.process_time()
    answer_question(question, depth=Depth.INSTANT)
    assert time.process_time() - began < 0.5


def test_an_empty_memory_gives_not_found() -> None:
    answer = answer_question(asked("Anything?", ()), depth=Depth.INSTANT)
    assert not answer.found and answer.text == NOT_FOUND
