"""Long texts in windows that each fit a model, cut between sentences, nothing left out. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
_SPACE = re.compile(r"\s+")


def text_windows(text: str, most_characters: int) -> list[str]:
    """The text in order in pieces of at most so many characters; [] for blank text.

    Cut after a sentence or line; one that is too long itself is cut at a space, or anywhere.
    """
    windows: list[str] = []
    current = ""
    for piece in _pieces(text, most_characters):
        joined = f"{current} {piece}" if current else piece
        if len(joined) > most_characters and current:
            windows.append(current)
            current = piece
        else:
            current = joined
    return [*windows, current] if current else windows


def grouped(lengths: Sequence[int], fits: Callable[[int, int], bool]) -> list[range]:
    """Consecutive items in groups as long as `fits(begin, stop)` allows; each has at least one."""
    groups: list[range] = []
    begin = 0
    for stop in range(1, len(lengths) + 1):
        if stop - begin > 1 and not fits(begin, stop):
            groups.append(range(begin, stop - 1))
            begin = stop - 1
    return [*groups, range(begin, len(lengths))] if lengths else groups


def _pieces(text: str, most: int) -> list[str]:
    pieces: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        rest = sentence.strip()
        while len(rest) > most:
            spaces = [match.start() for match in _SPACE.finditer(rest, most // 2, most)]
            cut = spaces[-1] if spaces else most
            pieces.append(rest[:cut].strip())
            rest = rest[cut:].strip()
        if rest:
            pieces.append(rest)
    return pieces
