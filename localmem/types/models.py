"""Models: what goes into them, what comes out, and their files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from localmem.types.ids import MessageId
from localmem.types.messages import Role


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Vectors of message chunks: `blob` holds float32 unit rows, `message_ids` one id a row."""

    model_id: str
    dimension: int
    message_ids: tuple[MessageId, ...]
    chunk_numbers: tuple[int, ...]
    blob: bytes


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """An index as bytes, with the generation of the memory and the embedder it was made from.

    `model_id` is "" and `dimension` 0 for an index without vectors.
    """

    name: str
    generation: int
    model_id: str
    dimension: int
    content: bytes


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply.

    `evaluated_tokens` counts the prompt tokens that were really run through the model, after
    prefix reuse. `finished` is False when `max_tokens` cut the reply short.
    """

    text: str
    prompt_tokens: int
    evaluated_tokens: int
    completion_tokens: int
    finished: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """Probabilities of the options of a choice, in their order; they sum to 1.

    `exact` is False where the engine gives no log-probabilities and the reply was one option
    written out (that option then has probability 1).
    """

    probabilities: tuple[float, ...]
    exact: bool

    @property
    def best(self) -> int:
        """Index of the most probable option; the first of equals."""
        return max(range(len(self.probabilities)), key=lambda i: (self.probabilities[i], -i))


class ModelRole(StrEnum):
    """What a language model is used for; one model has all roles unless told otherwise.

    LAYERS writes L0 to L2, CONTROLLER chooses the steps of a deep question, NOTES organises what
    was found, ANSWER writes the answer.
    """

    LAYERS = "layers"
    CONTROLLER = "controller"
    NOTES = "notes"
    ANSWER = "answer"


class Pooling(StrEnum):
    """How an embedder's token vectors become one vector."""

    MEAN = "mean"
    CLS = "cls"


@dataclass(frozen=True, slots=True)
class EmbedderFiles:
    """An embedder on disk: its files and how they want to be used.

    `sha256` is the hash of the weights. `dimension` 0 means: ask the model. The prefixes are put
    before a query or a passage, and count towards `max_tokens`.
    """

    name: str
    weights: Path
    tokenizer: Path
    sha256: str
    dimension: int = 0
    max_tokens: int = 256
    pooling: Pooling = Pooling.MEAN
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def model_id(self) -> str:
        """Name and weight hash: vectors of two embedders with one id may be mixed, others never."""
        return f"{self.name}@{self.sha256[:16]}"


@dataclass(frozen=True, slots=True)
class LlmFiles:
    """A language model on disk: one GGUF file. `sha256` "" means: never checked."""

    name: str
    weights: Path
    sha256: str = ""
    context_tokens: int = 4096

    @property
    def model_id(self) -> str:
        """Name and weight hash, as far as it is known."""
        return f"{self.name}@{self.sha256[:16]}" if self.sha256 else self.name
