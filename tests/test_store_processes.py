"""Several processes use one memory at once; a killed one leaves it whole.

Run as a program, this file is the other process: `python test_store_processes.py ROLE MEMORY ...`.
"""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from localmem.errors import StoreError, StoreLockedError
from localmem.store import Store
from localmem.types import ConversationKind, ImportedConversation, ImportedMessage, Role

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PER_CONVERSATION = 10


def conversation(
    source: str, number: int, messages: int = PER_CONVERSATION
) -> ImportedConversation:
    return ImportedConversation(
        source,
        str(number),
        "t",
        ConversationKind.PEOPLE,
        tuple(
            ImportedMessage(str(n), Role.USER, "Ben", f"{source} {number} {n}", NOW)
            for n in range(messages)
        ),
    )


def import_many(memory: Path, source: str, conversations: int, at_once: int) -> None:
    """Import in a loop, as the import command does: a lease for each batch."""
    with Store(memory, idle_s=0.5) as store:
        import_id = store.begin_import(f"{source}.json", source, NOW)
        for first in range(0, conversations, at_once):
            several = [conversation(source, n) for n in range(first, first + at_once)]
            store.add_conversations(import_id, several)
            print(f"committed {first + at_once}", flush=True)


def write_often(memory: Path, source: str, writes: int) -> None:
    """Open, write and give back for each conversation."""
    with Store(memory, patience_s=30) as store:
        import_id = store.begin_import(source, source, NOW)
        for number in range(writes):
            store.add_conversation(import_id, conversation(source, number, messages=1))


def hold(memory: Path, seconds: str) -> None:
    with Store(memory) as store, store.writing():
        print("holding", flush=True)
        time.sleep(float(seconds))


def hold_like_a_stranger(memory: Path, seconds: str) -> None:
    connection = duckdb.connect(str(memory))
    print("holding", flush=True)
    time.sleep(float(seconds))
    connection.close()


@contextmanager
def other_process(role: str, memory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, __file__, role, str(memory), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def wait_for_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.stderr and process.stderr.read()
    return line


def test_two_processes_import_and_a_third_searches_and_nothing_is_lost(tmp_path: Path) -> None:
    memory = tmp_path / "memory.duckdb"
    seen: list[int] = []
    longest_s = 0.0
    with (
        other_process("import", memory, "one", "100", "10") as one,
        other_process("import", memory, "two", "100", "10") as two,
        Store(memory) as searcher,
    ):
        while one.poll() is None or two.poll() is None:
            started = time.monotonic()
            seen.append(len(searcher.shown_messages()))
            longest_s = max(longest_s, time.monotonic() - started)
            time.sleep(0.02)
        finish(one)
        finish(two)
        texts = [m.text for m in searcher.shown_messages()]
    assert len(texts) == 2000
    assert len(set(texts)) == 2000
    assert seen == sorted(seen), "a search never sees fewer messages than the one before"
    assert all(count % PER_CONVERSATION == 0 for count in seen)
    assert any(0 < count < 2000 for count in seen), "the search got in while the imports ran"
    assert longest_s < 10


def test_four_processes_that_write_in_turns_lose_nothing(tmp_path: Path) -> None:
    memory = tmp_path / "memory.duckdb"
    names = ("one", "two", "three", "four")
    started = [
        subprocess.Popen([sys.executable, __file__, "write", str(memory), name, "8"])
        for name in names
    ]
    assert [process.wait(timeout=60) for process in started] == [0, 0, 0, 0]
    with Store(memory) as store:
        texts = [m.text for m in store.shown_messages()]
    assert sorted(texts) == sorted(f"{name} {n} 0" for name in names for n in range(8))


def test_who_gives_up_names_the_holder(tmp_path: Path) -> None:
    memory = tmp_path / "memory.duckdb"
    with other_process("hold", memory, "30") as holder:
        wait_for_line(holder)
        with Store(memory, patience_s=0.2) as store, pytest.raises(StoreLockedError) as caught:
            store.generation()
    assert caught.value.pid == holder.pid
    assert "test_store_processes.py hold" in str(caught.value)
    assert 0.2 <= float(str(caught.value).split("waited ")[1].split()[0]) < 5


def test_another_tool_that_has_the_file_open_is_named_too(tmp_path: Path) -> None:
    memory = tmp_path / "memory.duckdb"
    with Store(memory) as store:
        store.set_owner("Anna")
    with other_process("stranger", memory, "30") as holder:
        wait_for_line(holder)
        with Store(memory, patience_s=0.2) as store, pytest.raises(StoreLockedError) as caught:
            store.generation()
    assert caught.value.pid == holder.pid


def test_who_waits_gets_in_when_the_holder_is_done(tmp_path: Path) -> None:
    memory = tmp_path / "memory.duckdb"
    with other_process("hold", memory, "0.3") as holder, Store(memory) as store:
        wait_for_line(holder)
        assert store.generation() == 0
        finish(holder)


def test_a_killed_holder_blocks_nobody(tmp_path: Path) -> None:
    memory = tmp_path / "memory.duckdb"
    with other_process("hold", memory, "30") as holder:
        wait_for_line(holder)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with Store(memory, patience_s=1) as store:
        assert store.generation() == 0


def test_an_idle_holder_gives_way_at_once(tmp_path: Path) -> None:
    memory = tmp_path / "memory.duckdb"
    with Store(memory, idle_s=60) as idle, Store(memory, patience_s=5) as other:
        idle.set_owner("Anna")
        other.set_owner("Ben")
        owner = idle.owner()
        assert owner is not None
        assert owner.name == "Ben"


def test_an_import_killed_at_any_moment_leaves_whole_conversations(tmp_path: Path) -> None:
    memory = tmp_path / "memory.duckdb"
    committed = 0
    for pause_s in (0.0, 0.02, 0.05):
        with other_process("import", memory, "one", "400", "2") as importer:
            committed = max(committed, int(wait_for_line(importer).split()[1]))
            time.sleep(pause_s)
            importer.send_signal(signal.SIGKILL)
            importer.wait()
            assert importer.stdout is not None
            lines = importer.stdout.read().splitlines()
        committed = max(
            [committed, *(int(line.split()[1]) for line in lines if line[-1].isdigit())]
        )
        with Store(memory) as store:
            counts = [s.message_count for s in store.sessions()]
        assert set(counts) == {PER_CONVERSATION}
        assert len(counts) >= committed
    import_many(memory, "one", 60, 20)
    with Store(memory) as store:
        texts = [m.text for m in store.shown_messages()]
    assert len(texts) == len(set(texts)) >= 600


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    with Store(tmp_path / "memory.duckdb", idle_s=5) as store:
        import_id = store.begin_import("f", "s", NOW)

        def write(name: str) -> None:
            for number in range(5):
                store.add_conversation(import_id, conversation(name, number, messages=1))

        threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            store.stats()
        for thread in threads:
            thread.join()
        assert len({m.text for m in store.shown_messages()}) == 15


def test_reading_blocks_nest_and_may_stand_inside_writing(tmp_path: Path) -> None:
    with Store(tmp_path / "memory.duckdb") as store:
        with store.writing(), store.reading(), store.writing():
            assert store.generation() == 0
        with store.reading(), store.reading():
            assert store.generation() == 0
        with store.reading(), pytest.raises(StoreError, match="inside reading"):
            store.set_owner("Anna")
        store.set_owner("Anna")


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "memory.duckdb")
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        store.generation()


if __name__ == "__main__":
    role, memory, *rest = sys.argv[1:]
    if role == "import":
        import_many(Path(memory), rest[0], int(rest[1]), int(rest[2]))
    elif role == "write":
        write_often(Path(memory), rest[0], int(rest[1]))
    elif role == "hold":
        hold(Path(memory), rest[0])
    elif role == "stranger":
        hold_like_a_stranger(Path(memory), rest[0])
