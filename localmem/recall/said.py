"""What the owner says to the memory: does it ask, does it tell, or both? By rule, pure.

English in full; in other languages a question mark, or a question word at the beginning. Where the
words do not tell, it is taken as told: what is told is kept anyway.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from localmem.recall.evidence import sentences
from localmem.recall.follow_up import QUESTION_WORDS
from localmem.types import OWN_CHAT, Message, Role

_BE = r"(?:is|are|was|were|am|did|do|does|has|have|had|can|could|will|would|should|may|might)"
_OPENING = r"^\W*(?:(?:and|but|so|or|also|hey|hi|hello|ok|okay|well|please|und|y|et)\b[\s,]*)*"
_INVERTED = re.compile(
    rf"{_OPENING}{_BE}(?:n['’]t)? (?:i|you|we|they|he|she|it|my|our|your|his|her|their|the|there"
    r"|this|that|any|anybody|anyone)\b",
    re.IGNORECASE,
)
_WH = re.compile(
    rf"{_OPENING}(?:who(?:m|se)?\b|what(?:'s|’s)? (?!an? |i |you |we |they |he |she |it )"
    rf"|how (?:many|much|long|old|far|often|big|tall|{_BE})\b"
    rf"|(?:where|when|why|which|how)(?:'s|’s)\b"
    rf"|(?:where|when|why|which)(?: (?!i\b|you\b|we\b|they\b|he\b|she\b|it\b)\w+){{0,3}}? {_BE}\b)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    rf"{_OPENING}(?:(?:can|could|would) you |i(?:'d| would) like to know|i(?:'m| am) wondering"
    r"|(?:tell|show|give|remind) me\b(?! to\b)|what about|how about|list|find|look up|search"
    r"|recall|summari[sz]e|do you (?:know|remember)|let me know)\b",
    re.IGNORECASE,
)
_ENDS_TOLD = (".", "!", "…")
_CLOSING = "\"'”’)*_ "


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was said, parted: the sentences that tell something, and those that ask."""

    told: str
    asked: str


def parted(text: str) -> Spoken:
    """The sentences of a text that tell, and those that ask, each in their order."""
    every = sentences(text)
    asking = [one for one in every if asks(one)]
    telling = [one for one in every if one not in asking]
    return Spoken(" ".join(telling), " ".join(asking))


def asks(sentence: str) -> bool:
    """Whether a sentence wants an answer."""
    said = sentence.strip().rstrip(_CLOSING)
    if said.endswith(("?", "？")):
        return True
    if said.endswith("!"):
        return False
    if _INVERTED.search(said) or _WH.search(said) or _REQUEST.search(said):
        return True
    first = said.split(maxsplit=1)[0].lower() if said else ""
    english = first in _ENGLISH
    return first in QUESTION_WORDS and not english and not said.endswith(_ENDS_TOLD)


def is_evidence(message: Message, source: str) -> bool:
    """Whether an answer may rest on a message of this source.

    Not on what the memory itself replied, nor on what it was asked and told nothing with.
    """
    if message.role is Role.REPLY:
        return False
    return source != OWN_CHAT or bool(parted(message.text).told or message.attachment_text)


_ENGLISH = frozenset(("who", "what", "when", "where", "why", "how", "which", "whose", "whom"))
