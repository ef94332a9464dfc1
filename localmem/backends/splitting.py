"""Cuts long text into pieces that fit an embedder, at sensible places. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SENTENCE_END = re.compile(r"[.!?…]['\")\]]*\s|[。！？]|\n")
_SPACE = re.compile(r"\s")
_EARLIEST = 0.5
"""A break is taken only in the last half of a piece, so that pieces do not become crumbs."""


def split_at_offsets(text: str, offsets: Sequence[tuple[int, int]], limit: int) -> list[str]:
    """Consecutive pieces of `text` with at most `limit` tokens each, blank ones left out.

    `offsets` are the character spans of the text's tokens. A piece ends after a sentence where one
    ends in its last half, else at white space there, else between two tokens.
    """
    pieces: list[str] = []
    begin, first = 0, 0
    while len(offsets) - first > limit:
        hard_end = offsets[first + limit - 1][1]
        end = max(_break_before(text, begin, hard_end), begin + 1)
        pieces.append(text[begin:end])
        begin = end
        while first < len(offsets) and offsets[first][0] < begin:
            first += 1
    pieces.append(text[begin:])
    return [piece.strip() for piece in pieces if piece.strip()]


def _break_before(text: str, begin: int, hard_end: int) -> int:
    earliest = begin + int((hard_end - begin) * _EARLIEST)
    for pattern in (_SENTENCE_END, _SPACE):
        last = None
        for match in pattern.finditer(text, earliest, hard_end):
            last = match.end()
        if last is not None:
            return last
    return hard_end
