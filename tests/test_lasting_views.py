"""An entry of the long term is shown with the messages that it rests on."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

import pytest
from typer.testing import CliRunner

from localmem.cli.app import app
from localmem.errors import RecordNotFoundError
from localmem.memory import ImportOptions
from localmem.testing import build_memory
from localmem.types import EntryId

_CHAT = {
    "messages": [
        {"role": "user", "content": "Always list the sources. I like tea."},
        {"role": "assistant", "content": "I will."},
    ]
}


def test_a_wish_is_shown_with_its_message(tmp_path: Path) -> None:
    chat, path = tmp_path / "chat.jsonl", tmp_path / "m.duckdb"
    chat.write_text(json.dumps(_CHAT) + "\n", encoding="utf-8")
    with build_memory(path) as memory:
        memory.import_(chat, ImportOptions(tz=UTC))
        memory.work()
        (wish,) = memory.tiers().lasting
        view = memory.lasting(wish.id)
        assert view.entry.text == "Always list the sources."
        assert [one.message.text for one in view.sources] == [_CHAT["messages"][0]["content"]]
        with pytest.raises(RecordNotFoundError):
            memory.lasting(EntryId(99))
    shown = CliRunner().invoke(app, ["--memory", str(path), "lasting", str(wish.id)])
    assert shown.exit_code == 0, shown.output
    assert "standing wish in 1 message, used by 0 answers" in shown.output
    assert "I like tea." in shown.output
