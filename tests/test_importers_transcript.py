"""Chats written down as text, in the many ways in which people and programs do it."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from localmem.errors import ImportFormatError
from localmem.importers import Export, open_export
from localmem.types import ConversationKind, ImportedConversation, Role


def _export(folder: Path, text: str, name: str = "chat.txt", **options: str) -> Export:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return open_export(file, tz=UTC, me=options.get("me"))


def _one(folder: Path, text: str, name: str = "chat.txt") -> ImportedConversation:
    (chat,) = _export(folder, text, name)
    assert isinstance(chat, ImportedConversation)
    return chat


def _said(chat: ImportedConversation) -> list[tuple[str, str]]:
    return [(message.speaker, message.text) for message in chat.messages]


def _times(chat: ImportedConversation) -> list[str]:
    return [f"{m.said_at:%Y-%m-%d %H:%M:%S}" for m in chat.messages if m.said_at]


def test_names_before_colons_are_speakers_and_other_lines_belong_to_the_message(
    tmp_path: Path,
) -> None:
    text = "Anna: hello\nNote: not a speaker\n\nstill Anna\nBen: hi\nAnna: https://example.org\n"
    chat = _one(tmp_path, text)
    assert chat.kind is ConversationKind.PEOPLE
    assert _said(chat) == [
        ("Anna", "hello\nNote: not a speaker\n\nstill Anna"),
        ("Ben", "hi"),
        ("Anna", "https://example.org"),
    ]
    assert _times(chat) == []


@pytest.mark.parametrize(
    "text",
    [
        "User: hi\nAssistant: hello\nthere\nUser: bye\n",
        "**User:** hi\n\n**Assistant:** hello\nthere\n\n**User:** bye\n",
        "**User**: hi\n\n**Assistant**: hello\nthere\n\n**User**: bye\n",
        "## User\n\nhi\n\n## Assistant\n\nhello\nthere\n\n## User\n\nbye\n",
        "#### You said:\nhi\n#### ChatGPT said:\nhello\nthere\n#### You said:\nbye\n",
        "\ufeffHuman: hi\r\nAI: hello\r\nthere\r\nHuman: bye\r\n",
    ],
)
def test_a_chat_with_an_assistant_is_known_by_its_speakers(tmp_path: Path, text: str) -> None:
    chat = _one(tmp_path, text)
    assert chat.kind is ConversationKind.ASSISTANT
    assert [(m.role, m.text) for m in chat.messages] == [
        (Role.USER, "hi"),
        (Role.ASSISTANT, "hello\nthere"),
        (Role.USER, "bye"),
    ]
    assert chat.messages[0].speaker == "You"


def test_headings_and_bold_words_inside_a_reply_are_not_speakers(tmp_path: Path) -> None:
    text = "# Plans\n\n## User\nhow?\n## Assistant\n### Step 1\n**Note:** go\n## Results\nok\n"
    chat = _one(tmp_path, text)
    assert chat.title == "Plans"
    assert _said(chat) == [
        ("You", "how?"),
        ("Assistant", "### Step 1\n**Note:** go\n## Results\nok"),
    ]


def test_whatsapp_of_android_with_system_lines_and_lines_that_go_on(tmp_path: Path) -> None:
    text = (
        "13/03/2017, 00:45 - Messages to this group are secured.\n"
        "13/03/2017, 00:45 - Anna: This is\n\nlong\n"
        "14/03/2017, 01:48 - Ben changed the icon\n"
        "14/03/2017, 01:50 - +41 012 345: <Media omitted>\n"
    )
    export = _export(tmp_path, text, "WhatsApp Chat with Ben.txt")
    (chat,) = export
    assert isinstance(chat, ImportedConversation)
    assert chat.title == "Ben"
    assert _said(chat) == [("Anna", "This is\n\nlong"), ("+41 012 345", "")]
    assert chat.messages[1].attachment_text == "<Media omitted>"
    assert _times(chat) == ["2017-03-13 00:45:00", "2017-03-14 01:50:00"]
    assert export.notices == ()


def test_whatsapp_of_ios_with_marks_seconds_and_half_days(tmp_path: Path) -> None:
    text = (
        "[12/31/23, 11:59:58\u202fPM] ~\u202fAnna: happy\n"
        "\u200e[1/1/24, 12:00:01\u202fAM] Ben: \u200enew year: yes\n"
    )
    chat = _one(tmp_path, text)
    assert _said(chat) == [("Anna", "happy"), ("Ben", "new year: yes")]
    assert _times(chat) == ["2023-12-31 23:59:58", "2024-01-01 00:00:01"]


@pytest.mark.parametrize(
    ("dates", "months", "said"),
    [
        (["01/02/2024", "13/02/2024"], ["02", "02"], False),
        (["01/02/2024", "02/13/2024"], ["01", "02"], False),
        (["06/03/2024", "07/03/2024", "05/04/2024"], ["03", "03", "04"], True),
        (["03/06/2024", "03/07/2024", "04/05/2024"], ["03", "03", "04"], True),
        (["01.02.24", "03.02.24"], ["02", "02"], True),
    ],
)
def test_the_order_of_day_and_month_follows_the_whole_file_and_a_guess_is_said(
    tmp_path: Path, dates: list[str], months: list[str], said: bool
) -> None:
    export = _export(tmp_path, "".join(f"{date}, 10:00 - Anna: x\n" for date in dates))
    (chat,) = export
    assert isinstance(chat, ImportedConversation)
    assert [time[5:7] for time in _times(chat)] == months
    assert bool(export.notices) is said
    assert all("day/month or month/day" in notice for notice in export.notices)


def test_iso_times_may_stand_before_or_after_the_name(tmp_path: Path) -> None:
    text = (
        "[2024-03-01 10:00] **Anna:** one\n"
        "[2024-03-01T10:01:30Z] **Ben:** two\n"
        "**Anna** (2024-03-01 10:02): three\n"
    )
    chat = _one(tmp_path, text)
    assert _said(chat) == [("Anna", "one"), ("Ben", "two"), ("Anna", "three")]
    assert _times(chat) == ["2024-03-01 10:00:00", "2024-03-01 10:01:30", "2024-03-01 10:02:00"]


def test_a_transcript_keeps_its_ids_when_it_grows(tmp_path: Path) -> None:
    text = "[2024-03-01 10:00] Anna: ok\n[2024-03-01 10:00] Ben: ok\n"
    older = _one(tmp_path, text)
    newer = _one(tmp_path, text + "[2024-03-01 10:00] Anna: ok\n", "renamed.txt")
    assert newer.source_id == older.source_id
    assert newer.messages[:2] == older.messages
    assert len({message.source_id for message in newer.messages}) == 3


def test_me_is_found_among_the_speakers_or_they_are_listed(tmp_path: Path) -> None:
    text = "[2024-03-01 10:00] Anna: ok\n[2024-03-01 10:01] Ben: ok\n"
    assert _export(tmp_path, text, me="anna").owner_name == "Anna"
    with pytest.raises(ImportFormatError, match="nobody in it is called 'Zoe'") as caught:
        _export(tmp_path, text, me="Zoe")
    assert caught.value.hint == "its speakers: Anna, Ben"
    with_assistant = "User: hi\nAssistant: hello\n"
    assert _export(tmp_path, with_assistant, me="Zoe").owner_name == "Zoe"


@pytest.mark.parametrize(
    "text",
    [
        "Shopping: eggs\n",
        "# Notes\n\nNote: remember the milk.\nWarning: it is old.\nTip: buy two.\n",
        "def f(x):\n    return x\nclass A:\n    pass\n",
        "2024-03-01 something happened\n2024-03-02 something else\n",
    ],
)
def test_notes_and_code_are_not_taken_for_chats(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportFormatError):
        _export(tmp_path, text)
