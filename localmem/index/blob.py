"""A snapshot as bytes: a JSON stamp and named arrays, checked by hash. Never a pickle.

Layout: magic, sha256 of the rest, length of the head (8 bytes, little-endian), the head (JSON:
stamp, and name, dtype and shape of each array), the arrays' bytes in order, each padded to 8.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localmem.errors import StaleIndexError

_MAGIC = b"localmem-index-1"
_HASH = 32
_ALLOWED = frozenset({"float32", "int64", "int32", "uint16", "uint8", "bool"})
_HINT = "run: localmem reindex"

Stamp = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a snapshot holds; the arrays are read-only views into it."""

    stamp: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def pack(stamp: Stamp, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The snapshot of a stamp and arrays; equal input gives equal bytes."""
    head = {
        "stamp": dict(stamp),
        "arrays": [[name, str(a.dtype), list(a.shape)] for name, a in arrays.items()],
    }
    head_bytes = json.dumps(head, sort_keys=True, ensure_ascii=False).encode()
    head_bytes += b" " * (-len(head_bytes) % 8)
    body = b"".join(
        [len(head_bytes).to_bytes(8, "little"), head_bytes]
        + [_padded(np.ascontiguousarray(a).tobytes()) for a in arrays.values()]
    )
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(snapshot: bytes, *, kind: str) -> Unpacked:
    """The stamp and arrays of a snapshot whose stamp has this `kind`.

    Raises:
        StaleIndexError: the bytes are damaged, cut short or of another kind.
    """
    start = len(_MAGIC) + _HASH
    if len(snapshot) < start + 8 or not snapshot.startswith(_MAGIC):
        raise StaleIndexError("the index snapshot is not in this version's format", hint=_HINT)
    body = memoryview(snapshot)[start:]
    if hashlib.sha256(body).digest() != snapshot[len(_MAGIC) : start]:
        raise StaleIndexError("the index snapshot is damaged: its hash differs", hint=_HINT)
    head_length = int.from_bytes(body[:8], "little")
    head = json.loads(bytes(body[8 : 8 + head_length]))
    if head["stamp"].get("kind") != kind:
        raise StaleIndexError(
            f"the index snapshot holds {head['stamp'].get('kind')!r}, want {kind!r}", hint=_HINT
        )
    return Unpacked(head["stamp"], _arrays(head["arrays"], body, 8 + head_length))


def kind_of(snapshot: bytes) -> str:
    """The kind in a snapshot's stamp, unchecked; "" where it is not a snapshot."""
    start = len(_MAGIC) + _HASH
    if not snapshot.startswith(_MAGIC) or len(snapshot) < start + 8:
        return ""
    length = int.from_bytes(snapshot[start : start + 8], "little")
    head = json.loads(snapshot[start + 8 : start + 8 + length])
    return str(head["stamp"].get("kind", ""))


def _arrays(listed: list[Any], body: memoryview, place: int) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype, shape in listed:
        if dtype not in _ALLOWED:
            raise StaleIndexError(f"the index snapshot holds an array of {dtype}", hint=_HINT)
        count = math.prod(shape)
        array = np.frombuffer(body, dtype=dtype, count=count, offset=place).reshape(shape)
        arrays[name] = array
        place += array.nbytes + (-array.nbytes % 8)
    return arrays


def pack_words(words: list[str]) -> NDArray[np.uint8]:
    """Words (without line breaks) as one array of UTF-8 bytes."""
    return np.frombuffer("\n".join(words).encode(), dtype=np.uint8)


def unpack_words(packed: NDArray[np.uint8]) -> list[str]:
    """The words of `pack_words`."""
    return packed.tobytes().decode().split("\n") if packed.size else []


def _padded(raw: bytes) -> bytes:
    return raw + bytes(-len(raw) % 8)
