"""Personas: what is known of somebody, grouped, with its evidence, in step with every change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from localmem.errors import RecordNotFoundError
from localmem.jobs.personas import name_topics, renew_personas
from localmem.jobs.remembering import derive_items
from localmem.memory import Memory
from localmem.participants.personas import persona_of
from localmem.store import Store, meta, migrations, personas
from localmem.store.personas import PersonaGroup
from localmem.testing import FixedClock, HashEmbedder, LlmCall, ScriptedLlm, build_memory
from localmem.types import (
    ConversationKind,
    ForgetTarget,
    ImportedConversation,
    ImportedMessage,
    ItemKind,
    ParticipantId,
    Persona,
    PersonaKind,
    Role,
    SplitChoice,
)

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_ANNA = (
    "I signed up for a pottery course in Graz.",
    "I live in Linz.",
    "I love pottery.",
    "The pottery teacher gave me some clay, I was happy.",
    "I row on the river with Ines.",
    "My cousin drives a red truck.",
    "My first pottery jug broke, I cried.",
    "I moved to Wels because the rent in Linz went up.",
    "The dentist moved my appointment to Friday.",
    "I watched a film about whales.",
    "The neighbours have a loud parrot, I can hear it.",
)


def chat(
    texts: tuple[str, ...] = _ANNA, *, speaker: str = "Anna", name: str = "c1", start: int = 0
) -> ImportedConversation:
    """What one person tells another, a message a day."""
    messages = tuple(
        ImportedMessage(f"{name}-{n}", Role.USER, who, text, _START + timedelta(days=start + n))
        for n, (who, text) in enumerate((speaker, text) for text in texts)
    )
    other = ImportedMessage(f"{name}-x", Role.USER, "Ben", "How are you?", _START)
    return ImportedConversation("chat", name, "", ConversationKind.PEOPLE, (other, *messages))


def filled(path: Path, *chats: ImportedConversation) -> Memory:
    memory = build_memory(path / "memory.duckdb")
    add(memory, *(chats or (chat(),)))
    return memory


def add(memory: Memory, *chats: ImportedConversation) -> None:
    number = memory.store.begin_import("x", "chat", _START)
    memory.store.add_conversations(number, list(chats))
    derive_items(memory.store)


def who(store: Store, name: str = "Anna") -> ParticipantId:
    return store.find_participant(name).id


def persona(memory: Memory, name: str = "Anna") -> Persona:
    renew_personas(memory.store, HashEmbedder())
    return persona_of(memory.store, who(memory.store, name))


def topic(found: Persona, word: str) -> str:
    """All that the topic with this word says."""
    (one,) = (s for s in found.topics if any(word in line.text for line in s.lines))
    return "\n".join(line.text for line in (*one.descriptors, *one.lines))


def test_what_is_about_one_thing_stands_together_with_its_days(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        told = topic(persona(memory), "some clay")
    assert "2 March 2026: I signed up for a pottery course in Graz." in told
    assert "8 March 2026: My first pottery jug broke, I cried." in told
    assert "river" not in told


def test_a_topic_tells_what_is_preferred(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        assert "likes pottery" in topic(persona(memory), "some clay")


def test_an_aspect_tells_since_when_and_what_was_before_and_why(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        found = persona(memory)
    (line,) = (line for one in found.aspects for line in one.lines if "home" in line.text)
    assert line.text.startswith("home: Wels (since 9 March 2026); before: Linz; because the rent")
    assert len(line.item_ids) == 2 and len(line.message_ids) == 2


def test_attributes_come_with_all_their_versions(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        found = persona(memory)
    assert [one.value for one in found.attributes[0].versions] == ["Linz", "Wels"]
    assert found.attributes[0].subject == "home"


def test_every_line_names_messages_of_that_person(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        found = persona(memory)
        messages = {m.id: m.speaker for m in memory.store.shown_messages()}
    lines = [line for one in (*found.topics, *found.aspects) for line in one.lines]
    assert lines and all(line.message_ids for line in lines)
    assert {messages[number] for line in lines for number in line.message_ids} == {"Anna"}


def test_what_comes_later_makes_it_stale_and_groups_keep_their_ids(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        store = memory.store
        before = persona(memory)
        assert store.stale_personas() == ()
        add(memory, chat(("I sold a pottery bowl.",), name="c2", start=20))
        assert who(store) in store.stale_personas()
        now = persona_of(store, who(store), embedder=HashEmbedder())
        after = persona(memory)
    assert {one.id for one in before.topics} <= {one.id for one in after.topics}
    assert "pottery bowl" in topic(now, "some clay")
    assert topic(now, "some clay") == topic(after, "some clay")


def test_a_change_of_one_person_leaves_the_other_as_they_were(tmp_path: Path) -> None:
    other = chat(("I bake bread on Sundays.",), speaker="Cleo", name="c2")
    with filled(tmp_path, chat(), other) as memory:
        persona(memory)
        add(memory, chat(("I bake rye bread too.",), speaker="Cleo", name="c3", start=9))
        assert memory.store.stale_personas() == (who(memory.store, "Cleo"),)


def test_what_is_forgotten_leaves_no_word_in_any_key_or_name(tmp_path: Path) -> None:
    with filled(tmp_path, chat(("I joined the zqueduct club.", *_ANNA))) as memory:
        persona(memory)
        (gone,) = (m for m in memory.store.shown_messages() if "zqueduct" in m.text)
        memory.forget(ForgetTarget(messages=(gone.id,)))
        assert b"zqueduct" not in memory.path.read_bytes()
        found = persona(memory)
        assert memory.store.orphans() == {}
    assert "zqueduct" not in str(found)
    assert "pottery course" in topic(found, "some clay")


def test_what_is_forgotten_stays_in_no_key_of_another_item(tmp_path: Path) -> None:
    told = (
        "I helped old Zquorson repair his leaking roof.",
        "We walked through snowy Zquorburg at dawn.",
        "I photographed Zquorburg from the bridge.",
        "I painted a fence behind our barn.",
        "I planted tulips along the canal.",
        "I sold a violin to a student.",
        "I mended a net with twine.",
    )
    with filled(tmp_path, chat(told)) as memory:
        persona(memory)
        before = memory.store.persona_groups()
        shared = {key for one in before for _, key in one.members if "zquorburg" in key}
        assert shared == {"zquorburg"}
        gone = [m.id for m in memory.store.shown_messages() if "Zquorburg " in m.text]
        memory.forget(ForgetTarget(messages=tuple(gone)))
        after = memory.store.persona_groups()
        kept = memory.store.persona_keys(who(memory.store))
        assert not any(key == "zquorburg" for one in after for _, key in one.members)
        assert "zquorburg" not in {one.name for one in after}
        assert "zquorburg" not in {key for one in kept for key in (*one.keys, *one.nearest)}
        assert sum(len(one.keys) for one in kept) >= 3
        assert "Zquorson" in str(persona(memory).topics)
        assert memory.store.orphans() == {}


def test_groups_that_lose_a_message_keep_their_id(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        before = {one.id for one in persona(memory).topics if "clay" in str(one.lines)}
        (gone,) = (m for m in memory.store.shown_messages() if "course" in m.text)
        memory.forget(ForgetTarget(messages=(gone.id,)))
        after = {one.id for one in persona(memory).topics if "clay" in str(one.lines)}
    assert before == after


def test_after_a_split_each_has_their_own(tmp_path: Path) -> None:
    later = chat(("I bake bread with Cleo.",), name="c2", start=30)
    with filled(tmp_path, chat(), later) as memory:
        persona(memory)
        (session,) = {m.session_id for m in memory.store.shown_messages() if "bread" in m.text}
        memory.split_person("Anna", SplitChoice(sessions=(session,)), "Anna K.")
        assert memory.store.orphans() == {}
        assert "bread" not in str(persona(memory))
        assert "bread" in str(persona(memory, "Anna K."))


def test_snapshots_are_nodes_that_rest_on_the_messages_of_their_items(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        found = persona(memory)
        nodes = {one.id: one for one in memory.store.persona_nodes()}
    for one in found.topics:
        assert set(one.message_ids) <= set(nodes[one.id].message_ids)
        assert nodes[one.id].participant_id == one.participant_id


def test_known_vectors_are_not_asked_for_again(tmp_path: Path) -> None:
    asked: list[str] = []

    class Counting(HashEmbedder):
        def embed_passages(self, texts, *, on_progress=None):  # type: ignore[no-untyped-def]
            asked.extend(texts)
            return super().embed_passages(texts, on_progress=on_progress)

    with filled(tmp_path) as memory:
        renew_personas(memory.store, Counting())
        first = list(asked)
        add(memory, chat(("I bake rye bread.",), name="c2", start=20))
        renew_personas(memory.store, Counting())
    assert len(asked) == len(set(asked)) > len(first)


def test_without_an_embedder_keys_are_compared_by_their_words(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        renew_personas(memory.store)
        found = persona_of(memory.store, who(memory.store))
    assert "some clay" in topic(found, "jug broke")


def test_keys_without_a_vector_stay_alone_until_there_is_an_embedder(tmp_path: Path) -> None:
    with filled(tmp_path) as memory:
        persona(memory)
        add(memory, chat(("I bake rye bread.",), name="c2", start=20))
        alone = persona_of(memory.store, who(memory.store))
        assert len(alone.notices) == 1 and "localmem work" in alone.notices[0]
        assert persona(memory).notices == ()


def test_the_persona_of_nobody_is_an_error(tmp_path: Path) -> None:
    with filled(tmp_path) as memory, pytest.raises(RecordNotFoundError):
        persona_of(memory.store, ParticipantId(99))


def test_the_last_messages_stand_in_working_memory_and_the_others_left_it(tmp_path: Path) -> None:
    texts = tuple(f"I met Ines number {n}." for n in range(27))
    with filled(tmp_path, chat(texts)) as memory:
        state = persona_of(memory.store, who(memory.store)).working
        add(memory, chat(("I met Ines once more.",), name="c2", start=40))
        one_more = persona_of(memory.store, who(memory.store)).working
    assert (len(state.recent), state.consolidated) == (17, 10)
    assert (len(one_more.recent), one_more.consolidated) == (18, 10)


def test_what_is_known_does_not_wait_for_working_memory_to_be_full(tmp_path: Path) -> None:
    with filled(tmp_path, chat(("I live in Linz.",))) as memory:
        assert persona(memory).working.consolidated == 0
        assert [one.value for one in memory.store.items(kinds=[ItemKind.ATTRIBUTE])] == ["Linz"]


def test_the_owners_word_is_in_the_persona_at_once(tmp_path: Path) -> None:
    clock = FixedClock(datetime(2026, 11, 30, 12, tzinfo=UTC))
    with build_memory(tmp_path / "memory.duckdb", clock=clock) as memory:
        add(memory, chat())
        (home,) = (one for one in memory.store.items(slots=["home"]) if one.holds)
        memory.correct("Anna lives in Steyr.")
        told = "\n".join(line.text for one in memory.persona("Anna").aspects for line in one.lines)
        assert "home: Steyr" in told and f"home: {home.value}" not in told
        (now,) = (one for one in memory.store.items(slots=["home"]) if one.holds)
        clock.advance(minutes=1)
        memory.retire(now.id)
        assert "home: Steyr" not in str(memory.persona("Anna").aspects)


def test_an_older_memory_gets_its_personas_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    filled(tmp_path).close()
    with duckdb.connect(str(path)) as connection:
        for table in ("persona", "persona_member", "persona_key", "persona_rows", "persona_fresh"):
            connection.execute(f"DROP TABLE {table}")
        before = migrations.MIGRATIONS.index(personas.create_tables)
        meta.put(connection, meta.SCHEMA_VERSION, before)
        for step in migrations.MIGRATIONS[before + 1 :]:
            undo(connection, step)
    with build_memory(path) as memory:
        assert memory.persona("Anna").topics


def undo(connection: duckdb.DuckDBPyConnection, step: Callable[..., None]) -> None:
    """Drop what a later step made, so that it can run again."""
    with duckdb.connect() as empty:
        step(empty)
        made = empty.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
    for (table,) in made:
        connection.execute(f"DROP TABLE {table}")


# --- Names by a model -----------------------------------------------------------------------

_MANY = (
    "I bought rye bread.",
    "The rye bread was warm, I ate it.",
    "I baked bread rolls.",
    "My bread rolls were good.",
    "I planted rye.",
    "My rye has grown.",
    "I watched a film about whales.",
    "The dentist moved my appointment to Friday.",
    "I row on the river with Ines.",
)


def larger(memory: Memory) -> list[PersonaGroup]:
    """The topics of at least three keys."""
    renew_personas(memory.store, HashEmbedder())
    return [
        one
        for one in memory.store.persona_groups()
        if one.kind is PersonaKind.TOPIC and len({key for _, key in one.members}) >= 3
    ]


def test_a_model_may_name_a_topic_in_words_of_its_members(tmp_path: Path) -> None:
    with filled(tmp_path, chat(_MANY)) as memory:
        wanted = larger(memory)
        assert wanted
        llm = ScriptedLlm(fallback_reply="my rye bread")
        assert name_topics(memory.store, lambda: llm) == len(wanted)
        named = [one.name for one in memory.store.persona_groups() if one.named_by is not None]
        assert named == ["my rye bread"] * len(wanted)
        assert name_topics(memory.store, lambda: llm) == 0


def test_a_name_with_other_words_is_refused_and_not_asked_for_again(tmp_path: Path) -> None:
    with filled(tmp_path, chat(_MANY)) as memory:
        assert larger(memory)
        before = [one.name for one in memory.store.persona_groups()]
        llm = ScriptedLlm(fallback_reply="pastry delights")
        assert name_topics(memory.store, lambda: llm) == 0
        asked = len(llm.history)
        assert asked > 0
        assert name_topics(memory.store, lambda: llm) == 0
        assert len(llm.history) == asked
        assert [one.name for one in memory.store.persona_groups()] == before


def test_a_name_that_comes_after_its_words_were_forgotten_is_not_kept(tmp_path: Path) -> None:
    told = tuple(one.replace("baked bread", "baked zquark bread") for one in _MANY)
    with filled(tmp_path, chat(told)) as memory:
        assert larger(memory)
        (gone,) = (m for m in memory.store.shown_messages() if "zquark" in m.text)

        def forgets_meanwhile(call: LlmCall) -> str:
            assert "zquark" in call.text
            memory.forget(ForgetTarget(messages=(gone.id,)))
            return "zquark bread"

        llm = ScriptedLlm(replies=[forgets_meanwhile], fallback_reply="-")
        assert name_topics(memory.store, lambda: llm) == 0
        assert not any("zquark" in one.name for one in memory.store.persona_groups())
        assert b"zquark" not in memory.path.read_bytes()
