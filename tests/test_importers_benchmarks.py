"""Benchmark formats, on small files in their shapes (the words are the tests' own)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import ImportFormatError
from localmem.importers import open_export
from localmem.types import ConversationKind, ImportedConversation, ImportProblem


def _read(
    folder: Path, value: object, **options: Any
) -> list[ImportedConversation | ImportProblem]:
    file = folder / "data"
    file.write_text(json.dumps(value), encoding="utf-8")
    return list(open_export(file, tz=UTC, **options))


def _conversations(
    read: list[ImportedConversation | ImportProblem],
) -> list[ImportedConversation]:
    conversations = [one for one in read if isinstance(one, ImportedConversation)]
    assert len(conversations) == len(read)
    return conversations


def _locomo(sample_id: str = "conv-1", first: str = "Ann") -> dict[str, Any]:
    return {
        "sample_id": sample_id,
        "qa": [],
        "conversation": {
            "speaker_a": first,
            "speaker_b": "Ben",
            "session_10_date_time": "1:14 pm on 25 May, 2023",
            "session_10": [{"speaker": first, "dia_id": "D10:1", "text": "Back again."}],
            "session_2_date_time": "12:09 am on 13 September, 2022",
            "session_2": [
                {"speaker": first, "dia_id": "D2:1", "text": "I bought a kayak."},
                {
                    "speaker": "Ben",
                    "dia_id": "D2:2",
                    "text": "",
                    "blip_caption": "a photo of a red kayak",
                    "query": "red kayak",
                },
            ],
            "session_11_date_time": "1:14 pm on 26 May, 2023",
        },
    }


def test_locomo_gives_one_conversation_a_sample_with_sessions_in_order(tmp_path: Path) -> None:
    one, two = _conversations(_read(tmp_path, [_locomo(), _locomo("conv-2")]))
    assert (one.source, one.source_id, one.title) == ("locomo", "conv-1", "Ann and Ben")
    assert two.source_id == "conv-2"
    assert one.kind is ConversationKind.PEOPLE
    assert [message.source_id for message in one.messages] == ["D2:1", "D2:2", "D10:1"]
    assert one.session_starts == {"D2:1", "D10:1"}
    assert one.messages[1].attachment_text == "a photo of a red kayak\nred kayak"
    times = [message.said_at for message in one.messages if message.said_at]
    assert times[0] == datetime(2022, 9, 13, 0, 9, tzinfo=UTC)
    assert times == sorted(set(times))


def test_a_single_locomo_sample_and_a_bad_one_among_good_ones(tmp_path: Path) -> None:
    assert len(_conversations(_read(tmp_path, _locomo()))) == 1
    bad = {"sample_id": "conv-9", "conversation": {"nothing": 1}}
    good, problem = _read(tmp_path, [_locomo(), bad])
    assert isinstance(good, ImportedConversation)
    assert isinstance(problem, ImportProblem)


def test_me_must_be_one_of_those_who_speak(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text(json.dumps([_locomo(), _locomo("conv-2", first="Cleo")]))
    assert open_export(file, tz=UTC, me=" cleo ").owner_name == "Cleo"
    assert open_export(file, tz=UTC).owner_name is None
    with pytest.raises(ImportFormatError, match="nobody in it is called 'Dan'") as caught:
        open_export(file, tz=UTC, me="Dan")
    assert caught.value.hint == "its speakers: Ann, Ben, Cleo"


def _question(question_id: str) -> dict[str, Any]:
    return {
        "question_id": question_id,
        "haystack_session_ids": ["s1", "s2", "s1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 09:00"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "Hi.", "has_answer": True},
                {"role": "assistant", "content": "Hello."},
            ],
            [{"role": "assistant", "content": "   "}, {"role": "user", "content": "Bye."}],
            [{"role": "user", "content": "Again."}],
        ],
    }


def test_longmemeval_keeps_each_haystack_with_its_question(tmp_path: Path) -> None:
    read = _conversations(_read(tmp_path, [_question("q1"), _question("q2")]))
    assert [one.source_id for one in read] == [
        *("q1/s1", "q1/s2", "q1/s1~2"),
        *("q2/s1", "q2/s2", "q2/s1~2"),
    ]
    first, second, third = read[:3]
    assert [message.source_id for message in first.messages] == ["0", "1"]
    assert [message.source_id for message in second.messages] == ["1"]
    assert first.messages[0].said_at == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert third.messages[0].said_at is None


def test_one_longmemeval_question_can_be_selected(tmp_path: Path) -> None:
    questions = [_question("q1"), _question("q2")]
    read = _conversations(_read(tmp_path, questions, question_id="q2"))
    assert {one.source_id.split("/")[0] for one in read} == {"q2"}
    (problem,) = _read(tmp_path, questions, question_id="q3")
    assert isinstance(problem, ImportProblem)
    assert problem.place == "question q3"


def _batch(number: int, anchor: str) -> dict[str, Any]:
    first = number * 10
    return {
        "batch_number": number,
        "time_anchor": None,
        "turns": [
            [
                {
                    "role": "user",
                    "id": first,
                    "time_anchor": anchor,
                    "content": f"Question {number}? ->-> {number},1",
                },
                {"role": "assistant", "id": first + 1, "content": "Use a -> b ->-> c."},
            ],
            [{"role": "user", "id": first + 2, "content": "And then? ->-> 3,N/A"}],
        ],
    }


def test_beam_gives_one_conversation_with_a_session_a_batch(tmp_path: Path) -> None:
    batches = [_batch(1, "March-15-2024"), _batch(2, "April-05-2024")]
    (chat,) = _conversations(_read(tmp_path, batches))
    assert chat.source == "beam"
    assert [message.text for message in chat.messages[:3]] == [
        "Question 1?",
        "Use a -> b ->-> c.",
        "And then?",
    ]
    assert [m.source_id for m in chat.messages] == ["10", "11", "12", "20", "21", "22"]
    assert chat.session_starts == {"10", "20"}
    days = [f"{message.said_at:%m-%d}" for message in chat.messages if message.said_at]
    assert days == ["03-15"] * 3 + ["04-05"] * 3
    plans = [{"plan-1": [batches[0]]}, {"plan-2": [batches[1]]}]
    (long,) = _conversations(_read(tmp_path, plans))
    assert long.messages == chat.messages


def test_a_beam_batch_without_turns_is_a_problem_and_the_others_go_in(tmp_path: Path) -> None:
    batches = [_batch(1, "March-15-2024"), {"batch_number": 2, "turns": None}]
    problem, chat = _read(tmp_path, batches)
    assert isinstance(problem, ImportProblem)
    assert problem.place == "batch 2"
    assert isinstance(chat, ImportedConversation)


def test_personamem_has_no_times_and_system_messages_part_sessions(tmp_path: Path) -> None:
    context = [
        {"role": "system", "content": "Current user persona: a gardener."},
        {"role": "user", "content": "User: I grow roses."},
        {"role": "assistant", "content": "Assistant: How lovely."},
        {"role": "system", "content": "Later."},
        {"role": "user", "content": "User: User: is a word."},
    ]
    file = tmp_path / "contexts"
    file.write_text("\n".join(json.dumps({letter * 64: context}) for letter in "ab"))
    one, two = (c for c in open_export(file, tz=UTC) if isinstance(c, ImportedConversation))
    assert (one.source, one.source_id, two.source_id) == ("personamem", "a" * 64, "b" * 64)
    assert [(m.source_id, m.text) for m in one.messages] == [
        ("1", "I grow roses."),
        ("2", "How lovely."),
        ("4", "User: is a word."),
    ]
    assert one.session_starts == {"1", "4"}
    assert all(message.said_at is None for message in one.messages)
