"""L0 of a turn without a model: its most telling sentence, keywords and tags, by rule.

The sentence is the speaker's own, with dates written beside the words; nothing is rephrased, so
nothing can be wrong that was not said. It must stay cheap enough for the import path.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from localmem import dates as dating
from localmem import entities
from localmem.layers.tags import choose_tags, tokens_of, topics_of
from localmem.types import (
    Message,
    MessageId,
    Provenance,
    ResolvedDate,
    Role,
    TurnSummary,
)

MODEL_ID = "extractive"
RULES_VERSION = "1"
"""Goes into the provenance, so that summaries made by older rules are made anew."""

Dates = Mapping[MessageId, Sequence[ResolvedDate]]

_MOST_WORDS = 30
_MOST_KEYWORDS = 8
_READ_CHARACTERS = 4000
_UNSPACED_CHARACTERS = 100
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`", re.DOTALL)
_CODE_LINE = re.compile(
    r"^(?: {4,}|\t).*[;{}()=][ \t]*$|^[ \t]*(?:import |from \S+ import |def |class \w+[:(]"
    r"|#include|return\b|[\w.]+\(.*\);?$|</?\w+[^>]*>[ \t]*$|[{}\[\]();]+$).*$",
    re.MULTILINE,
)
_SENTENCE = re.compile(
    r"[^\s.!?。！？…\n][^.!?。！？\n]*(?:[.!?](?!\s|$)[^.!?。！？\n]*)*[.!?。！？…\"'”)]*"
)
_INNER_CAPITAL = re.compile(r"(?<=\s)[A-ZÀ-ÞΑ-ΩА-Я]\w")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w[\w'’-]*")
_LEADING_NOISE = re.compile(r"^[\s#>*•–-]+|\*\*|__")
_SMALL_TALK = re.compile(
    r"^(?:hey|hi|hello|thanks|thank you|wow|oh|yeah|yes|no|ok|okay|cool|awesome|great|nice|sure|"
    r"bye|lol|haha|congrats|that's|sounds|good (?:to|morning|luck)|glad|hallo|danke|hola|gracias|"
    r"bonjour|merci|salut)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur|i|[Ii]ch|[Ww]ir|[Mm]eine?|[Yy]o|[Mm]is?|[Jj]e|[Mm]on|[Nn]ous|J)\b"
)
_PLAN_TEXT = "will ll gonna plan plans planning tomorrow upcoming soon werde voy vais demain mañana"
_EVENT_TEXT = """went got met saw made started finished bought took found won lost joined moved
    visited tried decided yesterday ago happened came gave signed gestern ayer hier"""
_WISH_TEXT = "want wish hope hoping wanna prefer please möchte quiero voudrais"
_KIND_WORDS = (
    ("plan", frozenset(_PLAN_TEXT.split())),
    ("event", frozenset(_EVENT_TEXT.split())),
    ("wish", frozenset(_WISH_TEXT.split())),
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence at [`begin`:`stop`] of its message's prose."""

    begin: int
    stop: int
    text: str
    score: float


def summarise_turn(
    messages: Sequence[Message], dates: Dates, *, idf: Mapping[str, float] | None = None
) -> TurnSummary:
    """L0 of one turn: all its messages in order, with the dates resolved in each.

    In a turn with an assistant the user's own sentence is preferred. A turn without words (emoji,
    code, a file alone) says so in brackets. Only the first 4,000 characters of a message are read.

    Raises:
        ValueError: there are no messages.
    """
    if not messages:
        raise ValueError("a turn has at least one message; got none")
    teller, prose = _teller(messages)
    sentence = _sentence(teller, prose, dates.get(teller.id, ()))
    tokens = tokens_of(prose)
    return TurnSummary(
        turn_id=teller.turn_id,
        sentence=sentence,
        keywords=_keywords(messages, teller, prose, idf),
        tags=choose_tags(topics_of(tokens), _kinds(messages, teller, prose, tokens)),
        provenance=Provenance(MODEL_ID, RULES_VERSION, source_sha(messages)),
    )


def source_sha(messages: Iterable[Message]) -> str:
    """sha256 of what a turn's summary depends on: speakers, texts, attachments and times."""
    digest = hashlib.sha256()
    for message in messages:
        said_at = message.said_at.isoformat() if message.said_at else ""
        for part in (message.speaker, message.text, message.attachment_text, said_at):
            digest.update(part.encode("utf-8", "surrogatepass"))
            digest.update(b"\x1f")
    return digest.hexdigest()


def sentence_spans(prose: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and stop; lines end them too."""
    for match in _SENTENCE.finditer(prose):
        yield match.span()


def prose_of(text: str, *, most: int | None = _READ_CHARACTERS) -> str:
    """The first `most` characters, code replaced by spaces, so that positions stay."""
    text = text[:most]
    if "`" in text or "~~~" in text:
        text = _CODE.sub(_blank, text)
    if "\n" in text:
        text = _CODE_LINE.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if char == "\n" else " " for char in match.group())


def _teller(messages: Sequence[Message]) -> tuple[Message, str]:
    """Whose message tells most of the turn, with its prose: the user's, if it has words."""
    spoken = [message for message in messages if message.role is Role.USER]
    others = [message for message in messages if message.role is not Role.USER]
    for message in (*spoken, *others):
        prose = prose_of(message.text)
        if _has_words(prose):
            return message, prose
    first = (spoken or others)[0]
    return first, prose_of(first.text)


def _has_words(prose: str) -> bool:
    return _WORD.search(prose) is not None


# --- The sentence -------------------------------------------------------------------------


def _sentence(message: Message, prose: str, dates: Sequence[ResolvedDate]) -> str:
    prefix = _prefix(message)
    best = _best_candidate(prose, dates)
    if best is None:
        return f"{prefix} {_wordless(message)}"
    inside = [
        replace(one, begin=one.begin - best.begin, stop=one.stop - best.begin)
        for one in dates
        if best.begin <= one.begin and one.stop <= best.stop
    ]
    told = dating.annotate(best.text, inside, said_at=message.said_at)
    told = " ".join(_LEADING_NOISE.sub("", told).split())
    return f"{prefix} {_shortened(told, _MOST_WORDS - len(prefix.split()))}"


def _prefix(message: Message) -> str:
    if message.said_at is None:
        return f"{message.speaker}:"
    return f"{message.speaker}, {dating.describe_day(message.said_at.date())}:"


def _wordless(message: Message) -> str:
    if message.attachment_text.strip():
        shown = _shortened(" ".join(message.attachment_text.split()), _MOST_WORDS - 8)
        return f"[attachment: {shown}]"
    if not message.text.strip():
        return "[no text]"
    if "```" in message.text or len(message.text) > _UNSPACED_CHARACTERS:
        return "[code]"
    return message.text.strip()[:_UNSPACED_CHARACTERS]


def _best_candidate(prose: str, dates: Sequence[ResolvedDate]) -> _Candidate | None:
    candidates = [
        _scored(match, place, dates) for place, match in enumerate(_SENTENCE.finditer(prose))
    ]
    return max(candidates, key=lambda one: (one.score, -one.begin), default=None)


def _scored(match: re.Match[str], place: int, dates: Sequence[ResolvedDate]) -> _Candidate:
    """How telling a sentence is: what it names and dates, told of oneself, not small talk."""
    text = match.group()
    begin, stop = match.span()
    length = text.count(" ") + 1 if text.isascii() else max(text.count(" ") + 1, len(text) // 8)
    score = 0.35 * min(length, 18)
    score += 3.0 * sum(begin <= one.begin and one.stop <= stop for one in dates)
    score += 0.8 * min(len(_INNER_CAPITAL.findall(text)), 4)
    score += 1.0 * (_DIGIT.search(text) is not None)
    score += 1.5 * (_FIRST_PERSON.search(text) is not None)
    score -= 2.5 * text.rstrip("\"')”").endswith(("?", "？"))
    score -= 1.5 * (_SMALL_TALK.match(text) is not None)
    return _Candidate(begin, stop, text, score - 0.05 * min(place, 20))


def _shortened(told: str, most_words: int) -> str:
    """At most so many words; cut where a clause ends if one does in the last third."""
    words = told.split(" ")
    if len(words) == 1 or not told.isascii():
        told = told if len(told) <= 8 * most_words else told[: 8 * most_words].rstrip() + "…"
        words = told.split(" ")
    if len(words) <= most_words:
        return told
    kept = words[:most_words]
    for cut in range(most_words, 2 * most_words // 3, -1):
        if kept[cut - 1].endswith((",", ";", ":", " -", "–")):
            kept = kept[:cut]
            break
    shortened = " ".join(kept).rstrip(",;:- ")
    if shortened.count("(") > shortened.count(")"):
        shortened = shortened[: shortened.rfind("(")].rstrip()
    return shortened + "…"


# --- Keywords and kinds -------------------------------------------------------------------


def _keywords(
    messages: Sequence[Message],
    teller: Message,
    prose: str,
    idf: Mapping[str, float] | None,
) -> tuple[str, ...]:
    """Of the teller first; where that gives few, of the others and of what was attached."""
    found = list(entities.keywords(prose, idf, _MOST_KEYWORDS))
    rest = [teller.attachment_text]
    rest += [prose_of(message.text) for message in messages if message is not teller]
    for text in rest:
        if len(found) >= _MOST_KEYWORDS or not text:
            continue
        have = {keyword.casefold() for keyword in found}
        more = entities.keywords(text[:_READ_CHARACTERS], idf, _MOST_KEYWORDS)
        found += [keyword for keyword in more if keyword.casefold() not in have]
    return tuple(found[:_MOST_KEYWORDS])


def _kinds(
    messages: Sequence[Message], teller: Message, prose: str, tokens: Sequence[str]
) -> list[str]:
    kinds = [name for name, listed in _KIND_WORDS if not listed.isdisjoint(tokens)]
    if any("```" in message.text for message in messages):
        kinds.insert(0, "code")
    if "?" in prose:
        kinds.append("question")
    if teller.attachment_text:
        kinds.append("photo")
    if _SMALL_TALK.match(prose):
        kinds.append("greeting")
    return kinds or ["chat"]
