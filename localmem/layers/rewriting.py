"""L0 of a turn by a language model: what it is asked, and whether its line may replace the old one.

The program fixes speaker, day, keywords, tags and turn numbers; the model writes the sentence
alone. A line with a pronoun or with a name or number that the turn does not know is refused, and
the extractive line stays. APDMem, section 3.1 and Figure 4; the form for small models is ours.
Calls no model and stores nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from localmem import dates as dating
from localmem import words
from localmem.layers.extractive import MODEL_ID as EXTRACTIVE
from localmem.layers.extractive import prose_of, source_sha
from localmem.layers.orders import holds_order
from localmem.layers.rules import called, capitalised
from localmem.layers.source import SessionSource, stamp
from localmem.layers.support import grounds_of, missing_from
from localmem.layers.telling import content_of
from localmem.prompts import Prompt
from localmem.types import ChatMessage, Message, Provenance, Role, TurnSummary

LINE_TOKENS = 60
LINE_GRAMMAR = r'root ::= [^\n]+ "\n"?'
WINDOW_TURNS = 4
WINDOW_CHARACTERS = 6_000
_SENTENCE_TOKENS = 80
"""Of a sentence in a window's JSON, with its key."""

_MOST_WORDS = 30
_MOST_CHARACTERS = 260
_SHOWN_CHARACTERS = 1_200
_SHOWN_OF_ASSISTANT = 500
_SHOWN_BEFORE = 300
_LEAST_CONTENT = 3
"""Content words of a turn that is worth a model's time."""

_LEAST_SHARED = 0.6
_STEM = 4
_REPORTING = frozenset({"says", "said", "asks", "asked", "tells", "told", "wants", "recommended"})
_ASKS = re.compile(r"\b(?:asks|asked)\b")
_TRIED = " tried "
_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)")
_OWN_PRONOUN = re.compile(
    r"\b(?:I|me|my|mine|myself|we|us|our|ours|you|your|yours)\b(?!\.)", re.IGNORECASE
)
_OTHER_PRONOUN = re.compile(r"\b(?:he|she|they|him|them|his|her|hers|their|theirs)\b", re.I)
_QUOTED = re.compile(r"[\"“][^\"“”]{1,200}[\"”]")


@dataclass(frozen=True, slots=True)
class TurnText:
    """A turn as it is shown to a model: its places in the session, and its present L0."""

    source: SessionSource
    places: tuple[int, ...]
    summary: TurnSummary

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self.source.messages[place] for place in self.places)

    @property
    def teller(self) -> Message:
        """The message that the present line tells."""
        told = self.summary.sentence
        return next((m for m in self.messages if told.startswith(stamp(m))), self.messages[0])

    @property
    def teller_place(self) -> int:
        """Where in the session the teller's message is."""
        return self.places[self.messages.index(self.teller)]

    @property
    def subject(self) -> str:
        """Who is put in the model's mouth as the sentence's beginning: who tells the turn."""
        return capitalised(called(self.teller.speaker))

    @property
    def reply_prefix(self) -> str:
        """ "Ana, 3 May 2021: Ana", with which a reply for this turn alone begins."""
        return f"{_head(self.teller)} {self.subject}"

    @property
    def told(self) -> str:
        """The teller's message, dated, cut where it is long."""
        return self.line_of(self.teller)

    @property
    def shown(self) -> str:
        """All messages of the turn, dated, the long ones cut."""
        return "\n".join(self.line_of(message) for message in self._spoken)

    @property
    def shown_before(self) -> str:
        """The last message of the turn before, cut where it is long."""
        before = self.source.before(self.places[0])
        return "" if before is None else self._line(before, _SHOWN_BEFORE)

    @property
    def is_worth_it(self) -> bool:
        """Whether a model may make more of the turn than the rules did; never one with orders."""
        texts = [prose_of(message.whole_text) for message in self._spoken]
        before = self.source.before(self.places[0])
        near = [message.whole_text for message in (before, *self.messages) if message is not None]
        if any(holds_order(text) for text in near):
            return False
        return len(content_of(" ".join(texts), self.source.speakers)) >= _LEAST_CONTENT

    def line_of(self, message: Message) -> str:
        """A message with its stamp, dated, cut where it is long; an assistant's sooner."""
        of_user = message.role is Role.USER
        return self._line(message, _SHOWN_CHARACTERS if of_user else _SHOWN_OF_ASSISTANT)

    def follows(self, other: TurnText) -> bool:
        """Whether it is the session's next turn."""
        return self.places[0] == other.places[-1] + 1

    @property
    def _spoken(self) -> list[Message]:
        return [m for m in self.messages if m.role in (Role.USER, Role.ASSISTANT)]

    def _line(self, message: Message, most: int) -> str:
        dates = self.source.dates_of(message)
        told = dating.annotate(message.text, dates, said_at=message.said_at)
        attached = f" [{message.attachment_text}]" if message.attachment_text else ""
        told = " ".join(prose_of(told + attached).split())
        cut = told if len(told) <= most else f"{told[:most].rsplit(' ', 1)[0]} …"
        return f"{_head(message)} {cut}"


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a model's line: the new summary, or None with the reason."""

    summary: TurnSummary | None
    reason: str = ""


def line_messages(prompt: Prompt, turn: TurnText) -> tuple[ChatMessage, ...]:
    """The prompt for one turn; the reply begins with `turn.reply_prefix`."""
    return prompt.messages(before=turn.shown_before, turn=turn.told)


def window_messages(prompt: Prompt, turns: Sequence[TurnText]) -> tuple[ChatMessage, ...]:
    """The prompt for a window of turns, numbered from 1."""
    shown = "\n".join(
        f'<turn number="{number}">\n{turn.shown}\n</turn>' for number, turn in enumerate(turns, 1)
    )
    return prompt.messages(before=turns[0].shown_before, turns=shown)


def window_schema(turns: int) -> dict[str, Any]:
    """The reply to a window: a sentence for each turn under its number, in order."""
    names = [str(number) for number in range(1, turns + 1)]
    sentence = {"type": "string", "minLength": 1, "maxLength": _MOST_CHARACTERS}
    return {
        "type": "object",
        "properties": dict.fromkeys(names, sentence),
        "required": names,
    }


def window_tokens(turns: int) -> int:
    """How long the reply to a window may be."""
    return _SENTENCE_TOKENS * turns


def windows_of(turns: Sequence[TurnText]) -> list[list[TurnText]]:
    """Turns in windows of 4 with an overlap of 1, at most 6,000 characters each.

    The overlapping turn is shown as what was before and is not summarised twice, so that a window
    asks for 4 turns at a session's beginning and for 3 after that; a gap begins anew.
    """
    found: list[list[TurnText]] = []
    room, characters = 0, 0
    for turn in turns:
        size = len(turn.shown)
        follows = bool(found) and turn.follows(found[-1][-1])
        if room == 0 or not follows or characters + size > WINDOW_CHARACTERS:
            found.append([])
            room = WINDOW_TURNS - 1 if follows else WINDOW_TURNS
            characters = 0
        found[-1].append(turn)
        room -= 1
        characters += size
    return found


def read_window(reply: str, turns: int) -> list[str] | None:
    """The sentences of a reply to a window in their order; None where it cannot be read."""
    try:
        told = json.loads(reply)
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    sentences = [told.get(str(number)) for number in range(1, turns + 1)]
    return [s for s in sentences if isinstance(s, str)] if None not in sentences else None


def judge(turn: TurnText, line: str, provenance: Provenance, *, places: Sequence[int]) -> Judged:
    """The summary that a model's line makes, or why the present one stays.

    `places` are those of the messages that the model was shown as its material.
    """
    told = _one_sentence(line)
    if not told:
        return Judged(None, "no sentence")
    reason = _pronoun_in(told) or _unsupported(told, turn, places)
    if reason:
        return Judged(None, reason)
    sentence = f"{stamp(turn.teller)} {told}"
    better = replace(turn.summary, sentence=sentence, provenance=provenance)
    return Judged(better)


def kept(summary: TurnSummary, mark: str) -> TurnSummary:
    """The present summary, marked as one that a model could not better."""
    base = summary.provenance.prompt_sha.partition(_TRIED)[0]
    provenance = replace(summary.provenance, prompt_sha=f"{base}{_TRIED}{mark}")
    return replace(summary, provenance=provenance)


def tried_mark(model_key: str, prompt: Prompt) -> str:
    """Names an attempt: this model with this prompt."""
    return f"{model_key} {prompt.sha[:12]}"


def is_open(model_id: str, prompt_sha: str, *, mark: str, form: str, window_sha: str) -> bool:
    """Whether a summary with this provenance may be bettered by the form ("line" or "window").

    Extractive lines are bettered by both, a model's single lines by its windows, never back.
    """
    base, _, tried = prompt_sha.partition(_TRIED)
    if tried == mark:
        return False
    rank = 0 if model_id == EXTRACTIVE else 2 if base == window_sha else 1
    return rank < (2 if form == "window" else 1)


def provenance_of(turn: TurnText, model_id: str, prompt: Prompt) -> Provenance:
    """What a new summary of a turn is made from and by."""
    return Provenance(model_id, prompt.sha, source_sha(turn.messages))


def _head(message: Message) -> str:
    """The stamp of a message as a model sees it: an owner without a name is "the user"."""
    return capitalised(stamp(message).replace(message.speaker, called(message.speaker), 1))


def _one_sentence(line: str) -> str:
    """The first sentence of a reply; "" where there is none of fair length."""
    flat = " ".join(line.split()).lstrip("-: ")
    end = next((m.end() for m in _SENTENCE_END.finditer(flat) if _closes(flat, m.end())), None)
    told = flat if end is None else flat[:end]
    cut_short = end is None and len(told.split()) > _MOST_WORDS
    if cut_short or len(told.split()) > _MOST_WORDS + 10 or len(told) > 2 * _MOST_CHARACTERS:
        return ""
    return told if any(char.isalpha() for char in told) else ""


def _closes(text: str, end: int) -> bool:
    """Whether a full stop ends a sentence: not after an initial or a title."""
    word = text[:end].rsplit(" ", 1)[-1]
    return len(word) > 2 and word.casefold() not in ("mr.", "mrs.", "dr.", "st.", "vs.", "e.g.")


def _pronoun_in(told: str) -> str:
    """A pronoun that the line leaves open; one after a name is taken to mean it."""
    bare = _QUOTED.sub(" ", told)
    found = _OWN_PRONOUN.search(bare)
    if found is not None:
        return f"says {found.group()!r}"
    found = _OTHER_PRONOUN.search(bare)
    if found is None:
        return ""
    before = bare[: found.start()].split()
    has_name = any(word[:1].isupper() and word != "The" for word in before)
    opens = found.start() == 0
    return f"says {found.group()!r}" if opens or not has_name else ""


def _unsupported(told: str, turn: TurnText, places: Sequence[int]) -> str:
    """What these messages and the one before them do not bear out; "" where they do."""
    grounds = grounds_of(turn.source, places)
    # Behind a little word, so that a name with which the line begins is seen as one.
    missing = missing_from(f"so {told}", grounds)
    if missing:
        return f"names {', '.join(missing)}"
    own = " ".join(turn.source.messages[place].whole_text for place in places)
    if _ASKS.search(told) is not None and "?" not in own and "？" not in own:
        return "asks where nothing was asked"
    shown = " ".join(turn.line_of(turn.source.messages[place]) for place in places)
    share = _share_of(told, shown, turn.source.speakers)
    return "" if share >= _LEAST_SHARED else f"shares {share:.0%} of its words with the turn"


def _share_of(told: str, own: str, speakers: Sequence[str]) -> float:
    """Share of a line's content words that stand in the turn itself, by their first letters."""
    content = content_of(told, [*speakers, *map(called, speakers)]) - _REPORTING
    stems = {word[:_STEM] for word in words.words(own)}
    return sum(word[:_STEM] in stems for word in content) / len(content) if content else 1.0
