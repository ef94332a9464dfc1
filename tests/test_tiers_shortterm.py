"""The short term: four pages, and the one with the oldest last access leaves."""

from __future__ import annotations

from localmem.tiers.shortterm import MOST_PAGES, ShortTerm, replayed
from localmem.types import Message, MessageId, ParticipantId, RecentPage, Role, SessionId, TurnId


def page(number: int, *cited: int) -> RecentPage:
    """A page whose one message has this number."""
    message = Message(
        MessageId(number),
        TurnId(number),
        SessionId(1),
        ParticipantId(1),
        "Me",
        Role.USER,
        number,
        "said",
    )
    return RecentPage((message,), tuple(map(MessageId, cited)))


def numbers(term: ShortTerm) -> list[int]:
    return [one.messages[0].id for one in term.pages]


def test_without_citations_the_oldest_page_leaves() -> None:
    term = ShortTerm()
    gone: list[int] = []
    for number in range(1, 7):
        term, left = term.written(page(number))
        gone += [one.messages[0].id for one in left]
    assert (numbers(term), gone) == ([3, 4, 5, 6], [1, 2])


def test_a_page_that_was_cited_stays_longer() -> None:
    term = replayed([page(1), page(2), page(3), page(4)])
    term, left = term.cited([MessageId(1)]).written(page(5))
    assert [one.messages[0].id for one in left] == [2]
    assert numbers(term) == [1, 3, 4, 5]


def test_an_answers_own_citations_count_before_its_page_is_written() -> None:
    assert numbers(replayed([page(1), page(2), page(3), page(4), page(5, 1)])) == [1, 3, 4, 5]


def test_what_the_pages_do_not_hold_may_be_cited() -> None:
    term = replayed([page(1), page(2, 99)])
    assert numbers(term.cited([MessageId(98)])) == [1, 2]


def test_never_more_than_four_pages_are_held() -> None:
    cited = (page(number, *range(1, number)) for number in range(1, 40))
    assert len(replayed(cited).pages) == MOST_PAGES == 4


def test_pages_stand_in_the_order_of_writing_whatever_was_cited() -> None:
    term = replayed([page(1), page(2), page(3)]).cited([MessageId(2)]).cited([MessageId(1)])
    assert numbers(term) == [1, 2, 3]
