"""The files of an export: a file, a folder of files, or a zip, without unpacking to disk."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from localmem.errors import ImportFormatError
from localmem.importers.records import clean
from localmem.importers.streams import BrokenStreamError, Part

_BOMB_RATIO = 200
_BOMB_BYTES = 64 * 1024 * 1024
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")


def parts_of(path: Path) -> list[Part]:
    """The parts of an export in the order of their names.

    Raises:
        ImportFormatError: the path does not exist, is neither file nor folder, or is a zip that
            cannot be read or unpacks to an absurd size.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return [part for file in _files(path) for part in _parts_of_file(file)]
        if stat.S_ISREG(mode):
            return _parts_of_file(path)
    except FileNotFoundError as error:
        raise ImportFormatError(
            str(path), "", "does not exist", hint="give the export's file, folder or zip"
        ) from error
    except OSError as error:
        unread = str(error.filename or path)
        raise ImportFormatError(unread, "", error.strerror or "cannot be read") from error
    raise ImportFormatError(
        str(path), "", "is neither a file nor a folder", hint="save it to a file first"
    )


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        if not any(_is_clutter(name) for name in inner) and path.is_file():
            yield path


def _is_clutter(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def _parts_of_file(path: Path) -> list[Part]:
    with path.open("rb") as file:
        if file.read(4) in _ZIP_MAGIC:
            return _zip_parts(path)
    return [Part(clean(str(path)), path.stat().st_size, lambda: _opened_file(path))]


def _opened_file(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise BrokenStreamError(error.strerror or "cannot be opened") from error


def _zip_parts(path: Path) -> list[Part]:
    """The members of a zip, whose list is read once; it stays open as long as a part is kept."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise ImportFormatError(
            str(path), "", f"is a damaged zip: {error}", hint="download the export again"
        ) from error
    members = sorted(archive.infolist(), key=lambda member: member.filename)
    wanted = [member for member in members if _is_wanted(member)]
    for member in wanted:
        _check_member(path, member)
    return [_member_part(path, archive, member) for member in wanted]


def _is_wanted(member: zipfile.ZipInfo) -> bool:
    inner = PurePosixPath(member.filename).parts
    return not member.is_dir() and not any(_is_clutter(name) for name in inner)


def _check_member(path: Path, member: zipfile.ZipInfo) -> None:
    if member.flag_bits & 0x1:
        raise ImportFormatError(
            str(path), member.filename, "is encrypted", hint="unpack it and import the folder"
        )
    ratio = member.file_size / max(member.compress_size, 1)
    if member.file_size > _BOMB_BYTES and ratio > _BOMB_RATIO:
        raise ImportFormatError(
            str(path),
            member.filename,
            f"unpacks to {member.file_size:,} bytes, {ratio:,.0f} times its packed size",
            hint="if you trust it, unpack it and import the folder",
        )


def _member_part(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Part:
    shown = clean(f"{path}/{member.filename}")
    return Part(shown, member.file_size, lambda: _opened(archive, member))


def _opened(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    try:
        return archive.open(member)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise BrokenStreamError(str(error)) from error
