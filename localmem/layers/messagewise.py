"""L2 by a small model, message by message (DESIGN 2.1): the program fixes what it knows.

The model does not read the message. It reads what the rules made of it, where the speaker, the
one spoken to and the dates are written out, and only has to say what "she" and "that" mean and to
split long sentences; messages without such words need no model. A line that names other people
than its statement is refused, and a statement that no line tells keeps the rules' words. So a
small model loses nothing, and cannot give one person's painting to the other. The instructions
are a constant prefix that is evaluated once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from localmem import entities
from localmem.layers.draft import Failure, Line, Work, dated, tidy, unfenced
from localmem.layers.extractive import prose_of
from localmem.layers.orders import holds_order
from localmem.layers.people import about_the_same, nearest
from localmem.layers.rules import (
    RULES_VERSION,
    Statement,
    called,
    capitalised,
    is_open,
    statements_of,
)
from localmem.layers.source import SessionSource, stamp
from localmem.layers.support import Grounds, grounds_of, missing_from, shared_share, stems_of
from localmem.layers.telling import order_in
from localmem.layers.third_person import in_third_person
from localmem.layers.windows import grouped
from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.types import ChatMessage, Completion, Message

PROMPT = "note_message"
BATCH = 8
"""Messages a call at most: what an engine decodes at once."""

LEAST_OWN = 0.5
"""Share of a line's content words that its message's own statements must hold."""

COVERED_FROM = 0.7
"""Share of a statement's content words from which the lines tell it."""

_NUMBER = re.compile(r"\d+")
_LINE_TOKENS = 40
_MOST_TOKENS = 320
_WINDOW_CHARACTERS = 900
_BEFORE_CHARACTERS = 240
_GRAMMAR = 'root ::= line ("\\n- " line){0,7}\nline ::= [^\\n]+'

OnDraft = Callable[[int, "list[Line] | Failure"], None]


def prompt_sha() -> str:
    """The provenance of what this path makes."""
    return f"{load_prompt(PROMPT).sha}/{RULES_VERSION}"


def wants_model(source: SessionSource, place: int) -> bool:
    """Whether a model is asked about a message at all; the others are noted by rule for good.

    Not where every statement can be understood alone, and not where the text tries to give a
    model orders.
    """
    if order_in(source.messages[place]):
        return False
    return any(told.is_open for told in statements_of(source, place))


@dataclass(slots=True)
class _Task:
    """Some statements of one message, with the model's reply to them."""

    place: int
    statements: tuple[Statement, ...]
    prompt: tuple[ChatMessage, ...]
    reply: Completion | None = None


@dataclass(slots=True)
class _Pages:
    """The tasks of one message; its draft is due when all have their reply."""

    tasks: list[_Task] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return all(task.reply is not None for task in self.tasks)


def write_notes(
    llm: Llm, source: SessionSource, places: Sequence[int], work: Work, on_draft: OnDraft
) -> None:
    """Ask the model about the messages at `places`; `on_draft` hears of each that is whole.

    What `work.check` raises ends it, after the finished ones were told.

    Raises:
        GenerationError: the engine failed.
    """
    pages = {place: _Pages(_tasks(source, place)) for place in places}
    tasks = [task for page in pages.values() for task in page.tasks]
    while tasks:
        size = work.room(BATCH)
        now, tasks = tasks[:size], tasks[size:]
        try:
            _run(llm, now, work)
        finally:
            for place in [place for place, page in pages.items() if page.whole]:
                on_draft(place, _draft(source, place, pages.pop(place).tasks))


def _run(llm: Llm, tasks: Sequence[_Task], work: Work) -> None:
    work.check()

    def done(number: int, completion: Completion) -> None:
        tasks[number].reply = completion
        work.tally.add(completion)

    most = max(len(task.statements) for task in tasks)
    llm.complete_many(
        [task.prompt for task in tasks],
        max_tokens=min(_MOST_TOKENS, (most + 1) * 2 * _LINE_TOKENS),
        grammar=_GRAMMAR,
        reply_prefixes=["- "] * len(tasks),
        on_done=done,
        on_step=work.check,
    )


# --- What the model reads -----------------------------------------------------------------


def _tasks(source: SessionSource, place: int) -> list[_Task]:
    """The message's open statements, many of them in several windows, none left out."""
    statements = [told for told in statements_of(source, place) if told.is_open]
    lengths = [len(told.text) for told in statements]
    groups = grouped(lengths, lambda i, j: sum(lengths[i:j]) <= _WINDOW_CHARACTERS)
    return [_task(source, place, tuple(statements[i] for i in group)) for group in groups]


def _task(source: SessionSource, place: int, statements: tuple[Statement, ...]) -> _Task:
    message = source.messages[place]
    reader = source.addressee(message)
    prompt = load_prompt(PROMPT).messages(
        writer=_attribute(capitalised(called(message.speaker))),
        reader=f' to="{_attribute(called(reader))}"' if reader else "",
        before=_context(source.before(place)),
        statements="\n".join(unfenced(told.text) for told in statements),
    )
    return _Task(place, statements, prompt)


def _attribute(name: str) -> str:
    return unfenced(name).replace('"', "'")


def _context(before: Message | None) -> str:
    """The message before, its end where it is long, without orders."""
    if before is None:
        return ""
    text = " ".join(prose_of(before.text, most=None).split())
    if holds_order(text):
        return f"{called(before.speaker)}: …"
    if len(text) > _BEFORE_CHARACTERS:
        text = "…" + text[-_BEFORE_CHARACTERS:].partition(" ")[2]
    return unfenced(f"{called(before.speaker)}: {text}")


# --- What is kept of the reply ------------------------------------------------------------


def _draft(source: SessionSource, place: int, tasks: Sequence[_Task]) -> list[Line] | Failure:
    """The message's notes: the model's lines, and the rules' words where no line tells them."""
    head = stamp(source.messages[place])
    grounds = grounds_of(source, [place])
    by_statement: dict[str, list[Line]] = {}
    replied: list[str] = []
    for task in tasks:
        lines = _lines(task)
        replied += lines
        by_statement |= _told(source, place, task.statements, lines, grounds)
    if not any(_told_of(tidy(line), statements_of(source, place)) for line in replied):
        return Failure("no line of it tells something of the message", "\n".join(replied))
    kept: dict[str, Line] = {}
    for statement in statements_of(source, place):
        told = by_statement.get(statement.text) or [Line(statement.text, ())]
        for line in told:
            kept.setdefault(line.text.casefold(), Line(f"{head} {line.text}", line.missing))
    return list(kept.values())


def _lines(task: _Task) -> list[str]:
    assert task.reply is not None  # noqa: S101  # only whole pages come here
    lines = task.reply.text.split("\n")
    if not task.reply.finished and len(lines) > 1:
        lines.pop()
    return lines


def _told(
    source: SessionSource,
    place: int,
    statements: Sequence[Statement],
    replied: Sequence[str],
    grounds: Grounds,
) -> dict[str, list[Line]]:
    """For each statement the lines that tell it; [] where they tell too little of it."""
    people = [called(name) for name in source.speakers]
    writer = called(source.messages[place].speaker)
    found: dict[str, list[str]] = {told.text: [] for told in statements}
    for reply in replied:
        body = _tidied(source, place, reply, grounds)
        told = _told_of(body, statements) if body else None
        if told is not None and about_the_same(told, body, people, writer):
            found[told.text].append(body)
    return {
        text: [Line(body, missing_from(body, grounds)) for body in lines]
        if _tells_all(text, lines, people)
        else []
        for text, lines in found.items()
    }


def _tells_all(statement: str, lines: Sequence[str], people: Sequence[str]) -> bool:
    """Whether lines tell a statement: most of its words, every name and number, and who "it" is."""
    if not lines or is_open(lines[0]):
        return False
    whole = " ".join(lines).casefold()
    names = [name for name in entities.entities(statement) if name not in people]
    if not all(part.casefold() in whole for part in (*names, *_NUMBER.findall(statement))):
        return False
    return _share(stems_of(statement), stems_of(whole)) >= COVERED_FROM


def _tidied(source: SessionSource, place: int, reply: str, grounds: Grounds) -> str:
    body = tidy(reply)
    if not body:
        return ""
    message = source.messages[place]
    other = source.addressee(message)
    who = called(message.speaker)
    told = in_third_person(body, who, None if other is None else called(other), explain=False)
    told = dated(told, grounds)
    return told if shared_share(told, grounds) >= LEAST_OWN else ""


def _told_of(body: str, statements: Sequence[Statement]) -> Statement | None:
    """The statement that a line tells; None where too little of the line is the message's."""
    words = stems_of(body)
    own = stems_of(" ".join(told.text for told in statements))
    if not words or _share(words, own) < LEAST_OWN:
        return None
    return nearest(body, statements)


def _share(words: frozenset[str], others: frozenset[str]) -> float:
    return len(words & others) / len(words) if words else 1.0
