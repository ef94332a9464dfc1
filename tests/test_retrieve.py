"""Finding messages: modes, filters, evidence, changes, snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from localmem.errors import StaleIndexError, UsageError
from localmem.index.blob import pack, unpack
from localmem.index.fusion import load_weights
from localmem.recall.retrieve import MODES, Retriever
from localmem.recall.snapshots import rows_from_bytes, rows_to_bytes
from localmem.testing import HashEmbedder
from localmem.types import (
    ConversationId,
    ConversationKind,
    Granularity,
    Hit,
    Message,
    MessageId,
    ParticipantId,
    Provenance,
    ResolvedDate,
    Role,
    SearchFilter,
    Session,
    SessionId,
    TurnId,
    TurnSummary,
)

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
CHAT = [
    ("Ada", "Good morning! How was your weekend?"),
    ("Ben", "I adopted a greyhound called Biscuit."),
    ("Ada", "Lovely! Does it sleep a lot?"),
    ("Ben", "All day, on the blue sofa."),
    ("Ada", "I finished the marathon in Lisbon."),
    ("Ben", "What was your time?"),
    ("Ada", "Three hours and fifty minutes."),
    ("Ben", "Impressive, I only cycle to work."),
]


def message(number: int, speaker: str, text: str, *, session: int = 1, day: int = 0) -> Message:
    return Message(
        id=MessageId(number),
        turn_id=TurnId(number),
        session_id=SessionId(session),
        participant_id=ParticipantId(1 if speaker == "Ada" else 2),
        speaker=speaker,
        role=Role.USER,
        ordinal=number,
        text=text,
        said_at=START + timedelta(days=day),
    )


def session(number: int, source: str = "transcript") -> Session:
    return Session(
        id=SessionId(number),
        conversation_id=ConversationId(number),
        title="Chat",
        source=source,
        kind=ConversationKind.PEOPLE,
        started_at=START,
        ended_at=None,
        turn_count=1,
        message_count=1,
    )


SESSIONS = {SessionId(1): session(1), SessionId(2): session(2, "chatgpt")}


def chat() -> list[Message]:
    return [
        message(n, speaker, text, session=1 if n < 4 else 2, day=0 if n < 4 else 30)
        for n, (speaker, text) in enumerate(CHAT)
    ]


def with_vectors(retriever: Retriever, messages: Sequence[Message]) -> HashEmbedder:
    embedder = HashEmbedder()
    vectors = embedder.embed_passages([m.text for m in messages])
    retriever.add_vectors(embedder.model_id, [m.id for m in messages], vectors)
    return embedder


def filled() -> tuple[Retriever, HashEmbedder]:
    retriever = Retriever()
    retriever.add_messages(chat(), SESSIONS)
    return retriever, with_vectors(retriever, chat())


def ids(hits: Sequence[Hit]) -> list[int]:
    return [int(hit.message_id) for hit in hits]


def a_day(year: int, month: int, day: int) -> ResolvedDate:
    when = date(year, month, day)
    return ResolvedDate("that day", 0, 8, when, when, Granularity.DAY)


def summaries() -> list[TurnSummary]:
    made_by = Provenance("rule", "", "")
    return [
        TurnSummary(TurnId(1), "Ben adopted a greyhound.", ("greyhound", "Biscuit"), (), made_by),
        TurnSummary(TurnId(3), "It sleeps on the sofa.", ("sofa",), (), made_by),
        TurnSummary(TurnId(4), "Ada ran a marathon.", ("marathon", "Lisbon"), (), made_by),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_finds_the_message_that_says_it(mode: str) -> None:
    retriever, embedder = filled()
    retriever.add_summaries(summaries())
    query = "adopted greyhound Biscuit"
    hits = retriever.search(query, embed_query=embedder.embed_query(query), mode=mode)
    assert ids(hits)[0] == 1
    assert {hit.mode for hit in hits} == {mode}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("mode", ["learned", "bm25"])
def test_search_without_a_vector_works_by_words(mode: str) -> None:
    retriever, _ = filled()
    assert ids(retriever.search("marathon in Lisbon", mode=mode))[0] == 4


def test_learned_search_explains_each_hit_by_its_signals() -> None:
    retriever, embedder = filled()
    hit = retriever.search("greyhound", embed_query=embedder.embed_query("greyhound"))[0]
    assert {"keyword", "vector", "speaker"} <= hit.signals.keys()
    assert sum(hit.signals.values()) == pytest.approx(hit.score, abs=1e-2)


@pytest.mark.parametrize("mode", ["learned", "bm25", "rrf"])
@pytest.mark.parametrize("query", ["zyzzyva", "the of", "   ", ""])
def test_a_query_without_evidence_finds_nothing(mode: str, query: str) -> None:
    retriever, _ = filled()
    retriever.add_summaries(summaries())
    assert retriever.search(query, mode=mode) == []


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_memory_finds_nothing(mode: str) -> None:
    vector = np.ones(8, np.float32)
    assert Retriever().search("anything", embed_query=vector, mode=mode) == []


def test_the_answer_to_a_question_that_was_found_is_found_beside_it() -> None:
    retriever, _ = filled()
    assert 6 in ids(retriever.search("What was Ada's marathon time?", k=4))


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [
        (SearchFilter(participant="ada"), {0, 2, 4, 6}),
        (SearchFilter(source="chatgpt"), {4, 5, 6, 7}),
        (SearchFilter(since=date(2024, 3, 2)), {4, 5, 6, 7}),
        (SearchFilter(until=date(2024, 3, 1)), {0, 1, 2, 3}),
        (SearchFilter(participant="nobody"), set()),
    ],
)
@pytest.mark.parametrize("mode", ["learned", "dense"])
def test_filters_limit_what_is_ranked(limits: SearchFilter, allowed: set[int], mode: str) -> None:
    retriever, embedder = filled()
    query = "sofa marathon greyhound time"
    vector = embedder.embed_query(query)
    hits = retriever.search(query, embed_query=vector, k=8, mode=mode, limits=limits)
    assert set(ids(hits)) <= allowed
    assert bool(hits) == bool(allowed)


def test_a_message_without_a_time_is_outside_every_range_of_days() -> None:
    retriever = Retriever()
    retriever.add_messages(
        [
            Message(
                MessageId(1), TurnId(1), SessionId(1), ParticipantId(1), "Ada", Role.USER, 0, "tea"
            )
        ],
        SESSIONS,
    )
    assert retriever.search("tea", limits=SearchFilter(since=date(2000, 1, 1))) == []
    assert retriever.search("tea", limits=SearchFilter(until=date(2100, 1, 1))) == []
    assert ids(retriever.search("tea")) == [1]


def test_a_new_message_is_found_at_once_and_a_removed_one_no_more() -> None:
    retriever, embedder = filled()
    new = message(99, "Ada", "I painted a lighthouse", session=1, day=1)
    retriever.add_messages([new], SESSIONS)
    query = "lighthouse"
    vector = embedder.embed_query(query)
    assert 99 in ids(retriever.search(query, embed_query=vector))
    assert ids(retriever.search(query, mode="bm25")) == [99]
    assert retriever.without_vector == 1
    retriever.remove([MessageId(99)])
    assert 99 not in ids(retriever.search(query, embed_query=vector))
    assert retriever.without_vector == 0


def test_adding_a_message_again_replaces_its_text() -> None:
    retriever = Retriever()
    retriever.add_messages([message(1, "Ada", "apples")], SESSIONS)
    retriever.add_messages([message(1, "Ada", "pears")], SESSIONS)
    assert retriever.search("apples", mode="bm25") == []
    assert ids(retriever.search("pears", mode="bm25")) == [1]
    assert len(retriever) == 1


def test_messages_added_in_any_order_are_found_alike() -> None:
    forwards, backwards = Retriever(), Retriever()
    forwards.add_messages(chat(), SESSIONS)
    backwards.add_messages(chat()[::-1], SESSIONS)
    query = "How long does Biscuit sleep?"
    one, other = forwards.search(query), backwards.search(query)
    assert ids(one) == ids(other)
    assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)


def test_equal_scores_come_in_the_order_of_their_ids() -> None:
    retriever = Retriever()
    twice = [message(n, "Ada", "the same words", session=1) for n in (7, 3, 5)]
    retriever.add_messages(twice, SESSIONS)
    assert ids(retriever.search("words", mode="bm25")) == [3, 5, 7]
    assert ids(retriever.search("words", mode="bm25", k=2)) == [3, 5]


def test_days_that_the_question_names_mark_messages_said_then_or_speaking_of_then() -> None:
    retriever, _ = filled()
    retriever.add_dates({MessageId(7): [a_day(2024, 3, 1)]})
    _, signals, _ = retriever.measured("what?", question_dates=[a_day(2024, 3, 1)])
    assert np.flatnonzero(signals["date"]).tolist() == [0, 1, 2, 3, 7]


def test_a_snapshot_finds_the_same() -> None:
    retriever, embedder = filled()
    retriever.add_summaries(summaries())
    copy = Retriever.from_snapshot(
        retriever.snapshot(), model_id=embedder.model_id, dimension=embedder.dimension
    )
    vector = embedder.embed_query("blue sofa")
    for mode in MODES:
        found = retriever.search("blue sofa", embed_query=vector, mode=mode)
        assert copy.search("blue sofa", embed_query=vector, mode=mode) == found
    assert copy.snapshot() == retriever.snapshot()


def test_a_snapshot_from_before_own_conversations_holds_evidence_alone() -> None:
    rows = [replace(row, is_evidence=row.asks) for row in filled()[0].corpus.rows]
    arrays = unpack(rows_to_bytes(rows), kind="rows").arrays
    before = {**arrays, "table": np.ascontiguousarray(arrays["table"][:, :12])}
    old = rows_from_bytes(pack({"kind": "rows", "count": len(rows)}, before))
    assert rows_from_bytes(rows_to_bytes(rows)) == rows
    assert old == [replace(row, is_evidence=True) for row in rows] != rows


def test_a_snapshot_with_vectors_of_another_embedder_is_stale() -> None:
    retriever, embedder = filled()
    with pytest.raises(StaleIndexError, match="embedder in use is other"):
        Retriever.from_snapshot(
            retriever.snapshot(), model_id="other", dimension=embedder.dimension
        )


def test_a_snapshot_without_a_model_leaves_the_vectors_out() -> None:
    retriever, _ = filled()
    copy = Retriever.from_snapshot(retriever.snapshot())
    assert copy.vectors is None
    assert ids(copy.search("marathon"))[0] == 4


def test_paper_style_ranking_lifts_the_session_whose_keywords_the_question_names() -> None:
    retriever, _ = filled()
    retriever.add_summaries(summaries())
    hits = retriever.search("Did the marathon runner in Lisbon sleep?", mode="rrf", k=3)
    assert ids(hits)[0] == 4
    assert hits[0].signals["boost"] > 0
    assert ids(hits)[1] == 3


def test_an_l0_line_that_is_replaced_is_found_by_its_new_words_only() -> None:
    retriever, _ = filled()
    retriever.add_summaries(summaries())
    newer = TurnSummary(TurnId(4), "Ada ran far.", ("running",), (), Provenance("m", "", ""))
    retriever.add_summaries([newer])
    assert retriever.search("marathon", mode="rrf") == []
    assert ids(retriever.search("running", mode="rrf")) == [4]


def test_an_unknown_mode_and_dense_without_a_vector_are_usage_errors() -> None:
    retriever, _ = filled()
    with pytest.raises(UsageError, match="'magic'"):
        retriever.search("x", mode="magic")
    with pytest.raises(UsageError, match="needs vectors"):
        retriever.search("x", mode="dense")


def test_both_sets_of_weights_are_shipped_and_name_their_data() -> None:
    assert "locomo_dev5.json" in load_weights("default").learned_from
    assert "locomo_dev5.json" not in load_weights("open").learned_from
    with pytest.raises(UsageError, match="'other'"):
        load_weights("other")
