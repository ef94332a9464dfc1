"""The seams: what the rooms above may ask of engines, embedders, indexes and the clock.

Every implementation of a port runs the same contract tests. This module holds no behaviour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localmem.types import (
    ChatMessage,
    Choice,
    Completion,
    MessageId,
    PageRank,
    SessionFacts,
    SessionId,
    SessionNotes,
    StructureKind,
)

FloatMatrix = NDArray[np.float32]
"""float32 (n, dim); unit rows where an embedder made it."""

JsonSchema = Mapping[str, Any]


class Clock(Protocol):
    """Where the present comes from."""

    def now(self) -> datetime:
        """The present, tz-aware."""
        ...


class Embedder(Protocol):
    """Turns text into unit vectors."""

    @property
    def model_id(self) -> str:
        """Name and weight hash; two embedders with the same id make the same vectors."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """The model's real limit, special tokens included."""
        ...

    def split(self, text: str) -> list[str]:
        """The text in pieces that each fit `max_tokens`; [] for blank text."""
        ...

    def embed_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> FloatMatrix:
        """float32 (len(texts), dimension), unit rows in the order of `texts`."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """float32 (dimension,), unit length."""
        ...

    def close(self) -> None: ...


class Llm(Protocol):
    """A language model that follows instructions. Not safe for concurrent calls: one lock each."""

    @property
    def model_id(self) -> str: ...

    @property
    def context_tokens(self) -> int: ...

    def count_tokens(self, text: str) -> int: ...

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        schema: JsonSchema | None = None,
        grammar: str | None = None,
        reply_prefix: str = "",
        on_token: Callable[[str], None] | None = None,
    ) -> Completion:
        """The model's reply at temperature 0.

        `schema` (JSON schema) or `grammar` (GBNF) constrain the reply; `reply_prefix` is put in
        the model's mouth and is not part of `Completion.text`.

        Raises:
            GenerationError: the prompt does not fit, or the engine failed.
        """
        ...

    def complete_many(
        self,
        prompts: Sequence[Sequence[ChatMessage]],
        *,
        max_tokens: int,
        schema: JsonSchema | None = None,
        grammar: str | None = None,
        reply_prefixes: Sequence[str] = (),
        on_done: Callable[[int, Completion], None] | None = None,
        on_step: Callable[[], None] | None = None,
    ) -> list[Completion]:
        """Replies to several prompts, in their order, decoded as sequences of one batch.

        The longest common prefix of the prompts is evaluated once. `on_step` is called again and
        again meanwhile, perhaps from another thread; what it raises ends the call, after
        `on_done` was told what was finished.
        """
        ...

    def choose(self, messages: Sequence[ChatMessage], options: Sequence[str]) -> Choice:
        """How probable each option is as the whole reply; at least two options."""
        ...

    def close(self) -> None: ...


class LayerReader(Protocol):
    """The layers between summary and raw text: made on the first request, then cached.

    Two callers that want the same layer of the same session wait for one job.
    """

    def facts(self, session_id: SessionId, *, seconds: float | None = None) -> SessionFacts:
        """L1 of a session.

        `seconds` bounds what a model may take for it; where that is not enough (0: never), the
        layer is made by rule, and the result says so.

        Raises:
            RecordNotFoundError: there is no such session.
        """
        ...

    def notes(
        self,
        session_id: SessionId,
        *,
        message_ids: Sequence[MessageId] | None = None,
        seconds: float | None = None,
    ) -> SessionNotes:
        """L2 of a session, or of these messages of it; `seconds` as above.

        Raises:
            RecordNotFoundError: there is no such session.
        """
        ...


class Structure(Protocol):
    """How the pages of one episode are organised, and so which of them a question finds first."""

    @property
    def kind(self) -> StructureKind: ...

    def rank(self, question: str, vector: NDArray[np.float32] | None, *, k: int) -> list[PageRank]:
        """The best `k` pages, best first, ties by place; fewer where the episode has fewer.

        `vector` is the question's unit vector, float32 (dim,); None: by words alone.
        """
        ...
