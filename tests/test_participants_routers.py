"""Each router rule with a case that fires it and one that just does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from localmem.participants.folding import fold
from localmem.participants.routers import (
    Neighbour,
    RouteAction,
    Routing,
    neighbour,
    route,
)
from localmem.participants.terms import normal_value
from localmem.types import (
    Claim,
    Cue,
    Item,
    ItemKind,
    ItemState,
    MessageId,
    Modality,
    ParticipantId,
)

_MAY = datetime(2026, 5, 1, 9, tzinfo=UTC)


def _claim(
    quote: str,
    *,
    kind: ItemKind = ItemKind.ATTRIBUTE,
    slot: str = "",
    value: str = "",
    entity: str = "",
    message: int = 2,
    days: int = 30,
) -> Claim:
    return Claim(
        message_id=MessageId(message),
        position=0,
        participant_id=ParticipantId(1),
        kind=kind,
        slot=slot,
        entity=entity,
        value=value,
        quote=quote,
        said_at=_MAY + timedelta(days=days),
        number=message,
    )


def _home(value: str, **changes: object) -> Claim:
    return replace(_claim(f"I live in {value}.", slot="home", value=value), **changes)  # type: ignore[arg-type]  # fields of a claim


def _fact(quote: str, names: tuple[str, ...] = (), **changes: object) -> Claim:
    made = replace(_claim(quote, kind=ItemKind.FACT), names=names)
    return replace(made, **changes)  # type: ignore[arg-type]  # fields of a claim


def _known(claim: Claim) -> Item:
    (item,) = fold([replace(claim, message_id=MessageId(1), number=1, said_at=_MAY)])
    return item


def _routed(claim: Claim, *items: Item) -> Routing:
    return route(claim, [neighbour(claim, item) for item in items])


def test_r0_text_out_of_a_memory_is_never_taken_again() -> None:
    old = _known(_home("Oslo"))
    recalled = _home("Rome", modality=Modality.RECALLED)
    assert _routed(recalled, old) == Routing(RouteAction.IGNORE, "R0", counts=False)
    assert _routed(_home("Rome"), old).action is RouteAction.UPDATE


def test_r0_the_same_sentence_of_the_same_message_counts_once() -> None:
    old = _known(_home("Oslo"))
    assert not _routed(_home("Oslo", message_id=MessageId(1)), old).counts
    assert _routed(_home("Oslo"), old).counts


def test_r0b_a_plan_never_changes_a_fact() -> None:
    old = _known(_home("Oslo"))
    plan = _home("Rome", slot="plan:home", modality=Modality.PLANNED)
    assert _routed(plan, old).action is RouteAction.ADD
    assert _routed(_home("Rome"), old).action is RouteAction.UPDATE


def test_r0b_what_somebody_else_claims_never_changes_a_fact() -> None:
    old = _known(_home("Oslo"))
    claimed = _home("Rome", slot="claimed:home", modality=Modality.CLAIMED)
    assert _routed(claimed, old).target is None


def test_r0b_a_plan_may_change_a_plan() -> None:
    plan = _home("Rome", slot="plan:home", modality=Modality.PLANNED)
    later = _home("Lima", slot="plan:home", modality=Modality.PLANNED)
    assert _routed(later, _known(plan)).rule == "R2"


def test_r0b_a_question_is_nothing_known() -> None:
    asked = _home("Rome", modality=Modality.QUESTION)
    assert _routed(asked).action is RouteAction.IGNORE


def test_r1_a_repeat_confirms() -> None:
    assert _routed(_home("the Oslo"), _known(_home("oslo"))).rule == "R1"
    assert _routed(_home("Oslo"), _known(_home("Oslo", positive=False))).rule != "R1"


def test_r1_a_fact_with_the_same_words_and_names_confirms() -> None:
    old = _known(_fact("My sister plays the cello in Ghent.", ("Ghent",)))
    assert _routed(_fact("My sister plays the cello in Ghent!", ("Ghent",)), old).rule == "R1"
    assert _routed(_fact("My sister plays the cello in Lyon.", ("Lyon",)), old).rule != "R1"


@pytest.mark.parametrize(
    "quote",
    [
        "I used to live in Oslo.",
        "We used to live in Oslo, I moved on.",
        "I formerly lived in Oslo.",
    ],
)
def test_r4_what_one_used_to_do_is_over(quote: str) -> None:
    past = replace(_home("Oslo", modality=Modality.PAST), quote=quote)
    routing = _routed(past, _known(_home("Oslo")))
    assert (routing.action, routing.rule, routing.closes) == (RouteAction.UPDATE, "R4", True)


@pytest.mark.parametrize(
    "quote",
    [
        "I lived in Oslo as a kid.",
        "As a kid I used to live in Oslo.",
        "I'm slowly getting used to living in Oslo.",
        "I am not used to living in Oslo.",
        "I lived in Oslo back in 2019, I used to swim a lot.",
    ],
)
def test_r4_what_is_told_of_former_times_does_not_end_what_holds(quote: str) -> None:
    past = replace(_home("Oslo", modality=Modality.PAST), quote=quote)
    routing = _routed(past, _known(_home("Oslo")))
    assert (routing.action, routing.rule) == (RouteAction.IGNORE, "R1")


def test_r2_a_later_value_is_the_new_version() -> None:
    routing = _routed(_home("Rome"), _known(_home("Oslo")))
    assert (routing.action, routing.rule, routing.past) == (RouteAction.UPDATE, "R2", False)


def test_r2_an_earlier_value_becomes_a_closed_version() -> None:
    routing = _routed(_home("Rome", said_at=_MAY - timedelta(days=9)), _known(_home("Oslo")))
    assert (routing.action, routing.rule, routing.past) == (RouteAction.ADD, "R2", True)


def test_r3_a_slot_of_many_values_gets_another() -> None:
    old = _known(_claim("I speak Dutch.", slot="language", value="Dutch"))
    assert _routed(_claim("I speak Thai.", slot="language", value="Thai"), old).rule == "R3"
    assert _routed(_home("Thai"), _known(_home("Dutch"))).rule == "R2"


def test_r4_an_end_closes_the_value_it_names_and_no_other() -> None:
    old = _known(_home("Oslo"))
    ended = _routed(_home("Oslo", cue=Cue.END), old)
    assert (ended.rule, ended.closes, ended.target) == ("R4", True, old)
    assert _routed(_home("Rome", cue=Cue.END), old).target is None


def test_r4_an_end_of_a_fact_needs_a_shared_name() -> None:
    old = _known(_fact("I sing in the choir with Lena every week.", ("Lena",)))
    ended = "I no longer sing in the choir with Lena every week."
    assert _routed(_fact(ended, ("Lena",), cue=Cue.END), old).rule == "R4"
    assert _routed(_fact(ended, ("Mia",), cue=Cue.END), old).rule == "R7"


def test_r5_a_change_of_a_fact_needs_another_number_name_or_day() -> None:
    old = _known(_fact("The recital with Lena starts at 7.", ("Lena",)))
    moved = _fact("The recital with Lena now starts at 8.", ("Lena",), cue=Cue.CHANGE)
    assert _routed(moved, old).rule == "R5"
    assert _routed(replace(moved, cue=Cue.NONE), old).rule == "R8"


def test_r5_the_opposite_of_a_liking_is_a_change() -> None:
    old = _known(_claim("I like okra.", slot="likes", value="okra"))
    flipped = replace(_claim("I hate okra.", slot="likes", value="okra"), positive=False)
    assert _routed(flipped, old).rule == "R5"
    other = replace(_claim("I hate leeks.", slot="likes", value="leeks"), positive=False)
    assert _routed(other, old).rule == "R3"


def test_r6_an_event_that_happens_again_is_another_event() -> None:
    visit = replace(
        _claim("I visited Lena in Ghent.", kind=ItemKind.EVENT, entity="visit"),
        names=("Lena", "Ghent"),
        valid_from=date(2026, 4, 3),
        valid_to=date(2026, 4, 4),
    )
    again = replace(visit, valid_from=date(2026, 5, 20), valid_to=date(2026, 5, 21))
    assert _routed(again, _known(visit)).rule == "R6"
    assert _routed(visit, _known(visit)).rule == "R1"


def test_r7_what_has_nothing_in_common_is_new() -> None:
    old = _known(_fact("I grow beans behind the shed.", ()))
    assert _routed(_fact("Lena repairs clocks in Ghent.", ("Lena",)), old).rule == "R7"


def test_r8_without_a_model_it_is_added_and_marked() -> None:
    first = _fact("Lena repairs old clocks in Ghent.", ("Lena", "Ghent"))
    unsure = _fact("Lena repairs clocks and radios in Ghent.", ("Lena", "Ghent"))
    routing = _routed(unsure, _known(first))
    assert (routing.action, routing.rule, routing.undecided) == (RouteAction.ADD, "R8", True)
    old, new = fold([replace(first, message_id=MessageId(1), number=1, said_at=_MAY), unsure])
    assert new.duplicate_of == old.id


def test_r8_a_decision_is_followed() -> None:
    first = _fact("Lena repairs old clocks in Ghent.", ("Lena", "Ghent"))
    unsure = _fact("Lena repairs clocks and radios in Ghent.", ("Lena", "Ghent"))
    old = _known(first)
    near = [neighbour(unsure, old)]

    def same(claim: Claim, nearest: object) -> Routing:
        return Routing(RouteAction.IGNORE, "R8", old)

    assert route(unsure, near, same) == Routing(RouteAction.IGNORE, "R8", old)


def test_a_retired_item_is_not_touched() -> None:
    old = replace(_known(_home("Oslo")), state=ItemState.RETIRED)
    assert _routed(_home("Rome"), old).target is None


def test_values_are_compared_without_case_articles_currency_and_separators() -> None:
    assert normal_value("The $1,250") == normal_value("1250")
    assert normal_value("two cats") == normal_value("2 cats")
    assert normal_value("Oslo") != normal_value("Olso")


def test_a_neighbour_shares_a_name_or_a_head() -> None:
    old = _known(_fact("Lena sings.", ("Lena",)))
    assert neighbour(_fact("Hi, lena paints.", ("lena",)), old).shares
    assert not neighbour(_fact("Mia paints.", ("Mia",)), old).shares
    assert isinstance(neighbour(_fact("x", ()), old), Neighbour)
