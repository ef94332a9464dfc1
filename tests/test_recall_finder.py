"""The finder on a real store: it starts from the stored index and replays what came since."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from localmem.recall.finder import Finder
from localmem.store import Store
from localmem.testing import HashEmbedder
from localmem.types import (
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    Message,
    Role,
    SearchFilter,
)

_NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


class CountingStore(Store):
    """A store that counts how often all messages are read."""

    whole_reads = 0

    def shown_messages(self, *, after_generation: int = 0) -> tuple[Message, ...]:
        self.whole_reads += after_generation == 0
        return super().shown_messages(after_generation=after_generation)


def _conversation(name: str, *texts: str) -> ImportedConversation:
    messages = tuple(
        ImportedMessage(f"{n}", Role.USER, "Ada", text, _NOW + timedelta(minutes=n))
        for n, text in enumerate(texts)
    )
    return ImportedConversation("test", name, name, ConversationKind.PEOPLE, messages)


def _finder(store: Store) -> Finder:
    return Finder(store, lambda model_id: HashEmbedder())


def _texts(finder: Finder, query: str, mode: str = "bm25") -> list[str]:
    result = finder.search(query, k=3, mode=mode, limits=SearchFilter(), asked_at=_NOW)
    return [found.message.text for found in result.found]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.duckdb"
    with Store(path) as store:
        number = store.begin_import("x", "test", _NOW)
        texts = [f"line {n} about tulips" for n in range(20)]
        store.add_conversation(number, _conversation("a", *texts))
        _finder(store).save_snapshots()
    return path


def test_a_new_start_takes_the_stored_index(memory: Path) -> None:
    with CountingStore(memory) as store:
        assert _texts(_finder(store), "tulips")
        assert store.whole_reads == 0


def test_what_came_after_the_stored_index_is_replayed(memory: Path) -> None:
    with CountingStore(memory) as store:
        number = store.begin_import("y", "test", _NOW)
        store.add_conversation(number, _conversation("b", "a lone narwhal"))
        assert _texts(_finder(store), "narwhal") == ["a lone narwhal"]
        assert store.whole_reads == 0


def test_a_stored_index_that_lacks_too_much_is_made_anew(memory: Path) -> None:
    with CountingStore(memory) as store:
        number = store.begin_import("y", "test", _NOW)
        store.add_conversation(number, _conversation("b", *[f"narwhal {n}" for n in range(30)]))
        assert _texts(_finder(store), "narwhal")
        assert store.whole_reads == 1


def test_after_an_undo_the_index_is_made_anew(memory: Path) -> None:
    with CountingStore(memory) as store:
        finder = _finder(store)
        number = store.begin_import("y", "test", _NOW)
        store.add_conversation(number, _conversation("b", "a lone narwhal"))
        assert _texts(finder, "narwhal")
        store.undo_import(number)
        assert _texts(finder, "narwhal") == []
        assert store.whole_reads == 1


def test_a_message_said_now_is_found_by_the_next_search(memory: Path) -> None:
    with CountingStore(memory) as store:
        finder = _finder(store)
        assert _texts(finder, "narwhal") == []
        number = store.begin_import("y", "test", _NOW)
        store.add_conversation(number, _conversation("b", "a lone narwhal"))
        assert _texts(finder, "narwhal") == ["a lone narwhal"]


def test_the_mode_of_the_paper_reads_the_lines_of_turns(memory: Path) -> None:
    from localmem.jobs.deriving import derive_layer0

    with Store(memory) as store:
        derive_layer0(store)
        assert _texts(_finder(store), "tulips", mode="rrf")
