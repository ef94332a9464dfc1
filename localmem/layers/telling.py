"""Which sentences of a message tell something: no courtesies, empty questions, code or orders.

By rule and fast, because it also decides which messages a model is asked about at all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from localmem import entities
from localmem.layers.extractive import prose_of, sentence_spans
from localmem.layers.orders import holds_order
from localmem.layers.source import SessionSource
from localmem.types import Message, ResolvedDate, Role

_COURTESY = re.compile(
    r"^\W*(?:hey|hi|hello|thanks|thank you|thx|wow|oh|yeah|yep|yes|no|ok|okay|cool|awesome|great"
    r"|nice|sure|bye|lol|haha\w*|congrat\w*|that'?s|that’s|that is|sounds?|good (?:to|morning"
    r"|luck|night|evening|for you)|glad|happy to hear|so (?:glad|happy|sorry|cool|sweet|nice)"
    r"|sorry to hear|talk to you|see you|take care|have (?:a|fun)|you're welcome|of course"
    r"|absolutely|totally|definitely|i agree|same here|let me know|keep (?:it )?up|way to go"
    r"|i hope (?:this|that) helps|feel free|can't wait to (?:hear|see)|hallo|danke|hola|gracias"
    r"|bonjour|merci|salut)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"\b(?:I|[Mm]y|[Mm]e|[Mm]yself|[Ww]e|[Oo]ur|i'm|i've|[Ii]ch|[Mm]eine?[mnrs]?|[Ww]ir|[Uu]ns\w*"
    r"|[Yy]o|[Mm]is?|[Nn]os\w*|[Jj]e|[Mm]on|[Mm]es|[Nn]otre)\b"
)
_TAG_QUESTION = re.compile(
    r"(?:\s+[-–—]+\s*|[,;]\s+|\s+)(?:(?:so |and |but )?(?:how|what) about (?:you|yours?)\b[^?]*"
    r"|right|huh|you know|okay|ok|eh|isn['’]t it|don['’]t you(?: think)?|what do you think"
    r"|know what i mean|how are you(?: \w+){0,2}|what['’]?s up)\s*\?+\W*$"
    r"|\s+[-–—]+\s*[^-–—?]{1,60}\?+\W*$",
    re.IGNORECASE,
)
_LEAST_BEFORE_TAG = 12
_SUGGESTS = re.compile(
    r"^\W*(?:\w+[,!]\s+)?(?:how about|what about|why (?:not|don['’]?t (?:you|we))|have you (?:tried"
    r"|considered|thought)|shall we|should we|would you like|do you want|wanna)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_ATTACHED_HEAD = re.compile(r"^\s*(?:a|an|the)\s+(?:photo|picture|image|photograph)\b", re.I)
_MARKUP = re.compile(r"^[\s#>*•–—\-|]+|\*\*|__|^\s*\d+[.)]\s+")
_OPENING = re.compile(
    r"^(?:(?:yeah|yep|yes|well|oh|so|wow|haha|aww?|hey|ok|okay|sure|no|nah|thanks|anyway|btw"
    r"|by the way|you know)\b(?:\s+\w+)?[,!]+\s+)+(?=\S)",
    re.IGNORECASE,
)
_FILLER_TEXT = """
    really very good great nice well know think thing things lot much many also even still sure
    yeah hey hi hello wow oh thanks thank let say see way something anything everything someone
    time awesome amazing cool okay ok please definitely actually maybe pretty bit kind sounds glad
    yes lol haha always never would could should may might better able sorry now here there though
    yet around every look looks feel hope love lately totally absolutely congrats agree wonderful
    super fun happy heard hear guess mean cant wait gonna wanna gotta inspiring important proud
    excited exciting fantastic incredible lovely beautiful sweet special best luck keep going help
    need want like make get got one people life
"""
_FILLER = frozenset(_FILLER_TEXT.split())
LEAST_CONTENT = 4
"""Content words that an impersonal sentence without name, number and date needs."""


@dataclass(frozen=True, slots=True)
class Told:
    """A telling sentence at [`begin`:`stop`] of its message's text; `weight` says how telling."""

    begin: int
    stop: int
    text: str
    weight: float
    is_question: bool


def telling_sentences(source: SessionSource, message: Message) -> tuple[Told, ...]:
    """The sentences of a message that tell something, in its order, up to its first order.

    What tools and systems put into a chat was said by nobody; it stays in the raw text alone.
    """
    if message.role not in (Role.USER, Role.ASSISTANT):
        return ()
    end = _first_order(message)
    prose = prose_of(message.text, most=None)
    speakers = source.speakers
    return tuple(
        told
        for begin, stop in _sentences(prose)
        if (end is None or begin < end)
        and (told := _told(source, message, prose[begin:stop], begin, speakers)) is not None
    )


def order_in(message: Message) -> str:
    """What looks like orders to a model: from the first one to the message's end; "" for none.

    What follows an order is what it wants to be believed.
    """
    first = _first_order(message)
    return "" if first is None else message.whole_text[first:].strip()


def _first_order(message: Message) -> int | None:
    """Where the first order begins in the message's text with its attachment."""
    text = message.whole_text
    if not holds_order(text):
        return None
    for begin, stop in _sentences(text):
        if holds_order(text[begin:stop]):
            return begin
    return 0


def content_of(text: str, speakers: Collection[str] = ()) -> frozenset[str]:
    """The content words of a text without fillers and without the speakers' names."""
    return frozenset(
        word
        for word in entities.content_words(text)
        if word not in _FILLER and len(word) > 1 and not _is_own(word, tuple(speakers))
    )


def plain_sentence(text: str) -> str:
    """A sentence without list marks, emphasis and an opening "well,", on one line."""
    bare = " ".join(_MARKUP.sub("", text).split())
    return _OPENING.sub("", bare) or bare


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    for begin, stop in sentence_spans(text):
        if _LETTERS.search(text, begin, stop) is not None:
            yield begin, stop


def _told(
    source: SessionSource, message: Message, raw: str, begin: int, speakers: Sequence[str]
) -> Told | None:
    text = plain_sentence(raw)
    stop = begin + len(raw)
    if (tag := _TAG_QUESTION.search(raw)) is not None and tag.start() > _LEAST_BEFORE_TAG:
        stop = begin + tag.start()
        text = plain_sentence(raw[: tag.start()])
    if not text:
        return None
    dates = dates_within(source.dates_of(message), begin, stop)
    content = content_of(text, speakers)
    marks = _marks(text, speakers, dates)
    is_question = text.rstrip("\"')”*_").endswith(("?", "？"))
    personal = _FIRST_PERSON.search(text) is not None
    if not _tells(message, text, content, marks, is_question=is_question, personal=personal):
        return None
    weight = marks + 0.25 * min(len(content), 8) + 0.5 * personal - 1.0 * is_question
    return Told(begin, stop, text, weight, is_question)


def _tells(
    message: Message,
    text: str,
    content: frozenset[str],
    marks: float,
    *,
    is_question: bool,
    personal: bool,
) -> bool:
    if is_question:
        if _SUGGESTS.match(text) is not None:
            return len(content) >= LEAST_CONTENT // 2
        wanted = 3 if message.role is Role.USER and personal else LEAST_CONTENT
        return len(content) >= wanted and (marks > 0 or personal)
    if _COURTESY.match(text) is not None and marks == 0 and len(content) < LEAST_CONTENT:
        return False
    if marks > 0 or personal:
        return len(content) >= 1
    if not text.isascii() and " " not in text:
        return len(text) >= LEAST_CONTENT
    return len(content) >= LEAST_CONTENT // 2


def _marks(text: str, speakers: Sequence[str], dates: Sequence[ResolvedDate]) -> float:
    """Names, numbers and dates of a sentence, the speakers' own names not counted."""
    names = [
        name
        for name in entities.entities(text)
        if not all(_is_own(part, speakers) for part in name.split())
    ]
    return min(len(names), 4) + (_DIGIT.search(text) is not None) + 1.5 * min(len(dates), 2)


def _is_own(word: str, speakers: Sequence[str]) -> bool:
    """Whether a word is a speaker's name, or short for one: "Mel" for Melanie."""
    folded = word.casefold()
    parts = [part.casefold() for name in speakers for part in name.split()]
    return any(part == folded or (len(folded) > 2 and part.startswith(folded)) for part in parts)


def dates_within(dates: Sequence[ResolvedDate], begin: int, stop: int) -> tuple[ResolvedDate, ...]:
    """The dates that stand wholly at [`begin`:`stop`] of the text."""
    return tuple(one for one in dates if begin <= one.begin and one.stop <= stop)


def attached(message: Message) -> str:
    """What is attached, as words after "shared": "a photo of a lake"; "" for nothing."""
    text = " ".join(message.attachment_text.split())
    if not text:
        return ""
    return text[:1].lower() + text[1:] if _ATTACHED_HEAD.match(text) else f"[{text}]"
