"""How values look as text: one place for dates, sizes, excerpts and lit words.

Text from chats is data: its control characters are made visible and it is never read as markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from rich.text import Text

_CONTROLS: dict[int, int | str] = {
    **{c: 0x2400 + c for c in range(32) if chr(c) not in "\n\t"},
    ord("\t"): "    ",
    127: 0x2421,
    **dict.fromkeys(range(128, 160), 0xFFFD),
}
_WORD = re.compile(r"\w+")
_STEM_FROM = 5
"""Words of so many letters are lit in their other forms too: "trains" for "train"."""


def plain(text: str) -> str:
    """The text with its control characters made visible, so that no terminal obeys them."""
    return text.translate(_CONTROLS)


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(plain(text).split())


def titled(title: str) -> str:
    """A session's title on one line; many chats have none."""
    return flat(title) or "untitled"


def excerpt(text: str, words: Iterable[str], *, characters: int) -> str:
    """A part of the text on one line, about so long, that holds the first of the words."""
    line = flat(text)
    if len(line) <= characters:
        return line
    found = pattern_of(words)
    match = found.search(line) if found is not None else None
    start = max(0, match.start() - characters // 3) if match else 0
    start = line.rfind(" ", 0, start) + 1 if start else 0
    head = "… " if start else ""
    tail = " …" if start + characters < len(line) else ""
    return f"{head}{line[start : start + characters - len(head) - len(tail)].rstrip()}{tail}"


def query_words(query: str) -> tuple[str, ...]:
    """The words of a query that are worth lighting up."""
    words = _WORD.findall(query.lower())
    telling = [word for word in words if len(word) > 2 or not word.isascii() or word.isdigit()]
    return tuple(dict.fromkeys(telling or words))


def pattern_of(words: Iterable[str]) -> re.Pattern[str] | None:
    """What finds any of the words, and longer ones that begin with them; None for no words."""
    parts = [_part(word) for word in words if word]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def _part(word: str) -> str:
    if not word.isascii():
        return re.escape(word)
    stem = word[:-1] if len(word) > _STEM_FROM and word[-1] in "sey" else word
    return rf"\b{re.escape(stem)}\w*" if len(word) >= _STEM_FROM else rf"\b{re.escape(word)}\b"


def lit(text: Text, words: Iterable[str], style: str) -> Text:
    """The text with the words lit, in place."""
    found = pattern_of(words)
    if found is not None:
        for match in found.finditer(text.plain):
            text.stylize(style, match.start(), match.end())
    return text


def moment(value: datetime | None) -> str:
    """A time as people write it."""
    return value.strftime("%Y-%m-%d %H:%M") if value else "no time"


def day(value: datetime | None) -> str:
    """A day as people write it."""
    return value.strftime("%Y-%m-%d") if value else "no time"


def size(count: float) -> str:
    """Bytes in the unit that keeps them short: "98 MB"."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:,.0f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"


def duration(seconds: float) -> str:
    """A length of time as people say it: "0.4 s", "40 s", "12 min", "3.5 h"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
