"""A long job keeps the file open between its steps, and gives it back to whoever waits."""

import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from localmem.store import Store

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def is_open(path: Path) -> bool:
    """The log of a writing connection lies beside the file until it is closed."""
    return path.with_name(path.name + ".wal").exists()


def test_the_file_stays_open_between_the_steps_of_a_job_and_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    with Store(path) as store:
        with store.lingering(seconds=30):
            store.begin_import("f", "s", NOW)
            assert is_open(path)
            store.begin_import("g", "s", NOW)
        assert not is_open(path)
        store.begin_import("h", "s", NOW)
        assert not is_open(path)


def test_a_job_that_failed_leaves_the_file_closed(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    with Store(path) as store:
        try:
            with store.lingering(seconds=30):
                store.begin_import("f", "s", NOW)
                raise RuntimeError("the job broke")
        except RuntimeError:
            pass
        assert not is_open(path)


def test_who_waits_comes_in_while_a_job_lingers(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    waited: list[float] = []

    def other() -> None:
        with Store(path, patience_s=20) as second:
            started = time.monotonic()
            second.begin_import("theirs", "s", NOW)
            waited.append(time.monotonic() - started)

    with Store(path) as store, store.lingering(seconds=30):
        store.begin_import("f", "s", NOW)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(timeout=25)
        assert waited and waited[0] < 20
        assert len(store.list_imports()) == 2
