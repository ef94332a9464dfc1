"""From organised notes to an answer (APDMem, Figure 10): evidence first, the draft last.

The reply is the direct depth's own (`recall.answer`): its prompt, its checks, its way with dates.
A wide question is answered from its list. Either way names, numbers and dates of the answer must
stand in the messages or follow from them; else the model is asked once more without the draft;
else nothing was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from localmem.errors import GenerationError
from localmem.ports import Llm
from localmem.recall.answer import Asked, answer_question
from localmem.recall.citations import Support, find_support
from localmem.recall.deep.bench import Bench
from localmem.recall.deep.founded import is_founded
from localmem.recall.deep.notes import OrganisedNotes
from localmem.recall.deep.question import is_chained
from localmem.recall.deep.reasoned import reasoned_answer
from localmem.recall.evidence import NOTHING_BESIDE, Beside
from localmem.recall.refusal import NOT_FOUND, about_somebody_else, says_not_found
from localmem.types import Answer, Budget, Citation, Depth, LastingEntry, Layer, SessionId
from localmem.wording import counted


@dataclass(slots=True)
class Written:
    """An answer with what stands behind it. `complete` False: the budget cut it short."""

    text: str = ""
    found: bool = False
    citations: tuple[Citation, ...] = ()
    complete: bool = True
    notices: list[str] = field(default_factory=list)
    wishes: tuple[LastingEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes answers of one question. `llm` None: the answer is extracted; `reasons`: the model
    may give its reasoning first; `beside` is what it is shown beside the notes."""

    bench: Bench
    titles: Mapping[SessionId, str]
    llm: Llm | None
    on_token: Callable[[str], None] | None = None
    reasons: bool = False
    beside: Beside = NOTHING_BESIDE

    def write(self, notes: OrganisedNotes, draft: str = "") -> Written:
        """The answer, checked against the messages behind the notes."""
        if not notes.facts:
            return Written(NOT_FOUND)
        if notes.items:
            return self._judged(self._listed(notes), notes)
        if self.llm is None:
            return self._extracted(notes)
        written = self._replied(notes, draft)
        if draft and not self._is_founded(written, notes):
            written = self._replied(notes, "")
        if not self._is_founded(written, notes):
            written.notices.append(f"the model said “{written.text}”, which no message says")
            written.text = ""
        return self._judged(written, notes)

    def _listed(self, notes: OrganisedNotes) -> Written:
        """The list itself: what more than one message names first."""
        text = ", ".join(one.text for one in notes.items)
        if self.on_token is not None:
            self.on_token(text)
        return Written(text)

    def _replied(self, notes: OrganisedNotes, draft: str) -> Written:
        """The model's reply; "" where it failed."""
        if self.reasons and self.llm is not None:
            asked = self._asked(notes, draft)
            reasoned = reasoned_answer(self.bench, self.llm, notes, asked.remarks, self.beside)
            if reasoned is not None:
                return Written(
                    "" if says_not_found(reasoned.text) else reasoned.text, wishes=reasoned.wishes
                )
        began = time.perf_counter()
        meter = self.bench.meter
        budget = Budget(tokens=meter.tokens_left, seconds=meter.seconds_left)
        try:
            answer = answer_question(
                self._asked(notes, draft),
                depth=Depth.DIRECT,
                llm=self.llm,
                budget=budget,
                on_token=self.on_token,
            )
        except GenerationError as error:
            meter.failed += 1
            return Written(notices=[error.message])
        meter.add(answer.trace, self.llm)
        self._note("answer", notes, answer, began, draft)
        if answer.wishes:
            wishes = counted(len(answer.wishes), "wish", "wishes")
            self.bench.note("recall_wishes", wishes, "shown as what the owner once said", began)
        notices = [one for one in answer.notices if one not in _JUDGED_AGAIN]
        return Written(
            answer.text if answer.found else "",
            complete=answer.complete,
            notices=notices,
            wishes=answer.wishes,
        )

    def _extracted(self, notes: OrganisedNotes) -> Written:
        began = time.perf_counter()
        answer = answer_question(
            replace(self._asked(notes, ""), evidence=notes.sources), depth=Depth.INSTANT
        )
        self._note("extract", notes, answer, began)
        return Written(answer.text, answer.found, answer.citations, notices=list(answer.notices))

    def _asked(self, notes: OrganisedNotes, draft: str) -> Asked:
        question = self.bench.state.question
        guess = f"First guess, not checked: {draft}" if draft else ""
        return Asked(
            question=question.text,
            asked_at=question.asked_at,
            evidence=notes.facts,
            sessions_total=self.bench.sources.sessions_total,
            titles=self.titles,
            people=() if is_chained(question.text) else question.people,
            remarks="\n".join(part for part in (notes.remarks, guess) if part),
            beside=self.beside,
        )

    def _judged(self, written: Written, notes: OrganisedNotes) -> Written:
        """With citations of the messages, or refused where they speak against it."""
        question = self.bench.state.question
        if not written.text or says_not_found(written.text):
            written.text = NOT_FOUND
            return written
        support = find_support(written.text, question.text, notes.sources, self.titles)
        cited = list(zip(support.sources, support.citations, strict=True))
        reason = about_somebody_else(question.text, cited, notes.sources, question.people)
        if reason and not is_chained(question.text):
            written.text = NOT_FOUND
            written.notices.append(reason)
            return written
        written.found, written.citations = True, support.citations
        written.notices += _support_notices(support)
        return written

    def _is_founded(self, written: Written, notes: OrganisedNotes) -> bool:
        return not written.text or is_founded(
            written.text, self.bench.state.question, notes, self.titles
        )

    def _note(
        self, tool: str, notes: OrganisedNotes, answer: Answer, began: float, draft: str = ""
    ) -> None:
        shown = counted(len(notes.facts), "message or fact", "messages or facts")
        shown += ", draft" if draft else ""
        read = sum(len(one.message.text) for one in notes.facts)
        self.bench.note(tool, shown, answer.text, began, Layer.RAW, read)


def _support_notices(support: Support) -> Sequence[str]:
    if not support.citations:
        return ["no message supports this answer"]
    if support.unsupported:
        return [f"not in the cited messages: {', '.join(support.unsupported)}"]
    return []


_JUDGED_AGAIN = ("no message supports this answer",)
"""Notices of the direct depth that are made anew from the messages behind the facts."""
