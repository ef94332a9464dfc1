"""`localmem chat`: line by line from a pipe, and as a person at a terminal sees it."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from localmem.cli.app import app
from localmem.errors import LocalMemError, ModelError
from localmem.memory import Memory
from localmem.testing import FixedClock, FixedModels, LlmCall, ScriptedLlm, build_memory
from localmem.types import Role

CLOCK = FixedClock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))


class Screen(io.StringIO):
    """Standard output or error of a terminal."""

    def isatty(self) -> bool:
        return True


class Keyboard(Screen):
    """Standard input of a terminal; a line that is Ctrl-C interrupts."""

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]  # as StringIO
        line = super().readline()
        if line == "^C\n":
            os.kill(os.getpid(), signal.SIGINT)
        return line


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("localmem.netguard.deny_network", lambda: None)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    opens(monkeypatch, tmp_path / "m.duckdb")
    return tmp_path / "m.duckdb"


@pytest.fixture(autouse=True)
def heeds_interrupts() -> Iterator[None]:
    """A shell starts its background jobs deaf to Ctrl-C; here it is to be heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def opens(monkeypatch: pytest.MonkeyPatch, path: Path, llm: ScriptedLlm | None = None) -> None:
    """What `Memory.open` gives from here on."""

    def opened(_: Path | None = None, **options: object) -> Memory:
        return build_memory(path, models=FixedModels(the_llm=llm), clock=CLOCK)

    monkeypatch.setattr(Memory, "open", staticmethod(opened))


def piped(lines: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a chat that reads these lines."""
    run = CliRunner().invoke(app, ["chat", *arguments], input=lines)
    if isinstance(run.exception, LocalMemError):
        raise run.exception
    return run.exit_code, run.stdout, run.stderr


def typed(monkeypatch: pytest.MonkeyPatch, lines: str, *arguments: str) -> tuple[str, str]:
    """Stdout and stderr of a chat at a terminal."""
    screen, errors = Screen(), Screen()
    monkeypatch.setattr(sys, "stdin", Keyboard(lines))
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", errors)
    with pytest.raises(SystemExit):
        app(["chat", *arguments])
    return screen.getvalue(), errors.getvalue()


def test_each_line_of_a_pipe_is_one_thing_said(path: Path) -> None:
    code, shown, _ = piped("My boat is called Perla.\n\nWhat is my boat called?\n")
    assert code == 0
    assert shown.startswith("Noted.\n")
    assert "[1] Me, 2026-03-02 09:00: “My boat is called Perla.”" in shown
    assert "> " not in shown
    with build_memory(path) as memory:
        assert [one.role for one in memory.store.shown_messages()] == [Role.USER, Role.REPLY] * 2


def test_commands_are_not_said(path: Path) -> None:
    lines = "/sources\nMy boat is called Perla.\nWhat is my boat called?\n/sources\n/help\n/what\n"
    code, shown, errors = piped(f"{lines}/quit\nnever said\n")
    assert code == 0
    assert "no message stands behind it" in shown
    assert "Me, 2026-03-02 09:00  message 1\nMy boat is called Perla.\nlocalmem show 1" in shown
    assert "/sources  the messages behind the last answer, whole" in shown
    assert "there is no /what; /help" in errors
    with build_memory(path) as memory:
        assert memory.stats().messages == 4


def test_a_note_is_shown_once_in_a_conversation(path: Path) -> None:
    _, shown, _ = piped("My boat is blue.\nWhat is my boat?\nIs my boat blue?\n")
    assert shown.count("answered without a language model") == 1


def test_a_conversation_goes_on_or_begins_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, errors = typed(monkeypatch, "My boat is called Perla.\n")
    assert "this memory is empty" in errors
    _, errors = typed(monkeypatch, "")
    assert "going on where we were, 1 exchange in mind" in errors
    _, errors = typed(monkeypatch, "", "--new")
    assert "in mind" not in errors


def test_an_unknown_depth_is_refused_before_anything_is_opened(path: Path) -> None:
    run = CliRunner().invoke(app, ["chat", "--depth", "abyss"], input="hello\n")
    assert "abyss" in str(run.exception)
    assert not path.exists()


def test_a_pipe_ends_at_a_failure_and_a_terminal_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError):
        piped("What is my boat called?\n", "--depth", "direct")
    shown, errors = typed(
        monkeypatch, "What is my boat called?\nMy boat is blue.\n", "--depth", "direct"
    )
    assert "no language model is on this machine" in errors
    assert "Noted." in shown


def test_a_reply_is_streamed_and_stands_there_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens(monkeypatch, path, ScriptedLlm(["in Bergen"]))
    shown, _ = typed(monkeypatch, "My boat lies in Bergen.\nWhere does my boat lie?\n/quit\n")
    assert sum(line.endswith("> in Bergen") for line in shown.splitlines()) == 1
    assert shown.count("> ") == 3


def test_ctrl_c_stops_an_answer_and_keeps_what_was_said(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(call: LlmCall) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "in Bergen"

    opens(monkeypatch, path, ScriptedLlm([interrupted, "in Bergen"]))
    before = signal.getsignal(signal.SIGINT)
    asked = "Where does my boat lie?\n"
    shown, errors = typed(monkeypatch, f"My boat lies in Bergen.\n{asked}{asked}")
    assert "stopped; what you said is kept" in errors
    assert sum(line.endswith("> in Bergen") for line in shown.splitlines()) == 1
    assert signal.getsignal(signal.SIGINT) == before
    with build_memory(path) as memory:
        said = [(one.role, one.text) for one in memory.store.shown_messages()]
    assert said[2:] == [
        (Role.USER, asked.strip()),
        (Role.USER, asked.strip()),
        (Role.REPLY, "in Bergen"),
    ]


def test_ctrl_c_at_the_prompt_only_clears_the_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, _ = typed(monkeypatch, "^C\nMy boat is blue.\n")
    assert "Noted." in shown
    with build_memory(path) as memory:
        assert [one.text for one in memory.store.shown_messages()] == ["My boat is blue.", "Noted."]
