"""When the right answer is "not found": by rule, before a wrong answer is told.

Pure: texts and evidence in, a verdict out. Thresholds were set on development conversations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from localmem.entities import named_participants
from localmem.types import Citation, Evidence, Role

NOT_FOUND = "I don't find that in your memory."

_NOT_FOUND_WORDS = re.compile(
    r"^(?:\(?(?:none|unknown|n/?a|nothing|not found|not (?:specified|mentioned|stated|given|known)"
    r"|no (?:information|answer|mention|data)|there is no (?:information|mention)"
    r"|i (?:don't|do not|cannot|can't) (?:know|find|tell))\b)"
    r"|\b(?:is|are|was|were|does) ?n[o']t (?:mentioned|specified|stated|mention|say)\b"
    r"|\bnot (?:mentioned|specified|stated) in\b",
    re.IGNORECASE,
)
_YOU = re.compile(r"\b(?:you|your|yours|you're|you've|you'll|we|our|us|together)\b", re.IGNORECASE)


def says_not_found(reply: str) -> bool:
    """Whether a reply says that the evidence holds no answer."""
    return _NOT_FOUND_WORDS.search(reply) is not None


def about_somebody_else(
    question: str,
    cited: Sequence[tuple[Evidence, Citation]],
    evidence: Sequence[Evidence],
    people: Sequence[str] | None,
) -> str:
    """Why an answer is not about the person asked about; "" where nothing speaks against it.

    Holds only in a chat among people, where the question names one of them: then what another
    said of themselves (not naming that person, not speaking to "you") is no answer.
    """
    speakers = people if people is not None else _speakers(evidence)
    named = named_participants(question, speakers)
    if len(speakers) < 2 or len(named) != 1 or not cited:
        return ""
    name = named[0]
    for source, citation in cited:
        message = source.message
        speaks_of = name in message.text or _YOU.search(citation.quote) is not None
        if message.speaker == name or speaks_of:
            return ""
    others = sorted({source.message.speaker for source, _ in cited})
    return f"{' and '.join(others)} said something like it, but not about {name}"


def _speakers(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """The names of those who talk, where nobody is an assistant; else nobody."""
    messages = [one.message for one in evidence]
    if any(message.role is not Role.USER for message in messages):
        return ()
    return tuple(sorted({message.speaker for message in messages}))
