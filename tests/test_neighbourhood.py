"""What stands around a node: the graph's own edges, and what the node belongs to, in words."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from localmem.cli.app import app
from localmem.errors import RecordNotFoundError, UsageError
from localmem.memory import Memory
from localmem.participants.graph import Graph
from localmem.recall.corpus import Corpus, CorpusRow
from localmem.recall.routing import graph_of
from localmem.testing import build_memory
from localmem.types import EdgeKind, GraphEdge, MessageId, Neighbourhood, Node, NodeKind
from tests.tui_driver import make_small


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, tui_sample: Path) -> Iterator[Memory]:
    """The sample history with its snapshots made; nothing changes it."""
    path = tmp_path_factory.mktemp("graph") / "memory.duckdb"
    shutil.copy(tui_sample, path)
    with build_memory(path) as memory:
        memory.persona("Me")
        with memory.store.lingering():
            yield memory


def whole_graph(memory: Memory) -> Graph:
    """The graph that a search uses, of all rows."""
    store = memory.store
    with store.reading():
        sessions = {one.id: one for one in store.sessions()}
        rows = [CorpusRow.of(m, sessions[m.session_id]) for m in store.shown_messages()]
        topics = {int(one.turn_id): one.keywords for one in store.all_summaries()}
        nodes = store.persona_nodes()
        return graph_of(Corpus(rows), sessions, topics, store.items(), nodes).graph


def tied(found: Neighbourhood) -> list[tuple[EdgeKind, Node, float]]:
    return [(e.kind, e.target.node, e.strength) for e in found.edges if e.kind is not None]


def to(found: Neighbourhood, kind: NodeKind) -> list[GraphEdge]:
    return [edge for edge in found.edges if edge.target.node.kind is kind]


def test_a_node_has_the_edges_that_the_whole_graph_gives_it(sample: Memory) -> None:
    graph = whole_graph(sample)
    nodes = list(graph.nodes())
    assert {node.kind for node in nodes} == set(NodeKind) - {NodeKind.PERSON}
    of_kind = {kind: [node for node in nodes if node.kind is kind] for kind in NodeKind}
    for node in [one for several in of_kind.values() for one in several[:: len(several) // 8 + 1]]:
        expected = [(e.kind, e.target, e.strength) for e in graph.neighbours(node)]
        assert sorted(tied(sample.neighbourhood(node))) == sorted(expected), node


def test_a_person_has_what_is_known_of_them_and_each_of_it_leads_back(tmp_path: Path) -> None:
    with build_memory(make_small(tmp_path)) as memory:
        me = memory.neighbourhood("me")
        assert me.centre.note == "owner"
        (home,) = (e.target for e in to(me, NodeKind.ATTRIBUTE) if "Bergen" in e.target.label)
        around = memory.neighbourhood(home.node)
        assert around.text == "I moved to Bergen last week, so I live in Bergen now."
        assert to(around, NodeKind.PERSON)[0].target.node == me.centre.node
        (source,) = to(around, NodeKind.MESSAGE)
        assert (source.words, source.strength) == ("rests on", 0.8)
        assert source.target.message_id == home.message_id
        message = memory.neighbourhood(source.target.node)
        assert home.node in [e.target.node for e in to(message, NodeKind.ATTRIBUTE)]
        (old,) = (e.target for e in to(memory.neighbourhood("message 1"), NodeKind.ATTRIBUTE)
                  if "Leipzig" in e.target.label)  # fmt: skip
        assert not old.holds


def test_a_snapshot_holds_its_things_and_they_are_part_of_it(sample: Memory) -> None:
    (of_me, *_) = to(sample.neighbourhood("me"), NodeKind.PERSONA)
    snapshot = sample.neighbourhood(of_me.target.node)
    held = [edge.target for edge in snapshot.edges if edge.words == "holds"]
    assert held
    part_of = to(sample.neighbourhood(held[0].node), NodeKind.PERSONA)
    assert snapshot.centre.node in [edge.target.node for edge in part_of if edge.kind is None]


def test_time_says_what_came_before_and_counts_less_backwards(sample: Memory) -> None:
    edges = to(sample.neighbourhood(Node(NodeKind.MESSAGE, MessageId(12))), NodeKind.MESSAGE)
    ties = {(e.words, e.strength) for e in edges if e.kind is EdgeKind.TEMPORAL_NEXT}
    assert ("after it", 0.9) in ties and ("before it", 0.45) in ties
    for edge in edges:
        said = edge.target.said_at
        assert said is not None and edge.words.endswith(("it", "before", "after"))


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("Me", Node(NodeKind.PERSON, 1)),
        ("MARATHON", Node(NodeKind.TOPIC, "marathon")),
        ("topic:marathon", Node(NodeKind.TOPIC, "marathon")),
        ("Message 12", Node(NodeKind.MESSAGE, 12)),
    ],
)
def test_a_node_is_found_by_what_people_call_it(sample: Memory, name: str, node: Node) -> None:
    assert sample.neighbourhood(name).centre.node == node


def test_a_word_that_is_no_node_says_what_is_like_it(sample: Memory) -> None:
    with pytest.raises(RecordNotFoundError) as told:
        sample.neighbourhood("maratho")
    assert "marathon" in told.value.hint
    with pytest.raises(UsageError):
        sample.neighbourhood("message twelve")
    with pytest.raises(UsageError):
        sample.neighbourhood(" ")
    for missing in ("message 99999", "fact 99999", "persona 99999", "person Nobody"):
        with pytest.raises(RecordNotFoundError):
            sample.neighbourhood(missing)


def test_the_command_shows_ties_with_their_strength(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_small(tmp_path)
    monkeypatch.setattr(Memory, "open", staticmethod(lambda where=None, **_: build_memory(path)))
    monkeypatch.setattr("localmem.netguard.deny_network", lambda: None)
    monkeypatch.setenv("COLUMNS", "160")
    shown = CliRunner().invoke(app, ["graph", "message 3"])
    assert shown.exit_code == 0
    assert "supports" in shown.stdout and "0.80" in shown.stdout and "Bergen" in shown.stdout
    told = json.loads(CliRunner().invoke(app, ["graph", "message 3", "--json"]).stdout)
    assert told["centre"]["node"] == ["message", 3]
