"""Pages into episodes: the gate at work, bounds, what is pruned, what continues."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from localmem.testing import HashEmbedder
from localmem.tiers.candidates import EpisodeVectors
from localmem.tiers.gate import FixedGate, PaperGate
from localmem.tiers.midterm import MOST_EPISODES, MidTerm
from localmem.tiers.pages import page_vector, split_pages, traits_of
from localmem.tiers.utility import utility
from localmem.types import (
    ConversationKind,
    EpisodeId,
    GateKind,
    Message,
    MessageId,
    PageId,
    ParticipantId,
    Role,
    SessionId,
    TurnId,
)
from tests.tiers_pages import DIMENSION, page, topic_rows


def said(number: int, text: str, *, who: int = 1, role: Role = Role.USER) -> Message:
    return Message(
        id=MessageId(number),
        turn_id=TurnId(number),
        session_id=SessionId(1),
        participant_id=ParticipantId(who),
        speaker=("Ann Lee", "Bo", "Assistant")[who - 1],
        role=role,
        ordinal=number,
        text=text,
    )


def ids(pages: list[tuple[Message, ...]]) -> list[list[int]]:
    return [[int(m.id) for m in one] for one in pages]


def test_among_people_a_page_is_what_one_says_and_the_first_answer() -> None:
    talk = [said(1, "Hi"), said(2, "Hi there"), said(3, "Hello", who=2), said(4, "More", who=2)]
    talk += [said(5, "Right")]
    assert ids(split_pages(talk, ConversationKind.PEOPLE)) == [[1, 2, 3], [4, 5]]


def test_with_an_assistant_a_page_is_a_user_message_with_its_replies() -> None:
    talk = [
        said(1, "A?"),
        said(2, "B", who=3, role=Role.ASSISTANT),
        said(3, "C", who=3, role=Role.TOOL),
        said(4, "D"),
    ]
    assert ids(split_pages(talk, ConversationKind.ASSISTANT)) == [[1, 2, 3], [4]]


def test_a_page_ends_however_long_one_side_goes_on() -> None:
    talk = [said(n, "and") for n in range(1, 12)]
    assert ids(split_pages(talk, ConversationKind.PEOPLE))[0] == list(range(1, 9))


def test_traits_tell_names_questions_and_relations_but_no_speakers() -> None:
    told = traits_of(
        [
            said(1, "Should I visit my sister Klara in Oslo, or Ann at home?"),
            said(2, "Oslo, because it is nearer than you think. Is Klara well?", who=2),
        ]
    )
    assert set(told.entities) == {"klara", "oslo"}
    assert told.relations == 3  # my sister, because, than
    assert (told.asks, told.answer_asks, told.weighs) == (True, True, True)
    plain = traits_of([said(1, "We ate soup.")])
    assert (plain.words, plain.asks, plain.answer_asks, plain.weighs) == (3, False, False, False)


def test_many_topics_give_many_episodes_and_each_holds_one() -> None:
    topics = np.repeat(np.random.default_rng(3).integers(0, 12, 120), 2).tolist()
    tier = MidTerm(DIMENSION)
    pages = [page(n, session=n // 10, hours=n) for n in range(len(topics))]
    decisions = list(tier.consolidate(pages, topic_rows(topics)))
    settled = [(d.episode_id, t) for d, t in zip(decisions, topics, strict=True)][60:]
    assert 12 <= len(tier) <= 24
    pure = sum(c.most_common(1)[0][1] for c in _by_episode(settled).values())
    assert pure / len(settled) > 0.95
    assert decisions[-1].gate is GateKind.FITTED
    assert decisions[-1].fit > 1


def _by_episode(pairs: list[tuple[EpisodeId, int]]) -> dict[EpisodeId, Counter[int]]:
    found: dict[EpisodeId, Counter[int]] = {}
    for episode, topic in pairs:
        found.setdefault(episode, Counter())[topic] += 1
    return found


def test_the_papers_gate_never_founds_a_second_episode() -> None:
    topics = [n % 8 for n in range(80)]
    tier = MidTerm(DIMENSION, gate=PaperGate())
    list(tier.consolidate([page(n) for n in range(80)], topic_rows(topics)))
    assert len(tier) == 1


def test_an_episode_goes_on_across_sessions_and_says_from_which_page() -> None:
    tier = MidTerm(DIMENSION, gate=FixedGate(0.6))
    topics = [0, 1, 0]
    pages = [page(1, session=1), page(2, session=1), page(3, session=2, hours=90)]
    first, second, third = tier.consolidate(pages, topic_rows(topics))
    assert (first.gate, first.merged, first.related) == (GateKind.NONE, False, ())
    assert not second.merged
    assert third.merged
    assert third.episode_id == first.episode_id
    assert third.continues == PageId(1)
    assert tier.episodes[0].last_said_at == pages[2].said_at


def with_opened(
    tier: MidTerm, number: EpisodeId, at: datetime | None, *, most_episodes: int = MOST_EPISODES
) -> MidTerm:
    """The same episodes as if this one had been opened, and stored, in between."""
    stored = [
        replace(one, opened=one.opened + 1, visited_at=at) if one.id == number else one
        for one in tier.changed()
    ]
    again = MidTerm(
        DIMENSION, gate=FixedGate(0.6), first_id=len(stored) + 1, most_episodes=most_episodes
    )
    again.restore(stored, tier.running_state(), None)
    return again


def test_over_the_limit_the_least_useful_episode_goes_and_is_told() -> None:
    tier = MidTerm(DIMENSION, gate=FixedGate(0.6), most_episodes=3)
    pages = [page(n, session=n, hours=24.0 * n) for n in range(5)]
    decisions = list(tier.consolidate(pages[:3], topic_rows([0, 1, 2, 3, 4])[:3]))
    tier = with_opened(tier, decisions[0].episode_id, pages[0].said_at, most_episodes=3)
    decisions += list(tier.consolidate(pages[3:], topic_rows([0, 1, 2, 3, 4])[3:]))
    assert len(tier) == 3
    gone = tier.dissolved()
    assert len(gone) == 2
    assert decisions[0].episode_id not in gone
    assert decisions[4].episode_id not in gone
    assert tier.dissolved() == ()


def test_rows_of_dissolved_episodes_are_used_again() -> None:
    tier = MidTerm(DIMENSION, gate=FixedGate(2.0), most_episodes=5)
    topics = list(range(40))
    list(tier.consolidate([page(n, hours=n) for n in topics], topic_rows(topics)))
    assert len(tier) == 5
    assert tier.vector_rows <= 6


def test_candidates_are_the_nearest_by_centroid_and_newest_page_as_worked_out_by_hand() -> None:
    rows = topic_rows([0, 0, 1, 2])
    vectors = EpisodeVectors(DIMENSION)
    for row in (rows[0], rows[2], rows[3]):
        vectors.found(row)
    vectors.join(0, rows[1])
    asked = topic_rows([0, 0, 0, 0, 0])[4]
    near = vectors.near(asked, None)
    mean = (rows[0] + rows[1]) / 2
    by_hand = 0.5 * (asked @ mean / np.linalg.norm(mean)) + 0.5 * (asked @ rows[1])
    assert near.rows[0] == 0
    assert near.scores[0] == pytest.approx(float(by_hand), rel=1e-5)
    assert list(near.scores) == sorted(near.scores, reverse=True)


def test_among_equal_scores_the_newer_episode_comes_first() -> None:
    vectors = EpisodeVectors(4)
    one = np.array([1, 0, 0, 0], np.float32)
    for _ in range(3):
        vectors.found(one)
    vectors.join(1, one)
    assert vectors.near(one, None).rows == (1, 2, 0)


def test_akin_episodes_are_in_each_others_nearest() -> None:
    tier = MidTerm(DIMENSION, gate=FixedGate(2.0))
    list(tier.consolidate([page(n) for n in range(6)], topic_rows([0, 0, 1, 1, 2, 2], noise=0.1)))
    assert (EpisodeId(1), EpisodeId(2)) in tier.akin()


def test_utility_is_the_mean_of_use_size_and_recency() -> None:
    known = utility(np.array([0.0, 3.0]), np.array([7.0, 1.0]), np.array([30.0, 0.0]))
    assert known[0] == pytest.approx((0 + 1 + np.exp(-1)) / 3)
    assert known[1] == pytest.approx((1 + np.log(2) / np.log(8) + 1) / 3)
    undated = utility(np.zeros(1), np.ones(1), np.array([np.nan]))
    assert undated[0] == pytest.approx((0 + 1 + 1) / 3)
    assert utility(np.zeros(0), np.zeros(0), np.zeros(0)).size == 0


def test_overviews_come_with_the_most_useful_first() -> None:
    tier = MidTerm(DIMENSION, gate=FixedGate(0.6))
    pages = [page(n, hours=24.0 * n) for n in range(4)]
    list(tier.consolidate(pages, topic_rows([0, 1, 1, 1])))
    tier = with_opened(tier, EpisodeId(2), datetime(2024, 2, 1, 1, tzinfo=UTC))
    first, second = tier.overviews()
    assert (first.id, first.pages, first.opened) == (2, 3, 1)
    assert first.utility > second.utility


def test_the_same_pages_give_the_same_decisions() -> None:
    topics = [n % 7 for n in range(70)]
    runs = [
        list(MidTerm(DIMENSION).consolidate([page(n) for n in range(70)], topic_rows(topics)))
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_a_page_vector_is_the_unit_mean_of_its_messages() -> None:
    rows = HashEmbedder().embed_passages(["tea", "coffee"])
    made = page_vector(rows)[0]
    assert float(np.linalg.norm(made)) == pytest.approx(1.0, rel=1e-5)
    assert float(made @ rows[0]) == pytest.approx(float(made @ rows[1]), rel=1e-4)
