"""What only a model that reads well may do: whole notes, and an answer with its reasoning.

APDMem's Figures 9 and 10 with prompts of our own. A model that has not passed the self-tests
`json` and `whole_session` is not asked; a small one does better with short replies.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from localmem.errors import GenerationError
from localmem.ports import Llm
from localmem.prompts import Prompt, load_prompt
from localmem.recall.deep.bench import Bench
from localmem.recall.deep.meter import OutOfTimeError
from localmem.recall.deep.notes import OrganisedNotes
from localmem.recall.evidence import NOTHING_BESIDE, Beside, show_evidence
from localmem.recall.reply import plain_line
from localmem.types import ChatMessage, LastingEntry
from localmem.wording import counted

_NOTES_TOKENS = 400
_ANSWER_TOKENS = 160
_ROOM_FOR_TEMPLATE = 160


@dataclass(frozen=True, slots=True)
class Reasoned:
    """An answer with the wishes that were shown for it."""

    text: str
    wishes: tuple[LastingEntry, ...] = ()


def written_notes(bench: Bench, llm: Llm, notes: OrganisedNotes) -> str:
    """The model's notes on the facts; "" where it failed or there was no time."""
    prompt = load_prompt("organise_notes")
    messages, _ = _shown(bench, llm, prompt, notes, _NOTES_TOKENS)
    began = time.perf_counter()
    reply = _said(bench, llm, messages, prompt, _NOTES_TOKENS) if messages else ""
    bench.note(
        "organise_notes", counted(len(notes.facts), "fact"), counted(len(reply), "character"), began
    )
    return "\n".join(line.strip() for line in reply.splitlines() if line.strip())


def reasoned_answer(
    bench: Bench, llm: Llm, notes: OrganisedNotes, remarks: str, beside: Beside
) -> Reasoned | None:
    """The answer of a reply in JSON; None where there is none that can be read."""
    prompt = load_prompt("answer_from_notes")
    messages, wishes = _shown(bench, llm, prompt, notes, _ANSWER_TOKENS, remarks, beside)
    began = time.perf_counter()
    reply = _said(bench, llm, messages, prompt, _ANSWER_TOKENS) if messages else ""
    answer, why = _read(reply)
    bench.note("answer", why, answer or "none that can be read", began)
    return None if answer is None else Reasoned(answer, wishes)


def _shown(
    bench: Bench,
    llm: Llm,
    prompt: Prompt,
    notes: OrganisedNotes,
    reply_tokens: int,
    remarks: str = "",
    beside: Beside = NOTHING_BESIDE,
) -> tuple[tuple[ChatMessage, ...], tuple[LastingEntry, ...]]:
    """The filled prompt with the wishes that it tells; () where the evidence does not fit."""
    question = bench.state.question.text
    fixed = llm.count_tokens(f"{prompt.text}\n{remarks}\n{question}")
    room = llm.context_tokens - fixed - reply_tokens - _ROOM_FOR_TEMPLATE
    left = bench.meter.tokens_left
    if left is not None:
        room = min(room, left - fixed - reply_tokens)
    shown = show_evidence(
        notes.facts, question, limit_tokens=room, count_tokens=llm.count_tokens, beside=beside
    )
    if not shown.messages:
        return (), ()
    messages = prompt.messages(memory=f"{shown.block}\n{remarks}".strip(), question=question)
    return messages, shown.wishes


def _said(
    bench: Bench, llm: Llm, messages: tuple[ChatMessage, ...], prompt: Prompt, most: int
) -> str:
    try:
        return bench.meter.complete(llm, messages, max_tokens=most, schema=prompt.schema).text
    except OutOfTimeError:
        return ""
    except GenerationError:
        bench.meter.failed += 1
        return ""


def _read(reply: str) -> tuple[str | None, str]:
    """The answer and the reasoning of a reply; (None, "") for what is no such JSON."""
    try:
        fields = json.loads(reply)
        return plain_line(str(fields["answer"])) or None, str(fields["reasoning"])
    except (ValueError, KeyError, TypeError):
        return None, ""
