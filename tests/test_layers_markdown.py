"""A memory as text: four layers of a session, and a folder that is kept up to date."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localmem.errors import UsageError
from localmem.jobs.exporting import INDEX, MARK
from localmem.layers.markdown import index_markdown, view_markdown
from localmem.memory import ImportOptions, Memory
from localmem.testing import build_memory
from localmem.types import (
    ConversationId,
    ConversationKind,
    ImportId,
    KeyFact,
    Layer,
    Message,
    MessageId,
    ParticipantId,
    Provenance,
    Role,
    Session,
    SessionId,
    SessionView,
    TurnId,
    TurnNote,
    TurnSummary,
)

DAY = datetime(2023, 5, 21, 9, 0, tzinfo=UTC)
BY = Provenance("rules", "1", "s")
ABOUT = Session(
    SessionId(7), ConversationId(1), "Boats", "chatgpt", ConversationKind.ASSISTANT, DAY, DAY, 2, 3
)


def message(number: int, turn: int, speaker: str, text: str, attached: str = "") -> Message:
    return Message(
        MessageId(number), TurnId(turn), SessionId(7), ParticipantId(1), speaker, Role.USER,
        number, text, DAY, attached,
    )  # fmt: skip


MESSAGES = (
    message(1, 4, "Ana", "How do I oil a boat?\n# No heading\n```\ncode"),
    message(2, 4, "chatgpt", "Use linseed oil."),
    message(3, 5, "Ana", "Thanks!", "a photo of a boat"),
)


def chat(*texts: str) -> str:
    """An export of one conversation in a format with plain lines of JSON."""
    talk = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return json.dumps({"messages": talk}) + "\n"


def filled(folder: Path, *texts: str) -> Memory:
    export = folder / "chat.jsonl"
    export.write_text(chat(*texts), encoding="utf-8")
    memory = build_memory(folder / "memory.duckdb")
    memory.import_(export, ImportOptions(tz=UTC, later=True))
    return memory


def test_summaries_are_numbered_by_turn_with_keywords_and_tags() -> None:
    line = TurnSummary(TurnId(4), "Ana asked about oil.", ("oil", "boat"), ("question",), BY)
    assert view_markdown(SessionView(ABOUT, Layer.SUMMARY, summaries=(line,))) == (
        "## Session 7 (date=2023/05/21)\n\nTurn 1:\n- Summary: Ana asked about oil.\n"
        "- Keywords: oil, boat\n- Tags: question\n"
    )


def test_facts_are_bullets_and_doubts_are_said() -> None:
    facts = (
        KeyFact(SessionId(7), 0, "Ana has a boat.", (MessageId(1),), (), BY),
        KeyFact(SessionId(7), 1, "Ana knows Bob.", (MessageId(1),), ("Bob",), BY),
    )
    shown = view_markdown(SessionView(ABOUT, Layer.FACTS, facts=facts, notices=("by rule",)))
    assert shown == (
        "## Session 7 (date=2023/05/21)\n\n*(by rule)*\n\n- Ana has a boat.\n"
        "- Ana knows Bob. *(not in its messages: Bob)*\n"
    )


def test_notes_stand_under_their_turns() -> None:
    notes = (
        TurnNote(MessageId(1), 0, "Ana asked about oil.", (), BY),
        TurnNote(MessageId(3), 0, "Ana shared a photo of a boat.", (), BY),
    )
    view = SessionView(ABOUT, Layer.NOTES, messages=MESSAGES, notes=notes)
    assert view_markdown(view) == (
        "## Session 7 (date=2023/05/21)\n\nTurn 1:\n- Ana asked about oil.\n\n"
        "Turn 2:\n- Ana shared a photo of a boat.\n"
    )


def test_messages_are_verbatim_but_make_no_headings_and_no_fences() -> None:
    assert view_markdown(SessionView(ABOUT, Layer.RAW, messages=MESSAGES)) == (
        "## Session 7 (date=2023/05/21)\n\n### Turn 1\n\n"
        "Ana: How do I oil a boat?\n\\# No heading\n\\```\ncode\n\nchatgpt: Use linseed oil.\n\n"
        "### Turn 2\n\nAna: Thanks!\n\n[attached: a photo of a boat]\n"
    )


def test_the_index_links_each_session() -> None:
    assert "- 2023/05/21 [Boats](boats.md) (chatgpt, 3 messages)" in index_markdown(
        [("boats.md", ABOUT)]
    )


@pytest.mark.parametrize("layer", list(Layer))
def test_a_memory_shows_every_layer_of_a_session(tmp_path: Path, layer: Layer) -> None:
    with filled(tmp_path, "I have a boat in Porto.", "What a fine boat in Porto!") as memory:
        assert "Porto" in view_markdown(memory.show(SessionId(1), layer=layer, seconds=0))


def test_an_export_writes_private_files_and_an_index(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with filled(tmp_path, "I have a boat in Porto.", "Fine.") as memory:
        report = memory.export_markdown(out)
    assert (report.sessions, report.written, report.by_rule) == (1, 1, 1)
    page, index = sorted(out.iterdir(), key=lambda file: file.name == INDEX)
    for file in (page, index):
        assert file.read_text(encoding="utf-8").startswith(MARK)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = page.read_text(encoding="utf-8")
    places = [text.index(f"· L{n}:") for n in range(4)]
    assert places == sorted(places) and text.count("boat in Porto") >= 3
    assert page.name in index.read_text(encoding="utf-8")


def test_a_second_export_rewrites_what_has_changed_and_removes_what_is_gone(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    with filled(tmp_path, "I have a boat in Porto.", "Fine.") as memory:
        memory.export_markdown(out)
        assert memory.export_markdown(out).unchanged == 1
        memory.undo_import(ImportId(1))
        report = memory.export_markdown(out)
    assert (report.sessions, report.removed) == (0, 1)
    assert [file.name for file in out.iterdir()] == [INDEX]


def test_files_that_no_export_wrote_are_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "diary.md").write_text("mine", encoding="utf-8")
    with filled(tmp_path, "I have a boat in Porto.", "Fine.") as memory:
        memory.export_markdown(out)
        (out / INDEX).write_text("mine too", encoding="utf-8")
        with pytest.raises(UsageError, match="was not written by an export"):
            memory.export_markdown(out)
    assert (out / "diary.md").read_text(encoding="utf-8") == "mine"
    assert (out / INDEX).read_text(encoding="utf-8") == "mine too"
