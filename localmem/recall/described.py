"""Things that are called by what they are to the speaker ("my home country"), and their names.

Who tells of "my home country" in one message names it in another, beside the same words. Pure, by
rule; English alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from localmem.types import AnswerType, Evidence

_KIND = r"(?:home|old|new|first|former|native|best|favou?rite|last)"
_DESCRIPTION = re.compile(rf"\b(?:my|our|his|her|their) ({_KIND} \w+)", re.IGNORECASE)
_NAME = r"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){0,2}"
_IS = r"(?:,|is|was|is called|was called)"
NAMED_KINDS = (AnswerType.PLACE, AnswerType.PERSON)
"""What is asked for by name, so that a description alone is half an answer."""


def descriptions(text: str) -> tuple[str, ...]:
    """What a text calls things without their names, in order, case-folded: "home country"."""
    return tuple(dict.fromkeys(found.casefold() for found in _DESCRIPTION.findall(text)))


def name_of(
    description: str, speaker: str, evidence: Sequence[Evidence]
) -> tuple[str, Evidence] | None:
    """The name that the same speaker gives what they describe so, with where they do.

    "Freedonia, my home country", "my home country, Freedonia", "my home country is Freedonia".
    """
    said = re.escape(description)
    before = re.compile(rf"\b({_NAME}), (?:my|our) (?i:{said})\b")
    after = re.compile(rf"\b(?i:my|our) (?i:{said})(?:{_IS}| {_IS}) ({_NAME})")
    for one in evidence:
        if one.message.speaker != speaker:
            continue
        found = before.search(one.message.text) or after.search(one.message.text)
        if found is not None:
            return found.group(1), one
    return None
