"""L2 by a small model, message by message (DESIGN 2.1): the program fixes what it knows.

The instructions are a constant prefix that is evaluated once; the writer's name begins each line,
by the grammar; dates are written out in the input; the message before stands by for pronouns. A
small model asked for a whole session at once repeats itself and swaps speakers; asked so, it
does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from localmem import dates as dating
from localmem.layers.draft import Failure, Line, Work, kept_lines, unfenced
from localmem.layers.extractive import prose_of
from localmem.layers.orders import holds_order
from localmem.layers.rules import called
from localmem.layers.source import SessionSource
from localmem.layers.support import grounds_of
from localmem.layers.telling import attached, orders_in, telling_sentences
from localmem.layers.windows import text_windows
from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.types import ChatMessage, Completion, Message

PROMPT = "note_message"
BATCH = 8
"""Messages a call at most: what an engine decodes at once."""

DOUBTFUL_BELOW = 1.0
"""Weight of a message's most telling sentence below which the model is asked first whether it
tells anything at all."""

NOTHING_FROM = 0.9
"""Probability of "none" from which a doubtful message is taken to tell nothing."""

_NOTHING = "none"
_MOST_LINES = 4
_LINE_TOKENS = 40
_WINDOW_CHARACTERS = 1_200
_BEFORE_CHARACTERS = 240

OnDraft = Callable[[int, "list[Line] | Failure"], None]


def prompt_sha() -> str:
    """The provenance of what this path makes."""
    return load_prompt(PROMPT).sha


def wants_model(source: SessionSource, place: int) -> bool:
    """Whether a model is asked about a message at all; the others are noted by rule for good.

    Not where nothing is told, and not where the text tries to give a model orders.
    """
    message = source.messages[place]
    return not orders_in(message) and bool(telling_sentences(source, message))


@dataclass(slots=True)
class _Task:
    """One window of one message."""

    place: int
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
        GenerationError: the engine failed; the message that was asked about has its draft.
    """
    for some in _by_speaker(source, _asked(llm, source, places, work, on_draft)):
        pages = {place: _Pages(_tasks(source, place)) for place in some}
        tasks = [task for page in pages.values() for task in page.tasks]
        while tasks:
            size = work.room(BATCH)
            now, tasks = tasks[:size], tasks[size:]
            try:
                _run(llm, source, now, work)
            finally:
                for place in [place for place, page in pages.items() if page.whole]:
                    on_draft(place, _draft(source, place, pages.pop(place).tasks))


def _asked(
    llm: Llm, source: SessionSource, places: Sequence[int], work: Work, on_draft: OnDraft
) -> list[int]:
    """The places that are worth a reply; the others get an empty draft."""
    kept: list[int] = []
    for place in places:
        told = telling_sentences(source, source.messages[place])
        doubtful = max((one.weight for one in told), default=0.0) < DOUBTFUL_BELOW
        if doubtful and _tells_nothing(llm, source, place, work):
            on_draft(place, [])
        else:
            kept.append(place)
    return kept


def _tells_nothing(llm: Llm, source: SessionSource, place: int, work: Work) -> bool:
    work.check()
    options = (_NOTHING, _begin(source.messages[place]))
    choice = llm.choose(_tasks(source, place)[0].prompt, options)
    return choice.probabilities[0] >= NOTHING_FROM


def _by_speaker(source: SessionSource, places: Sequence[int]) -> list[list[int]]:
    """Places by speaker, because each speaker has a grammar; in their order."""
    by_speaker: dict[str, list[int]] = {}
    for place in places:
        by_speaker.setdefault(source.messages[place].speaker, []).append(place)
    return list(by_speaker.values())


def _run(llm: Llm, source: SessionSource, tasks: Sequence[_Task], work: Work) -> None:
    work.check()
    first = source.messages[tasks[0].place]

    def done(number: int, completion: Completion) -> None:
        tasks[number].reply = completion
        work.tally.add(completion)

    llm.complete_many(
        [task.prompt for task in tasks],
        max_tokens=_MOST_LINES * _LINE_TOKENS,
        grammar=_grammar(_begin(first)),
        reply_prefixes=[_begin(first)] * len(tasks),
        on_done=done,
        on_step=work.check,
    )


def _draft(source: SessionSource, place: int, tasks: Sequence[_Task]) -> list[Line] | Failure:
    begin = _begin(source.messages[place])
    lines: list[str] = []
    for task in tasks:
        assert task.reply is not None  # noqa: S101  # only whole pages come here
        replied = f"{begin}{task.reply.text}".split("\n")
        if not task.reply.finished and len(replied) > 1:
            replied.pop()
        lines += replied
    kept = kept_lines(source, place, lines, grounds_of(source, [place]))
    if kept:
        return kept
    return Failure("no line of it tells something of the message", "\n".join(lines))


def _begin(message: Message) -> str:
    """What every line begins with: the writer's name."""
    who = called(message.speaker)
    return f"- {who[:1].upper()}{who[1:]}"


def _grammar(begin: str) -> str:
    """One to four lines that begin alike; the first one's beginning is the reply's prefix."""
    again = begin.replace("\\", "\\\\").replace('"', '\\"')
    more = f'("\\n{again}" rest){{0,{_MOST_LINES - 1}}}'
    return f"root ::= rest {more}\nrest ::= [ '’,] [^\\n]+"


def _tasks(source: SessionSource, place: int) -> list[_Task]:
    message = source.messages[place]
    before = source.before(place)
    reader = source.addressee(message)
    day = "" if message.said_at is None else dating.describe_day(message.said_at.date())
    return [
        _Task(
            place,
            load_prompt(PROMPT).messages(
                writer=unfenced(called(message.speaker)),
                day=f", on {day}" if day else "",
                reader=f", to {unfenced(called(reader))}" if reader else "",
                before=_context(before),
                message=window,
            ),
        )
        for window in text_windows(_shown(source, message), _WINDOW_CHARACTERS)
    ]


def _shown(source: SessionSource, message: Message) -> str:
    """The message as the model sees it: no code, dates beside their words, attachments named."""
    prose = prose_of(message.text, most=None)
    said = unfenced(dating.annotate(prose, source.dates_of(message), said_at=message.said_at))
    shown = attached(message)
    return f"{said.strip()}\n(shared: {unfenced(shown)})" if shown else said.strip()


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
