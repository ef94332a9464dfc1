"""Bytes of an export as UTF-8: counted, decoded from what they are, broken input translated.

Nothing is extracted to disk; a part is opened again for each reading.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

HEAD_BYTES = 64 * 1024


class BrokenStreamError(Exception):
    """The bytes of a part could not be read to the end."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file of an export. `shown` is how a person would name it; `size` is unpacked bytes."""

    shown: str
    size: int
    open: Callable[[], IO[bytes]]

    def head(self) -> bytes:
        """The first bytes of the part."""
        with self.open() as raw, io.BufferedReader(CountingReader(raw, None)) as counted:
            return counted.read(HEAD_BYTES)


class CountingReader(io.RawIOBase):
    """Passes bytes on and tells how many.

    Raises: BrokenStreamError where the file or the archive cannot be read further.
    """

    def __init__(self, raw: IO[bytes], on_bytes: Callable[[int], None] | None) -> None:
        super().__init__()
        self._raw = raw
        self._on_bytes = on_bytes
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            chunk = self._raw.read(len(buffer))
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise BrokenStreamError(str(error) or type(error).__name__) from error
        buffer[: len(chunk)] = chunk
        self.count += len(chunk)
        if self._on_bytes is not None:
            self._on_bytes(len(chunk))
        return len(chunk)


_TOO_DEEP = re.compile(rb"(?:\[\s*){300}")


class Utf8Bytes:
    """A decoded text as UTF-8 bytes, for a parser that wants bytes.

    Raises:
        BrokenStreamError: hundreds of arrays in each other, which would cost the parser gigabytes.
    """

    def __init__(self, text: IO[str]) -> None:
        self._text = text
        self.count = 0
        self.last = b""

    def read(self, size: int = -1) -> bytes:
        chunk = self._text.read(size).encode("utf-8", "replace")
        if _TOO_DEEP.search(chunk):
            raise BrokenStreamError("it is nested deeper than any chat is")
        self.count += len(chunk)
        self.last = chunk or self.last
        return chunk


def encoding_of(head: bytes) -> str:
    """The encoding of a text by its first bytes; Windows-1252 where it is no Unicode at all."""
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    sample = head[:512]
    if sample and sample[1::2].count(0) > len(sample) // 3:
        return "utf-16-le"
    if sample and sample[0::2].count(0) > len(sample) // 3:
        return "utf-16-be"
    return "utf-8" if _is_utf8(head) else "cp1252"


def _is_utf8(head: bytes) -> bool:
    """Whether the letters beyond ASCII are whole, but for a minority that is damaged."""
    text = head.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return broken <= sum(letter > "\x7f" for letter in text) - broken if broken else True


def text_of_part(
    raw: IO[bytes],
    encoding: str,
    on_bytes: Callable[[int], None] | None,
    *,
    newline: str | None = None,
) -> IO[str]:
    """The part as text; undecodable bytes become U+FFFD. `newline` as for `open`."""
    counted = io.BufferedReader(CountingReader(raw, on_bytes), HEAD_BYTES)
    return io.TextIOWrapper(counted, encoding=encoding, errors="replace", newline=newline)
