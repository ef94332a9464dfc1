"""A running conversation of the owner with a memory. Wiring only.

with memory.conversation() as talk:
    print(talk.say("I moved to Bergen last week.").text)
    print(talk.say("Where do I live now?").text)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from localmem.errors import UsageError
from localmem.jobs.talking import Sitting, left_of
from localmem.memory.asking import Asking, Query, Question
from localmem.ports import Clock
from localmem.recall.acknowledge import Told, acknowledge, replaced_by
from localmem.recall.follow_up import standalone
from localmem.recall.said import Spoken, parted
from localmem.store import Store
from localmem.tiers.shortterm import ShortTerm
from localmem.types import (
    Answer,
    Budget,
    Depth,
    Message,
    RecentPage,
    SearchResult,
    TraceStep,
)


class Conversation:
    """What is said to a memory and what it replies; `Memory.conversation` gives one.

    Its last pages are in the context of every answer. One thing is said at a time; not for several
    threads.
    """

    def __init__(
        self,
        *,
        store: Store,
        asking: Asking,
        clock: Clock,
        sitting: Sitting,
        term: ShortTerm,
        embed: Callable[[], None],
        settle: Callable[[], None],
        place: Callable[[], None],
    ) -> None:
        """`embed` makes vectors of new messages, `settle` all that they need to be found and known
        of; `place` puts pages into episodes."""
        self._store = store
        self._asking = asking
        self._clock = clock
        self._sitting = sitting
        self._term = term
        self._embed = embed
        self._settle = settle
        self._place = place
        self._has_left = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pages(self) -> tuple[RecentPage, ...]:
        """The pages that are in the context of the next answer, oldest first."""
        return tuple(left_of(self._store, self._term.pages))

    def say(
        self,
        text: str,
        *,
        depth: Depth | None = None,
        budget: Budget | None = None,
        on_found: Callable[[SearchResult], None] | None = None,
        on_token: Callable[[str], None] | None = None,
        on_step: Callable[[TraceStep], None] | None = None,
    ) -> Answer:
        """Say something; the answer to what it asks, or that it is noted.

        It is stored before anything else, the reply when it is finished. What one of the callbacks
        raises ends the call: then there is no reply, and what was said stays.

        Raises:
            UsageError: nothing is said.
            ModelError: the depth needs a language model and none could be used.
        """
        if not text.strip():
            raise UsageError("there is nothing said", hint="say it in words")
        with self._store.lingering():
            recent = self.pages
            said = self._sitting.hear(text.strip(), self._clock.now())
            spoken = parted(said.text)
            if spoken.told:
                self._settle()
            else:
                self._embed()
            page = RecentPage((said,))
            try:
                answer = self._answered(
                    said,
                    spoken,
                    Question(
                        said.text,
                        self._clock.now(),
                        depth=depth,
                        budget=budget,
                        earlier=_said_in(recent),
                        recent=recent,
                        without=(said.id,),
                        on_found=on_found,
                        on_token=on_token,
                        on_step=on_step,
                    ),
                )
                page = self._replied(said, answer)
            finally:
                self._write(page)
            self._place_what_left()
        return answer

    def close(self) -> None:
        """Place the pages of this conversation; it can be gone on with later."""
        if self._sitting.said:
            self._place()

    def _answered(self, said: Message, spoken: Spoken, question: Question) -> Answer:
        """The answer to what was asked; where nothing was, that it is noted."""
        if spoken.asked:
            told = (spoken.told,) if spoken.told else ()
            return self._asking.ask(
                replace(question, text=spoken.asked, earlier=(*question.earlier, *told))
            )
        found = self._asking.search(
            Query(said.text, question.moment, evidence_only=True, without=question.without)
        ).result
        if question.on_found is not None:
            question.on_found(found)
        told_now = Told(said, found, replaced_by(self._store, said))
        return acknowledge(self._store, told_now, question.moment)

    def _replied(self, said: Message, answer: Answer) -> RecentPage:
        """The whole page, once the reply is stored."""
        reply = self._sitting.reply(answer, self._clock.now())
        self._settle()
        return RecentPage((said, reply), tuple(one.message_id for one in answer.citations))

    def _write(self, page: RecentPage) -> None:
        self._term, left = self._term.cited(page.cited).written(page)
        self._has_left = self._has_left or bool(left)

    def _place_what_left(self) -> None:
        """A page that has left the short term goes into an episode."""
        if self._has_left:
            self._place()
            self._has_left = False


def _said_in(pages: Sequence[RecentPage]) -> list[str]:
    """What the owner said in these pages, each with what it leans on, oldest first."""
    resolved: list[str] = []
    for page in pages:
        for message in page.said:
            resolved.append(standalone(message.text, resolved))
    return resolved
