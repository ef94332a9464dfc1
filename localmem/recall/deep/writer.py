"""From organised notes to an answer (APDMem, Figure 10): evidence first, the draft last.

What the model writes is checked: names, numbers and dates of the answer must stand in the notes
or follow from them; else it is asked once more without the draft; else nothing was found.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from localmem.entities import entities
from localmem.errors import GenerationError
from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.recall.citations import Support, find_support
from localmem.recall.deep.bench import Bench
from localmem.recall.deep.meter import OutOfTimeError
from localmem.recall.deep.notes import OrganisedNotes
from localmem.recall.deep.question import is_chained
from localmem.recall.evidence import show_evidence
from localmem.recall.extract import extract_answer
from localmem.recall.refusal import NOT_FOUND, about_somebody_else, says_not_found
from localmem.recall.reply import plain_line
from localmem.types import AnswerType, Citation, Layer, SessionId
from localmem.words import Analyser

REPLY_TOKENS = 48
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
)


@dataclass(slots=True)
class Written:
    """An answer with what stands behind it. `complete` False: the budget cut it short."""

    text: str = ""
    found: bool = False
    citations: tuple[Citation, ...] = ()
    complete: bool = True
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes answers of one question. `llm` None: the answer is extracted."""

    bench: Bench
    titles: dict[SessionId, str]
    llm: Llm | None
    on_token: Callable[[str], None] | None = None

    def write(self, notes: OrganisedNotes, draft: str = "") -> Written:
        """The answer, checked against the notes."""
        if not notes.facts:
            return Written(NOT_FOUND)
        if self.llm is None:
            return self._extracted(notes)
        reply = self._reply(notes, draft)
        if reply.text and self._is_unfounded(reply.text, notes) and draft:
            reply = self._reply(notes, "")
        if not reply.text and not reply.complete:
            return self._extracted(notes, cut_short=True)
        if self._is_unfounded(reply.text, notes):
            reply.notices.append(f"the model said “{reply.text}”, which no message says")
            reply.text = ""
        return self._judged(reply, notes)

    # --- With a model ---------------------------------------------------------------------

    def _reply(self, notes: OrganisedNotes, draft: str) -> Written:
        """One reply of the model; "" where there was no time for it or the model failed."""
        assert self.llm is not None  # noqa: S101  # write() has looked
        began = time.perf_counter()
        said: list[str] = []
        prompt = load_prompt("answer_question")
        question = _question_line(self.bench)
        remarks = _remarks(notes, draft)
        room, by_budget = self.bench.meter.room(
            self.llm, f"{prompt.text}\n{remarks}\n{question}", REPLY_TOKENS
        )
        shown = show_evidence(
            notes.facts,
            self.bench.state.question.text,
            limit_tokens=room,
            count_tokens=self.llm.count_tokens,
        )
        written = Written(complete=not (shown.dropped and by_budget))
        if not shown.messages or self.bench.meter.exhausted():
            return Written(complete=False)
        messages = prompt.messages(memory=f"{shown.block}\n{remarks}".strip(), question=question)
        try:
            done = self.bench.meter.complete(
                self.llm,
                messages,
                max_tokens=REPLY_TOKENS,
                on_token=lambda token: self._hear(token, said),
            )
            written.text = plain_line(done.text)
        except OutOfTimeError:
            written.text, written.complete = plain_line("".join(said)), False
            written.notices.append("the time was up before the answer was finished")
        except GenerationError as error:
            self.bench.meter.failed += 1
            written.complete = False
            written.notices.append(error.message)
        self.bench.note(
            "answer",
            f"{len(shown.messages)} messages{', draft' if draft else ''}",
            written.text or "no answer",
            began,
            Layer.RAW,
            len(shown.block),
        )
        return written

    def _hear(self, token: str, said: list[str]) -> None:
        if self.on_token is not None and "\n" not in "".join(said).lstrip():
            self.on_token(token.split("\n")[0] if "".join(said).strip() else token)
        said.append(token)

    def _judged(self, written: Written, notes: OrganisedNotes) -> Written:
        """With citations, or refused where the evidence speaks against it."""
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

    def _is_unfounded(self, answer: str, notes: OrganisedNotes) -> bool:
        """Whether a name, number or date of the answer neither stands in the notes nor follows."""
        if not answer or says_not_found(answer):
            return False
        question = self.bench.state.question
        support = find_support(answer, question.text, notes.sources, self.titles)
        missing = {word.casefold() for word in support.unsupported}
        if not missing:
            return False
        if question.want.kind in (AnswerType.NUMBER, AnswerType.DURATION) or question.counts:
            missing -= _derivable(notes)
        analyser = Analyser()
        names = {term for name in entities(f"It is {answer}") for term in analyser.terms(name)}
        return any(word in names or _NUMBER.search(word) for word in missing)

    # --- Without a model ------------------------------------------------------------------

    def _extracted(self, notes: OrganisedNotes, *, cut_short: bool = False) -> Written:
        began = time.perf_counter()
        question = self.bench.state.question
        extract = extract_answer(
            question.text, question.asked_at, notes.sources, self.titles, people=question.people
        )
        written = Written(
            extract.text or NOT_FOUND,
            extract.found,
            extract.citations,
            complete=not cut_short,
            notices=list(extract.notices),
        )
        opened = {one.message.id: one for one in notes.sources}
        cited = [(opened[c.message_id], c) for c in extract.citations]
        reason = about_somebody_else(question.text, cited, notes.sources, question.people)
        if reason:
            written = Written(NOT_FOUND, notices=[reason], complete=not cut_short)
        if cut_short:
            written.notices.append(
                "the budget did not allow a model's answer; this one is extracted"
            )
        self.bench.note("extract", f"{len(notes.sources)} messages", written.text, began)
        return written


def _question_line(bench: Bench) -> str:
    meant = "; ".join(bench.state.meant)
    return f"{bench.state.question.text} ({meant})" if meant else bench.state.question.text


def _remarks(notes: OrganisedNotes, draft: str) -> str:
    """Notes beside the facts, then the draft, which is labelled for what it is."""
    guess = f"First guess, not checked: {draft}" if draft else ""
    return "\n".join(part for part in (notes.remarks, guess) if part)


def _derivable(notes: OrganisedNotes) -> set[str]:
    """Numbers that follow from the notes: counts of items, sums and differences of two numbers."""
    found = {
        int(value)
        for one in notes.sources
        for value in _NUMBER.findall(one.message.text)
        if value.isdigit() and len(value) < 6
    }
    found |= {one.message.said_at.year for one in notes.sources if one.message.said_at}
    numbers = {abs(a - b) for a, b in combinations(sorted(found), 2)}
    numbers |= {a + b for a, b in combinations(sorted(found), 2)}
    numbers |= set(range(1, max(len(notes.items), len(notes.facts)) + 1))
    words = _SMALL.split()
    return {str(n) for n in numbers} | {words[n] for n in numbers if n < len(words)}


def _support_notices(support: Support) -> Sequence[str]:
    if not support.citations:
        return ["no message supports this answer"]
    if support.unsupported:
        return [f"not in the cited messages: {', '.join(support.unsupported)}"]
    return []
