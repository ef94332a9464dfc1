"""What lasts of the owner: taken from what is known, settled by time, pinned, forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from localmem.cli.app import app
from localmem.errors import RecordNotFoundError, UsageError
from localmem.jobs.lasting import Support, entries_of, kind_of
from localmem.memory import Memory
from localmem.store import Store
from localmem.testing import build_memory
from localmem.types import (
    ConversationKind,
    Depth,
    EntryId,
    EpisodeId,
    ForgetTarget,
    GateKind,
    ImportedConversation,
    ImportedMessage,
    Item,
    ItemId,
    ItemKind,
    ItemState,
    LastingEntry,
    LastingKind,
    MessageId,
    ParticipantId,
    Role,
)

_START = datetime(2025, 1, 10, 9, tzinfo=UTC)
_CHATS = (
    "I live in Bergen, in a small flat by the harbour.",
    "Which bread goes with goat cheese? Something dark I guess.",
    "As I live in Bergen, the winter is wet. What boots do you advise?",
    "Tell me a story about a lighthouse and its keeper.",
)


def item(
    number: int,
    quote: str,
    *messages: int,
    kind: ItemKind = ItemKind.FACT,
    state: ItemState = ItemState.ACTIVE,
    supersedes: int | None = None,
    day: int = 0,
) -> Item:
    when = _START + timedelta(days=day)
    before = None if supersedes is None else ItemId(supersedes)
    return Item(
        ItemId(number), kind, ParticipantId(1), "home", "", quote, quote, when, when,
        tuple(MessageId(n) for n in messages), state=state, supersedes=before,
        valid_from=date(2025, 1, 1),
    )  # fmt: skip


EPISODE_OF = {MessageId(n): EpisodeId(n) for n in range(1, 20)}


def made(
    *items: Item, known: tuple[LastingEntry, ...] = (), opened: dict[EpisodeId, int] | None = None
) -> list[LastingEntry]:
    return entries_of(items, Support(EPISODE_OF, opened or {}), known, _START + timedelta(days=30))


def test_only_what_two_episodes_support_lasts() -> None:
    once, twice = item(1, "I own a kayak.", 1), item(2, "I row on Sundays.", 2, 3)
    (entry,) = made(once, twice)
    assert (entry.text, entry.supporting, entry.sources) == ("I row on Sundays.", 2, (2, 3))


def test_what_is_told_once_lasts_where_its_episode_was_opened_or_the_owner_set_it_right() -> None:
    once = item(1, "I own a kayak.", 1)
    (entry,) = made(once, opened={EpisodeId(1): 1})
    assert (entry.supporting, entry.used) == (1, 0)  # the episode was used, not the entry
    assert made(once, opened={EpisodeId(2): 9}) == []
    assert len(made(replace(once, by_owner=True))) == 1


def test_what_the_owner_pinned_lasts_whatever_its_support() -> None:
    (entry,) = made(item(1, "I own a kayak.", 1, state=ItemState.PINNED))
    assert entry.pinned


def test_an_answer_that_took_an_entry_counts_as_support() -> None:
    (before,) = made(item(1, "I row.", 1, 2))
    used = replace(before, sources=(MessageId(1),), supporting=1, used=1)
    (entry,) = made(item(1, "I row.", 1), known=(used,))
    assert entry.used == 1
    assert made(item(1, "I row.", 1)) == []


def test_an_entry_stays_while_its_messages_wait_for_their_episode() -> None:
    (before,) = made(item(1, "I row.", 1, 2))
    (entry,) = made(item(1, "I row.", 1, 99), known=(replace(before, used=1),))
    assert (entry.id, entry.used, entry.supporting) == (before.id, 1, 1)
    assert made(item(1, "I row.", 1), known=(before,)) == []


def test_of_two_versions_the_later_holds_and_the_earlier_names_it() -> None:
    old = item(1, "I live in Oslo.", 1, 2, state=ItemState.SUPERSEDED)
    new = item(2, "I live in Bergen now.", 3, supersedes=1, day=9)
    first, second = made(old, new)
    assert (first.text, first.superseded_by) == ("I live in Oslo.", second.id)
    assert first.contradictions == 1
    assert (second.text, second.superseded_by) == ("I live in Bergen now.", None)


@pytest.mark.parametrize("state", [ItemState.RETIRED, ItemState.SUPERSEDED])
def test_what_ended_without_a_successor_does_not_last(state: ItemState) -> None:
    assert made(item(1, "I live in Oslo.", 1, 2, state=state)) == []


def test_kinds_are_told_by_rule() -> None:
    assert kind_of(item(1, "I live in Oslo.", kind=ItemKind.ATTRIBUTE)) is LastingKind.PROFILE
    assert kind_of(item(1, "I planted roses.")) is LastingKind.FACT
    assert kind_of(item(1, "The ferry takes two hours.")) is LastingKind.KNOWLEDGE


# --- Through a memory -----------------------------------------------------------------------


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    path = tmp_path / "memory.duckdb"
    with Store(path) as store:
        for number, text in enumerate(_CHATS):
            when = _START + timedelta(days=20 * number)
            said = (
                ImportedMessage("1", Role.USER, "Ilse", text, when),
                ImportedMessage("2", Role.ASSISTANT, "Assistant", "I see.", when),
            )
            store.add_conversation(
                store.begin_import(f"{number}.json", "test", when),
                ImportedConversation("test", f"c{number}", "", ConversationKind.ASSISTANT, said),
            )
    with build_memory(path) as built:
        built.work(gate="fixed 0.99")  # an episode for each page
        yield built


def known(memory: Memory) -> list[LastingEntry]:
    return [one for one in memory.tiers().lasting if one.kind is LastingKind.PROFILE]


def test_what_is_said_in_two_episodes_lasts_is_found_and_goes_with_its_message(
    memory: Memory,
) -> None:
    (home,) = known(memory)
    assert "Bergen" in home.text and home.supporting == 2
    assert [one.id for one in memory.what_lasts("Where do I live?")][:1] == [home.id]
    assert memory.wishes("Where do I live?") == ()
    memory.forget(ForgetTarget(messages=(home.sources[0],)))
    assert known(memory) == []
    assert memory.store.orphans() == {}
    memory.work(gate="fixed 0.99")
    assert known(memory) == []  # one episode alone is left to support it


def test_what_lasts_outlives_that_something_else_of_its_episode_is_forgotten(
    memory: Memory,
) -> None:
    before = known(memory)
    (other,) = (m for m in memory.store.shown_messages() if "lighthouse" in m.text)
    memory.forget(ForgetTarget(messages=(other.id,)))
    assert [(one.id, one.text) for one in known(memory)] == [(one.id, one.text) for one in before]


def test_a_pinned_entry_keeps_its_number_and_its_pin(memory: Memory) -> None:
    (home,) = known(memory)
    assert memory.pin_lasting(home.id).pinned
    memory.consolidate(gate="fixed 0.99")
    (again,) = known(memory)
    assert (again.id, again.pinned) == (home.id, True)
    assert not memory.pin_lasting(home.id, pinned=False).pinned
    with pytest.raises(RecordNotFoundError, match="no entry 999"):
        memory.pin_lasting(EntryId(999))


def test_what_the_owner_retires_lasts_no_longer(memory: Memory) -> None:
    (home,) = known(memory)
    (one,) = [one for one in memory.store.items_of_messages(home.sources[:1]) if one.holds]
    memory.retire(one.id)
    assert known(memory) == []


def test_an_entry_that_an_answer_took_is_counted(memory: Memory) -> None:
    (home,) = known(memory)
    answer = memory.ask("Where do I live?", depth=Depth.DEEP)
    assert {one.message_id for one in answer.citations} & set(home.sources)
    memory.close()
    with build_memory(memory.path) as again:
        assert [one.used for one in known(again)] == [1]


def test_the_doors_of_a_deep_question_read_an_episode_and_that_is_counted(memory: Memory) -> None:
    tiers = memory.doors(asked_at=_START).tiers
    assert tiers is not None and tiers.lasting is not None
    number = memory.tiers().episodes[0].id
    text = tiers.episode(number)
    ((line, said),) = text.pages
    assert line and line == text.summary
    ids = [one.message.id for one in said]
    assert tiers.episode_of(ids) == dict.fromkeys(ids, number)
    memory.close()
    with build_memory(memory.path) as again:
        assert {one.id: one.opened for one in again.tiers().episodes}[number] == 1


def test_the_command_shows_pins_and_lets_go(memory: Memory) -> None:
    (home,) = known(memory)
    memory.close()
    run, path = CliRunner(), str(memory.path)
    shown = run.invoke(app, ["--memory", path, "tiers", "--pin", str(home.id)])
    assert shown.exit_code == 0, shown.output
    assert "1 thing about the owner" in shown.output
    assert "(pinned)" in shown.output
    freed = run.invoke(app, ["--memory", path, "tiers", "--unpin", str(home.id)])
    assert "(pinned)" not in freed.output


def test_the_papers_gate_is_chosen_for_a_run(memory: Memory) -> None:
    memory.work(gate="paper")
    assert memory.tiers().counts.episodes == 1
    assert set(memory.tiers().counts.by_gate) <= {GateKind.PAPER, GateKind.NONE}
    memory.work()
    assert GateKind.PAPER not in memory.tiers().counts.by_gate
    with pytest.raises(UsageError, match="no gate is called 'sieve'"):
        memory.work(gate="sieve")
