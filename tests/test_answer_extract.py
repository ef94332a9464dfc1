"""What the extractive answer takes: values by their noun, objects by their verb, dates nearby."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localmem.dates import resolve
from localmem.recall.extract import extract_answer
from localmem.recall.wanted import Stems, wanted
from localmem.types import (
    AnswerType,
    Evidence,
    Message,
    MessageId,
    ParticipantId,
    Role,
    SessionId,
    TurnId,
)

CODE = "return a.st_size != b.st_size or a.st_mtime > b.st_mtime + 2"


def said(number: int, day: str, text: str) -> Evidence:
    at = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)
    message = Message(
        id=MessageId(number),
        turn_id=TurnId(number),
        session_id=SessionId(number),
        participant_id=ParticipantId(1),
        speaker="You",
        role=Role.USER,
        ordinal=0,
        text=text,
        said_at=at,
    )
    return Evidence(message, resolve(text, at), 10.0 - number)


def answered(question: str, *evidence: Evidence) -> str:
    extract = extract_answer(question, datetime(2026, 10, 1, tzinfo=UTC), evidence, {})
    return extract.text if extract.found else ""


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("What is my locker number?", "The locker number came by mail: 3318, hall B.", "3318"),
        ("What is my policy number?", "Policy number KR-77-210. Row 5 is mine.", "KR-77-210"),
        ("What was the gas reading?", "Meter 8841 22, gas reading on 3 May: 00917.", "00917"),
        ("How much did I pay for the tent?", "The tent for 4 people cost 210 euros.", "210 euros"),
        ("What did I buy in Graz?", "I bought a blue lamp in Graz.", "a blue lamp"),
        ("What is Rika allergic to?", "Rika is allergic to celery, so no soup.", "celery"),
        ("When is Theo's party?", "The party of Theo is on 9 June 2026, at six.", "9 June 2026"),
    ],
)
def test_the_span_beside_the_asked_word_is_taken(question: str, text: str, answer: str) -> None:
    assert answered(question, said(1, "2026-05-05", text)) == answer


def test_a_relative_date_of_the_sentence_goes_before_the_day_of_writing() -> None:
    text = "She is here! Picked her up yesterday. The shelter called her Bella."
    assert answered("When did I pick her up?", said(1, "2026-05-05", text)) == "4 May 2026"


def test_of_two_dates_the_one_next_to_the_question_s_word_is_taken() -> None:
    text = "1 May was a holiday so I started on 4 May 2026."
    assert answered("When did I start?", said(1, "2026-05-05", text)) == "4 May 2026"


def test_what_happened_goes_before_what_was_planned() -> None:
    plan = said(1, "2026-02-05", "The handover is on 31 March 2026 at ten.")
    report = said(2, "2026-03-31", "The handover yesterday went fine.")
    assert answered("When was the handover?", plan, report) == "30 March 2026"
    assert answered("When will the handover be?", plan) == "31 March 2026"


def test_the_day_of_writing_never_answers_when_something_will_be() -> None:
    one = said(1, "2026-05-05", "Nora talks about moving to Bern a lot these days.")
    assert answered("When will Nora move to Bern?", one) != "5 May 2026"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What size are my shoes?", CODE),
        ("What size are my shoes?", "I walked 12 km in old shoes."),
        ("How much does Jonas earn?", "Jonas came with Frau Haase, she is 71."),
        ("Which breed is my dog?", "The landlord says one cat, no dogs."),
    ],
)
def test_a_value_that_nobody_named_is_not_found(question: str, text: str) -> None:
    assert answered(question, said(1, "2026-05-05", text)) == ""


def test_without_a_short_span_the_whole_sentence_is_told() -> None:
    text = "My bike was stolen from the yard at night. I could scream."
    told = answered("What happened to my bike?", said(1, "2026-05-05", text))
    assert told == "My bike was stolen from the yard at night"


@pytest.mark.parametrize(
    "text",
    [
        "I worked together. The plan went on.",
        "We worked, and it was fun for everybody.",
        "I worked because it was raining hard.",
    ],
)
def test_no_fragment_stands_in_for_an_object(text: str) -> None:
    told = answered("What did I work on?", said(1, "2026-05-05", text))
    assert told in ("", *[part.strip(" .") for part in text.split(".")])


def test_a_bare_heading_is_no_answer() -> None:
    text = "Garden update.\nThe fence in the garden was painted white by my uncle."
    told = answered("What happened in the garden?", said(1, "2026-05-05", text))
    assert told.startswith("The fence")


@pytest.mark.parametrize(
    ("question", "kind", "phrase", "predicate"),
    [
        ("What was my bib number for the run?", AnswerType.NUMBER, ("bib", "number"), ""),
        ("Which channels did I set?", AnswerType.NUMBER, ("channel",), "set"),
        ("What did Anna give me?", AnswerType.OTHER, (), "give"),
        ("What did my sister want to eat?", AnswerType.OTHER, (), "eat"),
    ],
)
def test_a_question_tells_its_noun_and_its_verb(
    question: str, kind: AnswerType, phrase: tuple[str, ...], predicate: str
) -> None:
    want = wanted(question, Stems())
    found = want.kind, tuple(want.phrase), want.predicate
    assert found[0] in (kind, AnswerType.LIST) and found[1:] == (phrase, predicate)


def test_irregular_forms_share_a_stem() -> None:
    stems = Stems()
    assert stems.of_word("bought") == stems.of_word("buy")
    assert stems.of_text("I drank tea") == stems.of_text("I drink tea")


@pytest.mark.parametrize(
    "named",
    [
        "Norland, my home country, is cold.",
        "I miss my home country, Norland.",
        "My home country is Norland.",
    ],
)
def test_a_place_that_is_only_described_gets_the_name_that_is_told_elsewhere(named: str) -> None:
    moved = said(1, "2026-03-05", "I moved here from my home country two years ago.")
    assert answered("Where did I move from?", moved, said(2, "2026-04-05", named)) == "Norland"


def test_a_description_gets_no_name_that_is_not_told_of_it() -> None:
    moved = said(1, "2026-03-05", "I moved here from my home country two years ago.")
    other = said(2, "2026-04-05", "My home town is not far, and Norland is a country, too.")
    assert "home country" in answered("Where did I move from?", moved, other)
