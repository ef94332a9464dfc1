"""A number stands with the right form of its noun, in every sentence that a command prints."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from localmem.cli import render, render_people
from localmem.cli.warming import _print_report
from localmem.jobs.checkup import examine_memory
from localmem.memory import ImportOptions
from localmem.testing import build_memory
from localmem.types import (
    Answer,
    Depth,
    ErasureReceipt,
    ExportReport,
    ForgetTarget,
    ImportId,
    ImportReport,
    LayerCost,
    MessageId,
    Participant,
    ParticipantId,
    PeopleChange,
    SearchResult,
    Trace,
    WarmReport,
    WorkReport,
)
from localmem.wording import counted

_ONE_OF_SEVERAL = re.compile(
    r"(?<![\d.,])1 (?:(?!and\b)\w+ )?(?:messages|sessions|conversations|turns|summaries|vectors"
    r"|facts|notes|replies|participants|items|jobs|tokens|calls|titles|dates|snapshots|things)\b"
)
_NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
_IMPORTED = ImportReport(
    import_id=ImportId(1),
    path="/home/ada/exports/" + "a-long-name-without-spaces-" * 6 + "end.zip",
    source="chatgpt",
    conversations_seen=1,
    conversations_grown=1,
    messages_added=1,
    messages_known=1,
    without_time=1,
    messages_forgotten=1,
    started_at=_NOW,
)
_TRACE = Trace(
    depth=Depth.DEEP,
    steps=(),
    sessions_opened=1,
    sessions_total=1,
    tokens_by_layer={},
    prompt_tokens=1,
    completion_tokens=1,
    seconds=1.0,
    model_id=None,
    model_calls=1,
)
_ANSWER = Answer("Where?", _NOW, "In Graz.", True, (), _TRACE)
_ERASED = ErasureReceipt(**{field.name: 1 for field in fields(ErasureReceipt)})
_WARMED = WarmReport(1, 1, 1, 1, 1, 1, 1, LayerCost(1, 1), 1.0, "small")
_CHANGED = PeopleChange(Participant(ParticipantId(1), "Ada"), messages=1, sessions=1)
_VIEWS: dict[str, Callable[[Console], None]] = {
    "import": lambda to: render.import_report(to, _IMPORTED, dry_run=False),
    "receipt": lambda to: render.receipt(to, _ERASED),
    "export": lambda to: render.export_report(to, ExportReport(Path("out"), 1, 1, 0, 0, 1)),
    "search": lambda to: render.search_result(to, SearchResult("graz", "bm25", (), 1, 0.1)),
    "answer": lambda to: render.answer_view(to, _ANSWER, trace=True, streamed=False),
    "work": lambda to: render.work_report(to, WorkReport(1, 1, 1, 1, 1.0)),
    "people": lambda to: render_people.people_change(to, _CHANGED),
    "warm": lambda to: _print_report(to, _WARMED),
}


def _printed(view: Callable[[Console], None], *, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, record=True)
    view(console)
    return console.export_text()


def test_a_number_stands_with_its_noun() -> None:
    assert counted(0, "message") == "0 messages"
    assert counted(1, "message") == "1 message"
    assert counted(2000, "message") == "2,000 messages"
    assert counted(1, "reply", "replies") == "1 reply"
    assert counted(3, "reply", "replies") == "3 replies"


@pytest.mark.parametrize("name", _VIEWS)
def test_one_of_a_thing_is_not_told_as_several(name: str) -> None:
    printed = _printed(_VIEWS[name])
    assert re.search(r"\b1 \w", printed) or name == "search"
    assert not _ONE_OF_SEVERAL.search(printed), printed


def test_doctor_tells_one_message_as_one(tmp_path: Path) -> None:
    chat = tmp_path / "chat.txt"
    lines = ["[2026-03-02 09:01] **Ada:** I live in Graz.", "[2026-03-02 09:02] **Bo:** Me too."]
    chat.write_text("\n".join([*lines, ""]), encoding="utf-8")
    with build_memory(tmp_path / "m.duckdb") as memory:
        memory.import_(chat, ImportOptions(tz=UTC, later=True))
        memory.forget(ForgetTarget(messages=(MessageId(2),)))
        told = " ".join(finding.detail for finding in examine_memory(memory.store))
    assert "1 message in 1 session" in told
    assert "1 message has no vector" in told
    assert not _ONE_OF_SEVERAL.search(told), told


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_list_of_imports_shows_the_whole_name_of_a_file(width: int) -> None:
    printed = _printed(lambda to: render.import_table(to, [_IMPORTED]), width=width)
    header, *lines = printed.splitlines()
    begin, stop = header.index("file"), header.index("conv")
    assert "".join(line[begin:stop].strip() for line in lines) == _IMPORTED.path
