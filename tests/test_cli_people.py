"""What a person sees of `localmem people` and `localmem forget`."""

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


def test_people_are_listed_merged_shown_and_split(shown: Shown) -> None:
    listed = shown("people")
    assert listed == shown("people", "list")
    assert "Ben Adler" in listed and "owner" in listed and "2026-03-02" in listed
    merged = shown("people", "merge", "Anna Berg", "a. berg")
    assert "1 message in 1 session is now Anna Berg's (id 1)" in merged
    view = shown("people", "show", "A. Berg")
    assert "merged into them: A. Berg" in view
    assert "home: Graz" in view
    assert "is now A. Berg's (id 3)" in shown("people", "split", "1", "--as", "A. Berg")
    assert "Annie" in shown("people", "alias", "Anna Berg", "Annie")
    names = [one["person"]["name"] for one in json.loads(shown("people", "list", "--json"))]
    assert sorted(names) == ["A. Berg", "Anna Berg", "Ben Adler"]


def test_forgetting_says_what_would_go_then_what_went(shown: Shown) -> None:
    said = shown("forget", "--person", "Anna Berg")
    assert "would erase: 1 message, 1 turn, 1 participant" in said
    assert "chat: 1 of 4 messages" in said
    assert "1 message of another names Anna Berg and stays" in said
    assert "nothing was changed" in said
    gone = shown("forget", "--person", "Anna Berg", "--yes")
    assert "erased: 1 message" in gone and "--allow-again" in gone
    assert "add --yes --confirm 'Ben Adler'" in shown("forget", "--person", "Ben Adler")
    assert json.loads(shown("forget", "--message", "3", "--yes", "--json"))["messages"] == 1


def test_an_import_says_what_was_forgotten_and_takes_it_in_when_told(
    shown: Shown, tmp_path: Path
) -> None:
    shown("forget", "--message", "3", "--yes")
    chat = str(tmp_path / "chat.txt")
    assert "1 message was forgotten and stays out" in shown("import", chat, "--tz", "UTC")
    assert "would add 1 message " in shown(
        "import", chat, "--tz", "UTC", "--allow-again", "--dry-run"
    )
    assert "added 1 message " in shown("import", chat, "--tz", "UTC", "--allow-again")


def test_a_person_is_shown_with_their_persona(shown: Shown) -> None:
    view = shown("people", "show", "Anna Berg")
    assert "aspects" in view and "home: Graz (since 2 March 2026)  message 1" in view
    assert "1 message in working memory, 0 consolidated" in view
    told = json.loads(shown("people", "show", "Anna Berg", "--json"))
    (aspect,) = told["persona"]["aspects"]
    assert aspect["lines"][0]["message_ids"] == [1]
    assert told["persona"]["attributes"][0]["versions"][0]["value"] == "Graz"
    assert told["overview"]["person"]["name"] == "Anna Berg"
