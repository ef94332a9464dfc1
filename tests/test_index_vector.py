"""What every vector index must do, tried on each; the exact one against brute force."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from localmem.errors import StaleIndexError
from localmem.index.hnsw import HnswVectors
from localmem.index.vector import ExactVectors, VectorIndex
from localmem.ports import FloatMatrix

DIMENSION = 16
Make = Callable[[], VectorIndex]
Load = Callable[[bytes, str, int], VectorIndex]


def unit_rows(count: int, seed: int = 1, dimension: int = DIMENSION) -> FloatMatrix:
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@pytest.fixture(params=[ExactVectors, HnswVectors])
def kind(request: pytest.FixtureRequest) -> type[ExactVectors] | type[HnswVectors]:
    if request.param is HnswVectors:
        pytest.importorskip("hnswlib")
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def index(kind: type[ExactVectors] | type[HnswVectors]) -> VectorIndex:
    return kind("model@1", DIMENSION)


def test_search_finds_what_brute_force_finds(index: VectorIndex) -> None:
    rows = unit_rows(300)
    index.add(range(300), rows)
    query = unit_rows(1, seed=2)[0]
    expected = np.argsort(-(rows @ query))[:10].tolist()
    assert [found for found, _ in index.search(query, 10)] == expected


def test_scores_are_cosines_aligned_to_the_ids(index: VectorIndex) -> None:
    rows = unit_rows(200)
    index.add(range(200), rows)
    query = unit_rows(1, seed=3)[0]
    np.testing.assert_allclose(index.scores(query), rows @ query, atol=1e-5)
    assert index.scores(query).dtype == np.float32


def test_the_vectors_of_some_ids_are_given_back_as_they_were_added(index: VectorIndex) -> None:
    rows = unit_rows(5)
    index.add([7, 8, 7, 9, 6], rows)
    index.remove([9])
    owners, found = index.rows_of([7, 6, 9, 100])
    assert owners.tolist() == [7, 7, 6]
    np.testing.assert_allclose(found, rows[[0, 2, 4]], atol=1e-5)
    owners, found = index.rows_of([])
    assert (len(owners), found.shape) == (0, (0, DIMENSION))


def test_an_id_with_several_vectors_is_found_once_by_its_best(index: VectorIndex) -> None:
    rows = unit_rows(4)
    index.add([5, 5, 6, 5], rows)
    found = index.search(rows[3], 10)
    assert [i for i, _ in found] in ([5, 6], [5])
    assert found[0][1] == pytest.approx(1.0, abs=1e-5)
    assert len(index) == 4


def test_removed_ids_are_gone_and_unknown_ones_passed_over(index: VectorIndex) -> None:
    rows = unit_rows(50)
    index.add([n // 2 for n in range(50)], rows)
    index.remove([3, 4, 999])
    assert len(index) == 46
    assert not {3, 4} & set(index.ids.tolist())
    assert index.scores(rows[6]).shape == (46,)
    assert 3 not in [found for found, _ in index.search(rows[6], 25)]


def test_it_grows_past_its_first_capacity(index: VectorIndex) -> None:
    for start in range(0, 3000, 500):
        index.add(range(start, start + 500), unit_rows(500, seed=start))
    assert len(index) == 3000
    assert index.search(unit_rows(500, seed=2500)[7], 1)[0][0] == 2507


def test_k_beyond_the_count_gives_all(index: VectorIndex) -> None:
    index.add([1, 2], unit_rows(2))
    assert len(index.search(unit_rows(1)[0], 50)) == 2


def test_an_empty_index_finds_nothing(index: VectorIndex) -> None:
    assert index.search(unit_rows(1)[0], 5) == []
    assert index.scores(unit_rows(1)[0]).shape == (0,)


def test_ties_come_in_the_order_of_their_ids() -> None:
    index = ExactVectors("model@1", DIMENSION)
    row = unit_rows(1)
    index.add([9, 2, 5], np.repeat(row, 3, axis=0))
    assert [found for found, _ in index.search(row[0], 3)] == [2, 5, 9]


def test_a_snapshot_finds_the_same_and_can_grow(
    index: VectorIndex, kind: type[ExactVectors] | type[HnswVectors]
) -> None:
    rows = unit_rows(100)
    index.add(range(100), rows)
    index.remove([8])
    copy = kind.from_bytes(index.to_bytes(), model_id="model@1", dimension=DIMENSION)
    query = unit_rows(1, seed=5)[0]
    assert copy.search(query, 20) == index.search(query, 20)
    assert copy.ids.tolist() == index.ids.tolist()
    copy.add([500], query[None])
    assert copy.search(query, 1)[0][0] == 500


def test_the_same_additions_give_the_same_bytes(
    kind: type[ExactVectors] | type[HnswVectors],
) -> None:
    snapshots = []
    for _ in range(2):
        made: VectorIndex = kind("model@1", DIMENSION)
        made.add(range(200), unit_rows(200))
        snapshots.append(made.to_bytes())
    assert snapshots[0] == snapshots[1]


@pytest.mark.parametrize(("model_id", "dimension"), [("other@2", DIMENSION), ("model@1", 8)])
def test_a_snapshot_of_another_embedder_is_stale(
    index: VectorIndex,
    kind: type[ExactVectors] | type[HnswVectors],
    model_id: str,
    dimension: int,
) -> None:
    index.add([1], unit_rows(1))
    with pytest.raises(StaleIndexError, match=r"model@1 \(16 dimensions\)"):
        kind.from_bytes(index.to_bytes(), model_id=model_id, dimension=dimension)


def test_vectors_of_another_dimension_are_refused(index: VectorIndex) -> None:
    with pytest.raises(StaleIndexError, match="got vectors of 8 dimensions, the index holds 16"):
        index.add([1], unit_rows(1, dimension=8))


def test_ids_and_vectors_must_have_one_length(index: VectorIndex) -> None:
    with pytest.raises(ValueError, match="got 2 ids"):
        index.add([1, 2], unit_rows(1))
