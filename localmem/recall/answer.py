"""From evidence to an answer: one short reply of a model, checked against what it was shown.

The model fills in a few words; the program fixes the rest: what is shown, that the reply is one
line, which messages support it, and when to say "not found". Nothing here searches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from localmem.dates import describe, is_absolute, resolve_question
from localmem.errors import UsageError
from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.recall.citations import Support, find_support
from localmem.recall.confirm import is_of_person
from localmem.recall.evidence import NOTHING_BESIDE, Beside, ShownEvidence, show_evidence
from localmem.recall.extract import DateOption, Extract, date_options, extract_answer
from localmem.recall.refusal import (
    NOT_FOUND,
    about_somebody_else,
    fit_by_person,
    says_not_found,
    told_of_another,
)
from localmem.recall.reply import only_repeats, plain_line
from localmem.types import (
    Answer,
    Budget,
    ChatMessage,
    Citation,
    Completion,
    Depth,
    Evidence,
    LastingEntry,
    Layer,
    SearchResult,
    SessionId,
    Trace,
    TraceStep,
)
from localmem.wording import counted

MAX_REPLY_TOKENS = 48
_DATE_FIT = 2.0
"""Weight of how well a date's sentence fits beside the logarithm of the model's probability. On 61
development questions all values from 1 to 4 were better than either of the two alone."""
_LEAST_PROBABILITY = 1e-6
_ROOM_FOR_TEMPLATE = 160
"""Tokens that a chat template may add around the turns of a prompt."""

OnToken = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what was found for it.

    `evidence` is best first. `people` are the names of the participants where people talk among
    themselves; by default they are told from the evidence. `notices` are what finding had to
    say; `search_seconds` is what it took, and counts towards the budget. `remarks` are lines to
    show below the messages: notes on them, a first guess. `known` is the answer where it is known
    without reading: extraction gives way to it. `beside` is the running conversation and the
    owner's wishes.
    """

    question: str
    asked_at: datetime
    evidence: Sequence[Evidence]
    sessions_total: int
    titles: Mapping[SessionId, str] = field(default_factory=dict)
    people: Sequence[str] | None = None
    notices: tuple[str, ...] = ()
    search_seconds: float = 0.0
    remarks: str = ""
    known: Extract | None = None
    beside: Beside = NOTHING_BESIDE

    @property
    def whole(self) -> Sequence[Evidence]:
        """All that an answer may rest on: what was found, then what was just said."""
        return self.beside.joined(self.evidence)

    @classmethod
    def from_search(cls, result: SearchResult, asked_at: datetime) -> Asked:
        """The question of a search with all that it found."""
        return cls(
            question=result.query,
            asked_at=asked_at,
            evidence=[
                Evidence(one.message, one.dates, one.hit.score, standing=one.standing)
                for one in result.found
            ],
            sessions_total=result.sessions_total,
            titles={one.session.id: one.session.title for one in result.found},
            notices=result.notices,
            search_seconds=result.seconds,
        )


@dataclass(slots=True)
class _Outcome:
    """An answer in the making."""

    text: str = ""
    found: bool = False
    complete: bool = True
    citations: tuple[Citation, ...] = ()
    notices: list[str] = field(default_factory=list)
    steps: list[TraceStep] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    opened: Sequence[Evidence] = ()
    opened_tokens: int = 0
    wishes: tuple[LastingEntry, ...] = ()


class _OutOfTimeError(Exception):
    """The seconds are spent; stops a reply between two tokens."""


def answer_question(
    asked: Asked,
    *,
    depth: Depth,
    llm: Llm | None = None,
    budget: Budget | None = None,
    on_token: OnToken | None = None,
    choose_dates: bool = True,
) -> Answer:
    """The answer to a question from its evidence, with citations and trace.

    `depth` is INSTANT (no model is touched) or DIRECT. Where the budget runs out before the
    model has answered, the extractive answer stands in and `complete` is False. `choose_dates`:
    when-questions are answered by choosing among the dates of the evidence, not by writing.

    Raises:
        UsageError: the depth is neither, or DIRECT was asked for without a model.
        GenerationError: the model failed.
    """
    started = time.perf_counter() - asked.search_seconds
    outcome = _Outcome(notices=list(asked.notices))
    if depth is Depth.INSTANT:
        _answer_instantly(asked, outcome)
    elif depth is Depth.DIRECT and llm is not None:
        reader = _Reader(llm, budget or Budget(), started, on_token)
        _answer_directly(asked, outcome, reader, choose_dates=choose_dates)
    else:
        raise UsageError(f"cannot answer at depth '{depth}' " + ("" if llm else "without a model"))
    return _finished(asked, outcome, depth, llm, time.perf_counter() - started)


# --- Instant ------------------------------------------------------------------------------


def _answer_instantly(asked: Asked, outcome: _Outcome) -> None:
    began = time.perf_counter()
    outcome.wishes = ()  # no model writes this answer
    if asked.known is not None:
        outcome.text, outcome.found = asked.known.text, asked.known.found
        outcome.citations, outcome.opened = asked.known.citations, asked.whole
        outcome.steps.append(_step("known", "", 0, began))
        return
    evidence = asked.whole
    extract = extract_answer(
        asked.question, asked.asked_at, evidence, asked.titles, people=asked.people
    )
    outcome.text, outcome.found = extract.text or NOT_FOUND, extract.found
    outcome.citations = extract.citations
    outcome.opened = evidence
    outcome.notices += extract.notices
    opened = {one.message.id: one for one in evidence}
    cited = [(opened[c.message_id], c) for c in extract.citations]
    if outcome.found and not _is_about_another(asked, outcome, cited):
        fit = fit_by_person(asked.question, asked.evidence, asked.people)
        _refuse(outcome, told_of_another(fit))
    outcome.steps.append(_step("extract", counted(len(evidence), "message"), 0, began))


# --- Direct -------------------------------------------------------------------------------


class _Reader:
    """One model with what it may spend on one question."""

    def __init__(self, llm: Llm, budget: Budget, started: float, on_token: OnToken | None) -> None:
        self.llm = llm
        self._budget = budget
        self._started = started
        self._on_token = on_token
        self.said: list[str] = []

    @property
    def out_of_time(self) -> bool:
        seconds = self._budget.seconds
        return seconds is not None and time.perf_counter() - self._started >= seconds

    def room_for_evidence(self, fixed_text: str) -> tuple[int, bool]:
        """Tokens left for evidence, and whether the budget (not the context) sets the limit."""
        fixed = self.llm.count_tokens(fixed_text) + _ROOM_FOR_TEMPLATE + MAX_REPLY_TOKENS
        room = self.llm.context_tokens - fixed
        if self._budget.tokens is not None and self._budget.tokens - fixed < room:
            return self._budget.tokens - fixed, True
        return room, False

    def say(self, text: str) -> None:
        """Pass on an answer that was not written by the model."""
        if self._on_token is not None:
            self._on_token(text)

    def hear(self, token: str) -> None:
        """Keep a token, pass it on while the first line lasts, and stop when time is up."""
        if self._on_token is not None and "\n" not in "".join(self.said).lstrip():
            self._on_token(token.split("\n")[0] if "".join(self.said).strip() else token)
        self.said.append(token)
        if self.out_of_time:
            raise _OutOfTimeError


def _answer_directly(
    asked: Asked, outcome: _Outcome, reader: _Reader, *, choose_dates: bool
) -> None:
    prompt = load_prompt("answer_question")
    question = _with_dates(asked.question, asked.asked_at)
    began = time.perf_counter()
    room, by_budget = reader.room_for_evidence(f"{prompt.text}\n{asked.remarks}\n{question}")
    shown = show_evidence(
        asked.evidence,
        asked.question,
        limit_tokens=room,
        count_tokens=reader.llm.count_tokens,
        beside=asked.beside,
    )
    opened = [one.evidence for one in reversed(shown.messages)]
    outcome.opened = asked.beside.joined([one for one in opened if asked.beside.may_cite(one)])
    outcome.wishes = shown.wishes
    outcome.opened_tokens = reader.llm.count_tokens(shown.block) if shown.messages else 0
    outcome.steps.append(
        _step("show", counted(len(shown.messages), "message"), outcome.opened_tokens, began)
    )
    if shown.wishes:
        told = counted(len(shown.wishes), "wish", "wishes")
        outcome.steps.append(_step("recall_wishes", told, shown.wish_tokens, began))
    _tell_dropped(outcome, shown, by_budget=by_budget)
    if not asked.whole:
        outcome.text, outcome.wishes = NOT_FOUND, ()
        return
    if not shown.messages or reader.out_of_time:
        _fall_back(asked, outcome)
        return
    memory = f"{shown.block}\n{asked.remarks}".strip()
    messages = prompt.messages(memory=memory, question=question)
    dates = (
        date_options(asked.question, outcome.opened, asked.titles, people=asked.people)
        if choose_dates
        else ()
    )
    if len(dates) > 1:
        _choose_date(asked, outcome, reader, messages, dates)
        return
    if not _read_reply(outcome, reader, messages) and not outcome.text:
        _fall_back(asked, outcome)
        return
    if only_repeats(outcome.text, asked.question):
        outcome.notices.append(f"the model said only “{outcome.text}”; this answer is extracted")
        _answer_instantly(asked, outcome)
        return
    _judge(asked, outcome, reader)


def _choose_date(
    asked: Asked,
    outcome: _Outcome,
    reader: _Reader,
    messages: Sequence[ChatMessage],
    dates: Sequence[DateOption],
) -> None:
    """Answer with the date that the model finds likely and whose sentence fits the question.

    A small model that writes a date freely now and then takes the day of another message, or
    the words in place of their date; by choice it can only take one that is there.
    """
    began = time.perf_counter()
    probabilities = reader.llm.choose(messages, [one.text for one in dates]).probabilities
    fits = [
        math.log(max(p, _LEAST_PROBABILITY)) + _DATE_FIT * one.score
        for p, one in zip(probabilities, dates, strict=True)
    ]
    chosen = dates[max(range(len(dates)), key=lambda i: (fits[i], -i))]
    tokens = reader.llm.count_tokens("\n".join(message.content for message in messages))
    outcome.prompt_tokens += tokens
    outcome.steps.append(_step("choose_date", f"{len(dates)} dates", tokens, began))
    if _belongs_to_another(
        asked, outcome, reader, chosen.text, [(chosen.evidence, chosen.citation)]
    ):
        return
    outcome.text, outcome.found, outcome.citations = chosen.text, True, (chosen.citation,)
    reader.say(chosen.text)


def _read_reply(outcome: _Outcome, reader: _Reader, messages: Sequence[ChatMessage]) -> bool:
    """Let the model answer; whether it came to an end. What it said is in `outcome.text`."""
    began = time.perf_counter()
    try:
        completion = reader.llm.complete(
            messages, max_tokens=MAX_REPLY_TOKENS, on_token=reader.hear
        )
    except _OutOfTimeError:
        outcome.complete = False
        outcome.text = plain_line("".join(reader.said))
        outcome.completion_tokens += len(reader.said)
        outcome.notices.append("the time was up before the answer was finished")
        return False
    _count(outcome, completion)
    outcome.text = plain_line(completion.text)
    if not completion.finished and "\n" not in completion.text.strip():
        outcome.notices.append(f"the answer was cut at {MAX_REPLY_TOKENS} tokens")
    outcome.steps.append(_step("answer", "", completion.prompt_tokens, began))
    return True


def _judge(asked: Asked, outcome: _Outcome, reader: _Reader) -> None:
    """Find what supports the reply; refuse it where the evidence speaks against it."""
    began = time.perf_counter()
    if not outcome.text or says_not_found(outcome.text):
        outcome.text = NOT_FOUND
        return
    support = find_support(outcome.text, asked.question, outcome.opened, asked.titles)
    cited = list(zip(support.sources, support.citations, strict=True))
    if _belongs_to_another(asked, outcome, reader, outcome.text, cited):
        return
    outcome.found = True
    outcome.citations = support.citations
    outcome.notices += _support_notices(support)
    outcome.steps.append(_step("check", f"{support.share:.0%} supported", 0, began))


def _is_about_another(
    asked: Asked, outcome: _Outcome, cited: Sequence[tuple[Evidence, Citation]]
) -> bool:
    """Whether the answer belongs to another person; then it is taken back, and said why."""
    reason = about_somebody_else(asked.question, cited, asked.evidence, asked.people)
    return _refuse(outcome, reason)


def _belongs_to_another(
    asked: Asked,
    outcome: _Outcome,
    reader: _Reader,
    answer: str,
    cited: Sequence[tuple[Evidence, Citation]],
) -> bool:
    """The same, and where what was found fits another better.

    Where both speak against the answer it is refused; one alone is a doubt, which the model may
    clear.
    """
    fit = fit_by_person(asked.question, asked.evidence, asked.people)
    by_citation = about_somebody_else(asked.question, cited, asked.evidence, asked.people)
    by_fit = told_of_another(fit)
    reason = by_citation or by_fit
    is_doubt = bool(by_citation) != bool(by_fit)
    if fit is None or not fit.another or not is_doubt or reader.out_of_time:
        return _refuse(outcome, reason)
    began = time.perf_counter()
    sources = [source for source, _ in cited]
    told_of_person, tokens = is_of_person(reader.llm, fit, asked.question, answer, sources)
    outcome.prompt_tokens += tokens
    outcome.steps.append(_step("name_person", "", tokens, began))
    return not told_of_person and _refuse(outcome, reason)


def _refuse(outcome: _Outcome, reason: str) -> bool:
    """Take the answer back where there is a reason to, and say why."""
    if reason:
        outcome.text, outcome.found, outcome.citations = NOT_FOUND, False, ()
        outcome.notices.append(reason)
    return bool(reason)


def _fall_back(asked: Asked, outcome: _Outcome) -> None:
    """The extractive answer in place of the model's, which the budget did not allow."""
    outcome.complete = False
    outcome.notices.append("the budget did not allow a model's answer; this one is extracted")
    _answer_instantly(asked, outcome)


def _tell_dropped(outcome: _Outcome, shown: ShownEvidence, *, by_budget: bool) -> None:
    if shown.dropped:
        limit = "budget" if by_budget else "model's context"
        outcome.notices.append(f"{counted(shown.dropped, 'message')} did not fit the {limit}")
        outcome.complete = outcome.complete and not by_budget


def _support_notices(support: Support) -> list[str]:
    if not support.citations:
        return ["no message supports this answer"]
    if support.unsupported:
        return [f"not in the cited messages: {', '.join(support.unsupported)}"]
    return []


def _with_dates(question: str, asked_at: datetime) -> str:
    """The question with what its relative dates mean: "last May" asked in June 2023."""
    found = [d for d in resolve_question(question, asked_at) if not is_absolute(d)]
    if not found:
        return question
    meant = "; ".join(f'"{d.words}" is {describe(d, said_at=asked_at)}' for d in found)
    return f"{question} ({meant})"


# --- Trace --------------------------------------------------------------------------------


def _count(outcome: _Outcome, completion: Completion) -> None:
    outcome.prompt_tokens += completion.prompt_tokens
    outcome.completion_tokens += completion.completion_tokens


def _step(tool: str, arguments: str, tokens: int, began: float) -> TraceStep:
    return TraceStep(tool, arguments, Layer.RAW, tokens, time.perf_counter() - began)


def _finished(
    asked: Asked, outcome: _Outcome, depth: Depth, llm: Llm | None, seconds: float
) -> Answer:
    opened = {one.message.session_id: Layer.RAW for one in outcome.opened}
    return Answer(
        question=asked.question,
        asked_at=asked.asked_at,
        text=outcome.text,
        found=outcome.found,
        citations=outcome.citations,
        trace=Trace(
            depth=depth,
            steps=tuple(outcome.steps),
            sessions_opened=len(opened),
            sessions_total=asked.sessions_total,
            tokens_by_layer={"L3": outcome.opened_tokens},
            prompt_tokens=outcome.prompt_tokens,
            completion_tokens=outcome.completion_tokens,
            seconds=seconds,
            model_id=llm.model_id if llm is not None and depth is not Depth.INSTANT else None,
            opened=opened,
        ),
        complete=outcome.complete,
        notices=tuple(outcome.notices),
        wishes=outcome.wishes,
    )
