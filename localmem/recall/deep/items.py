"""The list of a question that asks for several things: what each few messages name, put together.

A small model that reads twenty messages at once names two or three things and stops. It is asked
about a few at a time instead, several prompts in a batch that share the instructions. The rest is
by rule: words that no message holds are dropped, repeats are merged, and what only the lesser
messages name must be named twice.
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
from localmem.recall.evidence import show_evidence, shown_text
from localmem.recall.refusal import says_not_found
from localmem.recall.reply import plain_line
from localmem.types import ChatMessage, Completion, Evidence, Layer, MessageId
from localmem.wording import counted

MOST_MESSAGES = 20
MOST_ITEMS = 10
BEST_MESSAGES = 10
"""What one of these names counts by itself."""

_BATCH_MESSAGES = 10
_REPLY_TOKENS = 40
_LONGEST_ITEM_WORDS = 9
_LEAST_HELD = 0.6
_LONGEST_MESSAGE = 400
"""Characters of a message that is shown alone."""
_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+(?!\w+ing\b)|\n+", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the|my|her|his|their|our|some)\s+", re.IGNORECASE)
_LINE = r"root ::= [^\n<>]{1,160}"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that belongs in the list, with the messages that name it."""

    text: str
    message_ids: tuple[MessageId, ...]

    @property
    def certain(self) -> bool:
        """Whether more than one message names it."""
        return len(self.message_ids) > 1


@dataclass(frozen=True, slots=True)
class Named:
    """One part of one reply. `group` numbers the messages it was read from, `best` says that
    they were among the best."""

    text: str
    stems: frozenset[str]
    message_id: MessageId
    speaker: str
    group: int
    best: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """Messages that are put to the model together, best first, and what it is asked of them."""

    number: int
    messages: tuple[Evidence, ...]
    question: str
    best: bool


def list_items(bench: Bench, llm: Llm, evidence: Sequence[Evidence]) -> tuple[Item, ...]:
    """The merged items, the most often named first; () where no message names one.

    `evidence` is best first. What the budget leaves out is told in the notices.
    """
    began = time.perf_counter()
    question = bench.state.question
    chosen = [one for one in evidence if is_about(one.message, question)][:MOST_MESSAGES]
    named: list[Named] = []
    left = len(chosen)
    for batch in _batches(_groups(chosen, bench.state, bench.limits.list_group)):
        prompts = [_prompt(group, llm) for group in batch]
        if not bench.meter.allows(_fresh_tokens(llm, prompts)):
            break
        for group, reply in zip(batch, _replies(bench, llm, prompts), strict=True):
            if reply is not None:
                left -= len(group.messages)
                named += parts_of(reply.text, group, question)
    if left:
        bench.state.notices.append(
            f"{counted(left, 'message was', 'messages were')} left out of the list"
        )
        bench.state.stopped = bench.state.stopped or bench.meter.exhausted() or "seconds"
    items = merged(named, by_all=question.named if question.both else ())
    bench.note("list_items", counted(len(chosen) - left, "message"), _told(items), began, Layer.RAW)
    return items


def merged(named: Iterable[Named], *, by_all: Collection[str] = ()) -> tuple[Item, ...]:
    """Items with the same words, or with the words of another and more, are one.

    Only an item that one of the best messages names, or two groups do, is kept. `by_all`: people
    each of whom must have named it.
    """
    groups: list[list[Named]] = []
    for one in named:
        home = next((group for group in groups if _same(one.stems, group)), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    kept = [group for group in groups if _counts(group, by_all)]
    kept.sort(key=lambda group: -len({one.message_id for one in group}))
    return tuple(
        Item(_best_name(group), tuple(dict.fromkeys(one.message_id for one in group)))
        for group in kept[:MOST_ITEMS]
    )


def parts_of(reply: str, group: _Group, question: Question) -> list[Named]:
    """The things that a reply names, without those that no message of the group holds."""
    line = plain_line(reply)
    if not line or says_not_found(line):
        return []
    stems = question.stems
    held = [
        (one, stems.of_text(f"{one.message.speaker} {shown_text(one, question.text)}"))
        for one in group.messages
    ]
    found = []
    for piece in _BETWEEN.split(line):
        text = _ARTICLE.sub("", piece.strip(" .!?\"“”'"))
        words = stems.of_text(text)
        if not words - question.own_terms or len(text.split()) > _LONGEST_ITEM_WORDS:
            continue
        source, said = max(held, key=lambda row: len(words & row[1]))
        if len(words & said) / len(words) >= _LEAST_HELD:
            message = source.message
            found.append(Named(text, words, message.id, message.speaker, group.number, group.best))
    return found


# --- Asking -------------------------------------------------------------------------------


def _groups(chosen: Sequence[Evidence], state: State, size: int) -> list[_Group]:
    """The messages in groups; each speaker's apart where the question is about both of them."""
    both = state.question.both
    speakers = dict.fromkeys(one.message.speaker for one in chosen) if both else {"": None}
    groups: list[_Group] = []
    for speaker in speakers:
        own = [one for one in chosen if not both or one.message.speaker == speaker]
        parts = [part for part in state.parts if both and speaker in part]
        asked = parts[0] if parts else state.question.text
        for start in range(0, len(own), size):
            best = start + size <= BEST_MESSAGES or start == 0
            groups.append(_Group(len(groups), tuple(own[start : start + size]), asked, best))
    return groups


def _batches(groups: Sequence[_Group]) -> list[list[_Group]]:
    """Groups that are decoded together; between batches the budget is looked at."""
    batches: list[list[_Group]] = []
    room = 0
    for group in groups:
        if not batches or len(group.messages) > room:
            batches.append([])
            room = _BATCH_MESSAGES
        batches[-1].append(group)
        room -= len(group.messages)
    return batches


def _prompt(group: _Group, llm: Llm) -> tuple[ChatMessage, ...]:
    """One message with the question before it; several as the direct depth shows them."""
    if len(group.messages) > 1:
        shown = show_evidence(
            group.messages,
            group.question,
            limit_tokens=llm.context_tokens // 2,
            count_tokens=llm.count_tokens,
        )
        return load_prompt("answer_question").messages(memory=shown.block, question=group.question)
    message = group.messages[0].message
    day = f", {describe_day(message.said_at.date())}" if message.said_at else ""
    text = shown_text(group.messages[0], group.question, limit=_LONGEST_MESSAGE)
    return load_prompt("list_item").messages(
        question=group.question, message=f"{message.speaker}{day}: {text}"
    )


def _replies(
    bench: Bench, llm: Llm, prompts: Sequence[Sequence[ChatMessage]]
) -> list[Completion | None]:
    try:
        return bench.meter.complete_many(llm, prompts, max_tokens=_REPLY_TOKENS, grammar=_LINE)
    except GenerationError as error:
        bench.meter.failed += 1
        bench.state.notices.append(f"the list is not complete: {error.message}")
        return [None] * len(prompts)


def _fresh_tokens(llm: Llm, prompts: Sequence[Sequence[ChatMessage]]) -> int:
    """Tokens of the prompts that no earlier call has evaluated, with their replies."""
    return sum(llm.count_tokens(prompt[-1].content) + _REPLY_TOKENS for prompt in prompts)


# --- Merging ------------------------------------------------------------------------------


def _counts(group: Sequence[Named], by_all: Collection[str]) -> bool:
    if not set(by_all) <= {one.speaker for one in group}:
        return False
    return any(one.best for one in group) or len({one.group for one in group}) > 1


def _same(stems: frozenset[str], group: Sequence[Named]) -> bool:
    return any(stems <= one.stems or one.stems <= stems for one in group)


def _best_name(group: Sequence[Named]) -> str:
    """The most frequent wording, of equals the shorter."""
    counts = Counter(one.text.casefold() for one in group)
    best = min(group, key=lambda one: (-counts[one.text.casefold()], len(one.text)))
    return best.text


def _told(items: Sequence[Item]) -> str:
    return ", ".join(item.text for item in items) or "no items"
