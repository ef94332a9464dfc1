"""Whose an answer is: sentences told of the person asked about, of another, and honest refusals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from localmem.dates import resolve
from localmem.errors import GenerationError
from localmem.recall.answer import Asked, answer_question
from localmem.recall.refusal import NOT_FOUND, fit_by_person, told_of_another
from localmem.recall.whose import tells_of, told_by
from localmem.testing import ScriptedLlm
from localmem.types import (
    Answer,
    Budget,
    Depth,
    Evidence,
    Message,
    MessageId,
    ParticipantId,
    Role,
    SessionId,
    TurnId,
)

MAY_8 = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
PEOPLE = ("Mirabel", "Jonas")


def said(number: int, speaker: str, text: str) -> Evidence:
    message = Message(
        id=MessageId(number),
        turn_id=TurnId(number),
        session_id=SessionId(1),
        participant_id=ParticipantId(1),
        speaker=speaker,
        role=Role.USER,
        ordinal=number,
        text=text,
        said_at=MAY_8,
    )
    return Evidence(message, resolve(text, MAY_8), 1.0 / number)


RIDES = (
    said(1, "Mirabel", "I used to go horseback riding with my dad, it was our favourite activity."),
    said(2, "Jonas", "That sounds wonderful, Mirabel! Which activity do you enjoy these days?"),
    said(3, "Mirabel", "These days I garden."),
    said(4, "Jonas", "I go jogging by the canal."),
)


def ask(
    question: str,
    evidence: Sequence[Evidence],
    llm: ScriptedLlm | None = None,
    *,
    budget: Budget | None = None,
) -> Answer:
    asked = Asked(question, datetime(2023, 6, 1, tzinfo=UTC), evidence, 5, people=PEOPLE)
    depth = Depth.INSTANT if llm is None else Depth.DIRECT
    return answer_question(asked, depth=depth, llm=llm, budget=budget)


@pytest.mark.parametrize(
    ("speaker", "sentence", "person", "is_told"),
    [
        ("Mirabel", "I baked bread.", "Mirabel", True),
        ("Mirabel", "I baked bread.", "Jonas", False),
        ("Mirabel", "Thanks, Jonas! This ring is from my aunt.", "Jonas", False),
        ("Mirabel", "Jonas, I baked bread.", "Jonas", False),
        ("Mirabel", "My sister met Jonas at the market.", "Jonas", True),
        ("Mirabel", "You bake so well.", "Jonas", True),
        ("Mirabel", "Let's bake bread.", "Jonas", True),
        ("Jonas", "Your bread looks great, Mira!", "Jonas", False),
        ("Jonas", "Why did you bake again?", "Jonas", False),
        ("Jonas", "Been reading the book that you lent to me.", "Jonas", True),
        ("Jonas", "Nine years now.", "Jonas", True),
    ],
)
def test_of_whom_a_sentence_tells(speaker: str, sentence: str, person: str, is_told: bool) -> None:
    assert tells_of(sentence, speaker, person, PEOPLE) is is_told


def test_a_message_is_parted_by_whom_its_sentences_tell_of() -> None:
    message = said(1, "Jonas", "I row. How long have you been rowing, Mirabel?").message
    told = told_by(message, "Jonas", PEOPLE)
    assert told.of_person == ("I row.",)
    assert told.of_others == ("How long have you been rowing, Mirabel?",)


def test_the_same_question_is_answered_of_one_and_refused_of_the_other_without_a_model() -> None:
    hers = ask("What activity did Mirabel use to do with her dad?", RIDES)
    assert hers.found and "horseback riding" in hers.text
    his = ask("What activity did Jonas use to do with his dad?", RIDES)
    assert not his.found and his.text == NOT_FOUND and not his.citations
    assert any("Mirabel" in notice and "Jonas" in notice for notice in his.notices)


def test_a_model_that_gives_one_person_the_other_s_answer_is_not_believed() -> None:
    hers = ask(
        "What activity did Mirabel use to do with her dad?",
        RIDES,
        ScriptedLlm(["horseback riding"]),
    )
    assert hers.found and hers.text == "horseback riding"
    llm = ScriptedLlm(["horseback riding"], fallback_choice=0)
    his = ask("What activity did Jonas use to do with his dad?", RIDES, llm)
    assert not his.found and his.text == NOT_FOUND
    assert [call.kind for call in llm.history] == ["complete"], (
        "where both checks agree, it is not asked"
    )


@pytest.mark.parametrize(("likely", "found"), [((0.7, 0.3), True), ((0.4, 0.6), False)])
def test_where_rules_doubt_whose_it_is_the_model_chooses_between_the_two(
    likely: tuple[float, float], found: bool
) -> None:
    llm = ScriptedLlm(["jogging"], choices=[likely, likely])
    answer = ask("What activity did Jonas use to do with his dad?", RIDES, llm)
    assert answer.found is found
    choices = [call for call in llm.history if call.kind == "choose"]
    assert [call.options for call in choices] == [("Jonas", "Mirabel")] * 2
    orders = [call.text.rstrip().splitlines()[-1] for call in choices]
    assert "Jonas or Mirabel" in orders[0] and "Mirabel or Jonas" in orders[1]
    assert any(step.tool == "name_person" for step in answer.trace.steps)


def test_a_place_in_the_order_decides_nothing() -> None:
    llm = ScriptedLlm(["jogging"], choices=[(0.8, 0.2), (0.1, 0.9)])
    assert not ask("What activity did Jonas use to do with his dad?", RIDES, llm).found


def test_without_time_for_the_choice_the_rules_decide() -> None:
    llm = ScriptedLlm(["jogging"], choices=[(0.9, 0.1), (0.9, 0.1)])
    budget = Budget(seconds=1e-9)
    answer = ask("What activity did Jonas use to do with his dad?", RIDES, llm, budget=budget)
    assert not answer.found and not any(call.kind == "choose" for call in llm.history)


def test_an_engine_that_fails_at_the_choice_is_an_error_not_an_answer() -> None:
    with pytest.raises(GenerationError):
        ask("What activity did Jonas use to do with his dad?", RIDES, ScriptedLlm(["jogging"]))


def test_a_reply_is_read_with_the_question_before_it() -> None:
    history = (
        said(1, "Mirabel", "How often do you visit the harbour library?"),
        said(2, "Jonas", "About twice a month."),
    )
    fit = fit_by_person("How often does Jonas visit the harbour library?", history, PEOPLE)
    assert fit is not None and fit.of_person == 1.0 and not told_of_another(fit)


def test_an_inference_or_a_question_of_two_or_of_nobody_is_not_doubted() -> None:
    for question in (
        "Would Jonas enjoy horseback riding?",
        "What do Jonas and Mirabel do?",
        "What activity is told of?",
    ):
        assert fit_by_person(question, RIDES, PEOPLE) is None
    assert fit_by_person("What did Jonas do?", RIDES, ()) is None


def test_what_somebody_says_of_another_answers_a_question_for_their_words() -> None:
    history = (
        said(1, "Jonas", "Your garden is the finest of the street, Mirabel."),
        said(2, "Mirabel", "Oh, thank you."),
    )
    assert ask("What does Jonas say of the garden?", history, ScriptedLlm(["the finest"])).found


def test_the_date_of_another_gives_way_to_one_of_the_person_asked_about() -> None:
    history = (
        said(1, "Mirabel", "I went to the book fair yesterday, the fair was huge."),
        said(2, "Jonas", "I go to the book fair next month."),
    )
    answer = ask("When does Jonas go to the book fair?", history)
    assert answer.found and answer.text == "June 2023"


def test_a_year_that_was_told_as_last_year_is_answered_by_both_depths() -> None:
    history = (
        said(1, "Mirabel", "I read a great novel last year."),
        said(2, "Jonas", "My dad never had time for novels."),
    )
    question = "In which year did Mirabel read a great novel?"
    assert ask(question, history).text == "2022"
    assert ask(question, history, ScriptedLlm(["2022"], fallback_choice=0)).text == "2022"
