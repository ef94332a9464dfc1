"""Language tables: the words and patterns by which a language speaks of time.

A language is one TOML file beside this module. Its rules are patterns over lower-case text, each
with the words that can trigger it and the name of what it means (see `relative` and `named`).
This module reads and compiles the tables; it knows no calendar.

Placeholders in a pattern stand for a named group of alternatives: `{count}`, `{unit}`,
`{relative}`, `{day_word}`, `{weekday}`, `{month}`, `{any_month}`, `{season}`, `{holiday}`,
`{part}`, `{day}`, `{year}`, `{decade}`. A digit after the name makes a second group. A space
stands for any run of white space.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = ("en", "de", "es", "fr")
"""Codes of the languages that have a table; the first wins where nothing tells them apart."""

_FIXED_GROUPS = {
    "day": r"(?:0?[1-9]|[12]\d|3[01])",
    "year": r"(?:19|20)\d\d",
    "decade": r"(?:(?:19|20)\d|[3-9])0",
}
_PLACEHOLDER = re.compile(r"\{([a-z_]+)(\d?)\}")


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern and what it means. `cues` are the words one of which must be in the text."""

    meaning: str
    source: str
    cues: frozenset[str]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled at the first text that needs it: a whole table takes too long for a start."""
        return _compiled(self.source)


@dataclass(frozen=True, slots=True)
class Language:
    """A compiled table.

    `words` maps each group name to its words and their values. `tense` matches cues in groups
    `past` and `future`. `recurring` matches what makes a date one of many. `rules_by_cue` is
    the prefilter: a text without any of its keys holds no time expression.
    """

    code: str
    day_first: bool
    sunday_starts_week: bool
    words: Mapping[str, Mapping[str, Any]]
    function_words: frozenset[str]
    tense_source: str
    recurring_source: str
    since_source: str
    capitalised: frozenset[str]
    rules_by_cue: Mapping[str, tuple[Rule, ...]]

    @property
    def tense(self) -> re.Pattern[str]:
        return _compiled(self.tense_source)

    @property
    def recurring(self) -> re.Pattern[str]:
        return _compiled(self.recurring_source)

    @property
    def since(self) -> re.Pattern[str]:
        return _compiled(self.since_source)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


@cache
def language_table(code: str) -> Language:
    """The compiled table of a language.

    Raises:
        ValueError: there is no such table.
    """
    if code not in LANGUAGES:
        raise ValueError(f"no date table for {code!r}; there are {', '.join(LANGUAGES)}")
    text = (resources.files(__package__) / f"{code}.toml").read_text(encoding="utf-8")
    return _compile(tomllib.loads(text))


@cache
def all_cues() -> frozenset[str]:
    """Every cue of every language."""
    return frozenset().union(*(language_table(code).rules_by_cue for code in LANGUAGES))


def guess_language(tokens: Iterable[str]) -> str:
    """The language with most of its function words and cues among the tokens."""
    seen = frozenset(tokens)
    scores = {code: len(seen & _telling_words(code)) for code in LANGUAGES}
    return max(LANGUAGES, key=lambda code: (scores[code], -LANGUAGES.index(code)))


@cache
def _telling_words(code: str) -> frozenset[str]:
    table = language_table(code)
    return table.function_words | {cue for cue in table.rules_by_cue if cue.isalpha()}


def _compile(table: Mapping[str, Any]) -> Language:
    words: Mapping[str, Mapping[str, Any]] = table["words"]
    groups = {name: _alternatives(entries) for name, entries in words.items()} | _FIXED_GROUPS
    groups["count"] = rf"(?:\d{{1,3}}|{groups['count']})"
    rules = [_rule(entry, groups, words) for entry in table["rule"]]
    by_cue: dict[str, list[Rule]] = {}
    for rule in rules:
        for cue in rule.cues:
            by_cue.setdefault(cue, []).append(rule)
    return Language(
        code=table["code"],
        day_first=table["day_first"],
        sunday_starts_week=table.get("sunday_starts_week", False),
        words=words,
        function_words=frozenset(table["function_words"]),
        tense_source=_tense_source(table["past"], table["future"]),
        recurring_source=rf"\b(?:{table['recurring']})\b",
        since_source=rf"\b(?:{table['since']})\s+$",
        capitalised=frozenset(table.get("capitalised", ())),
        rules_by_cue={cue: tuple(found) for cue, found in by_cue.items()},
    )


def _tense_source(past: str, future: str) -> str:
    past, future = ("".join(pattern.split("\n")) for pattern in (past, future))
    return rf"\b(?:(?P<past>{past})|(?P<future>{future}))\b"


def _alternatives(entries: Mapping[str, Any]) -> str:
    longest_first = sorted(entries, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in longest_first) + ")"


def _rule(
    entry: Mapping[str, Any], groups: Mapping[str, str], words: Mapping[str, Mapping[str, Any]]
) -> Rule:
    def group(found: re.Match[str]) -> str:
        name, number = found.groups()
        return f"(?P<{name}{number}>{groups[name]})"

    spaced = entry["find"].replace(" ?", r"\s*").replace(" ", r"\s+")
    source = rf"\b(?:{_PLACEHOLDER.sub(group, spaced)})(?!\w)"
    cues = frozenset(word for cue in entry["cues"] for word in _cue_words(cue, words))
    return Rule(entry["means"], source, cues)


def _cue_words(cue: str, words: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """The tokens a cue stands for: itself, or with "@" the words of a group."""
    if not cue.startswith("@"):
        return (cue,)
    name = cue[1:]
    if name == "year":
        return (str(year) for year in range(1900, 2100))
    if name == "ordinal":
        return (f"{n}{end}" for n in range(1, 32) for end in ("st", "nd", "rd", "th"))
    if name == "decade":
        numbers = [*range(30, 100, 10), *range(1900, 2100, 10)]
        return (f"{number}s" for number in numbers)
    return (re.findall(r"\w+", word)[0] for word in words[name])
