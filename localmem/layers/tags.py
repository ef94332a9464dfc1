"""Tags of a turn from a closed list, by its words. Topics stand in `tags.toml`.

No model and no vectors: a tag is given because certain words were said, so it can be explained.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

KINDS = ("question", "plan", "event", "wish", "photo", "greeting", "chat")
"""Labels for what a turn does, beside what it is about; "chat" where nothing else tells."""

_TOKEN = re.compile(r"[^\W_]+")
_STEM = 3  # beginnings of words are looked up by their first letters


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words, and beginnings of words, with the topic they speak for."""

    topics: tuple[str, ...]
    by_word: Mapping[str, str]
    by_stem: Mapping[str, tuple[tuple[str, str], ...]]


@cache
def lexicon() -> Lexicon:
    """The shipped list of topics."""
    text = (resources.files(__package__) / "tags.toml").read_text(encoding="utf-8")
    topics: Mapping[str, str] = tomllib.loads(text)["topics"]
    by_word: dict[str, str] = {}
    by_stem: dict[str, tuple[tuple[str, str], ...]] = {}
    for topic, listed in topics.items():
        for word in listed.split():
            if not word.endswith("*"):
                by_word.setdefault(word, topic)
                continue
            beginning = word.removesuffix("*")
            stem = beginning[:_STEM]
            by_stem[stem] = (*by_stem.get(stem, ()), (beginning, topic))
    return Lexicon(tuple(topics), by_word, by_stem)


def tag_names() -> tuple[str, ...]:
    """Every tag there is."""
    return (*lexicon().topics, *KINDS)


def tokens_of(text: str) -> list[str]:
    """The lower-case words by which tags are chosen."""
    return _TOKEN.findall(text.lower())


def topics_of(tokens: Iterable[str]) -> tuple[str, ...]:
    """Topics that the words speak of, the most spoken of first; () where they name none."""
    known = lexicon()
    heard = Counter(_topics(tokens, known))
    if len(heard) <= 1:
        return tuple(heard)
    order = {topic: place for place, topic in enumerate(known.topics)}
    return tuple(sorted(heard, key=lambda topic: (-heard[topic], order[topic])))


def choose_tags(
    topics: Iterable[str], kinds: Iterable[str], *, at_most: int = 5
) -> tuple[str, ...]:
    """The leading topics, then kinds to fill up; always room for one kind."""
    kept = list(topics)[: at_most - 1]
    return tuple(dict.fromkeys([*kept, *kinds]))[:at_most]


def _topics(tokens: Iterable[str], known: Lexicon) -> Iterator[str]:
    by_word, by_stem = known.by_word, known.by_stem
    for token in tokens:
        if token in by_word:
            yield by_word[token]
            continue
        for beginning, topic in by_stem.get(token[:_STEM], ()):
            if token.startswith(beginning):
                yield topic
                break
