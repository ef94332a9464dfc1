"""Episodes in a memory file: placed in the background, resumed, forgotten without a rest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from localmem.errors import RecordNotFoundError, UsageError
from localmem.jobs.consolidating import Settings, consolidate
from localmem.jobs.deriving import derive_vectors
from localmem.store import Store
from localmem.store.usage import Uses
from localmem.testing import HashEmbedder, build_memory
from localmem.types import (
    ConversationKind,
    Depth,
    EpisodeId,
    ForgetTarget,
    ImportedConversation,
    ImportedMessage,
    MessageId,
    Role,
)

_EMBEDDER = HashEmbedder()
_TOPICS = (
    "the sourdough starter rises in its jar with rye flour and water",
    "the marathon training plan wants a long run every sunday morning",
    "the kayak on the lake needs a new paddle and a lighter rudder",
    "the piano lesson was about scales and a slow waltz in minor",
)
_START = datetime(2024, 3, 1, 9, tzinfo=UTC)


def conversation(number: int, topics: list[int]) -> ImportedConversation:
    said = []
    for place, topic in enumerate(topics):
        when = _START + timedelta(days=number, minutes=place)
        text = f"{_TOPICS[topic]}, day {number}"
        said.append(ImportedMessage(f"u{place}", Role.USER, "Ilse", text, when))
        reply = f"noted: {_TOPICS[topic]}"
        said.append(ImportedMessage(f"a{place}", Role.ASSISTANT, "Assistant", reply, when))
    kind = ConversationKind.ASSISTANT
    return ImportedConversation("test", f"c{number}", f"chat {number}", kind, tuple(said))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "memory.duckdb", idle_s=5) as made:
        yield made


def fill(store: Store, count: int = 12, first: int = 0) -> None:
    number = store.begin_import("x.json", "test", _START)
    for one in range(first, first + count):
        store.add_conversation(number, conversation(one, [one % 4, (one + 1) % 4]))
    derive_vectors(store, _EMBEDDER)


def snapshot(store: Store) -> list[tuple[int, float, bool]]:
    return [
        (int(d.episode_id), round(d.probability, 9), d.merged)
        for episode in store.episodes()
        for d, _ in store.episode_pages(episode.id)
    ]


def test_pages_of_one_topic_gather_across_sessions(store: Store) -> None:
    fill(store)
    report = consolidate(store, _EMBEDDER.model_id)
    counts = store.tier_counts()
    assert report.pages == counts.pages == counts.placed == 24
    assert report.open_messages == 0
    assert report.founded == counts.episodes
    assert 4 <= counts.episodes <= 8
    assert counts.across_sessions >= 4
    assert store.orphans() == {}


def test_an_episode_tells_the_decision_of_each_page(store: Store) -> None:
    fill(store)
    consolidate(store, _EMBEDDER.model_id)
    largest = max(store.episodes(), key=lambda one: one.pages)
    decisions = [decision for decision, _ in store.episode_pages(largest.id)]
    assert not decisions[0].merged
    assert all(one.merged and one.probability >= 0.5 for one in decisions[1:])
    assert any(one.continues is not None for one in decisions[1:])
    assert len(decisions) == largest.pages
    with pytest.raises(RecordNotFoundError, match="no episode 999"):
        store.episode_pages(EpisodeId(999))


@pytest.mark.parametrize("structure", ["graph", "learned"])
def test_many_small_runs_come_to_what_one_run_comes_to(tmp_path: Path, structure: str) -> None:
    settings = Settings(structure=structure)
    with (
        Store(tmp_path / "a.duckdb", idle_s=5) as whole,
        Store(tmp_path / "b.duckdb", idle_s=5) as parts,
    ):
        for store in (whole, parts):
            fill(store, 16)
        consolidate(whole, _EMBEDDER.model_id, settings=settings)
        while consolidate(parts, _EMBEDDER.model_id, settings=settings, most_messages=8).pages:
            pass
        assert snapshot(parts) == snapshot(whole)
        assert [e.structure for e in parts.episodes()] == [e.structure for e in whole.episodes()]


def test_a_run_is_bounded_and_the_next_goes_on(store: Store) -> None:
    fill(store)
    first = consolidate(store, _EMBEDDER.model_id, most_messages=10)
    assert 10 <= 2 * first.pages <= 12
    assert first.open_messages == 48 - 2 * first.pages
    assert consolidate(store, _EMBEDDER.model_id).open_messages == 0


def test_messages_without_vectors_wait(store: Store) -> None:
    fill(store, 2)
    number = store.begin_import("y.json", "test", _START)
    store.add_conversation(number, conversation(9, [0, 1]))
    report = consolidate(store, _EMBEDDER.model_id)
    assert (report.pages, report.open_messages) == (4, 4)


def test_forgetting_a_message_takes_its_page_and_episode_and_the_rest_comes_again(
    store: Store,
) -> None:
    fill(store)
    consolidate(store, _EMBEDDER.model_id)
    episode = store.episodes()[0]
    decision, _ = store.episode_pages(episode.id)[1]
    (message, *_) = store.page_messages([decision.page_id])[decision.page_id]
    store.forget(ForgetTarget(messages=(message,)))
    assert store.orphans() == {}
    with pytest.raises(RecordNotFoundError):
        store.episode_pages(episode.id)
    assert store.tier_counts().pending > 0
    report = consolidate(store, _EMBEDDER.model_id)
    assert report.open_messages == 0
    assert store.orphans() == {}
    paged = store.page_messages(
        [d.page_id for e in store.episodes() for d, _ in store.episode_pages(e.id)]
    )
    assert message not in {m for ids in paged.values() for m in ids}


def test_undoing_an_import_leaves_nothing_of_its_episodes(store: Store) -> None:
    fill(store)
    consolidate(store, _EMBEDDER.model_id)
    (report,) = store.list_imports()
    assert report.import_id is not None
    store.undo_import(report.import_id)
    counts = store.tier_counts()
    assert (counts.pages, counts.episodes, counts.pending) == (0, 0, 0)
    assert store.orphans() == {}


def test_ids_of_episodes_are_never_given_twice(store: Store) -> None:
    fill(store)
    consolidate(store, _EMBEDDER.model_id)
    last = max(one.id for one in store.episodes())
    store.forget(ForgetTarget(messages=(MessageId(1), MessageId(2))))
    consolidate(store, _EMBEDDER.model_id)
    assert store.last_tier_ids()[1] >= last


def test_other_settings_make_all_episodes_anew(store: Store) -> None:
    fill(store)
    consolidate(store, _EMBEDDER.model_id)
    assert store.tier_counts().episodes > 1
    paper = Settings(gate="paper")
    consolidate(store, _EMBEDDER.model_id, settings=paper)
    counts = store.tier_counts()
    assert (counts.episodes, counts.placed) == (1, 24)
    with pytest.raises(UsageError, match="no gate is called"):
        consolidate(store, _EMBEDDER.model_id, settings=Settings(gate="odd"))
    with pytest.raises(UsageError, match="no structure is called"):
        consolidate(store, _EMBEDDER.model_id, settings=Settings(structure="odd"))
    assert store.tier_counts() == counts


def test_what_a_grown_conversation_adds_is_placed_too(store: Store) -> None:
    fill(store, 4)
    consolidate(store, _EMBEDDER.model_id)
    number = store.begin_import("x.json", "test", _START)
    store.add_conversation(number, conversation(2, [2, 3, 0]))
    derive_vectors(store, _EMBEDDER)
    report = consolidate(store, _EMBEDDER.model_id)
    assert (report.pages, report.open_messages) == (1, 0)


def test_an_empty_memory_has_nothing_to_place(store: Store) -> None:
    report = consolidate(store, _EMBEDDER.model_id)
    assert (report.pages, report.open_messages) == (0, 0)
    assert store.tier_counts().episodes == 0


def test_what_is_opened_is_counted_in_the_memorys_time_and_survives_the_next_run(
    store: Store,
) -> None:
    fill(store, 4)
    consolidate(store, _EMBEDDER.model_id)
    first, second = store.episodes()[:2]
    inside = store.episode_members([first.id])[first.id]
    store.count_opened(
        Uses(cited=[{m for page in inside for m in page}, {inside[0][0]}], episodes={second.id: 3}),
        patience_s=5,
    )
    fill(store, 4, first=4)
    consolidate(store, _EMBEDDER.model_id)
    opened = {one.id: one for one in store.episodes()}
    assert opened[first.id].opened == 2  # two answers, whatever they cite of it
    assert opened[second.id].opened == 3
    assert opened[first.id].visited_at == _START + timedelta(days=3, minutes=1)
    assert sum(one.opened for one in opened.values()) == 5
    store.count_opened(Uses(episodes={EpisodeId(999): 1}), patience_s=5)


def test_what_is_opened_while_another_holds_the_memory_is_not_counted_and_nobody_waits(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.duckdb"
    with Store(path, idle_s=0) as store:
        fill(store, 4)
        consolidate(store, _EMBEDDER.model_id)
        memory = build_memory(path, patience_s=30)
        number = store.episodes()[0].id
        memory.episode(number)
        with store.writing():
            began = time.monotonic()
            memory.close()
            assert time.monotonic() - began < 5
        assert store.episodes([number])[0].opened == 0


def test_an_answer_counts_for_the_episode_of_what_it_cites(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    with Store(path, idle_s=0) as store:
        fill(store, 4)
        consolidate(store, _EMBEDDER.model_id)
    with build_memory(path) as memory:
        answer = memory.ask("What does the kayak on the lake need?", depth=Depth.INSTANT)
        assert answer.citations
        before = memory.tiers().episodes
    with build_memory(path) as again:
        members = {
            one.id: {m.id for page in again.episode(one.id).pages for m in page.messages}
            for one in before
        }
        counted = {one.id: one.opened for one in again.tiers().episodes}
        cited = {one.message_id for one in answer.citations}
        assert counted == {number: int(bool(ids & cited)) for number, ids in members.items()}
        assert 1 in counted.values()
