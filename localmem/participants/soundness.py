"""What a slot's pattern took too much of, mended, or left out where nothing sound is left. Pure.

Patterns see words, not grammar: "I prefer trying things to be sure" is no choice between two, "for
15 minutes" no purpose. What is left out here is still read as a plain fact.
"""

from __future__ import annotations

import re
from dataclasses import replace

from localmem.participants.slots import SlotMatch

_MONTH = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_DAY_AFTER = re.compile(
    rf"\s+(?:on|in|since|from|until)\s+(?:the\s+)?(?:\d{{1,2}}(?:st|nd|rd|th)?\s+)?(?:{_MONTH})\b.*$",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"^(?:\d+|an?|one|two|three|four|five|six|several|many|some|few|a few)\s+"
    r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_OVER = " over "
_CHOICE_WORDS = re.compile(r"\b(?:over|rather than|instead of|than)\b")
_VAGUE = frozenset({"a style", "using a style", "a way", "something", "the way", "approach"})


def sound(clause: str, found: SlotMatch) -> SlotMatch | None:
    """A match as it may stand; None where the clause does not say what the slot is about."""
    if found.slot.is_plan:
        return found
    if found.slot.name == "uses" and _LENGTH.match(found.entity):
        return None
    if found.slot.name == "prefers":
        found = _choice(clause, found)
    value = _DAY_AFTER.sub("", found.value) if found.slot.name in ("job", "employer") else None
    if value:
        found = replace(found, value=value)
    return None if found.value.casefold() in _VAGUE else found


def _choice(clause: str, found: SlotMatch) -> SlotMatch:
    """A preference without its rival where "to" begins a purpose: "to be sure"."""
    liked, between, rival = found.value.partition(_OVER)
    if not between or _CHOICE_WORDS.search(clause):
        return found
    first, other = liked.split()[0].casefold(), rival.split()[:1]
    if first.endswith("ing") and not (other and other[0].casefold().endswith("ing")):
        return replace(found, value=liked, entity="")
    return found
