"""The default embedder, on the real model: right vectors, whole texts, stable answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from localmem.backends import open_embedder
from localmem.backends.onnx import pooled_unit_rows
from localmem.errors import ModelError, ModelNotFoundError
from localmem.modelstore import ModelStore
from localmem.ports import Embedder
from localmem.testing import HashEmbedder
from localmem.types import EmbedderFiles, Pooling

_CANONICAL = [-0.0033425, 0.01899815, -0.08076342, -0.01955584, -0.02783136]
"""First numbers of the vector of _QUESTION, recorded from the catalog's default embedder."""

_QUESTION = "Where did I put the key?"


@pytest.fixture(
    params=["hash", pytest.param("minilm", marks=pytest.mark.model)],
)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "hash":
        return HashEmbedder()
    real: Embedder = request.getfixturevalue("minilm")
    return real


def test_rows_are_unit_vectors_in_the_order_of_the_texts(embedder: Embedder) -> None:
    texts = ["a long text about running shoes and marathons in spring", "cat", "", "two words"]
    rows = embedder.embed_passages(texts)
    assert rows.shape == (4, embedder.dimension)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    for text, row in zip(texts, rows, strict=True):
        assert float(embedder.embed_query(text) @ row) > 0.999


def test_nothing_in_nothing_out(embedder: Embedder) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.dimension)
    assert embedder.split(" \n") == []


def test_a_short_text_is_one_piece_and_a_long_one_several(embedder: Embedder) -> None:
    assert embedder.split("A short text.") == ["A short text."]
    long = "This is a sentence about shoes. " * 200
    pieces = embedder.split(long)
    assert len(pieces) > 1
    assert "".join("".join(pieces).split()) == "".join(long.split())


def test_similar_words_are_nearer(embedder: Embedder) -> None:
    question = embedder.embed_query("my running shoes")
    near, far = embedder.embed_passages(["shoes for a run", "the capital of France"])
    assert float(question @ near) > float(question @ far)


def test_progress_ends_at_the_number_of_texts(embedder: Embedder) -> None:
    told: list[int] = []
    embedder.embed_passages(["a", "b", "c"], on_progress=told.append)
    assert told[-1] == 3


@pytest.mark.model
def test_the_canonical_vector_is_as_recorded(minilm: Embedder) -> None:
    np.testing.assert_allclose(minilm.embed_query(_QUESTION)[:5], _CANONICAL, atol=2e-3)


@pytest.mark.model
def test_paraphrases_are_near_and_strangers_are_not(minilm: Embedder) -> None:
    question = minilm.embed_query(_QUESTION)
    same, other = minilm.embed_passages(["Where is my key?", "The stock market fell on Tuesday."])
    assert float(question @ same) > 0.7
    assert float(question @ other) < 0.2


@pytest.mark.model
def test_every_piece_of_any_script_fits_the_model(minilm: Embedder) -> None:
    text = "中文字符" * 200 + "x" * 3000 + "supercalifragilistic" * 80 + " Größe 😀 " * 200
    for piece in minilm.split(text):
        assert minilm.split(piece) == [piece]


@pytest.mark.model
def test_text_past_the_limit_is_cut_off_not_refused(minilm: Embedder) -> None:
    assert minilm.embed_passages(["word " * 5000]).shape == (1, 384)


@pytest.mark.model
def test_the_graph_is_optimised_once_and_kept(pulled_models: ModelStore, minilm: Embedder) -> None:
    folder = pulled_models.embedder("minilm").weights.parent
    kept = list(folder.glob(".*.optimised.onnx"))
    assert kept
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in kept)


@pytest.mark.model
def test_a_wrong_dimension_is_refused_with_both_numbers(pulled_models: ModelStore) -> None:
    files = replace(pulled_models.embedder("minilm"), dimension=768)
    with pytest.raises(ModelError, match="dimension 384, want 768"):
        open_embedder(files)


def test_missing_files_say_how_to_get_them(tmp_path: Path) -> None:
    files = EmbedderFiles("minilm", tmp_path / "m.onnx", tmp_path / "t.json", "")
    with pytest.raises(ModelNotFoundError) as caught:
        open_embedder(files)
    assert caught.value.hint == "localmem models pull minilm"


def test_mean_pooling_leaves_padding_out() -> None:
    tokens = np.array([[[2.0, 0.0], [0.0, 2.0], [9.0, 9.0]]], dtype=np.float32)
    mask = np.array([[1, 1, 0]], dtype=np.int64)
    rows = pooled_unit_rows(tokens, mask, Pooling.MEAN)
    np.testing.assert_allclose(rows, [[0.5**0.5, 0.5**0.5]], atol=1e-6)
    np.testing.assert_allclose(pooled_unit_rows(tokens, mask, Pooling.CLS), [[1.0, 0.0]])
