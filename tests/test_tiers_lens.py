"""Episodes as a lens: hits of one episode speak for each other, nothing else changes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from localmem.config import Config, SearchConfig
from localmem.errors import UsageError
from localmem.recall.corpus import Corpus
from localmem.recall.episode_lens import lens_stage
from localmem.recall.ranking import Ranking
from localmem.testing import build_memory
from tests.test_tiers_wishes import filled


def ranking(scores: list[float], evident: list[bool] | None = None) -> Ranking:
    count = len(scores)
    corpus = cast(Corpus, SimpleNamespace(message_ids=np.arange(1, count + 1)))
    shown = np.ones(count, np.bool_) if evident is None else np.array(evident)
    return Ranking(
        corpus, np.array(scores, np.float32), shown, np.zeros(count, np.bool_), lambda _: None
    )


def order(scores: np.ndarray) -> list[int]:
    return [int(row) + 1 for row in np.argsort(-scores, kind="stable")]


def test_a_hit_in_the_episode_of_the_best_moves_up() -> None:
    before = ranking([3.0, 2.0, 1.9, 0.5])
    staged = lens_stage({1: 7, 3: 7, 2: 8})(before)
    assert order(before.scores) == [1, 2, 3, 4]
    assert order(staged.scores) == [1, 3, 2, 4]


def test_the_strongest_episode_adds_the_weight_in_deviations() -> None:
    before = ranking([3.0, 2.0, 1.0])
    staged = lens_stage({1: 7, 2: 8}, weight=0.5)(before)
    unit = 0.5 * float(before.scores.std())
    assert staged.parts["episode"].tolist() == pytest.approx([unit, unit / 2, 0.0])
    assert staged.scores.tolist() == pytest.approx([3.0 + unit, 2.0 + unit / 2, 1.0])


def test_without_episodes_or_hits_nothing_changes() -> None:
    before = ranking([3.0, 2.0])
    assert lens_stage({})(before).scores.tolist() == [3.0, 2.0]
    assert lens_stage({1: 7}, weight=0.0)(before).scores.tolist() == [3.0, 2.0]
    nothing = ranking([3.0, 2.0], [False, False])
    assert lens_stage({1: 7, 2: 7})(nothing).scores.tolist() == [3.0, 2.0]


def test_rows_without_evidence_stay_where_they_are() -> None:
    before = ranking([3.0, 2.0, 1.0], [True, False, True])
    staged = lens_stage({1: 7, 2: 7, 3: 7})(before)
    assert staged.parts["episode"][1] == 0.0
    assert not staged.evident[1]


def test_search_uses_the_lens_only_where_it_is_asked_for(tmp_path: Path) -> None:
    with filled(tmp_path / "m.duckdb"):
        pass
    off = build_memory(tmp_path / "m.duckdb")
    on = build_memory(tmp_path / "m.duckdb", config=Config(search=SearchConfig(episodes="on")))
    with off, on:
        plain, lensed = (memory.search("rye bread") for memory in (off, on))
    assert {found.message.id for found in plain.found} == {
        found.message.id for found in lensed.found
    }
    assert not any("episode" in found.hit.signals for found in plain.found)
    assert any(found.hit.signals.get("episode", 0) > 0 for found in lensed.found)
    with pytest.raises(UsageError, match=r"search\.episodes"):
        build_memory(tmp_path / "m.duckdb", config=Config(search=SearchConfig(episodes="maybe")))
