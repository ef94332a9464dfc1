"""A benchmark's history in a retriever, without a memory file: for learning fusion weights.

Sessions, text and pieces are made by the product's own code, so that the signals are those of a
real search.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.datasets import SESSION_GAP, History, MessageKey, Question
from localmem.dates import resolve
from localmem.ports import Embedder, FloatMatrix
from localmem.recall.retrieve import Retriever
from localmem.store.grouping import split_sessions
from localmem.types import (
    ConversationId,
    ImportedConversation,
    Message,
    MessageId,
    ParticipantId,
    Session,
    SessionId,
    TurnId,
)

Embed = Callable[[Sequence[str]], FloatMatrix]


@dataclass(frozen=True, slots=True)
class Replay:
    """A history with everything indexed. `question_vectors` float32 (questions, dimension)."""

    history: History
    messages: tuple[Message, ...]
    retriever: Retriever
    question_vectors: FloatMatrix
    keys: dict[MessageKey, MessageId]
    chats: dict[str, frozenset[SessionId]]

    def gold(self, question: Question) -> frozenset[MessageId]:
        """The gold messages of a question; empty where only sessions are known."""
        return frozenset(self.keys[key] for key in question.gold)

    def gold_sessions(self, question: Question) -> frozenset[SessionId]:
        """The sessions that hold the answer."""
        named = {s for chat in question.gold_conversations for s in self.chats.get(chat, ())}
        gold = self.gold(question)
        return frozenset(named or {m.session_id for m in self.messages if m.id in gold})


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A history as a store would hold it; `keys` finds a message by its source's ids."""

    messages: tuple[Message, ...]
    sessions: dict[SessionId, Session]
    keys: dict[MessageKey, MessageId]
    chats: dict[str, frozenset[SessionId]]


def lay_out(history: History) -> LaidOut:
    """The sessions, turns and messages of a history."""
    messages: list[Message] = []
    sessions: dict[SessionId, Session] = {}
    keys: dict[MessageKey, MessageId] = {}
    chats: dict[str, frozenset[SessionId]] = {}
    speakers: dict[str, int] = {}
    for number, conversation in enumerate(history.conversations):
        first = len(sessions)
        for turns in split_sessions(conversation, SESSION_GAP):
            session_id = SessionId(len(sessions) + 1)
            said = [(turn, m) for turn, part in enumerate(turns) for m in part]
            base = len(messages)
            for ordinal, (turn, m) in enumerate(said):
                message_id = MessageId(len(messages) + 1)
                keys[conversation.source_id, m.source_id] = message_id
                messages.append(
                    Message(
                        id=message_id,
                        turn_id=TurnId(base + turn + 1),
                        session_id=session_id,
                        participant_id=ParticipantId(speakers.setdefault(m.speaker, len(speakers))),
                        speaker=m.speaker,
                        role=m.role,
                        ordinal=ordinal,
                        text=m.text,
                        said_at=m.said_at,
                        attachment_text=m.attachment_text,
                    )
                )
            sessions[session_id] = _session(session_id, number, conversation, len(turns), len(said))
        chats[conversation.source_id] = frozenset(
            SessionId(i) for i in range(first + 1, len(sessions) + 1)
        )
    return LaidOut(tuple(messages), sessions, keys, chats)


def piece_vectors(
    messages: Sequence[Message], embedder: Embedder, cache: Path | None = None
) -> tuple[list[MessageId], FloatMatrix]:
    """The pieces of messages: whose each is, and their vectors."""
    pieces = [(m.id, piece) for m in messages for piece in embedder.split(m.whole_text)]
    vectors = embedded([text for _, text in pieces], embedder.embed_passages, embedder, cache)
    return [message_id for message_id, _ in pieces], vectors


def replay(history: History, embedder: Embedder, cache: Path | None = None) -> Replay:
    """Indexes a history. `cache` is a folder where vectors are kept between runs."""
    laid = lay_out(history)
    retriever = Retriever()
    retriever.add_messages(laid.messages, laid.sessions)
    retriever.add_dates({m.id: resolve(m.text, m.said_at, language=None) for m in laid.messages})
    retriever.add_vectors(embedder.model_id, *piece_vectors(laid.messages, embedder, cache))
    questions = [q.text for q in history.questions]
    asked = embedded(
        questions, lambda t: np.stack([embedder.embed_query(q) for q in t]), embedder, cache
    )
    return Replay(history, laid.messages, retriever, asked, laid.keys, laid.chats)


def _session(
    session_id: SessionId, number: int, conversation: ImportedConversation, turns: int, said: int
) -> Session:
    return Session(
        id=session_id,
        conversation_id=ConversationId(number + 1),
        title=conversation.title,
        source=conversation.source,
        kind=conversation.kind,
        started_at=None,
        ended_at=None,
        turn_count=turns,
        message_count=said,
    )


def embedded(
    texts: Sequence[str], embed: Embed, embedder: Embedder, cache: Path | None
) -> FloatMatrix:
    """Vectors of texts, float32 (texts, dimension); kept in the folder `cache` between runs."""
    if cache is None:
        return embed(texts)
    key = hashlib.sha256("\0".join([embedder.model_id, *texts]).encode()).hexdigest()[:24]
    file = cache / f"{key}.npy"
    if file.exists():
        return np.asarray(np.load(file), np.float32)
    vectors = embed(texts)
    cache.mkdir(parents=True, exist_ok=True)
    np.save(file, vectors)
    return vectors
