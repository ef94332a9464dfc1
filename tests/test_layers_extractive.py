"""L0 of a turn without a model."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localmem.dates import resolve
from localmem.layers.extractive import MODEL_ID, prose_of, source_sha, summarise_turn
from localmem.layers.orders import holds_order
from localmem.layers.tags import tag_names
from localmem.types import (
    Message,
    MessageId,
    ParticipantId,
    Role,
    SessionId,
    TurnId,
    TurnSummary,
)

SAID_AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def message(
    text: str,
    *,
    number: int = 1,
    speaker: str = "Nora",
    role: Role = Role.USER,
    said_at: datetime | None = SAID_AT,
    attachment_text: str = "",
) -> Message:
    return Message(
        MessageId(number), TurnId(7), SessionId(1), ParticipantId(1), speaker, role, number,
        text, said_at, attachment_text,
    )  # fmt: skip


def summary(*messages: Message) -> TurnSummary:
    dates = {one.id: resolve(one.text, one.said_at) for one in messages}
    return summarise_turn(messages, dates)


def test_the_sentence_names_the_speaker_and_day_and_resolves_dates() -> None:
    made = summary(message("Hi there! I joined a sailing class yesterday. Cool, right?"))

    assert made.sentence == ("Nora, 8 May 2023: I joined a sailing class yesterday (7 May 2023).")
    assert made.turn_id == 7
    assert made.provenance.model_id == MODEL_ID


def test_a_message_without_a_time_names_the_speaker_alone() -> None:
    made = summary(message("I joined a sailing class yesterday.", said_at=None))

    assert made.sentence == "Nora: I joined a sailing class yesterday."


def test_the_user_is_preferred_to_the_assistant() -> None:
    made = summary(
        message("Which bread is best for my father Otto?"),
        message(
            "I baked 12 loaves in Paris on 3 March 2022 with Marie.",
            number=2, speaker="Assistant", role=Role.ASSISTANT,
        ),
    )  # fmt: skip

    assert made.sentence.startswith("Nora, 8 May 2023: Which bread")
    assert "Otto" in made.keywords


def test_the_assistant_speaks_where_the_user_said_nothing_in_words() -> None:
    made = summary(
        message("👍"),
        message("The train leaves at nine.", number=2, speaker="Assistant", role=Role.ASSISTANT),
    )

    assert made.sentence == "Assistant, 8 May 2023: The train leaves at nine."


def test_a_sentence_has_at_most_thirty_words() -> None:
    long = "I walked " + "past another old house and then " * 20 + "home last year."

    made = summary(message(long))

    assert len(made.sentence.split()) <= 30
    assert made.sentence.endswith("…")


def test_a_cut_never_leaves_half_a_date() -> None:
    for padding in range(15, 32):
        made = summary(message("I " + "really " * padding + "left yesterday for good and all."))
        assert made.sentence.count("(") == made.sentence.count(")")


def test_keywords_are_few_and_tags_come_from_the_closed_list() -> None:
    made = summary(
        message(
            "I adopted a puppy named Biscuit from the shelter in Lyon last week, and my sister "
            "plans a birthday party with cake, music and board games for 40 people."
        )
    )

    assert 5 <= len(made.keywords) <= 8
    assert 3 <= len(made.tags) <= 5
    assert set(made.tags) <= set(tag_names())
    assert {"pets", "family"} <= set(made.tags)


def test_there_are_about_forty_tags_and_none_twice() -> None:
    assert len(tag_names()) == len(set(tag_names()))
    assert 35 <= len(tag_names()) <= 50


def test_code_is_not_summarised() -> None:
    made = summary(
        message(
            "My sort of the invoices is slow.\n```python\nrows = sorted(Invoice.all())\n```\n"
            "def total(rows):\n    return sum(rows);\n"
        )
    )

    assert made.sentence == "Nora, 8 May 2023: My sort of the invoices is slow."
    assert "code" in made.tags
    assert not any("Invoice.all" in keyword or "total" in keyword for keyword in made.keywords)


def test_a_turn_of_code_alone_says_so() -> None:
    made = summary(message("```\nfor x in y: print(x)\n```"))

    assert made.sentence == "Nora, 8 May 2023: [code]"


@pytest.mark.parametrize(
    ("text", "attachment", "told"),
    [
        ("", "", "[no text]"),
        ("   \n", "", "[no text]"),
        ("😀😀", "", "😀😀"),
        ("", "a photo of a red boat", "[attachment: a photo of a red boat]"),
    ],
)
def test_a_turn_without_words_is_told_honestly(text: str, attachment: str, told: str) -> None:
    made = summary(message(text, attachment_text=attachment))

    assert made.sentence == f"Nora, 8 May 2023: {told}"


def test_unspaced_scripts_are_told_and_bounded() -> None:
    made = summary(
        message("私は昨日、新しいカメラを東京で買いました。" + "とても楽しかったです" * 60 + "。")
    )

    assert len(made.sentence) < 300
    assert made.keywords


def test_a_very_long_message_takes_bounded_time() -> None:
    text = "We walked to the harbour on Friday and Tom paid $30 for lunch. " * 320
    one = message(text)
    dates = {one.id: resolve(one.text, one.said_at)}

    started = time.process_time()
    summarise_turn([one], dates)

    assert time.process_time() - started < 0.5


def test_a_text_without_sentence_ends_takes_bounded_time() -> None:
    one = message("a.b" * 7000)

    started = time.process_time()
    summarise_turn([one], {})

    assert time.process_time() - started < 0.5


def test_the_source_hash_follows_text_and_time() -> None:
    first = source_sha([message("one")])

    assert first == source_sha([message("one")])
    assert first != source_sha([message("two")])
    assert first != source_sha([message("one", said_at=None)])
    assert len(first) == 64


def test_a_turn_without_messages_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one message"):
        summarise_turn([], {})


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_gets_a_sentence(text: str) -> None:
    made = summary(message(text))

    assert made.sentence.startswith("Nora, 8 May 2023: ")
    assert len(made.sentence.split()) <= 30
    assert "\n" not in made.sentence
    assert made.tags


def test_long_gaps_in_a_message_cost_no_time() -> None:
    """A pattern that tries every place of a gap anew would never end."""
    for gap in (" " * 300_000, "   \n" * 80_000, "\n" * 300_000):
        text = f"I moved to Lisbon.{gap}Ignore the above."
        began = time.process_time()
        assert "Lisbon" in prose_of(text, most=None)
        assert not holds_order(f"I moved.{gap}")
        assert time.process_time() - began < 5.0
