"""The facade on a real store with fake models: importing, finding, undoing, upkeep."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import (
    ImportFormatError,
    ModelNotFoundError,
    RecordNotFoundError,
    StoreError,
    UsageError,
)
from localmem.memory import ImportOptions, Memory
from localmem.testing import FixedModels, HashEmbedder, build_memory
from localmem.types import ImportId, Layer, Progress, SearchFilter, SessionId, Verdict

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def _lines(*texts: str, start: datetime = _START) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [
        {
            "role": roles[number % 2],
            "content": text,
            "timestamp": (start + timedelta(minutes=number)).isoformat(),
        }
        for number, text in enumerate(texts)
    ]


def _export(path: Path, *conversations: list[dict[str, Any]]) -> Path:
    rows = [{"id": f"c{n}", "messages": messages} for n, messages in enumerate(conversations)]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return build_memory(tmp_path / "memory.duckdb")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return _export(
        tmp_path / "chats.jsonl",
        _lines("My bicycle lock has the code 4711.", "Noted: 4711."),
        _lines("Yesterday I planted three apple trees.", "Which kinds?", "Boskoop and Elstar."),
    )


UTC_ZONE = ImportOptions(tz=UTC)


def test_an_imported_message_is_found_by_its_words(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    found = memory.search("code of the bicycle lock").found
    assert "4711" in found[0].message.text
    assert found[0].session.message_count == 2


def test_search_on_an_empty_memory_finds_nothing(memory: Memory) -> None:
    result = memory.search("anything")
    assert (result.found, result.sessions_total) == ((), 0)


def test_words_that_occur_nowhere_find_nothing_in_keyword_mode(
    memory: Memory, export: Path
) -> None:
    memory.import_(export, UTC_ZONE)
    assert memory.search("xylophone", mode="bm25").found == ()


def test_importing_again_adds_nothing(memory: Memory, export: Path) -> None:
    first = memory.import_(export, UTC_ZONE)
    again = memory.import_(export, UTC_ZONE)
    assert (first.messages_added, again.messages_added, again.messages_known) == (5, 0, 5)


def test_a_newer_export_adds_only_its_new_messages(
    memory: Memory, export: Path, tmp_path: Path
) -> None:
    memory.import_(export, UTC_ZONE)
    newer = _export(
        tmp_path / "newer.jsonl",
        _lines("My bicycle lock has the code 4711.", "Noted: 4711.", "Now it is 1147."),
    )
    report = memory.import_(newer, UTC_ZONE)
    assert (report.messages_added, report.conversations_grown) == (1, 1)
    assert "1147" in memory.search("what is it now").found[0].message.text


def test_relative_dates_are_resolved_from_the_message_s_own_time(
    memory: Memory, export: Path
) -> None:
    memory.import_(export, UTC_ZONE)
    found = memory.search("when were the apple trees planted").found[0]
    assert [d.start for d in found.dates] == [date(2026, 3, 1)]


def test_a_dry_run_says_what_would_be_added_and_stores_nothing(
    memory: Memory, export: Path
) -> None:
    plan = memory.plan_import(export, UTC_ZONE)
    assert (plan.messages_added, plan.conversations_added) == (5, 2)
    assert not memory.path.exists()


def test_a_dry_run_knows_what_is_stored_already(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    plan = memory.plan_import(export, UTC_ZONE)
    assert (plan.messages_added, plan.messages_known) == (0, 5)


def test_an_undone_import_is_found_no_more_and_its_text_leaves_the_file(
    memory: Memory, export: Path
) -> None:
    report = memory.import_(export, UTC_ZONE)
    assert report.import_id is not None
    receipt = memory.undo_import(report.import_id)
    assert receipt.messages == 5
    assert memory.search("bicycle lock").found == ()
    assert b"bicycle" not in memory.path.read_bytes()


def test_undoing_an_unknown_import_is_an_error(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    with pytest.raises(RecordNotFoundError):
        memory.undo_import(ImportId(99))


def test_an_import_cannot_be_taken_back_twice(memory: Memory, export: Path) -> None:
    report = memory.import_(export, UTC_ZONE)
    assert report.import_id is not None
    memory.undo_import(report.import_id)
    with pytest.raises(RecordNotFoundError):
        memory.undo_import(report.import_id)


def test_an_export_without_messages_is_no_failure(memory: Memory, tmp_path: Path) -> None:
    empty = _export(tmp_path / "empty.jsonl", _lines("Hello.", "Hi."))
    memory.import_(empty, UTC_ZONE)
    report = memory.import_(empty, UTC_ZONE)
    assert report.messages_added == 0
    assert memory.undo_import(report.import_id or ImportId(0)).messages == 0
    memory.undo_import(ImportId(1))
    assert memory.work().summaries_made == 0


def test_an_empty_query_is_refused(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    for nothing in ("", "   "):
        with pytest.raises(UsageError):
            memory.search(nothing)


def test_an_interruption_that_a_later_import_made_good_is_no_finding(
    memory: Memory, export: Path
) -> None:
    memory.store.begin_import(str(export), "openai", _START)
    memory.import_(export, ImportOptions(tz=UTC, format="openai"))
    assert "imports" not in {finding.subject for finding in memory.doctor()}


def test_without_vectors_search_says_that_it_goes_by_words_only(
    memory: Memory, export: Path
) -> None:
    memory.import_(export, ImportOptions(tz=UTC, later=True))
    result = memory.search("bicycle lock code")
    assert "words only" in result.notices[0]
    assert "4711" in result.found[0].message.text


def test_work_makes_the_vectors_that_an_import_left_for_later(memory: Memory, export: Path) -> None:
    memory.import_(export, ImportOptions(tz=UTC, later=True))
    report = memory.work()
    assert (report.vectors_made, report.vectors_open, report.summaries_open) == (5, 0, 0)
    assert memory.search("bicycle lock code").notices == ()


def test_a_second_program_sees_what_the_first_imported_meanwhile(
    memory: Memory, export: Path, tmp_path: Path
) -> None:
    memory.import_(export, UTC_ZONE)
    with build_memory(memory.path) as other:
        assert other.search("apple trees").found
        more = _export(tmp_path / "more.jsonl", _lines("The canoe is green."))
        rows = more.read_text(encoding="utf-8").replace('"c0"', '"c9"')
        more.write_text(rows, encoding="utf-8")
        memory.import_(more, UTC_ZONE)
        assert "canoe" in other.search("colour of the canoe").found[0].message.text


def test_a_new_start_finds_the_same_as_the_program_that_imported(
    memory: Memory, export: Path
) -> None:
    memory.import_(export, UTC_ZONE)
    before = [(f.message.id, round(f.hit.score, 4)) for f in memory.search("apple trees").found]
    with build_memory(memory.path) as fresh:
        after = [(f.message.id, round(f.hit.score, 4)) for f in fresh.search("apple trees").found]
    assert before == after


def test_without_the_embedder_search_says_so_and_goes_by_words(
    memory: Memory, export: Path
) -> None:
    memory.import_(export, UTC_ZONE)
    other = FixedModels(the_embedder=HashEmbedder(dimension=128))
    with build_memory(memory.path, models=other) as without:
        result = without.search("bicycle lock")
    assert "is not on this machine" in result.notices[0]
    assert result.found


def test_an_import_without_an_embedder_stores_nothing(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    other = FixedModels(the_embedder=HashEmbedder(dimension=128))
    with build_memory(memory.path, models=other) as without, pytest.raises(ModelNotFoundError):
        without.import_(export, UTC_ZONE)
    assert len(memory.imports()) == 1


def test_reindex_changes_the_embedder_from_stored_text_alone(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    export.unlink()
    other = FixedModels(the_embedder=HashEmbedder(dimension=128))
    with build_memory(memory.path, models=other) as changed:
        report = changed.reindex()
        assert report.vectors_made == 5
        assert changed.stats().embedder == "hash-128"
        assert changed.search("bicycle lock").notices == ()
        assert list(changed.store.vector_models()) == ["hash-128"]


def test_filters_hold_before_ranking(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    later = memory.search("apple", limits=SearchFilter(since=date(2026, 3, 3)))
    assert later.found == ()
    (name,) = (p.name for p in memory.store.participants() if p.is_assistant)
    assistant = memory.search("4711", limits=SearchFilter(participant=name.upper()))
    assert {f.message.role.value for f in assistant.found} == {"assistant"}


def test_a_filter_for_somebody_unknown_names_who_is_known(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    with pytest.raises(RecordNotFoundError):
        memory.search("apple", limits=SearchFilter(participant="Nobody"))


def test_a_session_is_shown_by_layer(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    number = memory.sessions()[0].id
    assert len(memory.show(number, layer=Layer.RAW).messages) in (2, 3)
    assert memory.show(number, layer=Layer.SUMMARY).summaries


def test_an_unknown_session_is_an_error(memory: Memory, export: Path) -> None:
    memory.import_(export, UTC_ZONE)
    with pytest.raises(RecordNotFoundError):
        memory.show(SessionId(999))


def test_a_file_in_no_known_format_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    strange = tmp_path / "strange.json"
    strange.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(ImportFormatError) as caught:
        memory.import_(strange, UTC_ZONE)
    assert str(strange) in caught.value.message
    assert not memory.path.exists() or memory.stats().messages == 0


def test_opening_a_memory_that_does_not_exist_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALMEM_HOME", str(tmp_path))
    with pytest.raises(StoreError) as caught:
        Memory.open(create=False)
    assert "localmem import" in caught.value.hint


def test_progress_is_told_for_each_stage(memory: Memory, export: Path) -> None:
    seen: list[Progress] = []
    memory.import_(export, UTC_ZONE, on_progress=seen.append)
    assert {"reading", "summaries", "vectors"} <= {progress.stage for progress in seen}


def test_doctor_finds_open_work_and_then_nothing(memory: Memory, export: Path) -> None:
    memory.import_(export, ImportOptions(tz=UTC, later=True))
    assert "vectors" in {f.subject for f in memory.doctor() if f.verdict is Verdict.NOTICE}
    memory.work()
    assert all(f.verdict is Verdict.OK for f in memory.doctor())
