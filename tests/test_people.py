"""Who is who: names, merging two who are one, splitting one who is two."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from localmem.errors import RecordNotFoundError, UsageError
from localmem.memory import Memory
from localmem.store import migrations
from localmem.testing import build_memory
from localmem.types import (
    ConversationId,
    ConversationKind,
    ForgetTarget,
    ImportedConversation,
    ImportedMessage,
    ImportId,
    ItemState,
    Role,
    SearchFilter,
    SessionId,
    SplitChoice,
)

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_DAY = timedelta(days=1)


def say(speaker: str, text: str, day: int = 0, *, key: str = "") -> ImportedMessage:
    when = _START + day * _DAY
    return ImportedMessage(key or f"{day}/{speaker}/{text}", Role.USER, speaker, text, when)


def put(memory: Memory, chat: str, *said: ImportedMessage) -> None:
    """Import one group chat."""
    store = memory.store
    number = store.begin_import(f"{chat}.txt", "transcript", _START)
    conversation = ImportedConversation("transcript", chat, chat, ConversationKind.PEOPLE, said)
    store.add_conversations(number, [conversation])


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = build_memory(tmp_path / "memory.duckdb")
    with opened.store.writing():  # opened once for the whole test, which is quick
        fill(opened)
        yield opened


def fill(opened: Memory) -> None:
    put(
        opened,
        "climbing",
        say("Anna Berg", "My rope is green."),
        say("Jonas", "Mine is blue."),
        say("Anna Kurz", "I have no rope, only a harness."),
    )
    put(opened, "office", say("A. Berg", "The printer is broken again.", 5))
    opened.work()


def names(memory: Memory) -> list[str]:
    return sorted(one.person.name for one in memory.people())


def speaker_of(memory: Memory, words: str) -> str:
    return memory.search(words, mode="bm25").found[0].message.speaker


def test_everybody_is_listed_with_what_they_said(memory: Memory) -> None:
    found = {one.person.name: one for one in memory.people()}
    assert sorted(found) == ["A. Berg", "Anna Berg", "Anna Kurz", "Jonas"]
    assert (found["Jonas"].messages, found["Jonas"].sessions) == (1, 1)
    assert found["A. Berg"].first_said_at == _START + 5 * _DAY


def test_two_with_the_same_first_name_stay_two(memory: Memory) -> None:
    assert speaker_of(memory, "green rope") == "Anna Berg"
    assert speaker_of(memory, "harness") == "Anna Kurz"


def test_somebody_is_shown_with_topics_and_sessions(memory: Memory) -> None:
    view = memory.person("a. berg")
    assert view.overview.person.name == "A. Berg"
    assert any("printer" in word for word, _ in view.topics)
    assert [session.title for session in view.sessions] == ["office"]


def test_an_unknown_name_lists_near_ones_with_their_ids(memory: Memory) -> None:
    with pytest.raises(RecordNotFoundError) as caught:
        memory.person("Anna")
    assert "Anna Berg (id 1)" in caught.value.hint
    assert "Anna Kurz (id 3)" in caught.value.hint
    with pytest.raises(RecordNotFoundError) as caught:
        memory.person("Jonsa")
    assert "Jonas (id 2)" in caught.value.hint


def test_a_shared_name_lists_who_has_it_and_the_id_decides(memory: Memory) -> None:
    memory.add_alias("Anna Berg", "Annie")
    memory.add_alias("Anna Kurz", "Annie")
    with pytest.raises(UsageError) as caught:
        memory.person("annie")
    assert "Anna Berg (id 1), Anna Kurz (id 3)" in caught.value.hint
    assert memory.person("3").overview.person.name == "Anna Kurz"


def test_a_new_name_is_found_and_what_comes_under_it_is_theirs(memory: Memory) -> None:
    memory.add_alias("Anna Berg", "Annie")
    put(memory, "later", say("annie", "The rope is worn out.", 9))
    assert speaker_of(memory, "worn out") == "Anna Berg"
    found = memory.search("rope", limits=SearchFilter(participant="Annie")).found
    assert {f.message.speaker for f in found} == {"Anna Berg"}


def test_under_a_name_that_two_share_comes_whoever_is_in_that_chat(memory: Memory) -> None:
    memory.add_alias("Anna Berg", "Annie")
    memory.add_alias("A. Berg", "Annie")
    grown = say("A. Berg", "The printer is broken again.", 5), say("Annie", "Toner is here.", 6)
    put(memory, "office", *grown)
    assert speaker_of(memory, "toner") == "A. Berg"
    put(memory, "elsewhere", say("Annie", "A zebra crossed the road.", 7))
    assert speaker_of(memory, "zebra") == "Annie"


def test_an_alias_that_is_somebody_s_name_is_refused_with_the_cure(memory: Memory) -> None:
    with pytest.raises(UsageError) as caught:
        memory.add_alias("Anna Berg", "A. Berg")
    assert "people merge 1 4" in caught.value.hint


def test_merging_moves_messages_names_and_lines_at_once(memory: Memory) -> None:
    assert speaker_of(memory, "printer") == "A. Berg"
    change = memory.merge_people("Anna Berg", "A. Berg")
    assert (change.person.name, change.messages, change.sessions) == ("Anna Berg", 1, 1)
    assert speaker_of(memory, "printer") == "Anna Berg"
    assert names(memory) == ["Anna Berg", "Anna Kurz", "Jonas"]
    assert memory.person("A. Berg").overview.person.name == "Anna Berg"
    assert all("A. Berg" not in s.sentence for s in memory.store.all_summaries())
    assert memory.stats().turns_without_summary == 0
    assert memory.store.orphans() == {}


def test_what_is_imported_later_goes_to_the_merged_one(memory: Memory) -> None:
    memory.merge_people("Anna Berg", "A. Berg")
    put(memory, "office 2", say("A. Berg", "A new printer has come.", 8))
    assert speaker_of(memory, "new printer has come") == "Anna Berg"


def test_a_merge_is_taken_back_with_what_came_since(memory: Memory) -> None:
    memory.merge_people("Anna Berg", "A. Berg")
    put(memory, "office 2", say("A. Berg", "A new printer has come.", 8))
    put(memory, "hut", say("Anna Berg", "We sleep in the hut.", 9))
    change = memory.split_person("Anna Berg", SplitChoice(), "A. Berg")
    assert (change.person.name, change.messages) == ("A. Berg", 2)
    assert speaker_of(memory, "new printer has come") == "A. Berg"
    assert speaker_of(memory, "sleep in the hut") == "Anna Berg"
    put(memory, "office 3", say("A. Berg", "It prints in colour.", 10))
    assert speaker_of(memory, "prints in colour") == "A. Berg"
    assert memory.store.orphans() == {}


def test_merges_of_merges_are_taken_back_one_by_one(memory: Memory) -> None:
    before = {m.id: m.speaker for m in memory.store.shown_messages()}
    memory.merge_people("A. Berg", "Anna Berg")
    memory.merge_people("Anna Kurz", "A. Berg")
    assert names(memory) == ["Anna Kurz", "Jonas"]
    memory.split_person("Anna Kurz", SplitChoice(), "A. Berg")
    assert names(memory) == ["A. Berg", "Anna Kurz", "Jonas"]
    assert memory.person("Anna Berg").overview.person.name == "A. Berg"
    memory.split_person("A. Berg", SplitChoice(), "Anna Berg")
    assert {m.id: m.speaker for m in memory.store.shown_messages()} == before
    assert [one.person.aliases for one in memory.people()] == [()] * 4


def test_the_owner_stays_the_owner_through_a_merge_and_back(memory: Memory) -> None:
    memory.store.set_owner("A. Berg")
    memory.merge_people("Anna Berg", "A. Berg")
    owner = memory.store.owner()
    assert owner is not None and owner.name == "Anna Berg"
    memory.split_person("Anna Berg", SplitChoice(), "A. Berg")
    owner = memory.store.owner()
    assert owner is not None and owner.name == "A. Berg"


def test_one_who_is_two_is_split_by_session(memory: Memory) -> None:
    put(memory, "a", say("Sam", "I play the cello.", 10))
    put(memory, "b", say("Sam", "I drive a tram.", 11))
    session = memory.search("drive a tram", mode="bm25").found[0].session.id
    change = memory.split_person("Sam", SplitChoice(sessions=(session,)), "Sam Okoro")
    assert (change.messages, change.person.name) == (1, "Sam Okoro")
    assert speaker_of(memory, "drive a tram") == "Sam Okoro"
    assert speaker_of(memory, "play the cello") == "Sam"
    assert memory.store.orphans() == {}


def test_after_a_split_later_messages_of_that_chat_are_the_new_one_s(memory: Memory) -> None:
    put(memory, "a", say("Sam", "I play the cello.", 10))
    put(memory, "b", say("Sam", "I drive a tram.", 11))
    session = memory.search("drive a tram", mode="bm25").found[0].session
    choice = SplitChoice(conversations=(session.conversation_id,))
    memory.split_person("Sam", choice, "Sam Okoro")
    put(memory, "b", say("Sam", "I drive a tram.", 11), say("Sam", "Line nine today.", 12))
    put(memory, "a", say("Sam", "I play the cello.", 10), say("Sam", "A string broke.", 12))
    assert speaker_of(memory, "line nine") == "Sam Okoro"
    assert speaker_of(memory, "string broke") == "Sam"


def test_a_split_one_can_be_merged_back(memory: Memory) -> None:
    put(memory, "a", say("Sam", "I play the cello.", 10))
    put(memory, "b", say("Sam", "I drive a tram.", 11))
    choice = SplitChoice(imports=(ImportId(4),))
    memory.split_person("Sam", choice, "Sam Okoro")
    memory.merge_people("Sam", "Sam Okoro")
    put(memory, "b", say("Sam", "I drive a tram.", 11), say("Sam", "Line nine today.", 12))
    assert speaker_of(memory, "line nine") == "Sam"
    assert memory.person("Sam").overview.messages == 3


@pytest.mark.parametrize(
    ("choice", "new", "hint"),
    [
        (SplitChoice(), "Nobody", "--session"),
        (SplitChoice(sessions=(SessionId(1),)), "Anna Berg", "another"),
        (SplitChoice(sessions=(SessionId(1),)), "Anna B", "people alias 1"),
        (SplitChoice(conversations=(ConversationId(2),)), "Anna B", "people show 1"),
        (SplitChoice(sessions=(SessionId(1),)), " ", "--as"),
    ],
)
def test_a_split_that_makes_no_sense_is_refused_with_the_cure(
    memory: Memory, choice: SplitChoice, new: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        memory.split_person("Anna Berg", choice, new)
    assert hint in caught.value.hint


def test_nobody_is_merged_with_themselves_or_with_an_assistant(memory: Memory) -> None:
    reply = ImportedMessage("r", Role.ASSISTANT, "", "Hello.", _START)
    chat = ImportedConversation("chatgpt", "c", "Hi", ConversationKind.ASSISTANT, (reply,))
    memory.store.add_conversation(memory.store.begin_import("c", "chatgpt", _START), chat)
    with pytest.raises(UsageError, match="one already"):
        memory.merge_people("Jonas", "jonas")
    with pytest.raises(UsageError, match="is an assistant"):
        memory.merge_people("Jonas", "chatgpt")


def test_a_split_to_a_name_that_somebody_has_gives_it_to_them(memory: Memory) -> None:
    put(memory, "a", say("Sam", "I play the cello.", 10))
    put(memory, "b", say("Sam", "I drive a tram.", 11))
    memory.add_alias("Jonas", "Jo")
    session = memory.search("drive a tram", mode="bm25").found[0].session.id
    change = memory.split_person("Sam", SplitChoice(sessions=(session,)), "jo")
    assert change.person.name == "Jonas"
    put(memory, "c", say("Sam", "Bells ring.", 12))
    memory.add_alias("Anna Kurz", "Jo")
    with pytest.raises(UsageError, match="several people"):
        memory.split_person("Sam", SplitChoice(imports=(ImportId(3),)), "Jo")


def test_what_is_known_goes_where_the_messages_go(memory: Memory) -> None:
    put(memory, "a", say("A. Berg", "I live in Graz now.", 10))
    memory.work()
    (home,) = memory.person("A. Berg").known
    memory.pin(home.id)
    memory.merge_people("Anna Berg", "A. Berg")
    (merged,) = memory.person("Anna Berg").known
    assert (merged.value, merged.state) == ("Graz", ItemState.PINNED)
    memory.split_person("Anna Berg", SplitChoice(), "A. Berg")
    assert memory.person("Anna Berg").known == ()
    (back,) = memory.person("A. Berg").known
    assert (back.value, back.state) == ("Graz", ItemState.PINNED)
    assert memory.store.orphans() == {}


def test_what_lasts_of_the_owner_follows_a_merge_and_its_end(memory: Memory) -> None:
    put(memory, "a", say("A. Berg", "I live in Graz now.", 10))
    memory.store.set_owner("Anna Berg")
    memory.work()
    memory.consolidate()
    memory.pin(memory.person("A. Berg").known[0].id)
    memory.merge_people("Anna Berg", "A. Berg")
    assert [entry.text for entry in memory.store.lasting()] == ["I live in Graz now."]
    memory.split_person("Anna Berg", SplitChoice(), "A. Berg")
    assert memory.store.lasting() == ()


def test_what_lasts_of_the_owner_follows_what_is_taken_back(memory: Memory) -> None:
    put(memory, "a", say("Anna Berg", "I live in Graz.", 10))
    memory.store.set_owner("Anna Berg")
    memory.work()
    memory.consolidate()
    memory.pin(memory.person("Anna Berg").known[0].id)
    corrections = [memory.correct("I live in Wels."), memory.correct("I live in Steyr.")]
    assert "I live in Graz." not in [entry.text for entry in memory.store.lasting()]
    memory.undo_import(corrections[1].import_id)
    memory.forget(ForgetTarget(messages=(corrections[0].message_id,)))
    assert "I live in Graz." in [entry.text for entry in memory.store.lasting()]


def test_a_memory_of_an_older_version_gets_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as old:
        migrations.migrate(old, migrations.MIGRATIONS[:3])
    with build_memory(path) as memory:
        fill(memory)
        memory.merge_people("Anna Berg", "A. Berg")
        assert names(memory) == ["Anna Berg", "Anna Kurz", "Jonas"]


def _merge_elsewhere(path: Path) -> None:
    with build_memory(path) as other:
        other.merge_people("Anna Berg", "A. Berg")


def test_a_program_that_has_the_memory_open_sees_a_merge_at_its_next_search(
    tmp_path: Path,
) -> None:
    memory = build_memory(tmp_path / "memory.duckdb")
    fill(memory)
    assert speaker_of(memory, "printer") == "A. Berg"
    child = multiprocessing.get_context("spawn").Process(
        target=_merge_elsewhere, args=(memory.path,)
    )
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert speaker_of(memory, "printer") == "Anna Berg"
