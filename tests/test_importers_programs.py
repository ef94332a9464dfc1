"""Exports of Claude.ai and of programs other than ChatGPT."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from localmem.importers import Export, open_export
from localmem.types import ImportedConversation, Role


def _export(folder: Path, *values: object, lines: bool = False) -> Export:
    file = folder / "export"
    text = "\n".join(map(json.dumps, values)) if lines else json.dumps(values[0])
    file.write_text(text, encoding="utf-8")
    return open_export(file, tz=UTC)


def _all(export: Export) -> list[ImportedConversation]:
    read = list(export)
    conversations = [one for one in read if isinstance(one, ImportedConversation)]
    assert len(conversations) == len(read)
    return conversations


def _claude(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"uuid": "c", "name": "Roses", "chat_messages": list(messages), **more}


def _said(uuid: str, sender: str, text: str, minute: int, **more: Any) -> dict[str, Any]:
    at = f"2024-05-01T23:{minute:02}:00.123456Z"
    return {"uuid": uuid, "sender": sender, "text": text, "created_at": at, **more}


def test_claude_blocks_take_precedence_over_text_and_tool_results_stand_apart(
    tmp_path: Path,
) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "name": "web_search", "input": {"query": "roses"}},
        {
            "type": "tool_result",
            "name": "web_search",
            "content": [{"type": "text", "text": "Red."}],
        },
        {"type": "text", "text": "They are red."},
    ]
    (chat,) = _all(
        _export(
            tmp_path, [_claude(_said("a", "assistant", "not supported here", 1, content=blocks))]
        )
    )
    assert [(m.source_id, m.role, m.speaker, m.text) for m in chat.messages] == [
        ("a", Role.ASSISTANT, "Claude", 'Let me look.\nweb_search {"query": "roses"}'),
        ("a#1", Role.TOOL, "web_search", "Red."),
        ("a#2", Role.ASSISTANT, "Claude", "They are red."),
    ]
    assert [m.parent_id for m in chat.messages] == [None, "a", "a#1"]


def test_claude_attachments_are_kept_with_their_extracted_text(tmp_path: Path) -> None:
    message = _said(
        "u",
        "human",
        "",
        1,
        attachments=[{"file_name": "plan.txt", "extracted_content": "Plant in May."}],
        files=[{"file_name": "rose.png"}, {"file_name": "plan.txt"}],
    )
    (chat,) = _all(_export(tmp_path, [_claude(message)]))
    (said,) = chat.messages
    assert (said.text, said.speaker) == ("", "You")
    assert said.attachment_text == "[file] plan.txt\nPlant in May.\n[file] rose.png"


def test_claude_branches_by_their_parents_and_the_newest_is_shown(tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    messages = [
        _said("u", "human", "Which rose?", 1, parent_message_uuid=root),
        _said("a", "assistant", "Red.", 2, parent_message_uuid="u"),
        _said("b", "assistant", "White.", 3, parent_message_uuid="u"),
    ]
    (chat,) = _all(_export(tmp_path, [_claude(*messages)]))
    assert [m.text for m in chat.messages if m.on_path] == ["Which rose?", "White."]
    current = _claude(*messages, current_leaf_message_uuid="a")
    (chat,) = _all(_export(tmp_path, [current]))
    assert [m.text for m in chat.messages if m.on_path] == ["Which rose?", "Red."]


def test_times_in_utc_are_put_into_the_owners_zone_and_other_offsets_are_kept(
    tmp_path: Path,
) -> None:
    kept = _said("b", "human", "x", 5) | {"created_at": "2024-05-02T01:10:00-03:00"}
    file = tmp_path / "c.json"
    file.write_text(json.dumps([_claude(_said("a", "human", "x", 1), kept)]))
    (chat,) = open_export(file, tz=ZoneInfo("Europe/Berlin"))
    assert isinstance(chat, ImportedConversation)
    times = [m.said_at.isoformat() for m in chat.messages if m.said_at]
    assert times == ["2024-05-02T01:01:00.123456+02:00", "2024-05-02T01:10:00-03:00"]


def test_messages_keep_their_ids_in_a_later_export(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "ok"}, {"role": "assistant", "content": "fine"}]
    grown = [*turns, {"role": "user", "content": "ok"}]
    (older,) = _all(_export(tmp_path, {"messages": turns}))
    (newer,) = _all(_export(tmp_path, {"messages": grown}))
    assert newer.source_id == older.source_id
    assert newer.messages[:2] == older.messages
    assert newer.messages[2].source_id not in {m.source_id for m in older.messages}


def test_conversations_that_begin_alike_stay_apart_and_versions_of_one_stay_together(
    tmp_path: Path,
) -> None:
    begin = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    tea, coffee = ([*begin, {"role": "user", "content": word}] for word in ("tea", "coffee"))
    longer = [*tea, {"role": "assistant", "content": "green?"}]
    records = [{"messages": turns} for turns in (begin, tea, coffee, longer)]
    ids = [one.source_id for one in _all(_export(tmp_path, *records, lines=True))]
    assert ids[0] == ids[1] == ids[3]
    assert ids[2] != ids[0]


def test_openai_messages_may_hold_parts_tool_calls_and_system_prompts(tmp_path: Path) -> None:
    call = {"function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    record = {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "Cold?"}, image]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "name": "weather", "content": "-3"},
            {"role": "assistant", "content": "Yes."},
        ]
    }
    export = _export(tmp_path, [record])
    (chat,) = _all(export)
    assert export.source == "openai"
    assert [(m.speaker, m.text, m.attachment_text) for m in chat.messages] == [
        ("You", "Cold?", "[image]"),
        ("Assistant", 'weather {"city": "Oslo"}', ""),
        ("weather", "-3", ""),
        ("Assistant", "Yes.", ""),
    ]


def test_a_bare_list_of_messages_is_one_conversation(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    export = _export(tmp_path, turns)
    (chat,) = _all(export)
    assert export.source == "messages"
    assert [m.text for m in chat.messages] == ["hi", "hello"]


def test_sharegpt_ids_of_two_files_do_not_mix_their_conversations(tmp_path: Path) -> None:
    def record(text: str) -> dict[str, Any]:
        return {"id": "identity_0", "conversations": [{"from": "human", "value": text}]}

    (one,) = _all(_export(tmp_path, [record("Who are you?")]))
    (two,) = _all(_export(tmp_path, [record("What is up?")]))
    assert one.source_id.startswith("identity_0/")
    assert one.source_id != two.source_id
    roles = {"conversations": [{"role": "user", "content": "hi"}]}
    assert _export(tmp_path, [roles]).source == "sharegpt-roles"


def test_open_webui_histories_branch_and_the_current_one_is_shown(tmp_path: Path) -> None:
    messages = {
        "q": {"role": "user", "content": "hi", "parentId": None, "timestamp": 1_700_000_000},
        "a": {"role": "assistant", "content": "one", "parentId": "q", "timestamp": 1_700_000_001},
        "b": {"role": "assistant", "content": "two", "parentId": "q", "timestamp": 1_700_000_002},
    }
    chat = {"title": "T", "history": {"messages": messages, "currentId": "a"}}
    export = _export(tmp_path, [{"id": "c", "chat": chat}])
    (read,) = _all(export)
    assert (export.source, read.title) == ("open-webui", "T")
    assert [(m.text, m.on_path) for m in read.messages] == [
        *(("hi", True), ("one", True), ("two", False)),
    ]


def test_lm_studio_keeps_versions_that_are_not_shown(tmp_path: Path) -> None:
    def version(text: str) -> dict[str, Any]:
        return {"role": "assistant", "content": [{"type": "text", "text": text}]}

    message = {"versions": [version("one"), version("two")], "currentlySelected": 0}
    (chat,) = _all(_export(tmp_path, {"createdAt": 1_700_000_000_000, "messages": [message]}))
    assert [(m.text, m.on_path) for m in chat.messages] == [("one", True), ("two", False)]
    assert all(m.said_at is not None for m in chat.messages)


def test_claude_code_logs_part_by_session_and_leave_out_what_nobody_said(tmp_path: Path) -> None:
    def line(uuid: str, session: str, role: str, content: object, **more: Any) -> dict[str, Any]:
        return {
            "type": role,
            "uuid": uuid,
            "sessionId": session,
            "timestamp": "2026-07-01T10:00:00Z",
            "message": {"role": role, "content": content},
            **more,
        }

    export = _export(
        tmp_path,
        {"type": "summary", "summary": "Fix the gate", "sessionId": "s"},
        line("1", "s", "user", "Fix it."),
        line("2", "s", "assistant", [{"type": "tool_use", "name": "Bash", "input": {"c": "ls"}}]),
        line("3", "s", "user", [{"type": "tool_result", "content": "gate.py"}]),
        line("x", "t", "user", "Another."),
        line("1", "s", "user", "A repeat of the same line."),
        line("4", "s", "user", "<command-name>/status</command-name>"),
        line("5", "s", "user", "context", isMeta=True),
        line("6", "s", "assistant", "From a helper.", isSidechain=True),
        {"type": "queue-operation", "sessionId": "s", "content": "x"},
        lines=True,
    )
    one, two = _all(export)
    assert (export.source, one.title, two.title) == ("claude-code", "Fix the gate", "")
    assert [(m.role, m.text, m.on_path) for m in one.messages] == [
        (Role.USER, "Fix it.", True),
        (Role.ASSISTANT, 'Bash {"c": "ls"}', True),
        (Role.TOOL, "gate.py", True),
        (Role.ASSISTANT, "From a helper.", False),
    ]


def test_ai_studio_leaves_out_thoughts(tmp_path: Path) -> None:
    chunks = [
        {"role": "user", "text": "hi"},
        {"role": "model", "text": "hm", "isThought": True},
        {"role": "model", "text": "hello"},
    ]
    export = _export(tmp_path, {"chunkedPrompt": {"chunks": chunks}})
    (chat,) = _all(export)
    assert export.source == "ai-studio"
    assert [(m.speaker, m.text) for m in chat.messages] == [("You", "hi"), ("Gemini", "hello")]


def test_ids_that_repeat_are_numbered_and_never_meet_a_given_one(tmp_path: Path) -> None:
    turns = [{"id": one, "role": "user", "content": "x"} for one in ("a", "a", "a~2", "a")]
    (chat,) = _all(_export(tmp_path, {"messages": turns}))
    assert [message.source_id for message in chat.messages] == ["a", "a~2", "a~2~2", "a~3"]


def test_deepseek_is_told_from_chatgpt_and_its_server_offset_is_not_the_owners(
    tmp_path: Path,
) -> None:
    def node(parent: str | None, *fragments: dict[str, Any]) -> dict[str, Any]:
        message = {"inserted_at": "2026-01-02T07:30:00.5+08:00", "fragments": list(fragments)}
        return {"parent": parent, "message": message if fragments else None}

    found = [{"title": "Roses", "url": "https://example.org", "snippet": "Red."}]
    mapping = {
        "root": node(None),
        "1": node("root", {"type": "REQUEST", "content": "Which rose?"}),
        "2": node(
            "1",
            {"type": "THINK", "content": "Hm."},
            {"type": "SEARCH", "results": found},
            {"type": "RESPONSE", "content": "Red."},
        ),
        "3": node("1", {"type": "RESPONSE", "content": "White."}),
    }
    export = _export(tmp_path, [{"id": "c", "title": "Roses", "mapping": mapping}])
    (chat,) = _all(export)
    assert export.source == "deepseek"
    assert [(m.source_id, m.speaker, m.text, m.on_path) for m in chat.messages] == [
        ("1", "You", "Which rose?", True),
        ("2", "search", "Roses\nhttps://example.org\nRed.", True),
        ("2#1", "DeepSeek", "Red.", True),
        ("3", "DeepSeek", "White.", False),
    ]
    assert {str(m.said_at) for m in chat.messages} == {"2026-01-01 23:30:00.500000+00:00"}
