"""`localmem warm` as a person meets it: what it says, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localmem.cli.warming import rate_of
from localmem.types import QueueState, QueueStatus


def _run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LOCALMEM_HOME": str(home), "LOCALMEM_EMBEDDER": "minilm"}
    environment.pop("LOCALMEM_MEMORY", None)
    environment.pop("LOCALMEM_MODEL", None)
    return subprocess.run(
        [sys.executable, "-m", "localmem", *words],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    rows = [{"role": "user", "content": "The kettle from Lindau cost 40 euros."}]
    export = home / "chats.jsonl"
    export.write_text(json.dumps({"id": "c", "messages": rows}), encoding="utf-8")
    done = _run(home, "import", str(export), "--later")
    assert done.returncode == 0, done.stderr
    return home


def test_without_a_model_it_says_how_to_get_one(home: Path) -> None:
    done = _run(home, "warm")
    assert done.returncode == 3
    assert "localmem models pull" in done.stderr


def test_a_layer_that_is_none_is_wrong_usage(home: Path) -> None:
    done = _run(home, "warm", "--layer", "L3")
    assert done.returncode == 2
    assert "want L0, L1 or L2" in done.stderr


def test_the_line_tells_speed_and_time_left_as_far_as_they_are_known() -> None:
    status = QueueStatus(QueueState.RUNNING, 10, 100, 1, 9)
    assert rate_of(status) == ""
    known = QueueStatus(QueueState.RUNNING, 10, 100, 1, 9, tokens_per_s=31.4, seconds_left=750.0)
    assert rate_of(known) == "31 tokens/s, 12 min left"
