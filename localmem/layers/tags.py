"""Tags of a turn from a closed list, by its words. Topics stand in `tags.toml`.

No model and no vectors: a tag is given because certain words were said, so it can be explained.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

KINDS = ("question", "plan", "event", "wish", "code", "photo", "greeting", "chat")
"""Labels for what a turn does, beside what it is about; "chat" where nothing else tells."""

_TOKEN = re.compile(r"[^\W_]+")
_LONGEST_PREFIX = 9
_SHORTEST_PREFIX = 3


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words, and beginnings of words, with the topic they speak for."""

    topics: tuple[str, ...]
    by_word: Mapping[str, str]
    by_prefix: Mapping[str, str]


@cache
def lexicon() -> Lexicon:
    """The shipped list of topics."""
    text = (resources.files(__package__) / "tags.toml").read_text(encoding="utf-8")
    topics: Mapping[str, str] = tomllib.loads(text)["topics"]
    by_word: dict[str, str] = {}
    by_prefix: dict[str, str] = {}
    for topic, listed in topics.items():
        for word in listed.split():
            target = by_prefix if word.endswith("*") else by_word
            target.setdefault(word.rstrip("*"), topic)
    return Lexicon(tuple(topics), by_word, by_prefix)


def tag_names() -> tuple[str, ...]:
    """Every tag there is."""
    return (*lexicon().topics, *KINDS)


def topics_of(text: str) -> tuple[str, ...]:
    """Topics that the text speaks of, the most spoken of first; () where it names none."""
    known = lexicon()
    heard = Counter(
        topic for token in _TOKEN.findall(text.lower()) if (topic := _topic(token, known))
    )
    order = {topic: place for place, topic in enumerate(known.topics)}
    return tuple(sorted(heard, key=lambda topic: (-heard[topic], order[topic])))


def choose_tags(
    topics: Iterable[str], kinds: Iterable[str], *, at_most: int = 5
) -> tuple[str, ...]:
    """The leading topics, then kinds to fill up; always room for one kind."""
    kept = list(topics)[: at_most - 1]
    return tuple([*kept, *kinds][:at_most])


def _topic(token: str, known: Lexicon) -> str | None:
    topic = known.by_word.get(token)
    if topic is not None or len(token) < _SHORTEST_PREFIX:
        return topic
    for length in range(min(len(token), _LONGEST_PREFIX + 3), _SHORTEST_PREFIX - 1, -1):
        topic = known.by_prefix.get(token[:length])
        if topic is not None:
            return topic
    return None
