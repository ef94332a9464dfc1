"""Episodes as a lens: hits speak for each other, structures bring in what was missed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from localmem.config import Config, SearchConfig
from localmem.errors import UsageError
from localmem.recall.corpus import Corpus, CorpusRow
from localmem.recall.episode_lens import (
    EpisodeMap,
    LensQuestion,
    OpenEpisode,
    lens_stage,
    structure_stage,
)
from localmem.recall.ranking import Ranking
from localmem.testing import build_memory
from localmem.types import (
    ConversationKind,
    ForgetTarget,
    MessageId,
    PageRank,
    ParticipantId,
    Role,
    StructureKind,
)
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


# --- Structures -----------------------------------------------------------------------------


@dataclass
class Ranked:
    """A structure that finds these places, in this order."""

    places: list[int]
    kind: StructureKind = StructureKind.GRAPH

    def rank(self, question: str, vector: np.ndarray | None, *, k: int) -> list[PageRank]:
        return [PageRank(place, 1.0) for place in self.places[:k]]


@dataclass
class Given:
    """A shelf of these episodes; `asked` tells which were opened."""

    episodes: dict[int, OpenEpisode]
    asked: list[int] = field(default_factory=list)

    def open(self, ids: Iterable[int], ranking: Ranking) -> dict[int, OpenEpisode]:
        wanted = list(ids)
        self.asked += wanted
        return {number: self.episodes[number] for number in wanted if number in self.episodes}


ASKED = LensQuestion("which?", None)


def episode(*messages: int, names: tuple[str, ...] = ()) -> OpenEpisode:
    """One page for each message, found in this order."""
    pages = [[number] for number in messages]
    return OpenEpisode(Ranked(list(range(len(pages)))), pages, [names] * len(pages))


def known_of(
    shelf: Given, related: dict[int, list[int]] | None = None, rows: np.ndarray | None = None
) -> EpisodeMap:
    episode_of = {
        m: number for number, one in shelf.episodes.items() for page in one.messages for m in page
    }
    none = np.zeros((0, 0), np.float32)
    return EpisodeMap(
        episode_of, list(shelf.episodes), none if rows is None else rows, related or {}
    )


def placed(scores: list[float], evident: list[bool], **doors: object) -> Ranking:
    """A ranking whose corpus knows the rows of messages."""
    plain = ranking(scores, evident)
    corpus = Corpus([row(number + 1) for number in range(len(scores))])
    return replace(plain, corpus=corpus, **doors)  # type: ignore[arg-type]  # names are the fields


def row(number: int) -> CorpusRow:
    return CorpusRow(
        MessageId(number), 1, 1, number, ParticipantId(1), "Ann", Role.USER, "test",
        ConversationKind.PEOPLE, None, 9, False,
    )  # fmt: skip


def test_what_the_retrieval_missed_comes_in_by_the_structure_of_the_best_episode() -> None:
    shelf = Given({7: episode(4, 1), 8: episode(2)})
    before = placed([3.0, 2.0, 1.0, -9.0], [True, True, True, False])
    staged = structure_stage(ASKED, known_of(shelf), shelf, weight=0.5)(before)
    assert staged.evident[3]
    unit = 0.5 * float(before.scores[:3].std())
    assert staged.scores[3] == pytest.approx(1.0 + unit)  # from the last that speaks, share 1
    assert staged.scores[0] == pytest.approx(3.0 + unit / 2)
    assert staged.parts["structure"][2] == 0.0
    assert not before.evident[3]


def test_links_are_followed_once() -> None:
    episodes = {7: episode(1), 8: episode(2), 9: episode(3)}
    shelf = Given(episodes)
    before = placed([3.0, 0.0, 0.0], [True, False, False])
    staged = structure_stage(ASKED, known_of(shelf, {7: [8], 8: [9]}), shelf)(before)
    assert staged.evident.tolist() == [True, True, False]
    assert shelf.asked == [7, 8]


def test_episodes_that_share_a_rare_name_are_linked_and_those_of_a_common_one_are_not() -> None:
    rows = {"lisl": [0, 1], "monday": [0, 1, 2, 3, 4]}
    episodes = {n: episode(n, names=("lisl", "monday")) for n in range(1, 6)}
    shelf = Given(episodes)
    before = placed(
        [3.0, 0.0, 0.0, 0.0, 0.0],
        [True, False, False, False, False],
        holding=lambda name: np.array(rows[name], np.int64),
    )
    staged = structure_stage(ASKED, known_of(shelf), shelf)(before)
    assert staged.evident.tolist() == [True, True, False, False, False]


def test_the_episode_nearest_to_the_question_is_searched_though_no_hit_is_in_it() -> None:
    shelf = Given({7: episode(1), 8: episode(2), 9: episode(3), 10: episode(4)})
    before = placed([3.0, 0.0, 0.0, 0.0], [True, False, False, False])
    rows = np.eye(4, dtype=np.float32)[[1, 2, 0, 3]]
    asked = LensQuestion("which?", np.array([0.9, 0.3, 0.2, 0.1], np.float32))
    structure_stage(asked, known_of(shelf, rows=rows), shelf)(before)
    assert shelf.asked == [7, 9]
    of_another = LensQuestion("which?", np.ones(3, np.float32))
    again = Given(shelf.episodes)
    structure_stage(of_another, known_of(again, rows=rows), again)(before)
    assert again.asked == [7]


def test_without_a_hit_no_episode_is_opened() -> None:
    shelf = Given({7: episode(1)})
    before = placed([3.0], [False])
    staged = structure_stage(ASKED, known_of(shelf), shelf)(before)
    assert not staged.evident.any() and not shelf.asked


def test_a_memory_finds_more_by_structures_and_nothing_of_what_was_forgotten(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.duckdb"
    filled(path).close()
    with build_memory(path, config=Config(search=SearchConfig(episodes="on"))) as memory:
        found = memory.search("rye bread").found
        assert any(one.hit.signals.get("structure", 0) > 0 for one in found)
        gone = next(one.message for one in found if "rye" in one.message.text)
        memory.forget(ForgetTarget(messages=(gone.id,)))
        again = memory.search("rye bread").found
        assert gone.id not in {one.message.id for one in again}


def test_search_uses_the_lens_only_where_it_is_asked_for(tmp_path: Path) -> None:
    with filled(tmp_path / "m.duckdb"):
        pass
    off = build_memory(tmp_path / "m.duckdb")
    on = build_memory(tmp_path / "m.duckdb", config=Config(search=SearchConfig(episodes="on")))
    with off, on:
        plain, lensed = (memory.search("rye bread") for memory in (off, on))
    assert {found.message.id for found in plain.found} <= {
        found.message.id for found in lensed.found
    }
    assert not any("episode" in found.hit.signals for found in plain.found)
    assert any(found.hit.signals.get("episode", 0) > 0 for found in lensed.found)
    with pytest.raises(UsageError, match=r"search\.episodes"):
        build_memory(tmp_path / "m.duckdb", config=Config(search=SearchConfig(episodes="maybe")))
