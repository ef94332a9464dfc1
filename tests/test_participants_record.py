"""Messages as records: what they claim, how, why, and what is left alone."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from localmem.dates import resolve
from localmem.participants.record import attitude_of, record_of
from localmem.participants.working import queue_of
from localmem.types import (
    Attitude,
    Claim,
    Cue,
    ItemKind,
    Message,
    MessageId,
    MessageRecord,
    Modality,
    ParticipantId,
    Role,
    SessionId,
    TurnId,
)

_MAY = datetime(2026, 5, 3, 9, tzinfo=UTC)


def _record(text: str, role: Role = Role.USER, *, chat: bool = True) -> MessageRecord:
    message = Message(
        MessageId(1), TurnId(1), SessionId(1), ParticipantId(1), "Ana", role, 0, text, _MAY
    )
    dates = resolve(text, _MAY, language=None)
    return record_of(message, dates, in_assistant_chat=chat)


def _claims(text: str, role: Role = Role.USER) -> dict[str, Claim]:
    """By slot; the last of equals."""
    return {claim.slot: claim for claim in _record(text, role).claims}


def test_one_message_may_claim_several_things() -> None:
    claims = _claims("I live in Oslo, and I work as a nurse at Salus Clinic.")
    assert {slot: claim.value for slot, claim in claims.items()} == {
        "home": "Oslo",
        "employer": "Salus Clinic",
        "job": "nurse",
    }


@pytest.mark.parametrize(
    "text",
    [
        "I might move to Paris.",
        "If I moved to Paris, everything would be dearer.",
        "I want to live in Paris some day.",
        "Should I move to Paris?",
        "I dream that I live in Paris.",
    ],
)
def test_wishes_plans_and_questions_are_no_facts(text: str) -> None:
    assert "home" not in _claims(text)


def test_a_planned_value_is_kept_apart() -> None:
    assert _claims("Maybe I live in Paris next year.")["plan:home"].modality is Modality.PLANNED


def test_what_was_is_past() -> None:
    claims = _record("I used to live in Rome, but now I live in Oslo.").claims
    assert [(claim.value, claim.modality) for claim in claims] == [
        ("Rome", Modality.PAST),
        ("Oslo", Modality.STATED),
    ]
    assert _claims("I lived in Rome until 2020.")["home"].valid_to == date(2020, 1, 1)


def test_what_has_been_so_since_is_so() -> None:
    claim = _claims("I've worked at Fernhill since 2019.")["employer"]
    assert (claim.modality, claim.valid_from) == (Modality.STATED, date(2019, 1, 1))


def test_a_change_has_its_day_and_its_reason() -> None:
    claim = _claims("I moved to Bergen yesterday because my mother is ill.")["home"]
    assert claim.cue is Cue.CHANGE
    assert claim.valid_from == date(2026, 5, 2)
    assert claim.reason == "my mother is ill"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The commute was killing me, so I quit my job at Oakline.", "The commute was killing me"),
        ("I quit my job at Oakline. Because the ride was long.", "the ride was long"),
        ("I quit my job at Oakline due to the long commute.", "the long commute"),
    ],
)  # fmt: skip
def test_reasons_are_found_before_after_and_in_the_next_sentence(text: str, reason: str) -> None:
    claim = _claims(text)["employer"]
    assert (claim.cue, claim.reason) == (Cue.END, reason)


def test_a_year_after_since_is_no_reason() -> None:
    assert _claims("I live in Oslo since 2019.")["home"].reason == ""


@pytest.mark.parametrize(
    "text",
    [
        "You told me that I live in Madrid.",
        "<memory>\nI live in Madrid.\n</memory>",
        "Relevant memories:\nI live in Madrid.\nI work as a judge.\n\n",
        "As I mentioned in a previous conversation, I live in Madrid.",
    ],
)
def test_recalled_memories_are_not_taken_again(text: str) -> None:
    assert _record(text).claims == ()


def test_what_an_assistant_says_about_the_user_is_only_claimed() -> None:
    claims = _claims("You live in Madrid, so take the metro.", Role.ASSISTANT)
    assert claims.keys() == {"claimed:home"}
    assert claims["claimed:home"].modality is Modality.CLAIMED
    assert _record("I live in Madrid.", Role.ASSISTANT).claims == ()


def test_tools_and_systems_claim_nothing() -> None:
    assert _record("I live in Madrid.", Role.TOOL).claims == ()
    assert _record("I live in Madrid.", Role.SYSTEM).claims == ()


def test_small_talk_and_code_claim_nothing() -> None:
    for text in ("Thanks so much!", "Haha, cool.", "```\nI live in Madrid.\n```", "How are you?"):
        assert _record(text).claims == (), text


def test_what_somebody_did_is_an_event_with_its_days() -> None:
    (claim,) = _record("I visited the Prado with Lena yesterday.").claims
    assert (claim.kind, claim.entity) == (ItemKind.EVENT, "visit")
    assert set(claim.names) == {"Prado", "Lena"}
    assert (claim.valid_from, claim.valid_to) == (date(2026, 5, 2), date(2026, 5, 3))


def test_another_telling_sentence_is_a_fact_told_literally() -> None:
    (claim,) = _record("Ok. My grandfather carved wooden spoons in Trento!").claims
    assert claim.kind is ItemKind.FACT
    assert claim.quote == "My grandfather carved wooden spoons in Trento!"


def test_a_titled_name_ends_no_sentence() -> None:
    assert _claims("My dentist is Dr. Okoro.")["own"].value == "Dr. Okoro"


def test_another_language_gives_facts_but_no_slots() -> None:
    (claim,) = _record("Gestern war ich mit Lena in Bremen bei 30 Grad.").claims
    assert claim.kind is ItemKind.FACT


def test_attitude_by_words_and_negation() -> None:
    assert attitude_of("I love this wonderful town") is Attitude.POSITIVE
    assert attitude_of("I don't like it") is Attitude.NEGATIVE
    assert attitude_of("Great food, terrible service") is Attitude.MIXED
    assert attitude_of("The train leaves at nine") is Attitude.NONE


def test_a_record_depends_on_its_message_alone() -> None:
    assert _record("I live in Oslo.") == _record("I live in Oslo.")
    assert _record("I live in Oslo.").provenance.source_sha != _record("x").provenance.source_sha


# --- Working memory ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "recent", "segments"), [(0, 0, 0), (19, 19, 0), (20, 15, 1), (24, 19, 1), (25, 15, 2)]
)
def test_a_full_queue_gives_its_oldest_five(count: int, recent: int, segments: int) -> None:
    queue, left = queue_of(range(count))
    assert (len(queue), len(left)) == (recent, segments)
    assert [*(one for part in left for one in part), *queue] == list(range(count))
    assert all(len(part) == 5 for part in left)


def test_a_segment_larger_than_the_queue_is_refused() -> None:
    with pytest.raises(ValueError, match="1 to 20"):
        queue_of([], segment=21)
