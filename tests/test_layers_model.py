"""A real small model in the place of the script: it ends, and leaves only what its text bears."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from localmem.backends import open_llm
from localmem.jobs.deriving import derive_layer0
from localmem.layers.cache import LayerModel
from localmem.layers.materialise import Materialiser
from localmem.store import Store
from localmem.types import (
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    LlmFiles,
    Role,
    SessionId,
)

NOW = datetime(2023, 5, 8, 12, 0, tzinfo=UTC)
TALK = (
    ("Ana", "I adopted 3 grey cats from the shelter yesterday, all of them sisters."),
    ("Ben", "They will sleep all day, as the cats of my sister Clara do."),
)


@pytest.mark.model
@pytest.mark.parametrize("whole", [False, True])
def test_the_small_model_ends_and_leaves_only_what_the_messages_bear(
    tmp_path: Path, small_llm: LlmFiles, whole: bool
) -> None:
    messages = tuple(
        ImportedMessage(str(n), Role.USER, speaker, text, NOW + timedelta(minutes=n))
        for n, (speaker, text) in enumerate(TALK)
    )
    llm = open_llm(small_llm, context_tokens=2048)
    try:
        with Store(tmp_path / "memory.duckdb", idle_s=5.0) as store:
            store.add_conversations(
                store.begin_import("f", "whatsapp", NOW),
                [ImportedConversation("whatsapp", "c", "t", ConversationKind.PEOPLE, messages)],
            )
            derive_layer0(store)
            made = Materialiser(store, lambda: LayerModel(llm, whole))
            found = made.facts(SessionId(1), seconds=300)
            assert found.facts and found.cost.completion_tokens > 0
            assert all("Ana" in fact.text or "Ben" in fact.text for fact in found.facts)
            assert made.facts(SessionId(1), seconds=0).facts
    finally:
        llm.close()
