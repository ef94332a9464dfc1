"""One language model at a time: the lock over processes, and the trial run of the library."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from localmem.backends import process_lock
from localmem.backends.engine_check import demand_runnable
from localmem.backends.process_lock import ProcessLock
from localmem.errors import ModelError

_HOLD = """
import sys, time
from pathlib import Path
from localmem.backends.process_lock import ProcessLock
with ProcessLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def _holder(path: Path, seconds: float) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "held"
    return child


def test_a_second_process_waits_until_the_first_is_done(tmp_path: Path) -> None:
    path = tmp_path / "llm.lock"
    with _holder(path, 0.5):
        started = time.monotonic()
        with ProcessLock(path):
            assert time.monotonic() - started > 0.2


def test_who_waits_in_vain_is_told_by_whom(tmp_path: Path) -> None:
    path = tmp_path / "llm.lock"
    with _holder(path, 30.0) as child:
        with (
            pytest.raises(ModelError, match=f"process {child.pid}"),
            ProcessLock(path, patience_s=0.2),
        ):
            pass
        child.kill()


def test_the_lock_ends_with_the_process_that_held_it(tmp_path: Path) -> None:
    path = tmp_path / "llm.lock"
    with _holder(path, 30.0) as child:
        child.kill()
        child.wait()
    with ProcessLock(path, patience_s=1.0):
        pass


def test_long_work_lets_a_waiting_process_go_first(tmp_path: Path) -> None:
    path = tmp_path / "llm.lock"
    with (
        ProcessLock(path) as lock,
        subprocess.Popen(
            [sys.executable, "-c", _HOLD, str(path), "0"], stdout=subprocess.PIPE, text=True
        ) as child,
    ):
        deadline = time.monotonic() + 15.0
        while child.poll() is None and time.monotonic() < deadline:
            lock.give_way()
            time.sleep(0.05)
        assert child.stdout is not None
        assert child.stdout.read().strip() == "held"


def test_nobody_waiting_means_no_giving_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_lock, "_LEAST_TURN_S", 0.0)
    with ProcessLock(tmp_path / "llm.lock") as lock:
        started = time.monotonic()
        for _ in range(100):
            lock.give_way()  # where it lets go, it sleeps for 0.15 s
        assert time.monotonic() - started < 5.0


def test_the_lock_can_be_taken_again_inside(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "llm.lock", patience_s=0.2)
    with lock, lock:
        pass
    with ProcessLock(tmp_path / "llm.lock", patience_s=0.2):
        pass


def test_a_library_for_another_processor_is_reported_not_suffered(tmp_path: Path) -> None:
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
    with pytest.raises(ModelError, match="another processor") as caught:
        demand_runnable(tmp_path / "m.gguf", tmp_path / "notes.json", program=crash)
    assert "-DGGML_NATIVE=OFF" in caught.value.hint
    assert not (tmp_path / "notes.json").exists()


def test_a_library_that_ran_once_is_not_tried_again(tmp_path: Path) -> None:
    count = tmp_path / "count"
    program = f"open({str(count)!r}, 'a').write('x')"
    for _ in range(3):
        demand_runnable(tmp_path / "m.gguf", tmp_path / "notes.json", program=program)
    assert count.read_text(encoding="utf-8") == "x"
