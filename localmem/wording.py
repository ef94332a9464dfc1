"""How a number stands with its noun in a sentence."""

from __future__ import annotations


def counted(count: int, one: str, several: str = "") -> str:
    """A number with what it counts: "1 message", "2,000 messages".

    `several` is what follows any number but 1 where that is not `one` with an s: "replies", or
    with its verb "messages were forgotten".
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"
