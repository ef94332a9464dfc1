"""Where exports come from and in what state: folders, zips, encodings, breaks, wrong files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import ImportFormatError, UsageError
from localmem.importers import Export, open_export
from localmem.types import ImportedConversation, ImportProblem


def _chat(number: int, text: str = "Hello.") -> dict[str, Any]:
    message = {
        "author": {"role": "user"},
        "create_time": 1_700_000_000 + number,
        "content": {"content_type": "text", "parts": [text]},
    }
    return {"id": f"c{number}", "title": f"Chat {number}", "mapping": {"m": {"message": message}}}


def _chats(count: int) -> str:
    return json.dumps([_chat(number) for number in range(count)], ensure_ascii=False, indent=1)


def _ids(export: Export) -> list[str]:
    return [one.source_id for one in export if isinstance(one, ImportedConversation)]


def _problems(export: Export) -> list[ImportProblem]:
    return [one for one in export if isinstance(one, ImportProblem)]


def _opened(path: Path) -> Export:
    return open_export(path, tz=UTC)


def test_a_zip_is_read_without_unpacking_and_other_files_in_it_are_passed_over(
    tmp_path: Path,
) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("in/conversations-000.json", _chats(2))
        packed.writestr("in/conversations-001.json", json.dumps([_chat(2)]))
        packed.writestr("in/chat.html", "<!DOCTYPE html><html></html>")
        packed.writestr("in/user.json", json.dumps({"email": "a@example.org"}))
        packed.writestr("in/cup.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00")
        packed.writestr("__MACOSX/in/._conversations.json", _chats(9))
    export = _opened(archive)
    assert export.source == "chatgpt"
    assert _ids(export) == ["c0", "c1", "c2"]
    assert _ids(export) == ["c0", "c1", "c2"], "an export can be read again"
    assert list(tmp_path.iterdir()) == [archive]


def test_a_folder_may_hold_files_zips_and_formats_of_several_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(_chats(1))
    (tmp_path / "deep").mkdir()
    line = json.dumps({"messages": [{"role": "user", "content": "Hi."}]})
    (tmp_path / "deep" / "b.jsonl").write_text(line)
    (tmp_path / "README.md").write_text("Anna: hi\nBen: hello\nAnna: bye\n")
    (tmp_path / ".hidden.json").write_text(_chats(5))
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as packed:
        packed.writestr("conversations.json", json.dumps([_chat(7)]))
    export = _opened(tmp_path)
    assert export.source == "chatgpt+openai"
    assert len(_ids(export)) == 3
    assert export.notices == (f"1 other files were passed over: {tmp_path / 'README.md'}",)


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.replace("\n", "\r\n").encode(),
    ],
)
def test_byte_order_marks_utf16_and_crlf_are_understood(
    tmp_path: Path, encode: Callable[[str], bytes]
) -> None:
    file = tmp_path / "c.json"
    text = json.dumps([_chat(0, "Grüße, Łódź")], ensure_ascii=False, indent=1)
    file.write_bytes(encode(text))
    (chat,) = _opened(file)
    assert isinstance(chat, ImportedConversation)
    assert chat.messages[0].text == "Grüße, Łódź"
    lines = tmp_path / "c.jsonl"
    lines.write_bytes(encode("\n".join(json.dumps(_chat(n)) for n in range(3))))
    assert _ids(_opened(lines)) == ["c0", "c1", "c2"]


def test_windows_1252_is_assumed_where_nothing_else_fits_and_this_is_said(tmp_path: Path) -> None:
    file = tmp_path / "c.txt"
    file.write_bytes("Anna: Grüße\nBen: schön\nAnna: tschüss\n".encode("cp1252"))
    export = _opened(file)
    (chat,) = export
    assert isinstance(chat, ImportedConversation)
    assert chat.messages[1].text == "schön"
    assert export.notices == (f"{file} is not Unicode: Windows-1252 assumed",)


def test_a_damaged_letter_in_utf8_does_not_spoil_the_others(tmp_path: Path) -> None:
    file = tmp_path / "c.txt"
    file.write_bytes("Anna: Grüße ".encode() + b"\xc3" + "\nBen: schön\nAnna: süß\n".encode())
    export = _opened(file)
    (chat,) = export
    assert isinstance(chat, ImportedConversation)
    assert [m.text for m in chat.messages] == ["Grüße \ufffd", "schön", "süß"]


def test_what_stands_before_a_break_goes_in_and_the_break_is_named_with_its_byte(
    tmp_path: Path,
) -> None:
    whole = _chats(4)
    cut = whole.index('"c3"')
    file = tmp_path / "c.json"
    file.write_text(whole[:cut])
    export = _opened(file)
    assert _ids(export) == ["c0", "c1", "c2"]
    (problem,) = _problems(export)
    assert problem.path == str(file)
    assert problem.place == f"item 4, byte {cut}"
    assert "breaks off" in problem.reason

    wrong = whole[:cut] + "oops" + whole[cut:]
    file.write_text(wrong)
    export = _opened(file)
    assert _ids(export) == ["c0", "c1", "c2"]
    assert _problems(export)[0].place == f"item 4, byte {cut}"


def test_of_a_single_conversation_that_breaks_off_the_beginning_goes_in(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": f"line {n}"} for n in range(5)]
    text = json.dumps({"title": "Cut", "messages": turns}, indent=1)
    file = tmp_path / "c.json"
    file.write_text(text[: text.index("line 4")])
    chat, problem = _opened(file)
    assert isinstance(chat, ImportedConversation)
    assert [message.text for message in chat.messages] == [f"line {n}" for n in range(4)]
    assert isinstance(problem, ImportProblem)
    assert problem.place == f"byte {text.index('line 4')}"


def test_a_bad_line_of_jsonl_is_named_and_the_others_go_in(tmp_path: Path) -> None:
    lines = [json.dumps(_chat(n)) for n in range(3)]
    lines.insert(1, '{"id": "x", "mapping": {')
    lines.insert(3, "[1, 2]")
    file = tmp_path / "c.jsonl"
    file.write_text("\n".join(lines) + "\n\n")
    export = _opened(file)
    assert _ids(export) == ["c0", "c1", "c2"]
    assert [one.place for one in _problems(export)] == ["line 2", "line 4"]


def test_progress_counts_bytes_up_to_the_size_of_the_parts(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(json.dumps([_chat(number, "x" * 200_000)]))
    told: list[tuple[int, int]] = []
    export = open_export(tmp_path, tz=UTC, on_bytes=lambda read, total: told.append((read, total)))
    assert told == []
    assert len(_ids(export)) == 3
    assert told == sorted(told)
    assert told[-1] == (export.total_bytes, export.total_bytes)
    assert len(told) > 6


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ("  \n ", "is empty"),
        ("<!DOCTYPE html><html>", "is a web page"),
        ("\x00\x01\x02", "neither text nor a zip"),
        ('[{"uuid": "1", "name": "P", "docs": []}]', "looks like a Claude project file"),
        ('[{"uuid": "1", "full_name": "A"}]', "users file of a Claude export"),
        ('[{"id": "1", "conversation_id": "2", "rating": "up"}]', "message feedback"),
        ('{"a": 1}', "in no format that is known"),
        ("[]", "in no format that is known"),
        ("Dear diary, today it rained.", "in no format that is known"),
    ],
)
def test_a_file_that_is_no_export_is_refused_with_reason_and_formats(
    tmp_path: Path, content: str, reason: str
) -> None:
    file = tmp_path / "thing"
    file.write_text(content)
    with pytest.raises(ImportFormatError, match=reason) as caught:
        _opened(file)
    assert str(file) in caught.value.message
    assert "chatgpt" in caught.value.hint


def test_paths_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="does not exist"):
        _opened(tmp_path / "nothing")
    with pytest.raises(ImportFormatError, match="holds no files"):
        _opened(tmp_path)
    damaged = tmp_path / "d.zip"
    damaged.write_bytes(b"PK\x03\x04 and then nothing of the kind")
    with pytest.raises(ImportFormatError, match="is a damaged zip"):
        _opened(damaged)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "bomb.zip"
    with (
        zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("conversations.json", "w", force_zip64=True) as member,
    ):
        for _ in range(80):
            member.write(b" " * 1024 * 1024)
    with pytest.raises(ImportFormatError, match="times its packed size") as caught:
        _opened(archive)
    assert caught.value.place == "conversations.json"


def test_a_zip_whose_data_is_damaged_gives_what_can_be_read(tmp_path: Path) -> None:
    archive = tmp_path / "c.zip"
    chats = [_chat(n, str(hash((n, k))) * 9) for n in range(200) for k in range(9)]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("conversations.json", json.dumps(chats))
    data = bytearray(archive.read_bytes())
    middle = len(data) * 3 // 4
    data[middle : middle + 2000] = b"\xff" * 2000
    archive.write_bytes(data)
    export = _opened(archive)
    assert 0 < len(_ids(export)) < len(chats)
    assert len(_problems(export)) == 1


def test_a_named_format_is_enforced(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(_chats(1))
    assert _ids(open_export(file, tz=UTC, format="chatgpt")) == ["c0"]
    with pytest.raises(ImportFormatError, match="is not in the format 'claude'"):
        open_export(file, tz=UTC, format="claude")
    with pytest.raises(UsageError, match="no format 'chat-gpt'"):
        open_export(file, tz=UTC, format="chat-gpt")
