"""The enumeration of a wide question: what each message adds, asked one message at a time.

A small model names one message's short contribution far better than it lists what twenty messages
say together. Replies come in batches that share the instructions; the rest is by rule: words that
the message does not hold are dropped, repeats are merged.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from localmem.dates import describe_day
from localmem.errors import GenerationError
from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.recall.deep.bench import Bench
from localmem.recall.deep.question import Question, is_about
from localmem.recall.deep.state import State
from localmem.recall.evidence import shown_text
from localmem.recall.refusal import says_not_found
from localmem.recall.reply import plain_line
from localmem.types import ChatMessage, Completion, Evidence, Layer, MessageId

MOST_MESSAGES = 20
MOST_ITEMS = 12
_BATCH = 8
_REPLY_TOKENS = 20
_LONGEST_ITEM_WORDS = 9
_LEAST_HELD = 0.6
_LONGEST_MESSAGE = 400
"""Characters of a message that are shown."""
_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+(?!\w+ing\b)|\n+", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the|my|her|his|their|our|some)\s+", re.IGNORECASE)
_REPLY = r"root ::= [^\n<>]{1,90}"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that belongs in the list, with the messages that name it.

    `certain`: more than one message names it.
    """

    text: str
    message_ids: tuple[MessageId, ...]

    @property
    def certain(self) -> bool:
        return len(self.message_ids) > 1


@dataclass(frozen=True, slots=True)
class _Named:
    """One part of one reply."""

    text: str
    stems: frozenset[str]
    message_id: MessageId
    speaker: str = ""


def list_items(bench: Bench, llm: Llm, evidence: Sequence[Evidence]) -> tuple[Item, ...]:
    """The merged items, the most often named first; () where no message names one.

    `evidence` is best first. What the budget leaves out is told in the notices.
    """
    began = time.perf_counter()
    question = bench.state.question
    chosen = [one for one in evidence if is_about(one.message, question)][:MOST_MESSAGES]
    reserve_s = _writer_s(bench) if question.counts else 0.0
    named: list[_Named] = []
    read = 0
    for start in range(0, len(chosen), _BATCH):
        batch = chosen[start : start + _BATCH]
        prompts = [_prompt(one, bench.state) for one in batch]
        if not bench.meter.allows(_fresh_tokens(llm, prompts), reserve_s=reserve_s):
            break
        replies = _replies(bench, llm, prompts)
        read += sum(reply is not None for reply in replies)
        named += [
            part
            for one, reply in zip(batch, replies, strict=True)
            if reply is not None
            for part in _parts(reply.text, one, question)
        ]
    if read < len(chosen):
        bench.state.notices.append(f"{len(chosen) - read} messages were left out of the list")
        bench.state.stopped = bench.state.stopped or "seconds"
    items = merged(named, by_all=question.named if question.both else ())
    bench.note("list_items", f"{read} messages", f"{len(items)} items", began, Layer.RAW)
    return items


def merged(named: Iterable[_Named], *, by_all: Collection[str] = ()) -> tuple[Item, ...]:
    """Items with the same words, or with the words of another and more, are one.

    `by_all`: people each of whom must have named a thing.
    """
    groups: list[list[_Named]] = []
    for one in named:
        home = next((group for group in groups if _same(one.stems, group)), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    groups = [g for g in groups if set(by_all) <= {one.speaker for one in g}]
    groups.sort(key=lambda group: -len({one.message_id for one in group}))
    return tuple(
        Item(_best_name(group), tuple(dict.fromkeys(one.message_id for one in group)))
        for group in groups[:MOST_ITEMS]
    )


def _replies(
    bench: Bench, llm: Llm, prompts: Sequence[Sequence[ChatMessage]]
) -> list[Completion | None]:
    try:
        return bench.meter.complete_many(llm, prompts, max_tokens=_REPLY_TOKENS, grammar=_REPLY)
    except GenerationError as error:
        bench.meter.failed += 1
        bench.state.notices.append(f"the list is not complete: {error.message}")
        return [None] * len(prompts)


def _prompt(one: Evidence, state: State) -> tuple[ChatMessage, ...]:
    """What one message is asked: the question, or the part of it that names the speaker."""
    message = one.message
    day = f", {describe_day(message.said_at.date())}" if message.said_at else ""
    shown = shown_text(one, state.question.text, limit=_LONGEST_MESSAGE)
    own = [part for part in state.parts if state.question.both and message.speaker in part]
    return load_prompt("list_item").messages(
        question=own[0] if own else state.question.text,
        message=f"{message.speaker}{day}: {shown}",
    )


def _parts(reply: str, one: Evidence, question: Question) -> list[_Named]:
    """The things that a reply names, without those that its message does not hold."""
    line = plain_line(reply)
    if not line or says_not_found(line):
        return []
    stems = question.stems
    held = stems.of_text(f"{one.message.speaker} {shown_text(one, question.text)}")
    found = []
    for piece in _BETWEEN.split(line):
        text = _ARTICLE.sub("", piece.strip(" .!?\"“”'"))
        words = stems.of_text(text)
        own = words - question.own_terms
        if not own or len(text.split()) > _LONGEST_ITEM_WORDS:
            continue
        if len(words & held) / len(words) >= _LEAST_HELD:
            found.append(_Named(text, words, one.message.id, one.message.speaker))
    return found


def _same(stems: frozenset[str], group: Sequence[_Named]) -> bool:
    return any(stems <= one.stems or one.stems <= stems for one in group)


def _best_name(group: Sequence[_Named]) -> str:
    """The most frequent wording, of equals the shorter."""
    counts = Counter(one.text.casefold() for one in group)
    best = min(group, key=lambda one: (-counts[one.text.casefold()], len(one.text)))
    return best.text


def _fresh_tokens(llm: Llm, prompts: Sequence[Sequence[ChatMessage]]) -> int:
    """Tokens of the prompts that no earlier call has evaluated, with their replies."""
    return sum(llm.count_tokens(prompt[-1].content) + _REPLY_TOKENS for prompt in prompts)


def _writer_s(bench: Bench) -> float:
    """Time to be kept for the answer: its prompt is about twelve messages long."""
    shown = list(bench.state.candidates.values())[: bench.limits.shown]
    characters = sum(min(len(one.found.message.text), 700) for one in shown)
    return bench.meter.seconds_for(characters // 4 + 60)
