"""Warming reads again what left working memory; asked for a layer alone, it does not."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from localmem.jobs.warming import Wanted
from localmem.memory import Memory
from localmem.testing import FixedModels, LlmCall, ScriptedLlm, build_memory
from localmem.types import ConversationKind, ImportedConversation, ImportedMessage, Layer, Role

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_HOME = "My place is a small flat in Porto, the sea is near and Rex barks at gulls."
_CARD = {
    "topics": [],
    "attitude": "none",
    "reason": "",
    "summary": "",
    "facts": [],
    "attributes": [{"kind": "home", "value": "Porto"}],
}


def replied(call: LlmCall) -> str:
    """A card where one is asked for, else a line that no summary is made of."""
    is_card = call.schema is not None and "attributes" in call.schema["properties"]
    return json.dumps(_CARD) if is_card else "it is so"


def filled(path: Path, llm: ScriptedLlm) -> Memory:
    texts = (_HOME, *(f"I saw gull number {n} at the pier." for n in range(21)))
    messages = tuple(
        ImportedMessage(f"m{n}", Role.USER, "Ben", text, _START + timedelta(minutes=n))
        for n, text in enumerate(texts)
    )
    memory = build_memory(path / "memory.duckdb", models=FixedModels(the_llm=llm))
    number = memory.store.begin_import("x", "chat", _START)
    memory.store.add_conversation(
        number, ImportedConversation("chat", "c", "", ConversationKind.PEOPLE, messages)
    )
    return memory


def test_what_left_working_memory_is_read_again(tmp_path: Path) -> None:
    llm = ScriptedLlm([replied] * 60, fallback_choice=0)
    with filled(tmp_path, llm) as memory:
        report = memory.warm(Wanted(layers=()))
        assert (report.records_made, report.records_kept) == (1, 4)
        state = memory.persona("Ben").working
        assert (state.consolidated, state.bettered, state.kept) == (5, 1, 4)
        assert [item.value for item in memory.store.items(slots=["home"])] == ["Porto"]
        asked = len(llm.history)
        again = memory.warm(Wanted(layers=()))
    assert (again.records_made, again.left) == (0, 0)
    assert len(llm.history) == asked


def test_who_asks_for_a_layer_alone_gets_it_alone(tmp_path: Path) -> None:
    llm = ScriptedLlm([replied] * 60, fallback_choice=0)
    with filled(tmp_path, llm) as memory:
        report = memory.warm(Wanted(layers=(Layer.SUMMARY,), records=False))
    assert (report.records_made, report.records_kept) == (0, 0)
    assert all(call.schema is None for call in llm.history)


def test_a_stopped_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    llm = ScriptedLlm([replied] * 60, fallback_choice=0)
    with filled(tmp_path, llm) as memory:
        stopped = memory.warm(Wanted(layers=()), stop=lambda: True)
        assert (stopped.records_made, stopped.left) == (0, 5)
        assert memory.warm(Wanted(layers=())).records_made == 1
