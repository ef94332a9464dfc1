"""What stands around a node of the graph, in words: for people who look, not for a search.

The edges are the graph's own (`Graph.neighbours`), made of the messages near the node, so that one
node of a large memory costs no more than one of a small. What a node belongs to, its person and
their snapshots, is added: a search does not go that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from localmem.errors import RecordNotFoundError, UsageError
from localmem.participants.graph import (
    MOST_NEIGHBOURS,
    RECENT,
    Edge,
    Graph,
    GraphItem,
    GraphMessage,
)
from localmem.participants.known import describe_item, period_words, subject_words
from localmem.store import Store
from localmem.store.personas import PersonaGroup
from localmem.store.surroundings import NearMessage
from localmem.types import (
    EdgeKind,
    GraphEdge,
    GraphNode,
    Item,
    ItemId,
    ItemState,
    Message,
    MessageId,
    Neighbourhood,
    Node,
    NodeKind,
    Participant,
    ParticipantId,
)
from localmem.wording import counted

_LATEST = 5
"""Messages of a person that are shown."""
_NEAR_TOPICS = 5
_LABEL = 160
"""Characters of a message that stand for it."""


def node_named(store: Store, name: str) -> Node:
    """The node that is meant: "Ana", "marathon", "message 12", "fact 5".

    A word is a person first, then a topic.

    Raises:
        RecordNotFoundError: nothing is called so; the hint names topics that hold the word.
        UsageError: it is empty, or several people are called so.
    """
    said = " ".join(name.split())
    if not said:
        raise UsageError("no node is named", hint="localmem graph Ana, or: graph 'message 12'")
    kind, _, key = said.replace(":", " ", 1).partition(" ")
    if kind.lower() in set(NodeKind) and key.strip():
        return _of_kind(store, NodeKind(kind.lower()), key.strip())
    with store.reading():
        try:
            return Node(NodeKind.PERSON, int(store.find_participant(said).id))
        except RecordNotFoundError:
            return _topic(store, said)


def neighbourhood(store: Store, node: Node) -> Neighbourhood:
    """A node with its edges: at most 20 of the graph, and what it belongs to.

    Raises:
        RecordNotFoundError: there is no such node in this memory.
    """
    with store.reading():
        return _placed(store, _View.over(store).of(node))


def _placed(store: Store, found: Neighbourhood) -> Neighbourhood:
    """The same, with the sessions of the messages that are opened for its nodes."""
    nodes = [found.centre, *(edge.target for edge in found.edges)]
    numbers = {one.message_id for one in nodes if one.message_id is not None}
    session_of = {m.id: m.session_id for m in store.messages(list(numbers))}

    def placed(one: GraphNode) -> GraphNode:
        number = one.message_id
        return one if number is None else replace(one, session_id=session_of[number])

    edges = tuple(replace(edge, target=placed(edge.target)) for edge in found.edges)
    return replace(found, centre=placed(found.centre), edges=edges)


def _of_kind(store: Store, kind: NodeKind, key: str) -> Node:
    if kind is NodeKind.TOPIC:
        return _topic(store, key)
    if kind is NodeKind.PERSON:
        return Node(kind, int(store.find_participant(key).id))
    if not key.isdecimal():
        raise UsageError(f"'{key}' is no number of a {kind}", hint=f"localmem graph '{kind} 12'")
    return Node(kind, int(key))


def _topic(store: Store, words: str) -> Node:
    topic = words.casefold()
    if store.messages_on(topic):
        return Node(NodeKind.TOPIC, topic)
    near = store.topics_with(topic, most=_NEAR_TOPICS)
    hint = f"topics like it: {', '.join(near)}" if near else "localmem people lists who is here"
    raise RecordNotFoundError(f"no person and no topic is called {words!r}", hint=hint)


@dataclass(slots=True)
class _View:
    """What is at hand for the words of nodes."""

    store: Store
    people: Mapping[ParticipantId, Participant]
    groups: Mapping[int, PersonaGroup]
    items: dict[int, Item] = field(default_factory=dict)
    place: dict[MessageId, int] = field(default_factory=dict)

    @classmethod
    def over(cls, store: Store) -> _View:
        people = {one.id: one for one in store.participants()}
        return cls(store, people, {int(one.id): one for one in store.persona_groups()})

    # --- Nodes with their edges -------------------------------------------------------------

    def of(self, node: Node) -> Neighbourhood:
        if node.kind is NodeKind.MESSAGE:
            return self.of_message(MessageId(int(node.key)))
        if node.kind is NodeKind.TOPIC:
            return self.of_topic(str(node.key))
        if node.kind is NodeKind.PERSON:
            return self.of_person(ParticipantId(int(node.key)))
        if node.kind is NodeKind.PERSONA:
            return self.of_persona(int(node.key))
        return self.of_item(node)

    def of_message(self, number: MessageId) -> Neighbourhood:
        (message,) = self.store.messages([number])
        near = self.store.messages_around([number], reach=RECENT)
        node = Node(NodeKind.MESSAGE, number)
        graph = self._graph(near, self.store.items_of_messages([number]))
        owner = [self._belongs(self._person(message.participant_id), "said by")]
        return self._neighbourhood(graph, node, message.whole_text, owner)

    def of_topic(self, topic: str) -> Neighbourhood:
        near = self.store.messages_on(topic)
        if not near:
            raise RecordNotFoundError(f"no topic is called {topic!r}")
        graph = self._graph(near, ())
        text = f"{topic}: {counted(len(near), 'message')}"
        return self._neighbourhood(graph, Node(NodeKind.TOPIC, topic), text, ())

    def of_item(self, node: Node) -> Neighbourhood:
        item = self.store.item(ItemId(int(node.key)))
        if item.kind.value != node.kind.value:
            raise RecordNotFoundError(
                f"item {item.id} is no {node.kind}", hint=f"localmem graph '{item.kind} {item.id}'"
            )
        graph = self._graph_on(item.message_ids, item)
        within = [group for group in self.groups.values() if item.id in dict(group.members)]
        belongs = [self._belongs(self._person(item.participant_id), "of")]
        belongs += [self._belongs(self._persona(group), "part of") for group in within]
        return self._neighbourhood(graph, node, item.quote, belongs)

    def of_persona(self, number: int) -> Neighbourhood:
        group = self.groups.get(number)
        if group is None:
            raise RecordNotFoundError(
                f"there is no persona snapshot {number}", hint="localmem people show NAME"
            )
        known = self.store.items(participants=[group.participant_id])
        wanted = {int(one) for one, _ in group.members}
        members = [one for one in known if int(one.id) in wanted]
        graph = self._graph_on([n for one in members for n in one.message_ids])
        belongs = [self._belongs(self._person(group.participant_id), "of")]
        belongs += [self._belongs(self._item(one), "holds") for one in members]
        text = f"{_name_of(group)}: {counted(len(members), 'thing')}"
        return self._neighbourhood(graph, Node(NodeKind.PERSONA, number), text, belongs)

    def of_person(self, number: ParticipantId) -> Neighbourhood:
        view = self.store.person(str(int(number)))
        said = self.store.said_in_order(number)
        groups = [one for one in self.groups.values() if one.participant_id == number]
        groups.sort(key=lambda one: (-len(one.members), one.id))
        shown = groups[:MOST_NEIGHBOURS]
        edges = [self._belongs(self._item(item), "has") for item in view.known]
        edges += [self._belongs(self._persona(group), "has") for group in shown]
        edges += [
            self._belongs(GraphNode(Node(NodeKind.TOPIC, word.casefold()), word, note=f"{n:,}"))
            for word, n in view.topics
        ]
        latest = self.store.messages(said[::-1][:_LATEST])
        edges += [self._belongs(self._message(one), "said last") for one in latest]
        names = ", also ".join((view.overview.person.name, *view.overview.person.aliases))
        more = len(groups) - len(shown) + view.known_total - len(view.known)
        return Neighbourhood(self._person(number), names, tuple(edges), more)

    # --- Edges ------------------------------------------------------------------------------

    def _graph_on(self, ids: Iterable[MessageId], *more: Item) -> Graph:
        """The graph of messages that something rests on, and what else rests on them."""
        numbers = list(dict.fromkeys(ids))
        items = {one.id: one for one in (*self.store.items_of_messages(numbers), *more)}
        return self._graph(self.store.messages_in_time(numbers), items.values())

    def _graph(self, near: Sequence[NearMessage], items: Iterable[Item]) -> Graph:
        self.place = {one.id: place for place, one in enumerate(near)}
        self.items |= {int(one.id): one for one in items}
        snapshots = [
            GraphItem(Node(NodeKind.PERSONA, int(one.id)), one.participant_id, one.message_ids)
            for one in self.store.persona_nodes()
        ]
        resting = [
            GraphItem(
                Node(NodeKind(one.kind.value), int(one.id)), one.participant_id, one.message_ids
            )
            for one in self.items.values()
        ]
        messages = [
            GraphMessage(one.id, int(one.session_id), one.participant_id, one.keywords)
            for one in near
        ]
        return Graph(messages, (*resting, *snapshots))

    def _neighbourhood(
        self, graph: Graph, node: Node, text: str, belongs: Sequence[GraphEdge]
    ) -> Neighbourhood:
        edges = graph.neighbours(node)
        numbers = {edge.target.key for edge in edges if edge.target.kind is NodeKind.MESSAGE}
        said = {m.id: m for m in self.store.messages([MessageId(int(n)) for n in numbers])}
        told = [self._edge(node, edge, said) for edge in edges]
        sources = graph.sources(node)
        unshown = max(0, len(self.place) - len(edges)) if node.kind is NodeKind.TOPIC else 0
        return Neighbourhood(self._node(node, sources), text, (*belongs, *told), unshown)

    def _edge(self, node: Node, edge: Edge, said: Mapping[MessageId, Message]) -> GraphEdge:
        target = edge.target
        if target.kind is NodeKind.MESSAGE:
            shown = self._message(said[MessageId(int(target.key))])
        else:
            shown = self._node(target, ())
        return GraphEdge(edge.kind, edge.strength, shown, self._words(node, edge))

    def _words(self, node: Node, edge: Edge) -> str:
        """How an edge reads from its node on."""
        target = edge.target
        if edge.kind is EdgeKind.MENTIONS:
            return "mentioned in" if node.kind is NodeKind.TOPIC else "mentions"
        if edge.kind is EdgeKind.SUPPORTS:
            if NodeKind.MESSAGE not in (node.kind, target.kind):
                return "told beside"
            return "supports" if node.kind is NodeKind.MESSAGE else "rests on"
        is_before = self.place[MessageId(int(target.key))] < self.place[MessageId(int(node.key))]
        side = "before" if is_before else "after"
        if edge.kind is EdgeKind.TEMPORAL_NEXT:
            return f"{side} it"
        tie = "topic" if edge.kind is EdgeKind.SAME_TOPIC else "speaker"
        return f"same {tie}, {side}"

    @staticmethod
    def _belongs(target: GraphNode, words: str = "talks about") -> GraphEdge:
        return GraphEdge(None, 0.0, target, words)

    # --- Words of nodes ---------------------------------------------------------------------

    def _node(self, node: Node, sources: Sequence[MessageId]) -> GraphNode:
        if node.kind is NodeKind.TOPIC:
            return GraphNode(node, str(node.key))
        if node.kind is NodeKind.PERSONA:
            return self._persona(self.groups[int(node.key)], sources)
        if node.kind is NodeKind.MESSAGE:
            return self._message(self.store.messages([MessageId(int(node.key))])[0])
        return self._item(self.items[int(node.key)])

    def _person(self, number: ParticipantId) -> GraphNode:
        person = self.people[number]
        note = "owner" if person.is_owner else "assistant" if person.is_assistant else ""
        return GraphNode(Node(NodeKind.PERSON, int(number)), person.name, note=note)

    def _persona(self, group: PersonaGroup, sources: Sequence[MessageId] = ()) -> GraphNode:
        return GraphNode(
            Node(NodeKind.PERSONA, int(group.id)),
            _name_of(group),
            self.people[group.participant_id].name,
            message_id=sources[-1] if sources else None,
            note=f"{group.kind}, {len(group.members):,}",
        )

    def _item(self, item: Item) -> GraphNode:
        notes = [period_words(item)]
        if item.state is not ItemState.ACTIVE:
            notes.append(item.state.value)
        return GraphNode(
            Node(NodeKind(item.kind.value), int(item.id)),
            f"{subject_words(item)}: {describe_item(item)}",
            self.people[item.participant_id].name,
            item.last_said_at,
            message_id=item.message_ids[-1] if item.message_ids else None,
            note=", ".join(note for note in notes if note),
            holds=item.holds,
        )

    def _message(self, message: Message) -> GraphNode:
        words = " ".join(message.whole_text.split())
        return GraphNode(
            Node(NodeKind.MESSAGE, int(message.id)),
            f"{words[:_LABEL].rstrip()} …" if len(words) > _LABEL else words,
            message.speaker,
            message.said_at,
            message.id,
        )


def _name_of(group: PersonaGroup) -> str:
    """A snapshot's name, or its first key where messages that named it are gone."""
    return group.name or (group.members[0][1] if group.members else group.kind.value)
