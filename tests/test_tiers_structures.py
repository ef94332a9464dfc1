"""Three structures over the same pages: what each finds that the others do not."""

from __future__ import annotations

import numpy as np
import pytest

from localmem.ports import Structure
from localmem.testing import HashEmbedder
from localmem.tiers.graph import GraphStructure
from localmem.tiers.hierarchical import HierarchicalStructure, nearest_groups
from localmem.tiers.relevance import EpisodePages, best, z_score
from localmem.tiers.structures import build_structure
from localmem.types import StructureKind

_TEXTS = (
    "I moved here four years ago, it was hard at first.",
    "We baked bread with rye flour and a long ferment.",
    "Grandmother Ilse still lives in Norway, where I grew up.",
    "The rye bread came out dense, the ferment was too short.",
    "Ilse sent a parcel after I moved, with a wool blanket.",
    "Our kayak club meets at the lake on Sundays.",
    "The kayak needs a new rudder before Sundays get warm.",
)
_NAMES = ((), (), ("ilse", "norway"), (), ("ilse",), (), ())
_EMBEDDER = HashEmbedder()


def pages(
    texts: tuple[str, ...] = _TEXTS, names: tuple[tuple[str, ...], ...] = _NAMES
) -> EpisodePages:
    return EpisodePages(texts, _EMBEDDER.embed_passages(texts), names)


def found(structure: Structure, question: str, k: int = 3) -> list[int]:
    return [one.place for one in structure.rank(question, _EMBEDDER.embed_query(question), k=k)]


@pytest.mark.parametrize("kind", list(StructureKind))
def test_every_structure_keeps_the_contract(kind: StructureKind) -> None:
    structure = build_structure(kind, pages())
    assert structure.kind is kind
    ranked = structure.rank("kayak rudder", _EMBEDDER.embed_query("kayak rudder"), k=3)
    assert ranked[0].place == 6
    assert len(ranked) == 3
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert len({one.place for one in ranked}) == 3
    assert structure.rank("kayak rudder", None, k=1)[0].place == 6
    assert len(structure.rank("kayak", _EMBEDDER.embed_query("kayak"), k=99)) == len(_TEXTS)
    assert ranked == structure.rank("kayak rudder", _EMBEDDER.embed_query("kayak rudder"), k=3)


@pytest.mark.parametrize("kind", list(StructureKind))
@pytest.mark.parametrize("texts", [(), ("one page only",)])
def test_episodes_of_no_or_one_page_are_no_special_case(
    kind: StructureKind, texts: tuple[str, ...]
) -> None:
    few = EpisodePages(texts, np.full((len(texts), 4), 0.5, np.float32), [()] * len(texts))
    structure = build_structure(kind, few)
    ranked = structure.rank("page", np.full(4, 0.5, np.float32), k=3)
    assert [one.place for one in ranked] == list(range(len(texts)))


def test_linear_takes_the_newer_of_two_equals() -> None:
    twins = ("The rent is due.", "Something else here.", "The rent is due.")
    structure = build_structure(StructureKind.LINEAR, pages(twins, ((), (), ())))
    assert found(structure, "rent due")[:2] == [2, 0]


def test_graph_finds_a_page_that_shares_a_name_but_no_word_with_the_question() -> None:
    by_words = EpisodePages(_TEXTS, np.eye(7, dtype=np.float32), _NAMES)
    graph, linear = (
        build_structure(kind, by_words).rank("parcel blanket", None, k=3)
        for kind in (StructureKind.GRAPH, StructureKind.LINEAR)
    )
    assert graph[0].place == linear[0].place == 4
    assert 2 in [one.place for one in graph]
    assert 2 not in [one.place for one in linear]


def test_the_spread_fades_by_hop_and_names_in_the_question_are_seeds() -> None:
    names = (("a",), ("a", "b"), ("b",), ())
    vectors = np.eye(4, dtype=np.float32)
    graph = GraphStructure(EpisodePages(("w", "x", "y", "z"), vectors, names))
    reached = graph.spread([0])
    assert reached[0] == 1.0
    assert reached[1] == pytest.approx(0.85)
    assert reached[2] == pytest.approx(0.85 * 0.85)
    assert graph.named("What about B?") == ["b"]


def test_edges_weigh_rare_names_more() -> None:
    names = (("rare", "common"), ("rare",), ("common",), ("common",), ("common",))
    graph = GraphStructure(EpisodePages(("",) * 5, np.eye(5, dtype=np.float32), names))
    weights = graph.weights(0)
    assert weights[1] == pytest.approx(1.0)  # 2 * 1/2
    assert weights[2] == pytest.approx(0.55)  # among the three nearest, worth more than 2 * 1/4
    assert weights[4] == pytest.approx(0.5)
    assert weights[0] == 0.0


def test_hierarchical_goes_to_the_topic_first() -> None:
    topics = np.eye(4, dtype=np.float32)[[0, 1, 2, 1, 2, 3, 3]]
    vectors = np.asarray(0.9 * topics + 0.1 * np.eye(7, 4, dtype=np.float32), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    structure = HierarchicalStructure(EpisodePages(_TEXTS, vectors, _NAMES))
    groups = [set(node.places) for node in structure.root.children]
    assert any({1, 3} <= group for group in groups)
    assert {5, 6} in groups
    asked = np.array([0, 1, 0, 0], np.float32)
    assert {one.place for one in structure.rank("dense loaf", asked, k=2)} == {1, 3}


def test_a_large_episode_is_grouped_until_the_root_has_at_most_eight_children() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    many = EpisodePages([f"page {i}" for i in range(300)], rows, [()] * 300)
    root = HierarchicalStructure(many).root
    assert 1 <= len(root.children) <= 8
    assert sorted(p for child in root.children for p in child.places) == list(range(300))


def test_groups_are_components_of_nearest_neighbours() -> None:
    rows = np.array([[1, 0], [0.99, 0.14], [0, 1], [0.14, 0.99]], np.float32)
    assert nearest_groups(rows) == [[0, 1], [2, 3]]
    assert nearest_groups(rows[:1]) == [[0]]
    assert nearest_groups(rows[:0]) == []


def test_the_papers_preset_fuses_by_reciprocal_rank() -> None:
    plain = EpisodePages(_TEXTS, _EMBEDDER.embed_passages(_TEXTS), _NAMES, reciprocal=True)
    near = plain.near("kayak rudder", _EMBEDDER.embed_query("kayak rudder"))
    assert int(near.argmax()) == 6
    assert float(near.max()) == pytest.approx(0.5 / 61 + 0.5 / 61)


def test_scores_that_are_alike_are_all_zero_and_ties_go_by_place() -> None:
    assert not z_score(np.full(3, 2.0, np.float32)).any()
    assert [one.place for one in best(np.zeros(3, np.float32), 2)] == [0, 1]
