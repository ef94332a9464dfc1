"""Every real export that the tests ship, with exact counts."""

from __future__ import annotations

import csv
from datetime import UTC
from pathlib import Path

import pytest

from localmem.errors import ImportFormatError
from localmem.importers import formats, open_export
from localmem.types import ImportedConversation

_EXPORTS = Path(__file__).parent / "fixtures" / "exports"


@pytest.mark.parametrize(
    ("file", "source", "conversations", "messages", "off_path", "without_time"),
    [
        ("agent_cli/hstry_claude-code_test-session.jsonl", "claude-code", 1, 2, 0, 0),
        ("chatbotui/chatbotui-export.json", "chatbotui", 2, 6, 0, 6),
        ("chatgpt/hstry_conversations.json", "chatgpt", 1, 2, 0, 0),
        ("chatgpt/librechat_chatgpt-tree_branches.json", "chatgpt", 1, 11, 5, 0),
        ("librechat/librechat-export.json", "librechat", 1, 6, 0, 0),
        ("librechat/librechat-linear.json", "librechat", 1, 2, 0, 0),
        ("librechat/librechat-tree.json", "librechat", 1, 9, 3, 0),
        ("lm_studio/hstry_test-conversation.json", "lm-studio", 1, 2, 0, 0),
        (
            "openai_jsonl/openai-cookbook_toy_chat_fine_tuning_first4.jsonl",
            *("openai", 4, 13, 0, 13),
        ),
        ("other/hstry_gemini-conversations.json", "openai", 1, 2, 0, 0),
        ("other/jan_thread_test_1", "jan", 1, 3, 0, 0),
        ("sharegpt/fastchat_dummy_conversation.json", "sharegpt", 500, 2000, 0, 2000),
        ("whatsapp/pustur_short-chat.txt", "transcript", 1, 3, 0, 0),
    ],
)
def test_a_real_export_is_recognised_and_read_whole(
    file: str, source: str, conversations: int, messages: int, off_path: int, without_time: int
) -> None:
    export = open_export(_EXPORTS / file, tz=UTC)
    read = [one for one in export if isinstance(one, ImportedConversation)]
    said = [message for one in read for message in one.messages]

    assert len(read) == len(list(export)), "no problems"
    assert export.source == source
    assert (len(read), len(said)) == (conversations, messages)
    assert sum(not message.on_path for message in said) == off_path
    assert sum(message.said_at is None for message in said) == without_time


def test_ids_are_unique_in_every_real_export() -> None:
    for file in sorted(_EXPORTS.rglob("*.json*")):
        if file.name == "thread.json":
            continue
        read = [one for one in open_export(file, tz=UTC) if isinstance(one, ImportedConversation)]
        assert len({one.source_id for one in read}) == len(read)
        for one in read:
            assert len({message.source_id for message in one.messages}) == len(one.messages)


def test_a_database_is_refused_with_the_cure() -> None:
    with pytest.raises(ImportFormatError, match="is a database; export the chats") as caught:
        open_export(_EXPORTS / "open_webui", tz=UTC)
    assert "hstry_webui.db" in caught.value.place


def test_every_fixture_names_its_source_and_licence() -> None:
    with (_EXPORTS / "SOURCES.tsv").open(encoding="utf-8") as table:
        named = {row["file"]: row["licence"] for row in csv.DictReader(table, delimiter="\t")}
    files = {
        str(file.relative_to(_EXPORTS))
        for file in _EXPORTS.rglob("*")
        if file.is_file() and file.parent != _EXPORTS
    }
    assert set(named) == files
    assert all(licence.startswith(("MIT", "Apache-2.0")) for licence in named.values())


def test_format_names_are_unique_and_have_titles() -> None:
    names = [known.name for known in formats()]
    assert len(set(names)) == len(names)
    assert all(known.title for known in formats())
