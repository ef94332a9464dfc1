"""The program itself, in processes of its own: several at once, killed, offline, with bad input.

Real models; a child process is what a user runs.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from localmem import paths
from localmem.sample import sample_export

_START = datetime(2025, 1, 6, 9, 0, tzinfo=UTC)
_COMMAND = [sys.executable, "-m", "localmem"]

pytestmark = pytest.mark.model


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A new home folder that holds the default models and nothing else."""
    source = paths.models_folder()
    folder = tmp_path / "home"
    (folder / "models").mkdir(parents=True, mode=0o700)
    for name in ("minilm", "smollm2-135m", "hashes.json"):
        place = source / name
        if place.is_dir():
            shutil.copytree(place, folder / "models" / name, copy_function=os.link)
        else:
            shutil.copy2(place, folder / "models" / name)
    return folder


def _environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LOCALMEM_")}
    return {**kept, "LOCALMEM_HOME": str(home), "COLUMNS": "200"}


def _run(
    home: Path, *arguments: str, prefix: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, *_COMMAND, *arguments],
        check=False,
        env=_environment(home),
        capture_output=True,
        text=True,
        timeout=300,
    )


def _heed_interrupts() -> None:
    """A shell starts its background jobs deaf to Ctrl-C; this child is to hear it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _json(home: Path, *arguments: str) -> Any:
    run = _run(home, *arguments, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def _export(path: Path, name: str, conversations: int, messages: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for number in range(conversations):
            start = _START + timedelta(days=number)
            rows = [
                {
                    "role": ("user", "assistant")[n % 2],
                    "content": f"{name} wrote line {n} of talk {number} about gardens",
                    "timestamp": (start + timedelta(minutes=n)).isoformat(),
                }
                for n in range(messages)
            ]
            file.write(json.dumps({"id": f"{name}-{number}", "messages": rows}) + "\n")
    return path


def test_two_imports_and_a_search_at_the_same_time_lose_nothing(home: Path, tmp_path: Path) -> None:
    exports = [_export(tmp_path / f"{n}.jsonl", n, 100, 10) for n in ("anna", "bert")]
    _json(home, "import", str(sample_export()), "--later")
    before = _json(home, "stats")["messages"]
    imports = [
        subprocess.Popen(
            [*_COMMAND, "import", str(export), "--later"],
            env=_environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for export in exports
    ]
    searches = 0
    while any(process.poll() is None for process in imports):
        assert _json(home, "search", "Valencia", "--mode", "bm25")["found"]
        searches += 1
    for process in imports:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    assert searches
    assert _json(home, "stats")["messages"] == before + 2_000
    for export in exports:
        assert _json(home, "import", str(export), "--later")["messages_added"] == 0


def test_a_killed_import_is_whole_and_the_same_import_completes_it(
    home: Path, tmp_path: Path
) -> None:
    export = _export(tmp_path / "long.jsonl", "carla", 1_500, 10)
    chance = random.Random(3)  # noqa: S311  # when to kill, not a secret
    for _ in range(4):
        process = subprocess.Popen(
            [*_COMMAND, "import", str(export), "--later"],
            env=_environment(home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(0.4, 3.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (home / "memory.duckdb").exists():
            assert _json(home, "stats")["messages"] % 10 == 0
    _json(home, "import", str(export), "--later")
    stats = _json(home, "stats")
    assert (stats["messages"], stats["turns_without_summary"]) == (15_000, 0)
    assert _json(home, "search", "carla line 7 of talk 1499", "--mode", "bm25")["found"]


def test_the_whole_path_works_without_any_network(home: Path) -> None:
    alone = ("unshare", "--net")
    if subprocess.run([*alone, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this user may not make a network namespace")
    imported = _run(home, "import", str(sample_export()), prefix=alone)
    assert imported.returncode == 0, imported.stderr
    found = _run(home, "search", "marathon bib number", "--json", prefix=alone)
    assert json.loads(found.stdout)["found"], found.stderr
    for depth in ("instant", "direct"):
        asked = _run(
            home, "ask", "What is my bib number?", "--depth", depth, "--json", prefix=alone
        )
        assert asked.returncode in (0, 1), asked.stderr
        assert json.loads(asked.stdout)["trace"]["depth"] == depth
    assert _run(home, "doctor", prefix=alone).returncode == 0


def test_every_file_of_a_memory_is_its_owner_s_alone(home: Path) -> None:
    _json(home, "import", str(sample_export()), "--later")
    written = [p for p in home.iterdir() if p.is_file()]
    assert written
    assert all(path.stat().st_mode & 0o077 == 0 for path in written)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("search", "x"), 4, "localmem import EXPORT"),
        (("import", "nowhere.zip"), 1, "nowhere.zip"),
        (("models", "path", "minlm"), 3, "did you mean minilm?"),
        (("models", "pull", "minlm"), 3, "did you mean minilm?"),
        (("import", "nowhere.zip", "--tz", "Mars"), 2, "--tz Europe/Berlin"),
        (("--memory", "/proc/x/m.duckdb", "stats"), 4, "localmem import"),
        (("--memory", "/proc/x/m.duckdb", "import", "sample"), 4, "--memory"),
        (("import", "deep.json"), 1, "deep.json"),
    ],
)
def test_a_wrong_command_is_one_line_with_its_cure(
    home: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (home / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    named = [str(home / part) if part == "deep.json" else part for part in arguments]
    run = _run(home, *named)
    assert (run.returncode, run.stdout) == (code, ""), run.stderr
    assert message in run.stderr
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) <= 2


def test_bad_values_name_what_is_wanted(home: Path) -> None:
    _json(home, "import", str(sample_export()), "--later")
    for arguments, code, message in [
        (("search", "x", "--since", "soon"), 2, "--since 2026-03-31"),
        (("search", "x", "--mode", "magic"), 2, "learned"),
        (("search", "x", "--from", "Nobody"), 1, "known are"),
        (("search", "  "), 2, "in words"),
        (("search", "yesterday", "--asked-at", "0001-01-01"), 2, "--asked-at"),
        (("ask", "x", "--asked-at", "soon"), 2, "--asked-at 2026-03-31"),
        (("show", "99999"), 1, "99999"),
        (("show", "1", "--layer", "L9"), 2, "--layer L0"),
        (("imports", "undo", "99"), 1, "99"),
    ]:
        run = _run(home, *arguments)
        assert run.returncode == code, (arguments, run.stderr)
        assert message in run.stderr
        assert "Traceback" not in run.stderr


def test_a_file_that_is_no_memory_is_left_alone(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    other.write_text("my notes", encoding="utf-8")
    run = _run(home, "--memory", str(other), "import", str(sample_export()))
    assert run.returncode == 4
    assert "Traceback" not in run.stderr
    assert other.read_text(encoding="utf-8") == "my notes"


def test_an_interrupted_import_says_so_and_leaves_with_130(home: Path, tmp_path: Path) -> None:
    export = _export(tmp_path / "long.jsonl", "dora", 1_500, 10)
    process = subprocess.Popen(
        [*_COMMAND, "import", str(export)],
        env=_environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509  # it starts no thread
    )
    while not (home / "memory.duckdb").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert _json(home, "stats")["messages"] % 10 == 0


def test_a_dry_run_comes_first_and_makes_no_memory(home: Path) -> None:
    plan = _json(home, "import", "sample", "--dry-run")
    assert plan["messages_added"] > 300
    assert not (home / "memory.duckdb").exists()


def test_a_database_of_another_program_is_no_memory(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE note (text TEXT)")
    run = _run(home, "--memory", str(other), "sessions")
    assert run.returncode == 4
    assert "is not a memory" in run.stderr
