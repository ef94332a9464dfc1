"""The graph by rule: its edges and strengths, how far a search spreads, how it is bounded."""

from __future__ import annotations

import pytest

from localmem.participants.graph import (
    MOST_NEIGHBOURS,
    MOST_SCORED,
    PRIORS,
    Expansion,
    Graph,
    GraphItem,
    GraphMessage,
    expand,
    message_scores,
)
from localmem.types import EdgeKind, MessageId, Node, NodeKind, ParticipantId

ADA, BEN = ParticipantId(1), ParticipantId(2)


def _message(number: int, session: int, who: ParticipantId, *topics: str) -> GraphMessage:
    return GraphMessage(MessageId(number), session, who, topics)


def _said(number: int) -> Node:
    return Node(NodeKind.MESSAGE, number)


CHAT = Graph(
    [
        _message(1, 1, ADA, "Pottery"),
        _message(2, 1, BEN),
        _message(3, 1, ADA, "pottery", "kiln"),
        _message(4, 2, ADA, "kiln"),
    ]
)


def _strengths(graph: Graph, start: int, end: int) -> dict[EdgeKind, list[float]]:
    found: dict[EdgeKind, list[float]] = {}
    for edge in graph.neighbours(_said(start)):
        if edge.target == _said(end):
            found.setdefault(edge.kind, []).append(edge.strength)
    return found


def test_time_binds_the_dialogue_within_a_session_and_a_speaker_across_sessions() -> None:
    assert _strengths(CHAT, 1, 2) == {EdgeKind.TEMPORAL_NEXT: [0.70]}
    assert _strengths(CHAT, 2, 1) == {EdgeKind.TEMPORAL_NEXT: [0.35]}
    assert _strengths(CHAT, 1, 3)[EdgeKind.TEMPORAL_NEXT] == [0.90]
    assert _strengths(CHAT, 3, 1)[EdgeKind.TEMPORAL_NEXT] == [0.45]
    assert _strengths(CHAT, 3, 4)[EdgeKind.TEMPORAL_NEXT] == [0.90]
    assert _strengths(CHAT, 2, 4) == {}


def test_messages_of_one_speaker_are_tied_and_so_are_those_on_one_topic() -> None:
    ties = _strengths(CHAT, 1, 3)
    assert ties[EdgeKind.SPEAKER_RELATED] == [0.65]
    assert ties[EdgeKind.SAME_TOPIC] == [0.60]
    assert _strengths(CHAT, 3, 1)[EdgeKind.SAME_TOPIC] == [0.60]
    assert EdgeKind.SAME_TOPIC not in _strengths(CHAT, 1, 4)


def test_a_topic_is_one_node_whatever_its_case() -> None:
    topic = Node(NodeKind.TOPIC, "pottery")
    assert topic in CHAT and Node(NodeKind.TOPIC, "Pottery") not in CHAT
    edges = CHAT.neighbours(topic)
    assert {edge.target for edge in edges} == {_said(1), _said(3)}
    assert {edge.strength for edge in edges} == {0.75}


def test_an_event_hangs_on_a_fact_where_there_is_one_and_else_on_its_message() -> None:
    fact = GraphItem(Node(NodeKind.FACT, 7), ADA, (MessageId(1),))
    event = GraphItem(Node(NodeKind.EVENT, 8), ADA, (MessageId(1),))
    alone = GraphItem(Node(NodeKind.EVENT, 9), BEN, (MessageId(2),))
    graph = Graph([_message(1, 1, ADA), _message(2, 1, BEN)], [fact, event, alone])
    supports = {
        number: [e.target for e in graph.neighbours(_said(number)) if e.kind is EdgeKind.SUPPORTS]
        for number in (1, 2)
    }
    assert supports == {1: [fact.node], 2: [alone.node]}
    assert (event.node, 0.80) in [(e.target, e.strength) for e in graph.neighbours(fact.node)]


def test_an_item_whose_messages_are_gone_is_no_node() -> None:
    item = GraphItem(Node(NodeKind.FACT, 7), ADA, (MessageId(99),))
    assert item.node not in Graph([_message(1, 1, ADA)], [item])


def test_a_score_falls_by_prior_and_decay_at_each_hop() -> None:
    found = expand(CHAT, {MessageId(2): 1.0}, Expansion(hops=2))
    assert found[_said(3)] == pytest.approx(0.70 * 0.85)
    assert found[_said(4)] == pytest.approx((0.70 * 0.85) ** 2)


def test_time_backwards_is_weaker_but_not_in_the_paper() -> None:
    only_time = {kind: PRIORS[kind] * (kind is EdgeKind.TEMPORAL_NEXT) for kind in EdgeKind}
    ours = expand(CHAT, {MessageId(2): 1.0}, Expansion(priors=only_time))
    assert ours[_said(1)] == pytest.approx(ours[_said(3)] / 2)
    paper = expand(CHAT, {MessageId(2): 1.0}, Expansion(priors=only_time, backward_weaker=False))
    assert paper[_said(1)] == paper[_said(3)] == pytest.approx(0.70 * 0.85)


def test_a_certain_target_keeps_the_others_out() -> None:
    how = Expansion(hops=2, owners={ADA})
    found = expand(CHAT, {MessageId(1): 1.0}, how)
    assert _said(2) not in found and _said(3) in found
    assert MessageId(2) not in message_scores(CHAT, found, {ADA})


def test_a_topic_gives_its_score_to_the_messages_that_mention_it() -> None:
    only_topics = {kind: PRIORS[kind] * (kind is EdgeKind.MENTIONS) for kind in EdgeKind}
    found = expand(CHAT, {MessageId(1): 1.0}, Expansion(priors=only_topics))
    assert message_scores(CHAT, found)[MessageId(3)] == pytest.approx(0.75 * 0.85)


def test_seeds_are_not_among_what_they_lead_to() -> None:
    assert _said(1) not in expand(CHAT, {MessageId(1): 1.0}, Expansion(hops=2))


def test_a_hub_has_at_most_twenty_neighbours_and_a_search_scores_at_most_64_nodes() -> None:
    many = Graph([_message(n, 1, ADA, f"own {n}", "everyday") for n in range(1, 400)])
    assert len(many.neighbours(Node(NodeKind.TOPIC, "everyday"))) == MOST_NEIGHBOURS
    seeds = {MessageId(n): 1.0 for n in range(1, 390, 40)}
    assert len(expand(many, seeds, Expansion(hops=3))) == MOST_SCORED


def test_what_is_unknown_leads_nowhere() -> None:
    assert CHAT.neighbours(_said(99)) == ()
    assert expand(CHAT, {MessageId(99): 1.0}, Expansion()) == {}
