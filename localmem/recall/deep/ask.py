"""One deep question from its first search to its checked answer. Wiring of this package."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from localmem.ports import Llm
from localmem.recall.deep.baselines import read_every_layer, read_raw_only
from localmem.recall.deep.bench import Bench, OnStep
from localmem.recall.deep.controller import gather_evidence
from localmem.recall.deep.items import Item, list_items
from localmem.recall.deep.lasting import tell_taken
from localmem.recall.deep.limits import Limits, Switches
from localmem.recall.deep.meter import Meter
from localmem.recall.deep.mind import Mind
from localmem.recall.deep.notes import OrganisedNotes, organise
from localmem.recall.deep.policy import ModelPolicy, Policy, RulePolicy
from localmem.recall.deep.question import understand
from localmem.recall.deep.reasoned import written_notes
from localmem.recall.deep.sources import Sources, tokens_of
from localmem.recall.deep.state import State
from localmem.recall.deep.writer import Writer, Written
from localmem.recall.evidence import NOTHING_BESIDE, Beside
from localmem.types import Answer, Budget, Depth, Evidence, Layer, SessionId, Trace


@dataclass(frozen=True, slots=True)
class DeepQuestion:
    """A question with its own time; `people` are the participants of chats among people.

    `draft` is an answer that was given before, not trusted. `notices` are what finding had to
    say; `spent_s` is what was spent on the question before. `beside` is for whoever writes the
    answer alone; no step of the search sees it.
    """

    text: str
    asked_at: datetime
    people: Sequence[str] = ()
    draft: str = ""
    notices: tuple[str, ...] = ()
    spent_s: float = 0.0
    beside: Beside = NOTHING_BESIDE


@dataclass(frozen=True, slots=True)
class DeepModels:
    """Models by role. Without `controller` the rules decide, without `answer` it is extracted.

    `notes` names what each message adds to a list; by default the model that answers does.
    `reasons`: both read whole sessions and write JSON well, so that they may write whole notes
    and an answer with its reasoning.
    """

    answer: Llm | None = None
    controller: Llm | None = None
    notes: Llm | None = None
    reasons: bool = False


@dataclass(frozen=True, slots=True)
class DeepOptions:
    """How a deep question is worked on."""

    budget: Budget = field(default_factory=Budget)
    limits: Limits = field(default_factory=Limits)
    switches: Switches = field(default_factory=Switches)
    on_token: Callable[[str], None] | None = None
    on_step: OnStep | None = None


def answer_deeply(
    asked: DeepQuestion,
    sources: Sources,
    models: DeepModels | None = None,
    options: DeepOptions | None = None,
) -> Answer:
    """The answer to a question, with citations and the whole trace. Stores nothing.

    Where the budget ends the work early, the answer is written from what is open by then, and
    `complete` is False. A model that fails is told in the notices.
    """
    models, options = models or DeepModels(), options or DeepOptions()
    bench = _bench(asked, sources, models, options)
    _gather(bench, ModelPolicy() if models.controller is not None else RulePolicy())
    items = _items(bench, models)
    notes = _notes(bench, models, items).with_sources(asked.beside.sources)
    draft = asked.draft if bench.switches.draft else ""
    writer = Writer(
        bench,
        {**asked.beside.titles, **_titles(bench)},
        models.answer,
        options.on_token,
        models.reasons,
        asked.beside,
    )
    return _finished(asked, bench, writer.write(notes, draft))


def _bench(
    asked: DeepQuestion, sources: Sources, models: DeepModels, options: DeepOptions
) -> Bench:
    started = time.perf_counter() - asked.spent_s
    meter = Meter(options.budget, started)
    return Bench(
        state=State(understand(asked.text, asked.asked_at, asked.people)),
        sources=sources,
        limits=options.limits,
        switches=options.switches,
        meter=meter,
        mind=Mind(models.controller, meter) if models.controller is not None else None,
        on_step=options.on_step,
    )


def _gather(bench: Bench, policy: Policy) -> None:
    if bench.switches.vanilla_rag:
        read_raw_only(bench)
    elif not bench.switches.controller:
        read_every_layer(bench)
    else:
        gather_evidence(bench, policy)


def _items(bench: Bench, models: DeepModels) -> tuple[Item, ...]:
    """What the messages name where a question asks for several things; () without a model."""
    llm = models.notes or models.answer
    wanted = bench.state.question.lists and bench.switches.allows("list_items")
    if llm is None or not wanted or bench.switches.vanilla_rag:
        return ()
    spent = bench.meter.exhausted()
    if spent:
        bench.state.stopped = bench.state.stopped or spent
        return ()
    return list_items(bench, llm, _raw_evidence(bench))


def _notes(bench: Bench, models: DeepModels, items: Sequence[Item]) -> OrganisedNotes:
    """Notes by rule, with a model's own where it may write them."""
    notes = organise(bench, items)
    llm = models.notes or models.answer
    if llm is None or not models.reasons or not bench.switches.notes or bench.meter.exhausted():
        return notes
    return replace(notes, written=written_notes(bench, llm, notes))


def _raw_evidence(bench: Bench) -> list[Evidence]:
    """The raw messages that are open, best first."""
    relevance = bench.state.relevance()
    lines = sorted(
        bench.state.lines(least=Layer.RAW),
        key=lambda line: (-relevance.get(line.message_ids[0], 0.0), line.message_ids),
    )
    return [bench.messages_of(line.session_id)[line.message_ids[0]] for line in lines]


def _finished(asked: DeepQuestion, bench: Bench, written: Written) -> Answer:
    state = bench.state
    tell_taken(bench, [citation.message_id for citation in written.citations])
    notices = [*asked.notices, *state.notices, *written.notices]
    if state.stopped:
        notices.append(f"stopped early: the {state.stopped} were used up")
    if bench.meter.failed:
        notices.append(f"the model failed {bench.meter.failed} times; rules went on without it")
    return Answer(
        question=asked.text,
        asked_at=asked.asked_at,
        text=written.text,
        found=written.found,
        citations=written.citations,
        trace=_trace(bench),
        complete=written.complete and not state.stopped,
        notices=tuple(dict.fromkeys(notices)),
        wishes=written.wishes,
    )


def _trace(bench: Bench) -> Trace:
    state, meter, sources = bench.state, bench.meter, bench.sources
    by_layer = {
        f"L{int(layer)}": tokens_of(
            sum(view.characters for view in state.views.values() if view.layer is layer)
        )
        for layer in Layer
        if any(view.layer is layer for view in state.views.values())
    }
    return Trace(
        depth=Depth.DEEP,
        steps=tuple(state.steps),
        sessions_opened=len(state.opened_sessions()),
        sessions_total=sources.sessions_total,
        tokens_by_layer=by_layer,
        prompt_tokens=meter.prompt_tokens,
        completion_tokens=meter.completion_tokens,
        seconds=meter.seconds,
        model_id=", ".join(meter.models) or None,
        model_calls=meter.calls,
        opened_share=_opened_share(bench),
        deepest=max((view.layer for view in state.views.values()), default=None),
        opened=state.opened_sessions(),
    )


def _opened_share(bench: Bench) -> float | None:
    """The share of the history's text whose facts, notes or raw words were opened."""
    whole = bench.sources.history_characters
    if not whole:
        return None
    views = bench.state.views.values()
    opened = sum(view.characters for view in views if view.layer > Layer.SUMMARY)
    return min(1.0, opened / whole)


def _titles(bench: Bench) -> dict[SessionId, str]:
    """Titles of the sessions that were found."""
    found = (one.found.session for one in bench.state.candidates.values())
    return {session.id: session.title for session in found}
