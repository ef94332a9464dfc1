"""Whatever a damaged export holds, reading it ends in conversations, problems or one error."""

from __future__ import annotations

import copy
import json
import tempfile
from datetime import UTC
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from localmem.errors import ImportFormatError
from localmem.importers import open_export
from localmem.types import ImportedConversation, ImportProblem

_JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**25), 10**25),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=()), max_size=8),
    st.just([]),
    st.just({}),
    st.just([[], {}, None, "x", 3]),
    st.just({"id": {}, "text": [], "parts": 4, "type": [], "role": {}, "content_type": []}),
)


def _tree() -> dict[str, Any]:
    message = {
        "id": "m",
        "author": {"role": "tool", "name": "browser"},
        "create_time": 1_700_000_000.5,
        "content": {
            "content_type": "multimodal_text",
            "parts": [
                "text",
                {
                    "content_type": "image_asset_pointer",
                    "asset_pointer": "file-service://f",
                    "metadata": {"dalle": {"prompt": "a cup"}},
                },
                {"type": "tool_call", "name": "n", "input": {"k": [1]}},
            ],
        },
        "metadata": {"attachments": [{"id": "f", "name": "cup.jpg"}]},
    }
    return {
        "id": "c",
        "title": "t",
        "create_time": 1_700_000_000,
        "current_node": "b",
        "mapping": {
            "a": {"parent": None, "children": ["b"], "message": message},
            "b": {"parent": "a", "children": [], "message": message | {"id": "n"}},
        },
    }


def _blocks() -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "name": "n", "input": {"q": 1}},
        {"type": "tool_result", "content": [{"type": "text", "text": "r"}, {"type": "image"}]},
        {"type": "tool_call", "tool_name": "n", "output": {"a": 1}},
    ]


def _samples() -> list[list[Any]]:
    """One export of each JSON format, as a list of values."""
    claude_message = {
        "uuid": "m",
        "sender": "human",
        "created_at": "2024-05-01T10:00:00Z",
        "content": _blocks(),
        "attachments": [{"file_name": "a.txt", "extracted_content": "x"}],
        "files": [{"file_name": "b"}],
    }
    librechat_message = {
        "messageId": "m",
        "isCreatedByUser": True,
        "text": "hi",
        "createdAt": "2024-05-01T10:00:00Z",
        "children": [{"messageId": "n", "text": "ho", "sender": "GPT", "children": []}],
    }
    step = {"type": "contentBlock", "content": _blocks()}
    version = {"role": "assistant", "steps": [step], "senderInfo": {"senderName": "m"}}
    history = {"messages": {"m": {"role": "user", "content": "x"}}, "currentId": "m"}
    fragments = [{"type": "REQUEST", "content": "x"}, {"type": "SEARCH", "results": [{"url": "u"}]}]
    node = {"message": {"inserted_at": "2024", "files": [{"name": "f"}], "fragments": fragments}}
    plain = {"role": "user", "content": _blocks(), "tool_calls": [{"function": {"name": "f"}}]}
    turn = {"speaker": "Ann", "dia_id": "D1:1", "text": "x", "blip_caption": "c"}
    locomo = {"speaker_a": "Ann", "session_1": [turn], "session_1_date_time": "1:56 pm on 8 May"}
    beam_turn = {"role": "user", "id": 1, "content": "x ->-> 1,1", "time_anchor": "May-01-2024"}
    question = {
        "question_id": "q",
        "haystack_sessions": [[{"role": "user", "content": "x"}]],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["s"],
    }
    return [
        [_tree(), _tree()],
        [{"uuid": "c", "name": "n", "created_at": "2024", "chat_messages": [claude_message]}],
        [{"conversationId": "c", "messages": [librechat_message]}],
        [{"id": "c", "messages": [{"versions": [version], "currentlySelected": 0}]}],
        [{"id": "c", "created_at": 1_700_000_000, "chat": {"history": history}}],
        [{"id": "c", "inserted_at": "2024", "mapping": {"1": node}}],
        [{"title": "t", "created": 1, "messages": [plain]}],
        [{"conversations": [{"from": "human", "value": "x"}]}],
        [{"chunkedPrompt": {"chunks": [{"role": "user", "text": "x"}]}}],
        [{"sessionId": "s", "uuid": "u", "type": "user", "message": plain, "timestamp": "2024"}],
        [{"object": "thread.message", "thread_id": "t", "role": "user", "content": _blocks()}],
        [{"sample_id": "s", "conversation": locomo}],
        [question],
        [{"batch_number": 1, "turns": [[beam_turn]]}],
        [{"0" * 64: [{"role": "system", "content": "p"}, {"role": "user", "content": "x"}]}],
    ]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a value."""
    found: list[tuple[Any, Any]] = []
    waiting: list[Any] = [value]
    while waiting:
        container = waiting.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            found.append((container, key))
            if isinstance(container[key], dict | list):
                waiting.append(container[key])
    return found


def _read(content: bytes) -> list[ImportedConversation | ImportProblem]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "export"
        file.write_bytes(content)
        try:
            return list(open_export(file, tz=UTC))
        except ImportFormatError:
            return []


def _check(read: list[ImportedConversation | ImportProblem]) -> None:
    for one in read:
        if isinstance(one, ImportProblem):
            assert one.reason
            continue
        ids = [message.source_id for message in one.messages]
        assert one.source_id
        assert all(ids)
        assert len(set(ids)) == len(ids)
        assert one.session_starts <= set(ids)
        one.title.encode("utf-8")
        for message in one.messages:
            (message.text + message.speaker + message.attachment_text).encode("utf-8")
            assert message.said_at is None or message.said_at.tzinfo is not None


def test_every_sample_is_read_before_it_is_damaged() -> None:
    for values in _samples():
        read = _read(json.dumps(values).encode())
        assert read
        assert all(isinstance(one, ImportedConversation) for one in read), values
        _check(read)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_values_of_wrong_types_anywhere_end_in_a_problem_not_in_a_crash(
    data: st.DataObject,
) -> None:
    values = copy.deepcopy(data.draw(st.sampled_from(_samples())))
    for _ in range(data.draw(st.integers(1, 3))):
        places = _places(values)
        if not places:
            break
        container, key = data.draw(st.sampled_from(places))
        if data.draw(st.booleans()):
            container[key] = copy.deepcopy(data.draw(_JUNK))
        else:
            del container[key]
    lines = data.draw(st.booleans())
    text = "\n".join(map(json.dumps, values)) if lines else json.dumps(values)
    _check(_read(text.encode()))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data())
def test_broken_bytes_anywhere_end_in_a_problem_not_in_a_crash(data: st.DataObject) -> None:
    values = data.draw(st.sampled_from(_samples()))
    content = bytearray(json.dumps(values, indent=data.draw(st.sampled_from([None, 1]))).encode())
    at = data.draw(st.integers(0, len(content)))
    if data.draw(st.booleans()):
        del content[at:]
    else:
        content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=6))
    _check(_read(bytes(content)))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [
                    "[1/2/20, 10:11] Ann: hi",
                    "31.12.99 - x",
                    "**Ann:** x",
                    "## User",
                    "Ann: x",
                    "[2024-13-45 99:99] Ann: x",
                    "0000-00-00 Ann: x",
                    "User: x",
                    "AI: y",
                ]
            ),
            st.text(max_size=20),
        ),
        max_size=12,
    )
)
def test_any_text_is_a_transcript_or_refused(lines: list[str]) -> None:
    _check(_read("\n".join(lines).encode("utf-8", "replace")))


def test_absurd_nesting_is_a_problem_not_a_crash() -> None:
    deep = '{"a":' * 3_000 + "1" + "}" * 3_000
    chat = json.dumps(_tree())
    wrong = chat.replace('{"k": [1]}', deep)
    assert wrong != chat
    for text in (f"[{chat},{wrong}]", f"{chat}\n{wrong}\n"):
        read = _read(text.encode())
        assert isinstance(read[0], ImportedConversation)
        assert isinstance(read[1], ImportProblem)
