"""What is forgotten is gone: from every answer, every derived row and the file, and stays out."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import RecordNotFoundError, UsageError
from localmem.layers.source import load_source
from localmem.memory import ImportOptions, Memory
from localmem.store.usage import Uses
from localmem.testing import build_memory
from localmem.types import (
    ForgetTarget,
    ImportId,
    KeyFact,
    Layer,
    MadeFacts,
    MadeNotes,
    MessageId,
    Provenance,
    SessionId,
    TurnNote,
    UnreadReply,
    Verdict,
)

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_WORD = "quokka-vermilion"
_PROVENANCE = Provenance("m", "p", "s")


def chat(*texts: str, title: str = "", day: int = 0, key: str = "c") -> dict[str, Any]:
    """A chat with an assistant: user and assistant by turns."""
    start = _START + timedelta(days=day)
    messages = [
        {
            "role": ("user", "assistant")[n % 2],
            "content": text,
            "timestamp": (start + timedelta(minutes=n)).isoformat(),
        }
        for n, text in enumerate(texts)
    ]
    return {"id": key, "title": title, "messages": messages}


def write(path: Path, *chats: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, chats)), encoding="utf-8")
    return path


@pytest.fixture
def export(tmp_path: Path) -> Path:
    (folder := tmp_path / "downloads").mkdir()
    return write(
        folder / "chats.jsonl",
        chat(f"My passphrase is {_WORD}.", "I keep that.", "Tomorrow I fly.", key="a"),
        chat("I planted a pear tree yesterday.", "How nice.", key="b", title="Pear tree", day=3),
    )


@pytest.fixture
def memory(tmp_path: Path, export: Path) -> Iterator[Memory]:
    (folder := tmp_path / "home").mkdir()
    with build_memory(folder / "memory.duckdb") as opened, opened.store.writing():
        opened.import_(export, ImportOptions(tz=UTC))
        yield opened


def id_of(memory: Memory, words: str) -> MessageId:
    (found,) = (m.id for m in memory.store.shown_messages() if words in m.text)
    return found


def derive(memory: Memory) -> None:
    """Facts, notes and an unread reply of the first session, each with the secret in it."""
    first, second, third = (m.id for m in memory.store.session_messages(SessionId(1)))
    fact = KeyFact(SessionId(1), 0, f"fact {_WORD}", (first, third), (), _PROVENANCE)
    memory.store.put_facts(MadeFacts(SessionId(1), (fact,), _PROVENANCE))
    note = TurnNote(second, 0, f"note {_WORD}", (), _PROVENANCE)
    memory.store.put_notes(SessionId(1), [MadeNotes(second, (note,), _PROVENANCE)])
    reply = UnreadReply(Layer.NOTES, int(first), SessionId(1), "", "", _WORD, _PROVENANCE)
    memory.store.put_unread([reply])
    memory.store.count_opened(Uses({SessionId(1): 2}), patience_s=5)


def bytes_of(memory: Memory) -> bytes:
    return b"".join(file.read_bytes() for file in memory.path.parent.iterdir())


def test_the_dry_run_says_what_would_go_and_changes_nothing(memory: Memory) -> None:
    derive(memory)
    before = memory.store.generation(), memory.stats()
    plan = memory.plan_forget(ForgetTarget(messages=(id_of(memory, _WORD),)))
    assert (plan.receipt.messages, plan.receipt.facts, plan.receipt.notes) == (1, 1, 1)
    assert (plan.receipt.vectors, plan.receipt.replies, plan.receipt.kept_out) == (1, 1, 1)
    assert [(p.session.id, p.messages_going) for p in plan.sessions] == [(1, 1)]
    assert (memory.store.generation(), memory.stats()) == before
    assert _WORD in memory.search(_WORD, mode="bm25").found[0].message.text
    assert memory.store.orphans() == {}


def test_the_receipt_is_what_the_dry_run_said(memory: Memory) -> None:
    derive(memory)
    target = ForgetTarget(sessions=(SessionId(1),))
    plan, receipt = memory.plan_forget(target).receipt, memory.forget(target)
    counted = [name for name in ErasedRows if getattr(receipt, name)]
    assert all(getattr(plan, name) == getattr(receipt, name) for name in counted)
    assert (receipt.messages, receipt.sessions, receipt.conversations) == (3, 1, 1)


ErasedRows = ("messages", "turns", "sessions", "conversations", "summaries", "dates", "vectors")


def test_a_forgotten_message_is_found_by_nothing_and_its_bytes_are_gone(memory: Memory) -> None:
    derive(memory)
    assert _WORD.encode() in bytes_of(memory)
    memory.forget(ForgetTarget(messages=(id_of(memory, _WORD),)))
    for mode in ("bm25", "dense", "learned", "rrf"):
        found = memory.search(_WORD, mode=mode).found
        assert all(_WORD not in f.message.text for f in found)
    assert _WORD.encode() not in bytes_of(memory)
    assert memory.store.orphans() == {}


def test_what_is_left_has_its_lines_again(memory: Memory) -> None:
    memory.forget(ForgetTarget(messages=(id_of(memory, _WORD),)))
    assert memory.stats().turns_without_summary == 0
    assert [m.text for m in memory.store.session_messages(SessionId(1))] == [
        "I keep that.",
        "Tomorrow I fly.",
    ]


def test_the_replies_to_a_forgotten_message_are_named(memory: Memory) -> None:
    plan = memory.plan_forget(ForgetTarget(messages=(id_of(memory, _WORD),)))
    assert f"--message {id_of(memory, 'I keep that')}" in plan.stays[0]


def test_the_same_export_does_not_bring_it_back(memory: Memory, export: Path) -> None:
    memory.forget(ForgetTarget(messages=(id_of(memory, _WORD),)))
    planned = memory.plan_import(export, ImportOptions(tz=UTC))
    report = memory.import_(export, ImportOptions(tz=UTC))
    assert (planned.messages_added, planned.messages_forgotten) == (0, 1)
    assert (report.messages_added, report.messages_forgotten, report.messages_known) == (0, 1, 4)
    assert _WORD.encode() not in bytes_of(memory)


def test_a_conversation_that_is_wholly_forgotten_leaves_nothing(
    memory: Memory, export: Path
) -> None:
    memory.forget(ForgetTarget(sessions=(SessionId(1),)))
    report = memory.import_(export, ImportOptions(tz=UTC))
    assert (report.conversations_added, report.messages_forgotten) == (0, 3)
    assert memory.stats().conversations == 1


def test_what_is_new_in_a_newer_export_comes_in(memory: Memory, export: Path) -> None:
    memory.forget(ForgetTarget(sessions=(SessionId(1),)))
    texts = f"My passphrase is {_WORD}.", "I keep that.", "Tomorrow I fly.", "Safe travels!"
    write(export, chat(*texts, key="a"))
    report = memory.import_(export, ImportOptions(tz=UTC))
    assert (report.messages_added, report.messages_forgotten) == (1, 3)
    assert id_of(memory, "Safe travels")


def test_it_comes_back_when_it_is_allowed_again(memory: Memory, export: Path) -> None:
    memory.forget(ForgetTarget(sessions=(SessionId(1),)))
    allowed = ImportOptions(tz=UTC, allow_again=True)
    assert memory.plan_import(export, allowed).messages_added == 3
    assert memory.import_(export, allowed).messages_added == 3
    assert memory.import_(export, ImportOptions(tz=UTC)).messages_forgotten == 0
    assert id_of(memory, _WORD)


def test_a_title_that_the_forgotten_words_made_goes_too_and_stays_away(
    memory: Memory, export: Path
) -> None:
    receipt = memory.forget(ForgetTarget(messages=(id_of(memory, "pear tree"),)))
    assert receipt.titles == 1
    assert memory.store.session(SessionId(2)).title == ""
    memory.import_(export, ImportOptions(tz=UTC))
    assert memory.store.session(SessionId(2)).title == ""
    assert b"Pear tree" not in bytes_of(memory)


def test_a_forgotten_import_is_gone_and_stays_out(memory: Memory, export: Path) -> None:
    receipt = memory.forget(ForgetTarget(import_id=ImportId(1)))
    assert (receipt.messages, receipt.kept_out) == (5, 5)
    assert [one.undone for one in memory.imports()] == [True]
    assert memory.import_(export, ImportOptions(tz=UTC)).messages_added == 0
    with pytest.raises(RecordNotFoundError, match="taken back already"):
        memory.forget(ForgetTarget(import_id=ImportId(1)))


GROUP = """\
[2026-03-02 09:00] **Zoe Lind:** My dentist is Dr. Vermilion.
[2026-03-02 09:01] **Ben Adler:** Zoe Lind, mine is far away.
[2026-03-02 09:02] **Ben Adler:** I take the tram.
"""


def test_a_forgotten_person_is_gone_with_every_name_of_theirs(
    memory: Memory, tmp_path: Path
) -> None:
    (chats := tmp_path / "downloads" / "Chat with Zoe Lind.txt").write_text(GROUP, "utf-8")
    memory.import_(chats, ImportOptions(tz=UTC))
    memory.add_alias("Zoe Lind", "Zozo-Nickname")
    plan = memory.plan_forget(ForgetTarget(person="zozo-nickname"))
    assert plan.stays == ("1 message of another names Zoe Lind and stays",)
    receipt = memory.forget(ForgetTarget(person="Zoe Lind"))
    assert (receipt.messages, receipt.participants) == (1, 1)
    assert "Zoe Lind" not in [one.person.name for one in memory.people()]
    assert b"Zozo-Nickname" not in bytes_of(memory)
    assert b"Vermilion" not in bytes_of(memory)
    assert memory.imports()[0].path == "(forgotten)"
    assert memory.import_(chats, ImportOptions(tz=UTC)).messages_forgotten == 1
    assert memory.store.orphans() == {}


def test_a_person_who_was_merged_goes_with_those_who_were_merged_into_them(
    memory: Memory, tmp_path: Path
) -> None:
    chats = tmp_path / "downloads" / "group.txt"
    chats.write_text(GROUP + "[2026-03-02 09:03] **Z. Lind:** I moved.\n", "utf-8")
    memory.import_(chats, ImportOptions(tz=UTC))
    memory.merge_people("Zoe Lind", "Z. Lind")
    assert memory.forget(ForgetTarget(person="Zoe Lind")).messages == 2
    assert b"Z. Lind" not in bytes_of(memory)
    assert memory.store.orphans() == {}


def test_the_owner_is_forgotten_only_by_name_and_with_what_they_were_told(memory: Memory) -> None:
    memory.store.set_owner("Marta")
    target = ForgetTarget(person="Marta")
    assert memory.plan_forget(target).confirm == "Marta"
    with pytest.raises(UsageError) as caught:
        memory.forget(target)
    assert "--confirm 'Marta'" in caught.value.hint
    assert memory.forget(target, confirm="marta").messages == 5
    assert (memory.stats().messages, memory.people()) == (0, ())
    assert b"Marta" not in bytes_of(memory)
    assert memory.search("pear").found == ()


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        (ForgetTarget(), "--message ID"),
        (ForgetTarget(messages=(MessageId(99),)), "localmem search"),
        (ForgetTarget(sessions=(SessionId(99),)), "localmem sessions"),
        (ForgetTarget(person="Nobody"), "known are"),
        (ForgetTarget(import_id=ImportId(99)), "localmem imports list"),
    ],
)
def test_what_is_not_there_cannot_be_forgotten_and_the_cure_is_said(
    memory: Memory, target: ForgetTarget, hint: str
) -> None:
    for attempt in (memory.plan_forget, memory.forget):
        with pytest.raises((UsageError, RecordNotFoundError)) as caught:
            attempt(target)
        assert hint in caught.value.hint
    assert memory.stats().messages == 5


def test_doctor_names_orphans_and_work_removes_them(memory: Memory) -> None:
    derive(memory)
    with memory.store._lease.hold(write=True) as connection:
        connection.execute("DELETE FROM message WHERE id = 3")  # leaving what rests on it
    (finding,) = (f for f in memory.doctor() if f.subject == "orphans")
    assert finding.verdict is Verdict.PROBLEM
    for place in ("resolved_date.message_id", "key_fact.message_ids", "vector_page.message_ids"):
        assert f"1 in {place}" in finding.detail
    memory.work()
    assert memory.store.orphans() == {}


def test_what_was_being_made_while_it_was_forgotten_is_not_stored(memory: Memory) -> None:
    source = load_source(memory.store, SessionId(1))
    first, second, third = (message.id for message in source.messages)
    memory.forget(ForgetTarget(messages=(first,)))
    fact = KeyFact(SessionId(1), 0, f"fact {_WORD}", (third,), (), _PROVENANCE)
    note = TurnNote(second, 0, f"note {_WORD}", (), _PROVENANCE)
    made = MadeNotes(second, (note,), _PROVENANCE)
    reply = UnreadReply(Layer.NOTES, int(second), SessionId(1), "", "", _WORD, _PROVENANCE)
    line = replace(memory.store.all_summaries()[0], sentence=_WORD)
    memory.store.put_facts(MadeFacts(SessionId(1), (fact,), _PROVENANCE), seen=source.seen)
    memory.store.put_notes(SessionId(1), [made], seen=source.seen)
    memory.store.put_unread([reply], seen=source.seen)
    memory.store.put_layer0([line], {}, seen=source.seen)
    memory.store.close()
    assert _WORD.encode() not in bytes_of(memory)


def _forget_elsewhere(path: Path) -> None:
    with build_memory(path) as other:
        other.forget(ForgetTarget(sessions=(SessionId(1),)))


def test_a_program_that_has_the_memory_open_finds_nothing_of_it_at_its_next_search(
    tmp_path: Path, export: Path
) -> None:
    memory = build_memory(tmp_path / "memory.duckdb")
    memory.import_(export, ImportOptions(tz=UTC))
    assert _WORD in memory.search(_WORD).found[0].message.text
    child = multiprocessing.get_context("spawn").Process(
        target=_forget_elsewhere, args=(memory.path,)
    )
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert all(_WORD not in found.message.text for found in memory.search(_WORD).found)
