"""Standing wishes: how the owner said they want things done. Found by rule, in their own words.

A wish is data. It is stored and shown as "the owner wants ..."; nothing in here or above carries
it out. (FluxMem's reusable strategies; the patterns are ours.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localmem.types import EntryId, LastingEntry, LastingKind, Message

MOST_CHARACTERS = 300
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]*")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_STANDING = re.compile(
    r"^\W*(?:please |also |and |so )*(?:always|never|(?:make sure|remember) to always)\b"
    r"|\b(?:from now on|in (?:the )?future,|going forward,|every time i|whenever i|each time i)\b"
    r"|\bwhen(?:ever)? i ask\b.{0,80}\b(?:please|always|never|use|give|include|answer|reply|show)\b"
    r"|\bplease (?:always|never)\b"
    r"|\bi(?:'d| would)? (?:always |really )?(?:want|like|need) you to (?:always|never)\b"
    r"|\b(?:do not|don't) ever\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\bi(?:'d| would| do| really| usually| always| generally| still|)? ?(?:prefer|rather have)\b"
    r"|\bmy (?:stated )?preferences?\b|\bi preferred\b"
    r"|\bi(?:'d| would) (?:rather|prefer)\b"
    r"|\bi(?:'m| am) trying to (?:keep|avoid|stick)\b"
    r"|\bi (?:like|want) to (?:keep|avoid|stick)\b"
    r"|\bwithout using too much\b"
    r"|\bi(?:'d| would) like (?:to keep|you to|it (?:if|when))\b"
    r"|\bi (?:favou?r|avoid|stick to|insist on)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wish:
    """A wish in the owner's words. `standing`: said as a rule for later, not as a liking."""

    text: str
    standing: bool


def wishes_of(text: str) -> tuple[Wish, ...]:
    """The wishes in a message of the owner's, in order; code blocks are passed over."""
    found: list[Wish] = []
    for match in _SENTENCE.finditer(_CODE.sub(" ", text)):
        sentence = " ".join(match.group().split())
        standing = _STANDING.search(sentence) is not None
        if standing or _PREFERENCE.search(sentence):
            found.append(Wish(_cut(sentence), standing))
    return tuple(dict.fromkeys(found))


def entries_of(message: Message, first_id: int) -> list[LastingEntry]:
    """A message's wishes as entries of the long term, with ids from `first_id` on.

    A standing wish counts as said twice: it asks to be kept.
    """
    return [
        LastingEntry(
            EntryId(first_id + number),
            LastingKind.WISH,
            wish.text,
            "",
            "standing" if wish.standing else "preference",
            message.said_at,
            message.said_at,
            (message.id,),
            supporting=2 if wish.standing else 1,
            confirmations=2 if wish.standing else 1,
        )
        for number, wish in enumerate(wishes_of(message.text))
    ]


def told_within(
    entries: Sequence[LastingEntry], limit_tokens: int, count_tokens: Callable[[str], int]
) -> tuple[tuple[LastingEntry, str], ...]:
    """As many of the wishes, the nearest first, as a limit holds, each as evidence shows it.

    A wish that is longer than what is left is passed over.
    """
    chosen: list[tuple[LastingEntry, str]] = []
    for entry in entries:
        lines = [*(line for _, line in chosen), as_told(entry)]
        if count_tokens("\n".join(lines)) <= limit_tokens:
            chosen.append((entry, lines[-1]))
    return tuple(chosen)


def as_told(entry: LastingEntry) -> str:
    """A wish as evidence shows it: whose it is, and that it is their word."""
    day = entry.last_said_at
    said = f" on {day:%Y-%m-%d}" if day is not None else ""
    return f"The owner said{said}: “{entry.text}”"


def _cut(sentence: str) -> str:
    if len(sentence) <= MOST_CHARACTERS:
        return sentence
    return sentence[:MOST_CHARACTERS].rsplit(" ", 1)[0] + " …"
