"""Which part of a sentence is read: names in the way of code, and statements before a question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from localmem.participants.record import record_of
from localmem.types import Claim, Message, MessageId, ParticipantId, Role, SessionId, TurnId


def claims(text: str) -> tuple[Claim, ...]:
    message = Message(
        id=MessageId(1),
        turn_id=TurnId(1),
        session_id=SessionId(1),
        participant_id=ParticipantId(1),
        speaker="Ana",
        role=Role.USER,
        ordinal=0,
        text=text,
        said_at=datetime(2026, 3, 2, 9, tzinfo=UTC),
    )
    return record_of(message, (), in_assistant_chat=True).claims


def test_a_quote_is_a_part_of_the_message_also_where_code_stands_in_it() -> None:
    text = "I added the `{role: admin}` rule to `config.toml` on my own server."
    (claim,) = claims(text)
    assert claim.quote == text


def test_a_name_in_the_way_of_code_is_read_like_any_other() -> None:
    (claim,) = claims("I use `Flask` for my website.")
    assert (claim.slot, claim.value) == ("uses", "Flask")


def test_blocks_of_code_are_not_read() -> None:
    assert claims("```\nI live in Graz now, says the code.\n```") == ()


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("I live in Graz, can you help me find a dentist?", "I live in Graz"),
        (
            "I finished sprint 1 on 29 March, so could you plan sprint 2?",
            "I finished sprint 1 on 29 March",
        ),
        ("I live in Graz, what about you?", "I live in Graz"),
    ],
)
def test_what_is_stated_before_a_question_is_read(text: str, quote: str) -> None:
    assert [claim.quote for claim in claims(text)] == [quote]


@pytest.mark.parametrize(
    "text",
    [
        "Can you tell me where I live, or is it a secret?",
        "Do I live in Graz, what do you think?",
        "I live in Graz?",
        "What if I lived in Graz, would you visit me?",
    ],
)
def test_a_question_states_nothing(text: str) -> None:
    assert claims(text) == ()


def test_a_condition_before_a_question_is_no_fact() -> None:
    assert all(c.slot.startswith("plan:") for c in claims("If I live in Graz, can you visit me?"))


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("I prefer trialing software before buying to keep costs low.", "prefers",
         "trialing software before buying"),
        ("I prefer swimming to running.", "prefers", "swimming over running"),
        ("I prefer tea to coffee.", "prefers", "tea over coffee"),
        ("I got promoted to head baker on 1 September.", "job", "head baker"),
        ("I am planning to ask for a raise of $10,000 in autumn.", "plan",
         "ask for a raise of $10,000 in autumn"),
    ],
)  # fmt: skip
def test_a_value_holds_what_is_meant_and_no_more(text: str, slot: str, value: str) -> None:
    told = {(c.slot, c.value) for c in claims(text) if c.value}
    assert (slot, value) in told
    assert not any(other.startswith(value) and other != value for _, other in told)


def test_how_long_something_lasts_is_no_purpose() -> None:
    (claim,) = claims("I use breathing exercises for 15 minutes every day.")
    assert (claim.slot, claim.value) == ("", "")
