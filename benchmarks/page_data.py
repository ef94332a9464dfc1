"""Benchmark histories as pages with vectors, topic labels and questions: for gate and selector.

Where the labels come from: MSC, the dialogue that a page was taken from, after dialogues of
different people were interleaved in blocks of one to three pages; BEAM, the entry of the chat's
plan that a user message was written for; LoCoMo, the session. The first is clean, the second very
fine, the third weak.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.datasets import History, MessageKey, Question, beam, locomo
from benchmarks.replay import embedded, lay_out, piece_vectors
from localmem.ports import Embedder, FloatMatrix
from localmem.tiers.pages import page_text, page_vector, split_pages, traits_of
from localmem.types import (
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    Message,
    MessageId,
    Page,
    PageId,
    Role,
    SessionId,
)

MSC_SESSIONS = (1, 2, 3, 4)
_BLOCK = (1, 3)


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """A question with the rows of its gold pages."""

    text: str
    kind: str
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class PagedHistory:
    """The pages of a history in order. Vectors: float32 unit rows, one a page or question."""

    name: str
    dataset: str
    pages: tuple[Page, ...]
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    vectors: FloatMatrix
    questions: tuple[PageQuestion, ...]
    question_vectors: FloatMatrix


def paged_histories(
    data: Path, embedder: Embedder, cache: Path | None, datasets: Sequence[str]
) -> Iterator[PagedHistory]:
    """The histories of datasets ("msc", "beam", "locomo") that lie in folders of these names."""
    for dataset in datasets:
        if dataset == "msc":
            for history, labels in msc(data / "msc"):
                yield _interleaved(paged(history, labels, embedder, cache))
        elif dataset == "beam":
            for history in beam(data / "beam" / "100K"):
                yield paged(history, beam_labels(history), embedder, cache)
        else:
            for history in locomo(next((data / "locomo").glob("*.json"))):
                yield paged(history, None, embedder, cache)


def msc(
    folder: Path, *, histories: int = 5, dialogues: int = 20
) -> Iterator[tuple[History, dict[MessageKey, str]]]:
    """MSC validation dialogues, `dialogues` to a history; questions are lines of personas."""
    sessions = [_msc_session(folder, number) for number in MSC_SESSIONS]
    names = list(sessions[0])
    for number in range(histories):
        chosen = names[number * dialogues : (number + 1) * dialogues]
        conversations, questions = [], []
        labels: dict[MessageKey, str] = {}
        for name in chosen:
            said, starts = [], []
            for session, by_name in enumerate(sessions, 1):
                starts.append(f"{session}:0")
                for place, turn in enumerate(by_name[name]["dialog"]):
                    source_id = f"{session}:{place}"
                    said.append(_msc_message(source_id, str(turn["text"]), place))
                    labels[name, source_id] = name
                    if turn.get("persona_text"):
                        gold = frozenset({(name, source_id)})
                        questions.append(Question(str(turn["persona_text"]), "persona", gold))
            conversations.append(
                ImportedConversation(
                    "msc", name, "", ConversationKind.PEOPLE, tuple(said), frozenset(starts)
                )
            )
        path = folder / "msc_personasummary"
        yield History(f"msc-{number}", "msc", tuple(conversations), tuple(questions), path), labels


def _msc_session(folder: Path, number: int) -> dict[str, dict[str, list[dict[str, object]]]]:
    file = folder / f"msc_personasummary_session_{number}_valid.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {row["initial_data_id"]: row for row in rows}


def _msc_message(source_id: str, text: str, place: int) -> ImportedMessage:
    return ImportedMessage(source_id, Role.USER, f"Speaker {place % 2 + 1}", text)


def beam_labels(history: History) -> dict[MessageKey, str]:
    """The plan entry of each message; what follows a user message belongs to its entry."""
    batches = json.loads(history.path.read_text(encoding="utf-8"))
    entries: dict[str, str] = {}
    for batch in batches:
        for group in batch["turns"]:
            for turn in group:
                entries[str(turn["id"])] = f"{batch['batch_number']}/{group[0]['id']}"
    return {
        (c.source_id, m.source_id): entries.get(m.source_id, m.source_id)
        for c in history.conversations
        for m in c.messages
    }


def paged(
    history: History,
    labels: dict[MessageKey, str] | None,
    embedder: Embedder,
    cache: Path | None,
) -> PagedHistory:
    """A history as pages; `labels` None: the session is the label."""
    laid = lay_out(history)
    by_key = {message_id: key for key, message_id in laid.keys.items()}
    of_message = _message_vectors(*piece_vectors(laid.messages, embedder, cache))
    by_session: dict[SessionId, list[Message]] = {}
    for message in laid.messages:
        by_session.setdefault(message.session_id, []).append(message)
    pages: list[Page] = []
    texts, found_labels, vectors = [], [], []
    page_of: dict[MessageId, int] = {}
    for session_id, messages in by_session.items():
        for said in split_pages(messages, laid.sessions[session_id].kind):
            place, ids = len(pages), tuple(m.id for m in said)
            traits = traits_of(said, {m.speaker for m in messages})
            pages.append(Page(PageId(place + 1), session_id, ids, said[0].said_at, traits))
            texts.append(page_text(said))
            key = by_key[ids[0]]
            found_labels.append(labels[key] if labels else f"session {session_id}")
            rows = [of_message[i] for i in ids if i in of_message]
            blank = np.zeros((1, embedder.dimension), np.float32)
            vectors.append(page_vector(np.stack(rows) if rows else blank)[0])
            page_of.update(dict.fromkeys(ids, place))
    questions = tuple(
        PageQuestion(q.text, q.kind, frozenset(page_of[laid.keys[k]] for k in q.gold))
        for q in history.questions
    )
    asked = embedded(
        [q.text for q in questions],
        lambda t: np.stack([embedder.embed_query(q) for q in t]),
        embedder,
        cache,
    )
    return PagedHistory(
        history.name,
        history.dataset,
        tuple(pages),
        tuple(texts),
        tuple(found_labels),
        np.stack(vectors),
        questions,
        asked,
    )


def _message_vectors(
    owners: Sequence[MessageId], pieces: FloatMatrix
) -> dict[MessageId, FloatMatrix]:
    """The unit mean, float32 (dim,), of each message's pieces."""
    rows: dict[MessageId, list[int]] = {}
    for row, message_id in enumerate(owners):
        rows.setdefault(message_id, []).append(row)
    return {message_id: page_vector(pieces[taken])[0] for message_id, taken in rows.items()}


def _interleaved(history: PagedHistory, seed: int = 0) -> PagedHistory:
    """The same pages in blocks of one to three, each from a dialogue drawn anew."""
    draw = random.Random(f"{history.name}/{seed}")  # noqa: S311 - an order, not a secret
    waiting: dict[str, list[int]] = {}
    for place, label in enumerate(history.labels):
        waiting.setdefault(label, []).append(place)
    order: list[int] = []
    while waiting:
        name = draw.choice(sorted(waiting))
        size = draw.randint(*_BLOCK)
        order.extend(waiting[name][:size])
        waiting[name] = waiting[name][size:]
        if not waiting[name]:
            del waiting[name]
    where = {old: new for new, old in enumerate(order)}
    return PagedHistory(
        history.name,
        history.dataset,
        tuple(history.pages[i] for i in order),
        tuple(history.texts[i] for i in order),
        tuple(history.labels[i] for i in order),
        history.vectors[order],
        tuple(
            PageQuestion(q.text, q.kind, frozenset(where[i] for i in q.gold))
            for q in history.questions
        ),
        history.question_vectors,
    )
