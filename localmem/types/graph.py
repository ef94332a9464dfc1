"""The graph of a memory: what its nodes and edges are, and the surroundings of a node as shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from localmem.types.ids import MessageId, SessionId


class NodeKind(StrEnum):
    """What a node stands for. PERSONA is a snapshot of a participant.

    A PERSON is no node of the graph that is searched; it is shown as what others belong to.
    """

    MESSAGE = "message"
    TOPIC = "topic"
    FACT = "fact"
    ATTRIBUTE = "attribute"
    EVENT = "event"
    PERSONA = "persona"
    PERSON = "person"


class EdgeKind(StrEnum):
    """What ties two nodes together."""

    MENTIONS = "mentions"
    SUPPORTS = "supports"
    SAME_TOPIC = "same_topic"
    TEMPORAL_NEXT = "temporal_next"
    SPEAKER_RELATED = "speaker_related"


class Node(NamedTuple):
    """A node: a topic by its case-folded words, everything else by its id."""

    kind: NodeKind
    key: str | int


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node in words.

    `owner` is whose it is, "" for a topic. `said_at` is when it was said, or said last.
    `message_id`, in `session_id`, is a message to open for it: itself, or the last one it rests on.
    `note` says more of it ("aspect, 7", "superseded"). `holds` is False of what is known no more.
    """

    node: Node
    label: str
    owner: str = ""
    said_at: datetime | None = None
    message_id: MessageId | None = None
    session_id: SessionId | None = None
    note: str = ""
    holds: bool = True


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge from the node in the middle to `target`.

    `kind` None: one belongs to the other, as a fact to a person; a search does not go that way,
    and `strength` is 0. Of two edges of time, the weaker leads back. `words` say how it reads from
    the middle on: "rests on", "before it".
    """

    kind: EdgeKind | None
    strength: float
    target: GraphNode
    words: str


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A node with its edges: what it belongs to first, then the strongest.

    `text` is all that the node says; `unshown` counts edges beyond those that are kept.
    """

    centre: GraphNode
    text: str
    edges: tuple[GraphEdge, ...]
    unshown: int = 0
