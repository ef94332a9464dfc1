"""ChatGPT exports: trees, hidden nodes, contents, and what real exports do wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from localmem.importers import open_export
from localmem.types import ImportedConversation, ImportedMessage, ImportProblem, Role

_START = 1_700_000_000.0


def _message(role: str, text: str, at: float | None = None, **more: Any) -> dict[str, Any]:
    return {
        "author": {"role": role},
        "content": {"content_type": "text", "parts": [text]},
        "create_time": at,
        **more,
    }


def _node(parent: str | None, message: dict[str, Any] | None) -> dict[str, Any]:
    return {"parent": parent, "message": message, "children": []}


def _chat(mapping: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "c1", "title": "Tea", "create_time": _START, "mapping": mapping, **more}


def _simple(text: str = "Which tea?") -> dict[str, Any]:
    return {
        "root": _node(None, None),
        "q": _node("root", _message("user", text, _START + 1)),
        "a": _node("q", _message("assistant", "Green tea.", _START + 2)),
    }


def _read(folder: Path, value: object) -> list[ImportedConversation | ImportProblem]:
    file = folder / "export.json"
    file.write_text(json.dumps(value), encoding="utf-8")
    return list(open_export(file, tz=UTC))


def _one(folder: Path, chat: dict[str, Any]) -> ImportedConversation:
    (conversation,) = _read(folder, [chat])
    assert isinstance(conversation, ImportedConversation)
    return conversation


def _texts(conversation: ImportedConversation, *, on_path: bool | None = None) -> list[str]:
    wanted = [m for m in conversation.messages if on_path is None or m.on_path is on_path]
    return [message.text for message in wanted]


def test_a_null_root_a_missing_title_and_a_missing_current_node_do_no_harm(tmp_path: Path) -> None:
    chat = _one(tmp_path, _chat(_simple(), title=None))
    assert (chat.source, chat.source_id, chat.title) == ("chatgpt", "c1", "")
    assert _texts(chat, on_path=True) == ["Which tea?", "Green tea."]
    assert [message.speaker for message in chat.messages] == ["You", "ChatGPT"]


def test_every_branch_is_kept_and_only_the_current_one_is_on_the_path(tmp_path: Path) -> None:
    mapping = _simple()
    mapping["b"] = _node("q", _message("assistant", "Black tea.", _START + 3))
    mapping["b2"] = _node("b", _message("user", "Thanks.", _START + 4))
    chat = _one(tmp_path, _chat(mapping, current_node="a"))
    assert _texts(chat, on_path=True) == ["Which tea?", "Green tea."]
    assert _texts(chat, on_path=False) == ["Black tea.", "Thanks."]
    newest = _one(tmp_path, _chat(mapping, current_node="no such node"))
    assert _texts(newest, on_path=True) == ["Which tea?", "Black tea.", "Thanks."]


def test_hidden_system_and_reasoning_nodes_are_no_messages(tmp_path: Path) -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    context = {"content_type": "user_editable_context", "user_profile": "I like tea."}
    thoughts = {"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}
    mapping = _simple() | {
        "s": _node("root", _message("system", "Be kind.", _START)),
        "h": _node("s", _message("user", "profile", _START, metadata=hidden)),
        "e": _node("h", {"author": {"role": "user"}, "content": context}),
        "t": _node("e", {"author": {"role": "assistant"}, "content": thoughts}),
    }
    mapping["q"]["parent"] = "t"
    chat = _one(tmp_path, _chat(mapping, current_node="a"))
    assert _texts(chat) == ["Which tea?", "Green tea."]
    assert chat.messages[0].parent_id is None
    assert chat.messages[1].parent_id == chat.messages[0].source_id


def test_code_tool_results_quotes_and_tool_calls_keep_text_and_role(tmp_path: Path) -> None:
    mapping = {
        "code": _node(
            None,
            {
                "author": {"role": "assistant"},
                "content": {"content_type": "code", "text": "6 * 7"},
                "recipient": "python",
            },
        ),
        "out": _node(
            "code",
            {
                "author": {"role": "tool", "name": "python"},
                "content": {"content_type": "execution_output", "text": "42"},
            },
        ),
        "quote": _node(
            "out",
            {
                "author": {"role": "tool", "name": "browser"},
                "content": {
                    "content_type": "tether_quote",
                    "title": "Teas",
                    "url": "https://example.org",
                    "text": "Green.",
                },
            },
        ),
        "call": _node(
            "quote",
            _message("assistant", "", None)
            | {
                "content": {
                    "content_type": "text",
                    "parts": [{"type": "tool_call", "name": "run", "input": {"x": 1.5}}],
                }
            },
        ),
    }
    chat = _one(tmp_path, _chat(mapping))
    assert [(m.role, m.speaker, m.text) for m in chat.messages] == [
        (Role.ASSISTANT, "ChatGPT", "6 * 7"),
        (Role.TOOL, "python", "42"),
        (Role.TOOL, "browser", "Teas\nhttps://example.org\nGreen."),
        (Role.ASSISTANT, "ChatGPT", 'run {"x": 1.5}'),
    ]


def test_images_audio_and_files_become_attachment_text(tmp_path: Path) -> None:
    parts: list[object] = [
        "Look.",
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f-1"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://f-9"},
        {"content_type": "audio_transcription", "text": "And listen."},
        7,
        None,
    ]
    message = {
        "author": {"role": "user"},
        "content": {"content_type": "multimodal_text", "parts": parts},
        "metadata": {
            "attachments": [{"id": "f-1", "name": "cup.jpg"}, {"id": "f-2", "name": "list.txt"}]
        },
    }
    (said,) = _one(tmp_path, _chat({"m": _node(None, message)})).messages
    assert said.text == "Look.\nAnd listen."
    assert said.attachment_text == "[image] cup.jpg\n[audio]\n[file] list.txt"


def test_messages_stand_in_the_order_in_which_they_were_said(tmp_path: Path) -> None:
    mapping = {
        "q": _node(None, _message("user", "one", _START + 1)),
        "a": _node("q", _message("assistant", "two", _START + 2)),
        "r": _node("q", _message("assistant", "five", _START + 50)),
        "b": _node("a", _message("user", "three", _START + 1)),
        "c": _node("b", _message("assistant", "four", None)),
    }
    chat = _one(tmp_path, _chat(mapping, current_node="c"))
    assert _texts(chat) == ["one", "two", "three", "four", "five"]


def test_a_message_without_time_has_the_time_of_the_one_above_it(tmp_path: Path) -> None:
    mapping = {
        "q": _node(None, _message("user", "one", None)),
        "a": _node("q", _message("assistant", "two", _START + 60)),
        "b": _node("a", _message("user", "three", None)),
    }
    chat = _one(tmp_path, _chat(mapping))
    seconds = [m.said_at.timestamp() - _START for m in chat.messages if m.said_at]
    assert seconds == [0, 60, 60]
    assert _one(tmp_path, _chat(mapping, create_time=None)).messages[0].said_at is None


def test_an_instant_falls_on_the_local_calendar_day(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    late = datetime(2024, 6, 30, 22, 30, tzinfo=UTC).timestamp()
    file.write_text(json.dumps([_chat({"m": _node(None, _message("user", "hi", late))})]))
    (chat,) = open_export(file, tz=ZoneInfo("Europe/Madrid"))
    assert isinstance(chat, ImportedConversation)
    said_at = chat.messages[0].said_at
    assert said_at is not None
    assert said_at.isoformat() == "2024-07-01T00:30:00+02:00"


def test_cycles_orphans_and_nodes_of_wrong_types_lose_no_message(tmp_path: Path) -> None:
    mapping: dict[str, Any] = {
        "a": _node("b", _message("user", "one", _START + 1)),
        "b": _node("a", _message("assistant", "two", _START + 2)),
        "o": _node("nowhere", _message("user", "three", _START + 3)),
        "x": 5,
        "y": {"message": "text", "children": "none", "parent": 3},
    }
    assert sorted(_texts(_one(tmp_path, _chat(mapping)))) == ["one", "three", "two"]


def test_a_bad_conversation_is_named_and_the_others_go_in(tmp_path: Path) -> None:
    good = [_chat(_simple(), id=f"c{n}", title=f"Tea {n}") for n in range(3)]
    bad = {"id": "c9", "title": "No mapping", "mapping": None}
    read = _read(tmp_path, [good[0], bad, good[1], 7, good[2]])
    problems = [one for one in read if isinstance(one, ImportProblem)]
    assert [one.source_id for one in read if isinstance(one, ImportedConversation)] == [
        "c0",
        "c1",
        "c2",
    ]
    assert [(one.place, one.reason) for one in problems] == [
        ("conversation 2 'No mapping'", "'mapping' is null, expected an object"),
        ("conversation 4", "is not an object"),
    ]
    assert all(one.path.endswith("export.json") for one in problems)


def test_conversations_without_messages_are_counted_not_reported_as_bad(tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps([_chat({"root": _node(None, None)}), _chat(_simple(), id="c2")]))
    export = open_export(file, tz=UTC)
    assert len(list(export)) == 1
    assert export.notices == ("1 conversation holds no messages",)


def test_a_browser_capture_and_a_wrapped_list_hold_the_same_conversation(tmp_path: Path) -> None:
    chat = _chat(_simple(), current_node="a")
    plain = _read(tmp_path, [chat])
    assert _read(tmp_path, {"capture": 1, "raw_provider_payload": chat}) == plain
    assert _read(tmp_path, {"conversations": [chat]}) == plain
    assert _read(tmp_path, chat) == plain


def test_a_newer_export_of_the_same_account_has_the_same_ids(tmp_path: Path) -> None:
    older = _one(tmp_path, _chat(_simple(), current_node="a"))
    mapping = _simple()
    mapping["q2"] = _node("a", _message("user", "And at night?", _START + 90))
    newer = _one(tmp_path, _chat(mapping, current_node="q2", title="Tea at night"))
    assert newer.source_id == older.source_id
    assert newer.messages[:2] == older.messages
    assert len(newer.messages) == 3


def test_without_an_id_the_conversation_keeps_its_made_one_while_it_grows(tmp_path: Path) -> None:
    mapping = _simple()
    older = _one(tmp_path, _chat(mapping, id=None))
    mapping["q2"] = _node("a", _message("user", "And at night?", _START + 90))
    newer = _one(tmp_path, _chat(mapping, id=None, title="Renamed"))
    assert older.source_id
    assert newer.source_id == older.source_id
    other = _one(tmp_path, _chat(_simple("Which coffee?"), id=None))
    assert other.source_id != older.source_id


def test_a_lone_surrogate_can_be_written_as_utf8_afterwards(tmp_path: Path) -> None:
    file = tmp_path / "c.jsonl"
    file.write_text(json.dumps(_chat(_simple("half \ud83d of a face \ud83d\ude00"))))
    (chat,) = open_export(file, tz=UTC)
    assert isinstance(chat, ImportedConversation)
    first: ImportedMessage = chat.messages[0]
    assert first.text.encode("utf-8").decode("utf-8") == "half \ufffd of a face \U0001f600"
