"""A conversation with the memory: kept, recalled, answered, gone on with, never relearned."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from localmem.errors import RecordNotFoundError, UsageError
from localmem.memory import Memory
from localmem.memory.conversation import Conversation
from localmem.recall.refusal import NOT_FOUND
from localmem.recall.said import asks, parted
from localmem.store import Store, migrations, talks
from localmem.testing import FixedClock, FixedModels, ScriptedLlm, build_memory
from localmem.types import (
    OWN_CHAT,
    Budget,
    ConversationKind,
    Depth,
    ForgetTarget,
    ImportedConversation,
    ImportedMessage,
    Role,
    SearchResult,
    Session,
    SessionId,
)

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_NAMES = ("Ada", "Bea", "Cleo", "Dora")
_BEFORE = (
    "I planted three apple trees behind the shed.",
    "My bicycle lock has the code 4711.",
    "I live in Oslo.",
)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def empty(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    with build_memory(tmp_path / "empty.duckdb", clock=clock) as made:
        yield made


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory that holds an imported chat of the year before."""
    path = tmp_path_factory.mktemp("imported") / "m.duckdb"
    at = START - timedelta(days=365)
    said = [
        ImportedMessage(str(n), Role.USER, "", text, at + timedelta(minutes=n))
        for n, text in enumerate(_BEFORE)
    ]
    chat = ImportedConversation("test", "c", "Before", ConversationKind.ASSISTANT, tuple(said))
    with build_memory(path) as memory:
        memory.store.add_conversation(memory.store.begin_import("x.json", "test", at), chat)
        memory.work()
    return path


@pytest.fixture
def path(tmp_path: Path, imported: Path) -> Path:
    return Path(shutil.copy(imported, tmp_path / "m.duckdb"))


@pytest.fixture
def memory(path: Path, clock: FixedClock) -> Iterator[Memory]:
    with build_memory(path, clock=clock) as made:
        yield made


@pytest.fixture
def llm() -> ScriptedLlm:
    return ScriptedLlm(fallback_reply="clover")


@pytest.fixture
def with_model(path: Path, clock: FixedClock, llm: ScriptedLlm) -> Iterator[Memory]:
    with build_memory(path, models=FixedModels(the_llm=llm), clock=clock) as made:
        yield made


def own_session(memory: Memory) -> Session:
    (session,) = (one for one in memory.sessions() if one.source == OWN_CHAT)
    return session


# --- Telling and asking -------------------------------------------------------------------


def test_what_is_told_is_kept_and_found_at_once(empty: Memory) -> None:
    with empty.conversation() as talk:
        noted = talk.say("My boat is called Perla.")
        assert (noted.text, noted.found, noted.citations) == ("Noted.", True, ())
        answer = talk.say("What is my boat called?")
    assert "Perla" in answer.text
    assert answer.citations[0].quote == "My boat is called Perla."
    assert "My boat is called Perla." in [
        found.message.text for found in empty.search("boat called Perla").found
    ]


def test_a_memory_that_never_heard_of_it_says_so(empty: Memory) -> None:
    with empty.conversation() as talk:
        answer = talk.say("Which university did Ines attend?")
    assert (answer.text, answer.found) == (NOT_FOUND, False)


def test_what_is_told_names_what_came_up_before_in_its_own_words(memory: Memory) -> None:
    with memory.conversation() as talk:
        noted = talk.say("Two of the three apple trees bear apples.")
        other = talk.say("The weather is mild.")
    assert noted.text == "Noted. It came up before:"
    assert [one.quote for one in noted.citations] == [_BEFORE[0]]
    assert (other.text, other.citations) == ("Noted.", ())


def test_a_like_sentence_about_something_else_is_not_what_came_up_before(empty: Memory) -> None:
    with empty.conversation() as talk:
        talk.say("My cat is Tom.")
        assert talk.say("My cow is Moo.").text == "Noted."


def test_what_is_told_says_which_value_it_replaces(memory: Memory) -> None:
    with memory.conversation() as talk:
        noted = talk.say("I live in Bergen now.")
        answer = talk.say("Where do I live?")
    assert "takes the place of what I had: home: Oslo" in noted.text
    assert [one.quote for one in noted.citations] == [_BEFORE[2]]
    assert answer.text == "Bergen"


def test_a_question_leans_on_what_was_said_before_it(memory: Memory) -> None:
    with memory.conversation() as talk:
        talk.say("How many apple trees did I plant?")
        answer = talk.say("And where was that?")
    assert answer.question == "And where was that? (about: apple trees plant)"
    assert "behind the shed" in answer.text


def test_a_question_after_a_statement_is_answered_and_leans_on_it(memory: Memory) -> None:
    with memory.conversation() as talk:
        answer = talk.say("My bicycle lock is rusty. What is its code?")
    assert answer.question == "What is its code? (about: bicycle lock rusty)"
    assert "4711" in answer.text
    assert [one.quote for one in answer.citations] == [_BEFORE[1]]


def test_what_was_told_in_the_same_breath_holds(memory: Memory) -> None:
    with memory.conversation() as talk:
        answer = talk.say("I live in Bergen now. Where do I live?")
    assert (answer.text, answer.citations[0].quote) == ("Bergen", "I live in Bergen now.")


def test_nothing_said_is_an_error_and_stores_nothing(empty: Memory) -> None:
    with empty.conversation() as talk, pytest.raises(UsageError, match="nothing said"):
        talk.say("  ")
    assert empty.stats().messages == 0


@pytest.mark.parametrize(
    ("text", "told", "asked"),
    [
        ("When did I move?", "", "When did I move?"),
        ("which flat did i take", "", "which flat did i take"),
        ("Tell me about Perla.", "", "Tell me about Perla."),
        ("wann war ich in Rom", "", "wann war ich in Rom"),
        ("When I was in Rome I lost my keys.", "When I was in Rome I lost my keys.", ""),
        ("What a day!", "What a day!", ""),
        ("Remind me to call Ana.", "Remind me to call Ana.", ""),
        ("I am ill. Who is my doctor?", "I am ill.", "Who is my doctor?"),
    ],
)
def test_what_is_said_is_parted_into_told_and_asked(text: str, told: str, asked: str) -> None:
    assert (parted(text).told, parted(text).asked) == (told, asked)


def test_nothing_asks_nothing() -> None:
    assert not asks("")


# --- The short term -----------------------------------------------------------------------


def test_the_last_pages_are_held_and_the_least_used_leaves_for_an_episode(
    empty: Memory, clock: FixedClock
) -> None:
    with empty.conversation() as talk:
        for name in _NAMES[:3]:
            talk.say(f"My goat {name} gives milk in the morning.")
            clock.advance(minutes=1)
        talk.say("My sheep Dora eats clover all day.")
        assert empty.tiers().counts.pages == 0
        talk.say("What does my goat Ada give?")
        held = [page.said[0].text for page in talk.pages]
        assert [name for text in held for name in _NAMES if name in text] == [
            "Ada",
            "Cleo",
            "Dora",
            "Ada",
        ]
        assert empty.tiers().counts.pages == 5


def test_a_conversation_is_gone_on_with_after_a_restart(path: Path, clock: FixedClock) -> None:
    with build_memory(path, clock=clock) as memory, memory.conversation() as talk:
        for name in _NAMES[:2]:
            talk.say(f"My goat {name} gives milk in the morning.")
            clock.advance(minutes=1)
        talk.say("What does my goat Ada give?")
        held = talk.pages
    clock.advance(hours=1)
    with build_memory(path, clock=clock) as memory, memory.conversation() as again:
        assert [p.messages for p in again.pages] == [p.messages for p in held]
        assert again.pages[-1].cited == held[-1].cited != ()
        assert again.say("And when?").question.endswith("(about: goat Ada give)")
        assert own_session(memory).message_count == 8


def test_a_long_silence_begins_a_new_conversation_and_so_does_the_wish_for_one(
    empty: Memory, clock: FixedClock
) -> None:
    with empty.conversation() as talk:
        talk.say("My boat is called Perla.")
    assert empty.conversation(new=True).pages == ()
    assert len(empty.conversation().pages) == 1
    clock.advance(hours=9)
    assert empty.conversation().pages == ()
    with empty.conversation(own_session(empty).id) as old:
        assert len(old.pages) == 1
        old.say("My boat is blue.")
    titles = {one.title for one in empty.sessions()}
    assert titles == {"My boat is called Perla."}


def test_only_a_conversation_with_the_memory_is_gone_on_with(memory: Memory) -> None:
    with pytest.raises(RecordNotFoundError, match="no conversation with this memory"):
        memory.conversation(SessionId(1))
    with pytest.raises(RecordNotFoundError):
        memory.conversation(SessionId(99))


def test_what_the_reply_said_rests_on_the_same_message_again(memory: Memory) -> None:
    with memory.conversation() as talk:
        first = talk.say("What is the code of my bicycle lock?")
        again = talk.say("What was that again?")
    assert "4711" in first.text
    assert [one.message_id for one in again.citations] == [first.citations[0].message_id]


# --- A model ------------------------------------------------------------------------------


def test_the_model_sees_the_last_pages_whole_and_cites_what_was_just_said(
    with_model: Memory, llm: ScriptedLlm
) -> None:
    with with_model.conversation() as talk:
        talk.say("My sheep Dora eats clover all day.")
        talk.say("What colour is the shed?", depth=Depth.DIRECT)
        answer = talk.say("What does Dora eat under the apple trees?", depth=Depth.DIRECT)
    shown = llm.history[-1].messages[-1].content
    assert "Me: My sheep Dora eats clover all day." in shown
    assert "Me: What colour is the shed?" in shown
    assert f"{OWN_CHAT}: Noted." in shown
    assert "What does Dora eat" not in shown.split("</memory>")[0]
    assert shown.index("apple trees") < shown.index("sheep Dora")
    assert [one.quote for one in answer.citations] == ["My sheep Dora eats clover all day."]


def test_pages_are_shown_even_where_nothing_else_fits(with_model: Memory, llm: ScriptedLlm) -> None:
    with with_model.conversation() as talk:
        talk.say("My sheep Dora eats clover all day.")
        llm.context_tokens = 550
        talk.say("What does Dora eat under the apple trees?", depth=Depth.DIRECT)
    shown = llm.history[-1].messages[-1].content
    assert "sheep Dora" in shown and "I planted" not in shown


def test_a_deep_question_knows_the_conversation_too(with_model: Memory, llm: ScriptedLlm) -> None:
    with with_model.conversation() as talk:
        talk.say("My sheep Dora eats clover all day.")
        answer = talk.say("What does Dora eat?", depth=Depth.DEEP)
    assert answer.text == "clover"
    (cited,) = answer.citations
    assert cited.quote == cited.session_title == "My sheep Dora eats clover all day."
    assert f"{OWN_CHAT}: Noted." in llm.history[-1].messages[-1].content


class EnoughError(Exception):
    """Whoever listens has heard enough."""


def test_an_answer_that_is_stopped_leaves_what_was_said_and_no_reply(with_model: Memory) -> None:
    def stop(token: str) -> None:
        raise EnoughError

    with with_model.conversation() as talk:
        with pytest.raises(EnoughError):
            talk.say("What is the code of my bicycle lock?", depth=Depth.DIRECT, on_token=stop)
        assert [len(page.messages) for page in talk.pages] == [1]
        assert talk.say("What is the code of my bicycle lock?", depth=Depth.DIRECT).text == "clover"
    roles = [one.role for one in with_model.show(own_session(with_model).id).messages]
    assert roles == [Role.USER, Role.USER, Role.REPLY]


# --- What a reply is not ------------------------------------------------------------------


def talked(memory: Memory) -> Conversation:
    talk = memory.conversation()
    for _ in range(2):
        talk.say("Where do I live?")
    return talk


def test_a_reply_is_never_learned_from(memory: Memory) -> None:
    items = memory.store.items()
    summaries = memory.stats().turns_without_summary
    with memory.conversation() as talk:
        assert talk.say("Where do I live?").text == "Oslo"
    memory.work()
    assert memory.store.items() == items
    assert memory.stats().turns_without_summary == summaries == 0
    session = own_session(memory)
    reply = memory.show(session.id).messages[-1]
    assert (reply.role, reply.text) == (Role.REPLY, "Oslo")
    assert memory.store.records_of([reply.id]) == {}
    facts = memory.layers.facts(session.id, seconds=0.0).facts
    assert all(reply.id not in fact.message_ids for fact in facts)


def test_an_assistants_sentence_about_the_owner_would_have_been_kept(memory: Memory) -> None:
    """The twin of the test above: it is the role that keeps a reply from being learned."""
    for role, count in ((Role.ASSISTANT, 1), (Role.REPLY, 0)):
        told = ImportedMessage(role.value, role, "", "You live in Lima.", START)
        asked = ImportedMessage(f"q{role.value}", Role.USER, "", "Where do I live?", START)
        chat = ImportedConversation(
            "test", role.value, "", ConversationKind.ASSISTANT, (asked, told)
        )
        memory.store.add_conversation(memory.store.begin_import("x", "test", START), chat)
        memory.work()
        numbers = [one.id for one in memory.store.shown_messages() if one.role is role]
        claims = [c for one in memory.store.records_of(numbers).values() for c in one.claims]
        assert len(claims) == count, role


def test_neither_replies_nor_what_was_only_asked_are_evidence(memory: Memory) -> None:
    seen: list[SearchResult] = []
    talked(memory).close()
    answer = memory.ask("Where do I live?", on_found=seen.append)
    sources = {found.session.source for found in seen[0].found}
    assert (sources, answer.text) == ({"test"}, "Oslo")
    deep = memory.ask("Where do I live?", depth=Depth.DEEP, budget=Budget(steps=4))
    assert [one.quote for one in deep.citations] == [_BEFORE[2]]
    found = memory.search("Where do I live?").found
    assert {Role.REPLY, Role.USER} <= {one.message.role for one in found}


def test_search_finds_the_same_from_its_snapshot(path: Path, clock: FixedClock) -> None:
    with build_memory(path, clock=clock) as memory:
        talked(memory).close()
        memory.work()
    seen: list[SearchResult] = []
    with build_memory(path, clock=clock) as memory:
        memory.ask("Where do I live?", on_found=seen.append)
    assert {found.session.source for found in seen[0].found} == {"test"}


# --- Forgetting ---------------------------------------------------------------------------


def test_a_reply_goes_with_what_it_rests_on(memory: Memory) -> None:
    talk = talked(memory)
    cited = talk.pages[-1].cited
    plan = memory.plan_forget(ForgetTarget(messages=cited))
    assert plan.receipt.messages == 3
    memory.forget(ForgetTarget(messages=cited))
    assert [page.messages[-1].role for page in talk.pages] == [Role.USER] * 2
    assert memory.store.orphans() == {}
    assert not any("Oslo" in one.text for one in memory.store.shown_messages())
    assert not talk.say("Where do I live?").found


def test_a_sitting_is_an_import_that_can_be_taken_back(memory: Memory, clock: FixedClock) -> None:
    with memory.conversation() as talk:
        talk.say("My boat is called Perla.")
    clock.advance(minutes=5)
    with memory.conversation() as talk:
        talk.say("My boat is blue.")
    first, second, imported = sorted(memory.imports(), key=lambda one: -one.messages_added)[::-1]
    assert {first.source, second.source} == {OWN_CHAT} and imported.messages_added == 3
    assert first.complete and second.complete
    newest = max((first, second), key=lambda one: one.import_id or 0)
    assert newest.import_id is not None
    memory.undo_import(newest.import_id)
    texts = [one.text for one in memory.show(own_session(memory).id).messages]
    assert "My boat is called Perla." in texts and "My boat is blue." not in texts


def test_a_memory_of_before_conversations_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    before = migrations.MIGRATIONS.index(talks.create_tables)
    with duckdb.connect(str(path)) as old:
        migrations.migrate(old, migrations.MIGRATIONS[:before])
    with Store(path) as store:
        assert store.cited_by([]) == {}
    with build_memory(path) as memory, memory.conversation() as talk:
        talk.say("My boat is called Perla.")
        assert talk.say("What is my boat called?").found
