"""What `localmem people show` tells of somebody's persona."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import pytest

from localmem.cli.app import app
from localmem.memory import ImportOptions, Memory
from localmem.testing import build_memory

_CHAT = """\
[2026-03-02 09:00] **Anna Berg:** I live in Graz.
[2026-03-02 09:01] **Ben Adler:** I like climbing, Anna Berg.
[2026-03-02 09:02] **A. Berg:** I am allergic to nuts.
[2026-03-02 09:03] **Ben Adler:** I have a dog.
"""

Shown = Callable[..., str]


@pytest.fixture
def shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shown:
    """Runs a command on a small memory; gives what it prints."""
    chat = tmp_path / "chat.txt"
    chat.write_text(_CHAT, encoding="utf-8")
    path = tmp_path / "memory.duckdb"
    with build_memory(path) as memory:
        memory.import_(chat, ImportOptions(tz=UTC, me="Ben Adler"))

    def opened(where: Path | None = None, **options: object) -> Memory:
        return build_memory(path)

    monkeypatch.setattr(Memory, "open", staticmethod(opened))
    monkeypatch.setattr("localmem.netguard.deny_network", lambda: None)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as left:
            app([str(argument) for argument in arguments])
        assert left.value.code == 0
        return capsys.readouterr().out

    return run


def test_a_person_is_shown_with_their_persona(shown: Shown) -> None:
    view = shown("people", "show", "Anna Berg")
    assert "aspects" in view and "home: Graz (since 2 March 2026)  message 1" in view
    assert "1 message in working memory, 0 consolidated" in view
    told = json.loads(shown("people", "show", "Anna Berg", "--json"))
    (aspect,) = told["persona"]["aspects"]
    assert aspect["lines"][0]["message_ids"] == [1]
    assert told["persona"]["attributes"][0]["versions"][0]["value"] == "Graz"
    assert told["overview"]["person"]["name"] == "Anna Berg"
