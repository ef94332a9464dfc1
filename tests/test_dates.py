"""What holds of every resolved date, whatever was said and whenever."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localmem.dates import annotate, describe, describe_day, resolve, resolve_question
from localmem.types import Granularity, ResolvedDate

SAID_AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)

PIECES = (
    "yesterday", "last week", "next Friday", "on Friday", "this weekend", "two months ago",
    "in March", "March 3rd", "3 March 2022", "2022-03-03", "3/4/2023", "since 2016", "the 15th",
    "in the 90s", "last Christmas", "the other day",
    "We went", "we will go", "it may", "3.14", "the week before",
    "earlier this year", "end of last month", "Easter 2024", "hace dos días", "vor drei Wochen",
    "il y a un an", "gestern", "I've been here for three years", "next spring", "from 2015 to 2018",
    "February 30th", "31/31/2023", "999 years ago", "İstanbul", "日本", "ß", ".", "!", "\n", "’s",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join) | st.text(max_size=80)
times = st.datetimes(timezones=st.just(UTC))


@settings(deadline=None)
@given(text=texts, said_at=times | st.none())
def test_a_date_lies_in_its_text_and_ends_after_it_starts(
    text: str, said_at: datetime | None
) -> None:
    free_from = 0
    for found in resolve(text, said_at):
        assert text[found.begin : found.stop] == found.words != ""
        assert found.begin >= free_from
        assert found.start <= found.end
        free_from = found.stop


@settings(deadline=None)
@given(text=texts, weeks=st.integers(min_value=1, max_value=2000))
def test_days_and_weeks_move_with_the_time_of_the_message(text: str, weeks: int) -> None:
    shift = timedelta(weeks=weeks)
    expression = f"{text}\nI went there yesterday, last week and last Friday"

    before = resolve(expression, SAID_AT, language="en")[-3:]
    after = resolve(expression, SAID_AT + shift, language="en")[-3:]

    assert [one.start + shift for one in before] == [one.start for one in after]
    assert [one.end + shift for one in before] == [one.end for one in after]


@settings(deadline=None)
@given(text=texts)
def test_a_text_without_a_time_resolves_only_what_names_its_year(text: str) -> None:
    for one in resolve(text, None):
        assert any(char.isdigit() for char in one.words)


@settings(deadline=None)
@given(text=texts, said_at=times)
def test_annotating_keeps_every_original_word(text: str, said_at: datetime) -> None:
    dates = resolve(text, said_at)
    annotated = annotate(text, dates, said_at=said_at)

    place = 0
    for char in text:
        place = annotated.index(char, place) + 1
    assert len(annotated) >= len(text)


@settings(deadline=None)
@given(said_at=times)
def test_every_relative_expression_can_be_said_in_words(said_at: datetime) -> None:
    for one in resolve("yesterday, last week, last winter, in late 2019", said_at):
        assert describe(one)


def test_the_day_is_that_of_the_place_where_it_was_said() -> None:
    late_in_tokyo = datetime(2023, 5, 9, 0, 30, tzinfo=timezone(timedelta(hours=9)))

    (yesterday,) = resolve("yesterday", late_in_tokyo)
    (same_instant,) = resolve("yesterday", late_in_tokyo.astimezone(UTC))

    assert yesterday.start == date(2023, 5, 8)
    assert same_instant.start == date(2023, 5, 7)


def test_without_a_time_only_absolute_dates_resolve() -> None:
    found = resolve("Yesterday, last week, on March 3rd, in 2019 and on 3 March 2022", None)

    assert [one.words for one in found] == ["2019", "3 March 2022"]


def test_since_is_open_at_its_end_and_reaches_the_message() -> None:
    (found,) = resolve("I live here since 2016", SAID_AT)

    assert found.open_end
    assert (found.start, found.end) == (date(2016, 1, 1), date(2023, 5, 8))


def test_last_week_said_on_a_sunday_is_the_seven_days_before_in_english_only() -> None:
    sunday = datetime(2023, 5, 7, 12, 0, tzinfo=UTC)

    (english,) = resolve("last week", sunday, language="en")
    (german,) = resolve("letzte Woche", sunday, language="de")

    assert (english.start, english.end) == (date(2023, 4, 30), date(2023, 5, 6))
    assert (german.start, german.end) == (date(2023, 4, 24), date(2023, 4, 30))


def test_the_week_before_counts_from_the_date_named_earlier() -> None:
    found = resolve("I left on 20 March 2023 but I packed the week before.", SAID_AT)

    assert describe(found[1]) == "13 to 19 March 2023"


def test_this_weekend_told_in_the_past_midweek_stays_unresolved() -> None:
    wednesday = datetime(2023, 5, 10, 12, 0, tzinfo=UTC)

    assert resolve("The shop got a delivery this weekend", wednesday) == ()


def test_the_nearest_verb_of_the_sentence_decides() -> None:
    (found,) = resolve("We will see, but we met on Friday", SAID_AT)

    assert found.start == date(2023, 5, 5)


def test_a_question_without_tense_asks_of_the_past() -> None:
    (asked,) = resolve_question("Which book in March?", SAID_AT)
    (coming,) = resolve_question("Where will she go in March?", SAID_AT)

    assert describe(asked) == "March 2023"
    assert describe(coming) == "March 2024"
    assert resolve("Which book in March?", SAID_AT) == ()


def test_a_question_about_this_weekend_looks_ahead_unless_it_says_otherwise() -> None:
    (coming,) = resolve_question("Any ideas for this weekend?", SAID_AT)
    (over,) = resolve_question("Where did I go this weekend?", SAID_AT)

    assert describe(coming) == "the weekend of 13 May 2023"
    assert describe(over) == "the weekend of 6 May 2023"


def test_annotating_writes_dates_beside_relative_words_only() -> None:
    text = "I went yesterday to see what I built in 2019."

    annotated = annotate(text, resolve(text, SAID_AT))

    assert annotated == "I went yesterday (7 May 2023) to see what I built in 2019."


def test_a_week_is_told_from_the_message_where_its_time_is_given() -> None:
    said_at = datetime(2023, 6, 9, 12, 0, tzinfo=UTC)
    (last_week,) = resolve("last week", said_at)

    assert describe(last_week, said_at=said_at) == "the week before 9 June 2023"
    assert describe(last_week) == "29 May to 4 June 2023"


@pytest.mark.parametrize(
    ("start", "end", "granularity", "words"),
    [
        (date(2023, 5, 7), date(2023, 5, 7), Granularity.DAY, "7 May 2023"),
        (date(2023, 6, 1), date(2023, 6, 30), Granularity.MONTH, "June 2023"),
        (date(2022, 12, 1), date(2023, 2, 28), Granularity.SEASON, "winter 2022/23"),
        (date(1990, 1, 1), date(1999, 12, 31), Granularity.DECADE, "the 1990s"),
        (date(2023, 5, 13), date(2023, 5, 14), Granularity.WEEKEND, "the weekend of 13 May 2023"),
        (date(2023, 4, 26), date(2023, 5, 2), Granularity.WEEK, "26 April to 2 May 2023"),
        (date(2022, 11, 1), date(2023, 2, 28), Granularity.RANGE, "November 2022 to February 2023"),
        (date(2023, 5, 7), date(2023, 5, 7), Granularity.RANGE, "7 May 2023"),
        (date(9999, 1, 1), date(9999, 12, 31), Granularity.RANGE, "9999"),
    ],
)  # fmt: skip
def test_an_interval_in_words(start: date, end: date, granularity: Granularity, words: str) -> None:
    assert describe(ResolvedDate("", 0, 0, start, end, granularity)) == words


def test_a_date_beyond_the_calendar_is_left_out() -> None:
    assert resolve("It was 999 years ago", datetime(500, 1, 1, tzinfo=UTC)) == ()
    assert resolve("see you tomorrow", datetime(9999, 12, 31, tzinfo=UTC)) == ()


def test_a_long_text_takes_bounded_time() -> None:
    text = "We went there on Friday and last year, in March 2022; " * 400

    started = time.process_time()
    found = resolve(text, SAID_AT)

    assert len(found) == 1200
    assert time.process_time() - started < 2.0


def test_a_weekend_just_past_is_told_from_the_day_of_writing() -> None:
    (last_weekend,) = resolve("Last weekend we camped", SAID_AT)
    (earlier,) = resolve("Two weekends ago we camped", SAID_AT)

    assert (
        describe(last_weekend, said_at=SAID_AT)
        == f"the weekend before {describe_day(SAID_AT.date())}"
    )
    assert describe(earlier, said_at=SAID_AT) == "the weekend of 29 April 2023"
