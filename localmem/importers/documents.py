"""One file of an export as a stream of JSON values or of lines, whatever state it is in.

Values before a break are handed on; the break itself is handed on as a `Break`. This module
knows shapes (array, object, one value a line, text), not formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import IO, Any

from localmem.importers.records import clean
from localmem.importers.streams import (
    BrokenStreamError,
    Part,
    Utf8Bytes,
    encoding_of,
    text_of_part,
)

_LINES_LOOKED_AT = 20
_SAMPLES = 5
_TEXT_LINES = 400
_READ_BYTES = 64 * 1024


class Shape(StrEnum):
    """What the bytes of a part are, before any format is considered."""

    ARRAY = "array"
    OBJECT = "object"
    LINES = "lines"
    TEXT = "text"
    EMPTY = "empty"
    BINARY = "binary"
    HTML = "html"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Item:
    """A JSON value and where it stands: "item 17" or "line 17"."""

    place: str
    value: Any


@dataclass(frozen=True, slots=True)
class Break:
    """Where and why nothing (or, in a file of lines, this one line) could be read."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    """A part whose shape and encoding are known."""

    part: Part
    shape: Shape
    encoding: str
    on_bytes: Callable[[int], None] | None = None

    def items(self) -> Iterator[Item | Break]:
        """The values of the document in order; an object is one value."""
        reader = {
            Shape.ARRAY: _array_items,
            Shape.OBJECT: _object_items,
            Shape.LINES: _line_items,
        }.get(self.shape)
        if reader is not None:
            yield from reader(self)

    def lines(self) -> Iterator[str | Break]:
        """The lines of the document without their ends."""
        with self.text(newline=None) as text:
            try:
                for line in text:
                    yield line.rstrip("\n")
            except BrokenStreamError as error:
                yield Break("", f"could not be read further: {error}")

    @contextmanager
    def text(self, *, newline: str | None) -> Iterator[IO[str]]:
        """The document opened as text; `newline` as for `open`."""
        with (
            self.part.open() as raw,
            text_of_part(raw, self.encoding, self.on_bytes, newline=newline) as text,
        ):
            yield text

    def samples(self) -> list[dict[str, Any]]:
        """The first few objects, to know the format by; of a text {"lines": its first lines}."""
        if self.shape is Shape.TEXT:
            return [{"lines": list(islice(self.lines(), _TEXT_LINES))}]
        values = (item.value for item in self.items() if isinstance(item, Item))
        return list(islice((value for value in values if isinstance(value, dict)), _SAMPLES))


def document_of(part: Part, on_bytes: Callable[[int], None] | None = None) -> Document:
    """The part with its shape and encoding.

    Raises: BrokenStreamError where not even the beginning can be read.
    """
    head = part.head()
    encoding = encoding_of(head)
    return Document(part, _shape(part, head, encoding), encoding, on_bytes)


def _shape(part: Part, head: bytes, encoding: str) -> Shape:
    if head.startswith(b"SQLite format 3"):
        return Shape.DATABASE
    start = head.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
    if not start:
        return Shape.EMPTY
    if "\x00" in start[:4096]:
        return Shape.BINARY
    if re.match(r"<(!doctype|html|\?xml)", start, re.IGNORECASE):
        return Shape.HTML
    if start[0] == "{":
        return Shape.LINES if _holds_one_value_a_line(part, encoding) else Shape.OBJECT
    return Shape.ARRAY if _ARRAY.match(start) else Shape.TEXT


_ARRAY = re.compile(r'\[\s*([\[{\]"]|$|((null|true|false|-?[\d.eE+]+)\s*,\s*)+[\[{\]"nt\d-])')


def _holds_one_value_a_line(part: Part, encoding: str) -> bool:
    with part.open() as raw, text_of_part(raw, encoding, None) as text:
        try:
            lines = list(islice(text, _LINES_LOOKED_AT))
        except BrokenStreamError:
            return False
    return any(line[0] in "{\ufeff" and _is_object(line) for line in lines)


def _is_object(line: str) -> bool:
    value = _parsed(line)
    return isinstance(value, dict) and bool(value)


def _parsed(line: str) -> object:
    """The JSON value of a line, or a Break that says why it has none."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        return Break("", f"not valid JSON: {error.msg} at column {error.colno}")
    except (RecursionError, ValueError) as error:
        return Break("", f"not readable JSON: {error}")


def _line_items(document: Document) -> Iterator[Item | Break]:
    for number, line in enumerate(document.lines(), start=1):
        place = f"line {number}"
        if isinstance(line, Break):
            yield Break(place, line.reason)
        elif line.strip():
            value = _parsed(line.lstrip("\ufeff"))
            yield Break(place, value.reason) if isinstance(value, Break) else Item(place, value)


def _array_items(document: Document) -> Iterator[Item | Break]:
    with document.text(newline="") as text:
        yield from _streamed(text)


def _streamed(text: IO[str]) -> Iterator[Item | Break]:
    import ijson

    source = Utf8Bytes(text)
    number = 0
    try:
        for value in ijson.items(source, "item", buf_size=_READ_BYTES):
            number += 1
            yield Item(f"item {number}", value)
    except BrokenStreamError as error:
        yield Break(f"after item {number}", f"could not be read further: {error}")
    except (ijson.JSONError, ValueError) as error:
        yield Break(f"item {number + 1}, {_place(error, source)}", _why(error))


def _object_items(document: Document) -> Iterator[Item | Break]:
    """The one object; of a broken one all that stands before the break, then the break."""
    with document.text(newline="") as text:
        try:
            value = json.load(text)
        except (BrokenStreamError, RecursionError, ValueError):
            value = None
    if value is not None:
        yield Item("", value)
        return
    with document.text(newline="") as text:
        yield from _salvaged(text)


def _salvaged(text: IO[str]) -> Iterator[Item | Break]:
    import ijson
    from ijson.common import ObjectBuilder

    source = Utf8Bytes(text)
    builder = ObjectBuilder()
    broken: Break | None = None
    try:
        for event, value in ijson.basic_parse(source, buf_size=_READ_BYTES):
            builder.event(event, value)
    except BrokenStreamError as error:
        broken = Break(f"after byte {source.count}", f"could not be read further: {error}")
    except (ijson.JSONError, ValueError) as error:
        broken = Break(_place(error, source), _why(error))
    if getattr(builder, "value", None) is not None:
        yield Item("", builder.value)
    if broken is not None:
        yield broken


def _why(error: Exception) -> str:
    reason = clean(str(error)).strip().partition("\n")[0].rstrip(".")
    return f"the JSON breaks off or is wrong here ({reason or type(error).__name__})"


def _place(error: Exception, source: Utf8Bytes) -> str:
    """The byte of a parse error: exact where the parser's excerpt is found in the last bytes.

    The parser draws an arrow under an excerpt, to where it had read: past a wrong character.
    """
    lines = str(error).split("\n")
    if "premature EOF" in lines[0] or len(lines) < 3 or "^" not in lines[2]:
        return f"byte {source.count}"
    arrow = lines[2].index("^") - (1 if "lexical" in lines[0] else 0)
    before = lines[1][:arrow].lstrip().encode("utf-8", "replace")
    excerpt = lines[1].strip().encode("utf-8", "replace")
    found = source.last.replace(b"\n", b" ").replace(b"\r", b" ").find(excerpt)
    if not excerpt or found < 0:
        return f"before byte {source.count}"
    return f"byte {source.count - len(source.last) + found + len(before)}"
