"""What a person sees in a real terminal: the answer stands there once, whatever its depth."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localmem.cli.app import app
from localmem.memory import ImportOptions, Memory
from localmem.sample import sample_export
from localmem.testing import FixedClock, FixedModels, ScriptedLlm, build_memory


class Screen(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


def _shown(memory: Memory, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    def opened(path: Path | None = None, **options: object) -> Memory:
        return memory

    screen = Screen()
    monkeypatch.setattr(Memory, "open", staticmethod(opened))
    monkeypatch.setattr("localmem.netguard.deny_network", lambda: None)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    with pytest.raises(SystemExit):
        app(["ask", *arguments])
    return screen.getvalue()


def _memory(path: Path, llm: ScriptedLlm) -> Memory:
    clock = FixedClock(datetime(2026, 10, 20, tzinfo=UTC))
    memory = build_memory(path / "m.duckdb", models=FixedModels(the_llm=llm), clock=clock)
    memory.import_(sample_export(), ImportOptions(tz=UTC, later=True))
    return memory


def test_a_streamed_answer_is_shown_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = _memory(tmp_path, ScriptedLlm(replies=["4172 by mail"]))
    shown = _shown(memory, monkeypatch, "What was my bib number?", "--depth", "direct")
    assert shown.count("4172 by mail") == 1


def test_an_answer_without_a_model_is_shown_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = _memory(tmp_path, ScriptedLlm())
    shown = _shown(memory, monkeypatch, "When was my interview?", "--depth", "instant")
    assert shown.strip()
    assert "instant," in shown.splitlines()[-1]
    assert shown.splitlines()[0].strip()


def test_an_answer_that_the_check_takes_back_is_not_left_standing_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = _memory(tmp_path, ScriptedLlm(replies=["not found"]))
    shown = _shown(memory, monkeypatch, "What was my bib number?", "--depth", "direct")
    assert "I don't find that in your memory." in shown
