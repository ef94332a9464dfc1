"""Regrouping: keys tied to their nearest, groups without a threshold, ids that stay."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from localmem.participants.topics import (
    Link,
    attribute_key,
    groups,
    keep_ids,
    link,
    topic_keys,
    word_rows,
)
from localmem.testing import HashEmbedder
from localmem.types import Item, ItemId, ItemKind, MessageId, ParticipantId

_WORDS = ("pottery", "clay bowl", "bowl", "rowing", "river", "rowing club", "bread", "rye bread")

key_sets = st.lists(
    st.text("abcdefgh ", min_size=1, max_size=8).map(str.strip).filter(bool),
    min_size=1,
    max_size=14,
    unique=True,
)


def item(number: int, quote: str, **more: object) -> Item:
    told = datetime(2026, 3, number, 9, tzinfo=UTC)
    base = {
        "kind": ItemKind.FACT, "slot": "", "entity": "", "value": "",
    } | more  # fmt: skip
    return Item(
        id=ItemId(number),
        participant_id=ParticipantId(1),
        quote=quote,
        said_at=told,
        last_said_at=told,
        message_ids=(MessageId(number),),
        **base,  # type: ignore[arg-type]  # the test names the fields
    )


def test_a_key_is_tied_to_the_key_that_is_most_like_it() -> None:
    links = link(_WORDS, word_rows(_WORDS))
    assert links["clay bowl"].nearest == "bowl"
    assert links["rowing club"].nearest == "rowing"
    assert links["pottery"] == Link("pottery", "", 0.0)


def test_connected_keys_are_one_group_and_a_single_key_is_its_own() -> None:
    found = {frozenset(group.keys) for group in groups(link(_WORDS, word_rows(_WORDS)))}
    assert frozenset({"bowl", "clay bowl"}) in found
    assert frozenset({"pottery"}) in found
    assert frozenset({"bread", "rye bread"}) in found


def test_of_equally_near_keys_the_first_in_the_alphabet_is_taken() -> None:
    keys = ("river a", "river b", "river")
    assert link(keys, word_rows(keys))["river"].nearest == "river a"


def test_with_vectors_there_is_no_threshold() -> None:
    rows = np.array([[1.0, 0.0], [0.0995, 0.995], [0.995, 0.0995]], np.float32)
    links = link(("a", "b", "c"), rows)
    assert links["b"].nearest == "c"
    assert len(groups(links)) == 1


@given(key_sets, st.integers(0, 13), st.integers(0, 13))
@settings(max_examples=60, deadline=None)
def test_relinking_what_changed_gives_what_linking_everything_gives(
    keys: list[str], gone: int, known: int
) -> None:
    embedder = HashEmbedder(dimension=64)
    before = keys[: max(1, len(keys) - known)]
    old = link(before, embedder.embed_passages(before))
    now = [key for place, key in enumerate(keys) if place != gone or len(keys) == 1]
    rows = embedder.embed_passages(now)
    kept = {key: one for key, one in old.items() if key in now}
    assert link(now, rows, kept) == link(now, rows)


@given(key_sets)
@settings(max_examples=40, deadline=None)
def test_every_key_is_in_exactly_one_group_with_its_nearest(keys: list[str]) -> None:
    links = link(keys, HashEmbedder(dimension=64).embed_passages(keys))
    found = groups(links)
    assert sorted(key for group in found for key in group.keys) == sorted(keys)
    where = {key: place for place, group in enumerate(found) for key in group.keys}
    assert all(where[one.key] == where[one.nearest] for one in links.values() if one.nearest)


def test_a_group_keeps_its_id_while_things_join_it() -> None:
    before = {4: frozenset({1, 2, 3}), 9: frozenset({5})}
    assert keep_ids(before, [frozenset({5, 6}), frozenset({1, 2, 3, 7})]) == (9, 4)


def test_of_two_groups_that_merge_the_larger_goes_on_and_a_new_one_has_no_id() -> None:
    before = {4: frozenset({1, 2, 3}), 9: frozenset({5})}
    assert keep_ids(before, [frozenset({1, 2, 3, 5}), frozenset({8})]) == (4, None)


def test_a_topic_is_what_several_things_share_and_most_do_not() -> None:
    quotes = (
        "I signed up for a pottery course.",
        "The pottery course begins on Monday.",
        "I row with Ines on the river.",
        "My brother cooks soup for the neighbours.",
        "The train to Graz was late.",
    )
    keys = topic_keys([item(n, quote) for n, quote in enumerate(quotes, 1)], ("Ines",))
    assert keys[ItemId(1)] == keys[ItemId(2)]
    assert "pottery" in keys[ItemId(1)]
    assert "ines" not in keys[ItemId(3)]
    assert len(set(keys.values())) == 4


def test_what_names_nothing_has_no_topic() -> None:
    assert topic_keys([item(1, "I really want it to work well today.")]) == {ItemId(1): ""}


def test_an_attribute_is_called_by_its_slot_and_value() -> None:
    home = item(1, "I live in Graz.", kind=ItemKind.ATTRIBUTE, slot="home", value="Graz")
    assert attribute_key(home) == "home: graz"
