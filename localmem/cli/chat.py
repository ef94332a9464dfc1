"""The command that talks with the memory, line by line, at a terminal or from a pipe."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from localmem.cli.shared import ThinkingLine, messages, opened, output, parse_depth
from localmem.errors import LocalMemError

if TYPE_CHECKING:
    from localmem.memory import Memory
    from localmem.memory.conversation import Conversation
    from localmem.types import Answer, Depth, TraceStep

_PROMPT = "> "
_HELP = """\
Say something, or ask: what you tell is kept, what you ask is answered with citations.
/sources  the messages behind the last answer, whole
/help     this
/quit     end (Ctrl-D too); Ctrl-C stops an answer"""


class _StoppedError(Exception):
    """Ctrl-C while an answer is made."""


class _Interrupts:
    """Ctrl-C: stops an answer, and a second one leaves; at a prompt it clears the line.

    What hears of an answer calls `check`, which raises once Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        self._answering = False
        self._pressed = False
        self._leave: object = None

    @contextlib.contextmanager
    def heeded(self) -> Iterator[None]:
        """Inside the block Ctrl-C comes here; not where the program was started deaf to it."""
        before = signal.getsignal(signal.SIGINT)
        if before is signal.SIG_IGN:
            yield
            return
        self._leave = before
        signal.signal(signal.SIGINT, self._press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Inside the block an answer is made."""
        self._answering, self._pressed = True, False
        try:
            yield
        finally:
            self._answering = False

    def check(self) -> None:
        """Raises: _StoppedError once Ctrl-C was pressed."""
        if self._pressed:
            raise _StoppedError

    def _press(self, number: int, frame: FrameType | None) -> None:
        at_prompt = not self._answering and sys.stdin.isatty()
        if self._answering and not self._pressed:
            self._pressed = True
        elif callable(self._leave) and not at_prompt:
            self._leave(number, frame)
        else:
            raise KeyboardInterrupt


def chat(
    context: typer.Context,
    depth: Annotated[
        str | None,
        typer.Option(help="How questions are answered: instant, direct, deep or auto."),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Begin a new conversation; else a recent one goes on.")
    ] = False,
) -> None:
    """Talk with the memory: what you tell it is kept, what you ask is answered with citations."""
    wanted = parse_depth(depth)
    interrupts = _Interrupts()
    with (
        opened(context, create=True) as memory,
        memory.conversation(new=new) as talk,
        interrupts.heeded(),
    ):
        _greet(memory, talk)
        shown = _Shown(talk, wanted, interrupts)
        for line in _lines():
            if line == "/quit":
                break
            if line.startswith("/"):
                _command(line, memory, shown.last)
            else:
                shown.say(line)


def _greet(memory: Memory, talk: Conversation) -> None:
    """What a person should know before the first word; nothing for a pipe."""
    from localmem.wording import counted

    if not sys.stdin.isatty():
        return
    console = messages()
    if not memory.stats().messages:
        console.print(
            "this memory is empty: what you say here is its beginning; "
            "localmem import EXPORT brings more",
            style="dim",
        )
    elif talk.pages:
        kept = counted(len(talk.pages), "exchange")
        console.print(f"going on where we were, {kept} in mind; --new begins anew", style="dim")
    console.print("/help, /quit", style="dim", highlight=False)


def _lines() -> Iterator[str]:
    """What is said, one thing a line, until it ends. Ctrl-C clears a line."""
    ask: Callable[[str], str] = input
    prompt = _PROMPT if sys.stdin.isatty() else ""
    if prompt:
        with contextlib.suppress(ImportError):  # a system without it: lines cannot be edited
            import readline  # noqa: F401  # importing it lets `input` edit lines
    while True:
        try:
            line = ask(prompt).strip()
        except EOFError:
            if prompt:
                sys.stdout.write("\n")
            return
        except KeyboardInterrupt:
            if not prompt:
                raise
            sys.stdout.write("\n")
            continue
        if line:
            yield line


class _Shown:
    """The conversation as the terminal shows it. `last` is the last answer.

    What an answer has to note is shown once, not again with each answer.
    """

    def __init__(self, talk: Conversation, depth: Depth | None, interrupts: _Interrupts) -> None:
        self.last: Answer | None = None
        self._talk = talk
        self._depth = depth
        self._interrupts = interrupts
        self._noted: set[str] = set()

    def say(self, line: str) -> None:
        """Say it, and show the answer as it comes."""
        from localmem.cli.render import plain

        said: list[str] = []

        def hear(token: str) -> None:
            self._interrupts.check()
            status.end()
            if sys.stdout.isatty():
                said.append(token)
                sys.stdout.write(plain(token))
                sys.stdout.flush()

        def step(done: TraceStep) -> None:
            self._interrupts.check()
            status.show(done)

        try:
            with ThinkingLine() as status, self._interrupts.answering():
                answer = self._talk.say(
                    line,
                    depth=self._depth,
                    on_found=lambda found: self._interrupts.check(),
                    on_token=hear,
                    on_step=step,
                )
        except _StoppedError:
            sys.stdout.write("\n" if said else "")
            messages().print("stopped; what you said is kept", style="yellow")
        except LocalMemError as error:
            if not sys.stdin.isatty():
                raise
            told = f"{error.message}\n  {error.hint}".rstrip()
            messages().print(told, style="yellow", markup=False)
        else:
            self._show(answer, "".join(said))

    def _show(self, answer: Answer, streamed: str) -> None:
        from dataclasses import replace

        from localmem.cli.render import answer_view

        if streamed:
            sys.stdout.write("\n")
        new = tuple(one for one in answer.notices if one not in self._noted)
        self._noted.update(answer.notices)
        self.last = answer
        shown = replace(answer, notices=new)
        answer_view(output(), shown, trace=False, streamed=streamed.strip() == answer.text)


def _command(line: str, memory: Memory, answer: Answer | None) -> None:
    """A line that begins with a slash."""
    from localmem.cli.render import cited_messages

    if line == "/help":
        output().print(_HELP, markup=False)
    elif line == "/sources":
        numbers = [one.message_id for one in answer.citations] if answer is not None else []
        left = memory.store.messages_left(numbers)
        cited_messages(output(), [left[number] for number in numbers if number in left])
    else:
        messages().print(f"there is no {line}; /help shows what there is", markup=False)
