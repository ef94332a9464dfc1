"""How a number stands with its noun in a sentence."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localmem.types import ErasureReceipt

_ONE_OF = {"summaries": "summary", "replies": "reply"}


def counted(count: int, one: str, several: str = "") -> str:
    """A number with what it counts: "1 message", "2,000 messages".

    `several` is what follows any number but 1 where that is not `one` with an s: "replies", or
    with its verb "messages were forgotten".
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def erased_rows(erased: ErasureReceipt) -> str:
    """The counts of a receipt by kind of row: "3 messages, 1 turn"."""
    others = ("bytes_before", "bytes_after", "kept_out")
    rows = {f.name: getattr(erased, f.name) for f in fields(erased) if f.name not in others}
    told = (
        counted(count, _ONE_OF.get(name, name.removesuffix("s")), name)
        for name, count in rows.items()
        if count
    )
    return ", ".join(told) or "nothing"
