"""Finding and asking: how deep a question goes, which model answers it, and when it goes on.

What is found and said stands in `recall`; what is known of people is brought to bear on it there
too (`recall.standing`). This module only puts the parts together for one question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from localmem.config import Config
from localmem.errors import ModelError, UsageError
from localmem.jobs.turns import Turns
from localmem.memory.models import LoadedModels
from localmem.memory.opened import Opened
from localmem.ports import Llm
from localmem.store import Store
from localmem.types import (
    Answer,
    Budget,
    ConversationKind,
    Depth,
    MessageId,
    RecentPage,
    SearchFilter,
    SearchResult,
    TraceStep,
)

if TYPE_CHECKING:
    from localmem.layers.materialise import Materialiser
    from localmem.recall.answer import Asked
    from localmem.recall.deep import Limits, Sources
    from localmem.recall.finder import Finder
    from localmem.recall.lasting_search import LastingSearch
    from localmem.recall.own_words import OwnWords
    from localmem.recall.routing import Routes
    from localmem.recall.standing import Settled, Standing

_LAYER_SECONDS = 15.0
"""What making a layer of one session may take while a question waits."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for, at which moment; None: as the configuration says.

    `evidence_only` passes over what the memory itself replied to its owner or was only asked, and
    `without` over these messages.
    """

    text: str
    moment: datetime
    k: int | None = None
    mode: str | None = None
    limits: SearchFilter | None = None
    evidence_only: bool = False
    without: Collection[MessageId] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it was put, at which moment; None: as the configuration says.

    `recent` are the last pages of the conversation that it is put in, `without` are the messages
    that hold the question itself.
    """

    text: str
    moment: datetime
    depth: Depth | None = None
    budget: Budget | None = None
    limits: SearchFilter | None = None
    earlier: Sequence[str] = ()
    recent: Sequence[RecentPage] = ()
    without: Collection[MessageId] = ()
    on_found: Callable[[SearchResult], None] | None = None
    on_token: Callable[[str], None] | None = None
    on_step: Callable[[TraceStep], None] | None = None


@dataclass(frozen=True, slots=True)
class _Course:
    """The depth that is really taken, the model for it, and what is to be said about that."""

    depth: Depth
    llm: Llm | None = None
    notices: tuple[str, ...] = ()


@dataclass(eq=False, repr=False)
class Asking:
    """What answers the questions to one memory."""

    store: Store
    finder: Finder
    wishes: LastingSearch
    lasting: LastingSearch
    standing: Standing
    models: LoadedModels
    layers: Callable[[], Materialiser]
    opened: Opened
    turns: Turns
    config: Config

    def search(self, query: Query) -> Settled:
        """A search, and what is known for it: what holds stands before what held.

        Raises:
            UsageError: the query is empty, or the mode is unknown.
            RecordNotFoundError: the filter names a participant who is not in this memory.
        """
        from localmem.recall.standing import Settled

        if not query.text.strip():
            raise UsageError("there is nothing to look for", hint="say it in words")
        usual = self.config.search.mode
        with self.turns.question():
            most = query.k or self.config.search.results
            result = self.finder.search(
                query.text,
                k=most + len(query.without),
                mode=query.mode or usual,
                limits=query.limits or SearchFilter(),
                asked_at=query.moment,
                evidence_only=query.evidence_only,
            )
            result = _without(result, query.without, most)
            if query.mode is not None and query.mode != usual:
                return Settled(result)  # asked for by name, to compare: as the mode ranks it
            settled = self.standing.settled(
                result, most=most, asked_at=query.moment, limits=query.limits
            )
            return replace(settled, result=_without(settled.result, query.without, most))

    def ask(self, question: Question) -> Answer:
        """Answer a question, with citations; "not found" is an answer.

        Raises:
            ModelError: the depth needs a language model and none could be used.
        """
        from localmem.recall.answer import Asked
        from localmem.recall.follow_up import standalone
        from localmem.recall.recent import recent_beside

        text = standalone(question.text, question.earlier)
        leaning = (f"understood as: {text}",) if text != question.text else ()
        question = replace(question, text=text)
        most = self.config.ask.evidence
        settled = self.search(
            Query(
                question.text,
                question.moment,
                k=most,
                limits=question.limits,
                evidence_only=True,
                without=question.without,
            )
        )
        if question.on_found is not None:
            question.on_found(settled.result)
        beside = recent_beside(self.store, question.recent)
        asked = Asked.from_search(settled.result, question.moment)
        asked = replace(
            asked,
            titles={**beside.titles, **asked.titles},
            people=_people(settled.result),
            remarks=settled.remarks,
            known=settled.extract,
            beside=beside,
        )
        asked = replace(asked, notices=(*asked.notices, *leaning))
        with self.turns.question(), self.models.lock:
            answer = settled.upheld(self._answer(question, asked))
            self.opened.add_answer(answer)
            return answer

    def own_words(
        self, query: Query, *, limit_tokens: int, count_tokens: Callable[[str], int]
    ) -> OwnWords:
        """What people said that bears on a query, with what is known for it, as a block to read.

        Raises:
            UsageError, RecordNotFoundError: as a search does.
        """
        from localmem.recall.own_words import in_own_words

        settled = self.search(query)
        known = settled.known
        return in_own_words(
            self.store,
            settled.result,
            known=known.lines if known is not None and known.is_sure else (),
            limit_tokens=limit_tokens,
            count_tokens=count_tokens,
        )

    def doors(
        self,
        *,
        asked_at: datetime,
        limits: SearchFilter | None,
        routes: Routes | None = None,
        without: Collection[MessageId] = (),
    ) -> Sources:
        """What a deep question may read of this memory."""
        from localmem.recall.deep.doors import open_doors
        from localmem.recall.deep.tier_doors import open_tiers

        sources = open_doors(
            self.store,
            self.finder,
            self.layers(),
            asked_at=asked_at,
            limits=limits,
            mode=self.config.search.mode,
            routes=routes,
            without=without,
            settle=lambda found, most: (
                self.standing.settled(found, most=most, asked_at=asked_at, limits=limits).result
            ),
        )
        tiers = open_tiers(
            self.store,
            self.finder,
            self.lasting,
            on_episode=self.opened.add_episode,
            on_entries=self.opened.add_entries,
            without=without,
        )
        return replace(sources, tiers=tiers)

    def _answer(self, question: Question, asked: Asked) -> Answer:
        """The answer at the depth that suits; a doubtful one goes deep where that is free."""
        from localmem.recall.answer import answer_question
        from localmem.recall.depth import is_doubtful

        wanted = question.depth or Depth(self.config.ask.depth)
        course = self._course(wanted, asked)
        if course.depth is not Depth.INSTANT:
            near = self.wishes.near(question.text)
            asked = replace(asked, beside=replace(asked.beside, wishes=near))
        if course.depth is Depth.DEEP:
            return self._ask_deeply(question, asked)
        answer = answer_question(
            replace(asked, notices=(*asked.notices, *course.notices)),
            depth=course.depth,
            llm=course.llm,
            budget=self._spending(question),
            on_token=question.on_token,
        )
        goes_on = wanted is Depth.AUTO and course.depth is Depth.DIRECT and is_doubtful(answer)
        if goes_on and answer.complete and self.models.steers():
            return self._ask_deeply(question, asked, before=answer)
        return answer

    def _course(self, wanted: Depth, asked: Asked) -> _Course:
        from localmem.recall.depth import choose_depth

        if wanted in (Depth.INSTANT, Depth.DEEP):
            return _Course(wanted)
        if wanted is Depth.DIRECT:
            return _Course(wanted, self.models.llm())
        try:
            chosen = choose_depth(
                asked, reads_well=self.models.reads_well(), steers=self.models.steers()
            )
            return _Course(chosen, self.models.llm() if chosen is Depth.DIRECT else None)
        except ModelError as error:
            without = f"{error.message}: answered without a language model"
            return _Course(Depth.INSTANT, notices=(without,))

    def _ask_deeply(
        self, question: Question, asked: Asked, *, before: Answer | None = None
    ) -> Answer:
        """The answer of a deep question; `before` is the answer that was not good enough."""
        from localmem.recall.deep import DeepModels, DeepOptions, DeepQuestion, answer_deeply

        models, notices = self.models.for_deep()
        deep = DeepQuestion(
            text=asked.question,
            asked_at=asked.asked_at,
            people=asked.people or (),
            draft=before.text if before is not None and before.found else "",
            notices=(*asked.notices, *notices),
            spent_s=before.trace.seconds if before is not None else asked.search_seconds,
            beside=asked.beside,
        )
        return answer_deeply(
            deep,
            self.doors(
                asked_at=asked.asked_at,
                limits=question.limits or SearchFilter(),
                without=question.without,
            ),
            DeepModels(**models, reasons=self.models.reasons()),
            DeepOptions(
                self._spending(question),
                self._deep_limits(),
                on_token=question.on_token,
                on_step=question.on_step,
            ),
        )

    def _deep_limits(self) -> Limits:
        """A model that reads whole sessions may make a session's layer while a question waits."""
        from localmem.recall.deep import Limits

        return Limits(layer_seconds=_LAYER_SECONDS if self.models.reads_sessions() else 0.0)

    def _spending(self, question: Question) -> Budget:
        return question.budget or Budget(seconds=self.config.ask.seconds or None)


def _without(result: SearchResult, ids: Collection[MessageId], most: int) -> SearchResult:
    """The first `most` messages of a search that are none of these."""
    if not ids:
        return result
    kept = [one for one in result.found if one.message.id not in ids]
    return replace(result, found=tuple(kept[:most]))


def _people(result: SearchResult) -> tuple[str, ...]:
    """Who takes part in the chats among people that were found."""
    among = (f for f in result.found if f.session.kind is ConversationKind.PEOPLE)
    return tuple(sorted({f.message.speaker for f in among}))
