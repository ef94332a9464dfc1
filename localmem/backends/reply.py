"""Tokens -> the visible text of a reply: whole characters, no thinking, no endless loop. Pure."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

_OPEN, _CLOSE = "<think>", "</think>"
_LONGEST_PERIOD = 64
_LEAST_REPEATS = 3
_LEAST_TOKENS = 32


class ReplyText:
    """Collects token bytes and tells `on_text` each new part that is sure to be shown.

    Bytes of a character that is not complete wait; a leading think block is left out.
    """

    def __init__(self, on_text: Callable[[str], None] | None = None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._on_text = on_text
        self._whole = ""
        self._shown = 0

    def feed(self, piece: bytes) -> None:
        """Take the bytes of one token."""
        self._whole += self._decoder.decode(piece)
        self._show()

    def finish(self) -> str:
        """The whole visible text; an incomplete character at its end becomes U+FFFD."""
        self._whole += self._decoder.decode(b"", final=True)
        visible = without_thinking(self._whole)
        if self._on_text is not None and len(visible) > self._shown:
            self._on_text(visible[self._shown :])
            self._shown = len(visible)
        return visible

    def _show(self) -> None:
        if self._on_text is None or _may_be_thinking(self._whole):
            return
        visible = without_thinking(self._whole)
        if len(visible) > self._shown:
            self._on_text(visible[self._shown :])
            self._shown = len(visible)


def without_thinking(text: str) -> str:
    """The text after a leading think block; "" while the block is open."""
    stripped = text.lstrip()
    if not stripped.startswith(_OPEN):
        return text
    _, closed, rest = stripped.partition(_CLOSE)
    return rest.lstrip() if closed else ""


def repeats_endlessly(tokens: Sequence[int]) -> bool:
    """Whether the end is one run of at most 64 tokens over and over.

    True from three repeats on, if they are 32 tokens or more together.
    """
    length = len(tokens)
    for period in range(1, min(_LONGEST_PERIOD, length // _LEAST_REPEATS) + 1):
        if tokens[-1] != tokens[-1 - period]:
            continue
        span = max(_LEAST_REPEATS * period, _LEAST_TOKENS)
        if span <= length and all(
            tokens[-i] == tokens[-i - period] for i in range(1, span - period + 1)
        ):
            return True
    return False


def _may_be_thinking(text: str) -> bool:
    """Whether what came so far could still turn out to be the start of a think block."""
    stripped = text.lstrip()
    return _OPEN.startswith(stripped) if len(stripped) < len(_OPEN) else False
