"""Forty changes told in a group chat: what is so now, what was before, and why, in any order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localmem.dates import resolve
from localmem.memory import Memory
from localmem.participants import versions
from localmem.participants.folding import fold
from localmem.participants.inquiry import understand
from localmem.participants.known import what_is_known
from localmem.participants.record import record_of
from localmem.participants.terms import normal_value
from localmem.testing import build_memory
from localmem.types import (
    Claim,
    Depth,
    ImportedMessage,
    Item,
    ItemKind,
    Message,
    MessageId,
    ParticipantId,
    SessionId,
    TurnId,
)
from tests.participants_history import ASKED_AT, CHANGES, START, as_conversations, messages


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """All of it, in the order of time."""
    with build_memory(tmp_path_factory.mktemp("history") / "memory.duckdb") as made:
        _import(made, [messages()])
        with made.store.reading():  # once for all questions
            yield made


def _import(memory: Memory, parts: Sequence[list[ImportedMessage]]) -> None:
    for number, part in enumerate(parts):
        import_id = memory.store.begin_import(f"part {number}", "test", START)
        memory.store.add_conversations(import_id, as_conversations(part))
        memory.work()


def test_there_are_forty_changes() -> None:
    assert len(CHANGES) == 40


def test_what_is_so_now_is_answered(memory: Memory) -> None:
    for change in CHANGES:
        answer = memory.ask(change.asks_now, depth=Depth.INSTANT, asked_at=ASKED_AT)
        assert change.now.casefold() in answer.text.casefold(), change.asks_now
        assert change.gone or change.then.casefold() not in answer.text.casefold(), change.asks_now
        assert answer.citations[0].quote in change.later, change.asks_now


def test_what_was_before_is_answered(memory: Memory) -> None:
    for change in CHANGES:
        if change.asks_before:
            answer = memory.ask(change.asks_before, depth=Depth.INSTANT, asked_at=ASKED_AT)
            assert change.then.casefold() in answer.text.casefold(), change.asks_before
            assert answer.citations[0].quote in change.first, change.asks_before


def test_why_it_changed_is_answered_with_the_message_that_says_so(memory: Memory) -> None:
    for change in CHANGES:
        if change.asks_why:
            answer = memory.ask(change.asks_why, depth=Depth.INSTANT, asked_at=ASKED_AT)
            assert change.reason.casefold() in answer.text.casefold(), change.asks_why
            assert answer.citations[0].quote in change.later, change.asks_why


def test_what_no_longer_holds_never_stands_before_what_does(memory: Memory) -> None:
    for change in CHANGES:
        found = [one.message.text for one in memory.search(change.asks_now, k=10).found]
        assert change.later in found, change.asks_now
        if change.first in found:
            assert found.index(change.later) < found.index(change.first), change.asks_now


def test_what_no_longer_holds_says_so_with_its_day(memory: Memory) -> None:
    found = {one.message.text: one for one in memory.search("Where does Ada live now?").found}
    old = found["I live in Turin, near the river."]
    assert old.standing == "superseded: home: Turin ended on 26 October 2025, now: Ghent"
    assert not found[CHANGES[0].later].standing


def test_a_question_about_a_day_gets_what_held_on_that_day(memory: Memory) -> None:
    people = memory.store.participants()

    def asked(question: str) -> str:
        return memory.ask(question, depth=Depth.INSTANT, asked_at=ASKED_AT).text

    assert asked("Where did Ada live in March 2025?") == "Turin"
    assert asked("Where did Ada live on 1 February 2026?") == "Ghent"
    assert asked("How much was Elif's bus pass in June 2025?") == "£50"
    assert asked("How much was Elif's bus pass in June 2026?") == "£62"
    assert asked("What was Bruno's phone number in April 2025?") == "555-0134"
    for chain in versions.chains(memory.store.items(kinds=[ItemKind.ATTRIBUTE])):
        for item in chain:
            if item.valid_from is not None and item.valid_to != item.valid_from:
                assert versions.at(chain, item.valid_from) == item
    assert len(people) == 6


def test_what_was_asked_earlier_gets_what_held_then(memory: Memory) -> None:
    earlier = START + timedelta(days=60)
    answer = memory.ask("Where does Ada live now?", depth=Depth.INSTANT, asked_at=earlier)
    assert answer.text == "Turin"


def test_the_order_of_imports_makes_no_difference(tmp_path: Path, memory: Memory) -> None:
    said = messages()
    random.Random(7).shuffle(said)  # noqa: S311  # any order will do
    with build_memory(tmp_path / "other.duckdb") as other:
        _import(other, [said[:40], said[40:41], said[41:]])
        assert _told(other) == _told(memory)


def _told(memory: Memory) -> list[tuple[object, ...]]:
    """The items without what differs between two memories: ids."""
    names = {person.id: person.name for person in memory.store.participants()}
    items = memory.store.items()
    texts = {message.id: message.text for message in memory.store.shown_messages()}
    by_id = {item.id: item for item in items}
    return sorted(
        (
            names[item.participant_id],
            item.kind.value,
            item.slot,
            item.entity,
            item.value,
            item.state.value,
            str(item.valid_from),
            str(item.valid_to),
            by_id[item.supersedes].value if item.supersedes else "",
            item.reason,
            item.end_reason,
            [texts[number] for number in item.message_ids],
        )
        for item in items
    )


# --- The same without a store -----------------------------------------------------------------


def _claims() -> list[Claim]:
    people = {name: ParticipantId(n) for n, name in enumerate(sorted({c.who for c in CHANGES}), 1)}
    found: list[Claim] = []
    for n, one in enumerate(messages(), start=1):
        if one.speaker not in people:
            continue
        message = Message(
            MessageId(n), TurnId(n), SessionId(n), people[one.speaker], one.speaker, one.role, 0,
            one.text, one.said_at,
        )  # fmt: skip
        dates = resolve(message.text, message.said_at, language=None)
        found += record_of(message, dates, in_assistant_chat=False).claims
    return found


_ALL = _claims()


def _folded(claims: Sequence[Claim]) -> list[tuple[str, str, str, date | None, date | None]]:
    items: list[Item] = []
    for person in {claim.participant_id for claim in claims}:
        items += fold(claim for claim in claims if claim.participant_id == person)
    return sorted(
        (i.slot, i.value or i.quote, i.state.value, i.valid_from, i.valid_to) for i in items
    )


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_items_do_not_depend_on_the_order_of_claims(chance: random.Random) -> None:
    shuffled = list(_ALL)
    chance.shuffle(shuffled)
    assert str(_folded(shuffled)) == str(_folded(_ALL))


@settings(max_examples=60, deadline=None)
@given(st.integers(min_value=0, max_value=len(_ALL) - 1))
def test_a_claim_changes_nothing_but_what_it_is_about(left_out: int) -> None:
    one = _ALL[left_out]
    mine = [claim for claim in _ALL if claim.participant_id == one.participant_id]
    with_it, without = fold(mine), fold(claim for claim in mine if claim is not one)
    subject = (one.participant_id, one.slot)
    keep = [i for i in with_it if (i.participant_id, i.slot) != subject]
    same = [i for i in without if (i.participant_id, i.slot) != subject]
    assert [_plain(i) for i in keep] == [_plain(i) for i in same]


def _plain(item: Item) -> tuple[object, ...]:
    return item.slot, normal_value(item.value), item.quote, item.state, item.valid_to


def test_questions_of_another_kind_are_left_to_search(memory: Memory) -> None:
    people = memory.store.participants()
    for question in (
        "When did Ada move to Ghent?",
        "How long did Dov live in Haifa?",
        "Where does Petra live now?",
        "What did Gil say to Ada?",
        "Where do you live?",
    ):
        inquiry = understand(question, ASKED_AT, people)
        known = what_is_known(
            question, inquiry, ASKED_AT, people, lambda asked: memory.store.items()
        )
        assert known is None, question
