"""Fakes that behave: a scripted language model, a hashing embedder, a clock that stands still.

Shipped, so that users can test what they build on localmem. They follow the ports in ports.py and
pass the same contract tests as the real ones.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from localmem.config import Config
from localmem.errors import GenerationError, ModelNotFoundError
from localmem.ports import Embedder, FloatMatrix, JsonSchema, Llm
from localmem.store import Store
from localmem.types import ChatMessage, Choice, Completion, Finding, ModelRole

if TYPE_CHECKING:
    from localmem.memory import Memory


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One call that a ScriptedLlm got: "complete", "complete_many" (one per prompt) or "choose"."""

    kind: str
    messages: tuple[ChatMessage, ...]
    max_tokens: int = 0
    schema: JsonSchema | None = None
    grammar: str | None = None
    reply_prefix: str = ""
    options: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All message contents, one after the other."""
        return "\n".join(message.content for message in self.messages)


@dataclass
class ScriptedLlm:
    """Replies from a queue, choices from another; records every call in `history`.

    A reply is a text, an exception to raise, or a function of the call. A choice is the index of
    the option that gets `confidence`, or all probabilities. With an empty queue it raises
    GenerationError, unless `fallback_reply` or `fallback_choice` is set.
    """

    replies: Iterable[str | Exception | Callable[[LlmCall], str]] = ()
    choices: Iterable[int | Sequence[float]] = ()
    fallback_reply: str | None = None
    fallback_choice: int | None = None
    confidence: float = 0.9
    model_id: str = "scripted"
    context_tokens: int = 4096
    history: list[LlmCall] = field(default_factory=list)
    closed: bool = False

    def __post_init__(self) -> None:
        self._replies = deque(self.replies)
        self._choices = deque(self.choices)

    def count_tokens(self, text: str) -> int:
        """Words, each followed by its space; 0 for blank text."""
        return len(text.split())

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
        """The next reply of the script, cut after `max_tokens` words, told word by word."""
        call = LlmCall("complete", tuple(messages), max_tokens, schema, grammar, reply_prefix)
        done = self._answer(call)
        if on_token is not None:
            for number, word in enumerate(done.text.split(" ")):
                on_token(word if number == 0 else f" {word}")
        return done

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
        """One scripted reply per prompt, in their order."""
        done: list[Completion] = []
        for number, prompt in enumerate(prompts):
            if on_step is not None:
                on_step()
            prefix = reply_prefixes[number] if reply_prefixes else ""
            call = LlmCall("complete_many", tuple(prompt), max_tokens, schema, grammar, prefix)
            done.append(self._answer(call))
            if on_done is not None:
                on_done(number, done[-1])
        return done

    def choose(self, messages: Sequence[ChatMessage], options: Sequence[str]) -> Choice:
        """The next choice of the script as probabilities."""
        if len(options) < 2:
            raise GenerationError(f"a choice needs two options, got {len(options)}")
        self.history.append(LlmCall("choose", tuple(messages), options=tuple(options)))
        chosen = self._choices.popleft() if self._choices else self.fallback_choice
        if chosen is None:
            raise GenerationError("the script holds no further choice")
        if not isinstance(chosen, int):
            total = sum(chosen)
            return Choice(tuple(value / total for value in chosen), exact=True)
        rest = (1.0 - self.confidence) / (len(options) - 1)
        return Choice(
            tuple(self.confidence if i == chosen else rest for i in range(len(options))),
            exact=True,
        )

    def close(self) -> None:
        """Only remembers that it was called."""
        self.closed = True

    def _answer(self, call: LlmCall) -> Completion:
        self.history.append(call)
        scripted = self._replies.popleft() if self._replies else self.fallback_reply
        if scripted is None:
            raise GenerationError("the script holds no further reply")
        if isinstance(scripted, Exception):
            raise scripted
        whole = scripted if isinstance(scripted, str) else scripted(call)
        words = whole.split(" ")
        prompt_tokens = self.count_tokens(call.text)
        return Completion(
            text=" ".join(words[: call.max_tokens]),
            prompt_tokens=prompt_tokens,
            evaluated_tokens=prompt_tokens,
            completion_tokens=min(len(words), call.max_tokens),
            finished=len(words) <= call.max_tokens,
        )


class HashEmbedder:
    """Vectors from hashed words and their letter triples: the same and similar words are near.

    Deterministic on every machine. Words are split at white space and lower-cased.
    """

    def __init__(self, *, dimension: int = 256, max_tokens: int = 256) -> None:
        self._dimension = dimension
        self._max_tokens = max_tokens

    @property
    def model_id(self) -> str:
        return f"hash-{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def split(self, text: str) -> list[str]:
        """Pieces of at most `max_tokens` words."""
        words = text.split()
        size = self._max_tokens
        return [" ".join(words[i : i + size]) for i in range(0, len(words), size)]

    def embed_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> FloatMatrix:
        """float32 (len(texts), dimension), unit rows."""
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            rows[number] = self.embed_query(text)
            if on_progress is not None:
                on_progress(number + 1)
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """float32 (dimension,), unit length; blank text gets the first axis."""
        row = np.zeros(self._dimension, dtype=np.float32)
        for word in text.lower().split()[: self._max_tokens]:
            for feature, weight in _features(word.strip(".,;:!?\"'()")):
                place, sign = _hashed(feature, self._dimension)
                row[place] += sign * weight
        length = float(np.linalg.norm(row))
        if length == 0.0:
            row[0] = length = 1.0
        unit: NDArray[np.float32] = (row / length).astype(np.float32)
        return unit

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class FixedClock:
    """Says the same time until it is told otherwise."""

    moment: datetime

    def now(self) -> datetime:
        """The moment it was set to."""
        return self.moment

    def advance(self, **timespan: float) -> None:
        """Move on by `timedelta(**timespan)`."""
        self.moment += timedelta(**timespan)


@dataclass
class FixedModels:
    """A model source with given models; without `llm` it says that none is there.

    `llms` names those of single roles, `abilities` what all have shown in the self-test.
    """

    the_embedder: Embedder = field(default_factory=HashEmbedder)
    the_llm: Llm | None = None
    trusted: bool = True
    llms: Mapping[ModelRole, Llm] = field(default_factory=dict)
    abilities: Collection[str] = ()

    def embedder(self, name: str | None = None) -> Embedder:
        return self.the_embedder

    def embedder_of(self, model_id: str | None) -> Embedder:
        """The embedder, where it has this id.

        Raises:
            ModelNotFoundError: it has another.
        """
        if model_id not in (None, self.the_embedder.model_id):
            raise ModelNotFoundError(f"{model_id} is not on this machine")
        return self.the_embedder

    def llm(self, role: ModelRole = ModelRole.ANSWER) -> Llm:
        """The language model.

        Raises:
            ModelNotFoundError: there is none.
        """
        found = self.llms.get(role, self.the_llm)
        if found is None:
            raise ModelNotFoundError("no language model is on this machine")
        return found

    def llm_key(self, role: ModelRole = ModelRole.ANSWER) -> str:
        """The model's id.

        Raises:
            ModelNotFoundError: there is none.
        """
        return self.llm(role).model_id

    def passes(self, ability: str, role: ModelRole) -> bool:
        return ability in self.abilities

    def reads_well(self, role: ModelRole = ModelRole.ANSWER) -> bool:
        return self.trusted

    def examine(self, embedder_id: str | None) -> tuple[Finding, ...]:
        return ()


def build_memory(
    path: Path,
    *,
    models: FixedModels | None = None,
    clock: FixedClock | None = None,
    config: Config | None = None,
    patience_s: float = 10.0,
    idle_s: float = 2.0,
) -> Memory:
    """A real memory at `path` with fake models and a clock that stands still in 2026.

    `patience_s` and `idle_s` are the store's: how long to wait for others, to keep the file open.
    """
    from localmem.memory import Memory

    return Memory(
        Store(path, patience_s=patience_s, idle_s=idle_s),
        config=config or Config(),
        clock=clock or FixedClock(datetime(2026, 11, 30, 12, 0, tzinfo=UTC)),
        models=models or FixedModels(),
    )


def _features(word: str) -> list[tuple[str, float]]:
    """The word itself and its letter triples, which together weigh as much as the word."""
    if not word:
        return []
    framed = f"<{word}>"
    triples = [framed[i : i + 3] for i in range(len(framed) - 2)]
    weight = 1.0 / max(len(triples), 1) ** 0.5
    return [(word, 1.0), *((triple, weight) for triple in triples)]


def _hashed(feature: str, dimension: int) -> tuple[int, float]:
    digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return (number >> 1) % dimension, 1.0 if number & 1 else -1.0
