"""The graph of a memory, by rule: messages, topics, items, and what ties them together.

It reaches evidence that no similarity finds: the message after the one that was found, an earlier
one of the same speaker on the same topic, what else rests on the same fact. It is derived from
rows in memory, so that it is in step with every write and delete; nothing of it is stored. It must
not search or rank: seeds come in, scores go out. (AdaMem, sections B.5 and B.7.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from localmem.types import EdgeKind, MessageId, Node, NodeKind, ParticipantId

HOP_DECAY = 0.85
MOST_SCORED = 64
MOST_NEIGHBOURS = 20
RECENT = 20
"""Messages of a speaker among which an earlier one on the same topic counts as recent."""


PRIORS: Mapping[EdgeKind, float] = {
    EdgeKind.MENTIONS: 0.75,
    EdgeKind.SUPPORTS: 0.90,
    EdgeKind.SAME_TOPIC: 0.55,
    EdgeKind.TEMPORAL_NEXT: 0.70,
    EdgeKind.SPEAKER_RELATED: 0.60,
}
"""Retrieval priors by kind of edge (AdaMem, Table 6)."""

_MENTIONS = 0.75
_SUPPORTS = {NodeKind.FACT: 0.85, NodeKind.EVENT: 0.80, NodeKind.ATTRIBUTE: 0.80}
_SAME_TOPIC = 0.60
_NEXT_OF_SPEAKER = (0.90, 0.45)
_NEXT_OF_ALL = (0.70, 0.35)
"""Forward and backward."""
_SPEAKER_RELATED = 0.65


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge as seen from one of its ends.

    `strength` is the write-time strength in this direction, `share` its part of the strength in
    the forward direction: 1 but for backward edges of time.
    """

    kind: EdgeKind
    target: Node
    strength: float
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class GraphMessage:
    """A message as the graph needs it. `topics` are the keywords of its turn or record."""

    id: MessageId
    session_id: int
    participant_id: ParticipantId
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphItem:
    """A fact, attribute, event or snapshot of a participant, with the messages it rests on."""

    node: Node
    participant_id: ParticipantId
    message_ids: tuple[MessageId, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """How far and where a search may spread.

    `owners` None: everybody's messages. `backward_weaker` False follows the paper's equation 2,
    which does not look at write-time strengths.
    """

    hops: int = 1
    priors: Mapping[EdgeKind, float] = field(default_factory=lambda: PRIORS)
    owners: Collection[ParticipantId] | None = None
    backward_weaker: bool = True


class Graph:
    """The graph over messages in the order of time, and over items. Edges are worked out on demand.

    A message that two ties lead to is listed once for each.
    """

    def __init__(self, messages: Sequence[GraphMessage], items: Iterable[GraphItem] = ()) -> None:
        self._messages = messages
        self._place = {message.id: place for place, message in enumerate(messages)}
        self._own_place: dict[MessageId, int] = {}
        self._of_speaker: dict[ParticipantId, list[int]] = {}
        self._mentioned: dict[str, list[int]] = {}
        for place, message in enumerate(messages):
            said = self._of_speaker.setdefault(message.participant_id, [])
            self._own_place[message.id] = len(said)
            said.append(place)
            for topic in _folded(message.topics):
                self._mentioned.setdefault(topic, []).append(place)
        self._items: dict[Node, GraphItem] = {}
        self._resting_on: dict[MessageId, list[Node]] = {}
        for item in items:
            self._add_item(item)

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, node: Node) -> bool:
        if node.kind is NodeKind.MESSAGE:
            return node.key in self._place
        return node.key in self._mentioned if node.kind is NodeKind.TOPIC else node in self._items

    def nodes(self) -> Iterator[Node]:
        """All nodes: messages, topics, items."""
        yield from (Node(NodeKind.MESSAGE, message.id) for message in self._messages)
        yield from (Node(NodeKind.TOPIC, topic) for topic in self._mentioned)
        yield from self._items

    def neighbours(self, node: Node) -> tuple[Edge, ...]:
        """The strongest edges of a node, at most 20; () for an unknown node."""
        if node not in self:
            return ()
        if node.kind is NodeKind.MESSAGE:
            edges = list(self._message_edges(self._place[MessageId(int(node.key))]))
        elif node.kind is NodeKind.TOPIC:
            places = self._mentioned[str(node.key)]
            edges = [self._edge(EdgeKind.MENTIONS, place, _MENTIONS) for place in places]
        else:
            edges = list(self._item_edges(node))
        edges.sort(key=lambda edge: -edge.strength)
        return tuple(edges[:MOST_NEIGHBOURS])

    def sources(self, node: Node) -> tuple[MessageId, ...]:
        """The messages that a node stands for or rests on, at most 20, the first ones."""
        if node.kind is NodeKind.MESSAGE:
            return (MessageId(int(node.key)),)
        if node.kind is NodeKind.TOPIC:
            places = self._mentioned.get(str(node.key), [])[:MOST_NEIGHBOURS]
            return tuple(self._messages[place].id for place in places)
        item = self._items.get(node)
        return item.message_ids[:MOST_NEIGHBOURS] if item else ()

    def owner(self, node: Node) -> ParticipantId | None:
        """Whose a node is; None for a topic, which is nobody's."""
        if node.kind is NodeKind.MESSAGE:
            return self._messages[self._place[MessageId(int(node.key))]].participant_id
        item = self._items.get(node)
        return item.participant_id if item else None

    def _add_item(self, item: GraphItem) -> None:
        known = tuple(number for number in item.message_ids if number in self._place)
        if known:
            self._items[item.node] = GraphItem(item.node, item.participant_id, known)
            for number in known:
                self._resting_on.setdefault(number, []).append(item.node)

    def _edge(self, kind: EdgeKind, place: int, strength: float, *, share: float = 1.0) -> Edge:
        return Edge(kind, Node(NodeKind.MESSAGE, self._messages[place].id), strength, share)

    def _message_edges(self, place: int) -> Iterator[Edge]:
        message = self._messages[place]
        yield from self._time_edges(place)
        for topic in sorted(_folded(message.topics)):
            yield Edge(EdgeKind.MENTIONS, Node(NodeKind.TOPIC, topic), _MENTIONS)
        resting = self._resting_on.get(message.id, [])
        has_fact = any(node.kind is not NodeKind.EVENT for node in resting)
        for node in resting:
            # An event hangs on facts or snapshots where there are any (AdaMem, B.7).
            if node.kind is not NodeKind.EVENT or not has_fact:
                yield Edge(EdgeKind.SUPPORTS, node, _strength_of(node))
        yield from self._topic_edges(place)

    def _time_edges(self, place: int) -> Iterator[Edge]:
        """Next and previous of the dialogue, within its session, and of the speaker."""
        message = self._messages[place]
        for step, side in ((1, 0), (-1, 1)):
            near = place + step
            if self._is_in_session(near, message.session_id):
                yield self._time_edge(near, _NEXT_OF_ALL, side)
            own = self._of_speaker[message.participant_id]
            turn = self._own_place[message.id] + step
            if 0 <= turn < len(own):
                yield self._time_edge(own[turn], _NEXT_OF_SPEAKER, side)
                yield self._edge(EdgeKind.SPEAKER_RELATED, own[turn], _SPEAKER_RELATED)

    def _is_in_session(self, place: int, session_id: int) -> bool:
        return 0 <= place < len(self._messages) and self._messages[place].session_id == session_id

    def _time_edge(self, place: int, strengths: tuple[float, float], side: int) -> Edge:
        share = strengths[side] / strengths[0]
        return self._edge(EdgeKind.TEMPORAL_NEXT, place, strengths[side], share=share)

    def _topic_edges(self, place: int) -> Iterator[Edge]:
        """The nearest earlier and later message of the speaker on a topic of this one."""
        message = self._messages[place]
        own = self._of_speaker[message.participant_id]
        turn = self._own_place[message.id]
        topics = _folded(message.topics)
        earlier = reversed(own[max(0, turn - RECENT) : turn])
        for reach in (earlier, own[turn + 1 : turn + 1 + RECENT]):
            shares = (near for near in reach if topics & _folded(self._messages[near].topics))
            near = next(shares, None)
            if near is not None:
                yield self._edge(EdgeKind.SAME_TOPIC, near, _SAME_TOPIC)

    def _item_edges(self, node: Node) -> Iterator[Edge]:
        strength = _strength_of(node)
        beside: dict[Node, None] = {}
        for number in self._items[node].message_ids:
            beside |= dict.fromkeys(self._resting_on[number])
            yield self._edge(EdgeKind.SUPPORTS, self._place[number], strength)
        for other in beside:
            if other != node and NodeKind.EVENT in (node.kind, other.kind):
                yield Edge(EdgeKind.SUPPORTS, other, _SUPPORTS[NodeKind.EVENT])


def expand(graph: Graph, seeds: Mapping[MessageId, float], how: Expansion) -> dict[Node, float]:
    """The nodes that the seeds lead to with their scores, best first, at most 64; without seeds.

    The score of a node is the best over paths of: score of the seed, times the prior of each edge
    and 0.85 a hop (AdaMem, equation 2). Nodes of others than `how.owners` are passed over.
    """
    best = {Node(NodeKind.MESSAGE, number): score for number, score in seeds.items()}
    origins = frozenset(best)
    found: dict[Node, float] = {}
    frontier = dict(best)
    for _ in range(how.hops):
        reached: dict[Node, float] = {}
        for node, score in sorted(frontier.items(), key=_by_score):
            for edge in graph.neighbours(node):
                weight = how.priors[edge.kind] * (edge.share if how.backward_weaker else 1.0)
                passed = score * weight * HOP_DECAY
                if passed > best.get(edge.target, 0.0) and _is_wanted(graph, edge.target, how):
                    best[edge.target] = reached[edge.target] = passed
        found |= {node: score for node, score in reached.items() if node not in origins}
        found = dict(sorted(found.items(), key=_by_score)[:MOST_SCORED])
        frontier = {node: score for node, score in reached.items() if node in found}
    return found


def message_scores(
    graph: Graph, found: Mapping[Node, float], owners: Collection[ParticipantId] | None = None
) -> dict[MessageId, float]:
    """Scores of messages: a message's own, or the best of what rests on it or is told in it."""
    scores: dict[MessageId, float] = {}
    for node, score in found.items():
        for number in graph.sources(node):
            whose = graph.owner(Node(NodeKind.MESSAGE, number))
            if score > scores.get(number, 0.0) and (owners is None or whose in owners):
                scores[number] = score
    return scores


def _is_wanted(graph: Graph, node: Node, how: Expansion) -> bool:
    return how.owners is None or node.kind is NodeKind.TOPIC or graph.owner(node) in how.owners


def _folded(topics: Iterable[str]) -> frozenset[str]:
    return frozenset(topic.casefold() for topic in topics)


def _strength_of(node: Node) -> float:
    return _SUPPORTS.get(node.kind, _SUPPORTS[NodeKind.FACT])


def _by_score(scored: tuple[Node, float]) -> tuple[float, str, str]:
    node, score = scored
    return (-score, node.kind.value, str(node.key))
