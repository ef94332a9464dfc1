"""The owner's hand: correct, retire, pin, why, history; and ten people in one chat."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from localmem.cli.app import app
from localmem.errors import RecordNotFoundError, UsageError
from localmem.jobs.deciding import decide_claims
from localmem.memory import Memory
from localmem.participants.known import Known
from localmem.recall.finder import Finder
from localmem.recall.standing import Standing
from localmem.testing import FixedClock, FixedModels, ScriptedLlm, build_memory
from localmem.types import (
    ConversationKind,
    Depth,
    ForgetTarget,
    ImportedConversation,
    ImportedMessage,
    ImportId,
    Item,
    ItemId,
    ItemState,
    MessageId,
    Role,
    SplitChoice,
)

_MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)

Said = Sequence[tuple[str, str]]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with build_memory(tmp_path / "memory.duckdb") as made:
        yield made


def _say(
    memory: Memory,
    *texts: str,
    speaker: str = "",
    at: datetime | None = _MARCH,
    kind: ConversationKind = ConversationKind.ASSISTANT,
) -> ImportId:
    """The user's own words to an assistant, ten days apart."""
    said = [(speaker, text) for text in texts]
    return _chat(memory, said, at=at, kind=kind)


def _chat(
    memory: Memory,
    said: Said,
    *,
    at: datetime | None = _MARCH,
    kind: ConversationKind = ConversationKind.PEOPLE,
) -> ImportId:
    number = memory.store.begin_import("chat", "test", at or _MARCH)
    told = tuple(
        ImportedMessage(str(n), Role.USER, who, text, at + timedelta(days=10 * n) if at else None)
        for n, (who, text) in enumerate(said)
    )
    one = ImportedConversation("test", f"{number}", "", kind, told)
    memory.store.add_conversation(number, one)
    memory.work()
    return number


def _asked(memory: Memory, question: str, depth: Depth = Depth.INSTANT) -> str:
    return memory.ask(question, depth=depth).text


def _holding(memory: Memory, slot: str) -> list[Item]:
    return [item for item in memory.store.items(slots=[slot]) if item.holds]


# --- Corrections ------------------------------------------------------------------------------


def test_a_correction_outranks_what_it_corrects_at_once(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    done = memory.correct("I live in Bergen.")
    assert [v.value for v in done.histories[0].versions] == ["Rome", "Bergen"]
    assert _asked(memory, "Where do I live now?") == "Bergen"
    found = memory.search("Where do I live?").found
    assert [one.message.text for one in found[:2]] == ["I live in Bergen.", "I live in Rome."]
    assert "was corrected, now: Bergen" in found[1].standing


def test_what_was_corrected_was_never_so(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    memory.correct("I live in Bergen.")
    assert _asked(memory, "Where did I live in April 2026?") == "Bergen"
    wrong, right = memory.history("home")[0].versions
    assert (wrong.corrected, wrong.state, right.by_owner) == (True, ItemState.SUPERSEDED, True)


def test_a_correction_that_tells_of_a_change_leaves_the_past_alone(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    memory.correct("I moved to Bergen on 1 June 2026.")
    assert _asked(memory, "Where did I live in April 2026?") == "Rome"
    assert _asked(memory, "Where did I live in July 2026?") == "Bergen"


@pytest.mark.parametrize("depth", [Depth.INSTANT, Depth.DIRECT, Depth.DEEP])
def test_no_depth_answers_with_what_was_corrected(tmp_path: Path, depth: Depth) -> None:
    model = ScriptedLlm(fallback_reply="Rome", fallback_choice=0)
    with build_memory(tmp_path / "m.duckdb", models=FixedModels(the_llm=model)) as memory:
        _say(memory, "I live in Rome.")
        memory.correct("I live in Bergen.")
        answer = memory.ask("Where do I live now?", depth=depth)
        assert answer.text == "Bergen"
        assert answer.citations[0].quote == "I live in Bergen."


def test_a_model_is_shown_what_holds_and_what_is_superseded(tmp_path: Path) -> None:
    model = ScriptedLlm(fallback_reply="In Bergen", fallback_choice=0)
    with build_memory(tmp_path / "m.duckdb", models=FixedModels(the_llm=model)) as memory:
        _say(memory, "I live in Rome.", "I moved to Bergen because of the fjord.")
        assert _asked(memory, "Where do I live now?", Depth.DIRECT) == "In Bergen"
        shown = model.history[-1].text
        assert "I live in Rome. [superseded: home: Rome ended on 12 March 2026" in shown
        assert "Me, home, now: Bergen (since 12 March 2026), because the fjord" in shown


@pytest.mark.parametrize(
    ("said", "question", "over"),
    [
        (("I work at Acme.", "I quit Acme."), "Where do I work?", "Acme"),
        (("I live in Rome.", "I no longer live in Rome."), "Where do I live?", "Rome"),
        (("I used to live in Oslo.",), "Where do I live now?", "Oslo"),
    ],
)
def test_what_ended_on_a_day_that_nobody_told_does_not_hold_now(
    memory: Memory, said: Sequence[str], question: str, over: str
) -> None:
    _say(memory, *said, at=None)
    assert _asked(memory, question) == f"no longer {over}"
    (first,) = (one for one in memory.search(question).found if one.message.text == said[0])
    assert f"{over} ended" in first.standing


def test_where_one_used_to_live_is_not_where_one_lives(memory: Memory) -> None:
    _say(memory, "I live in Rome.", "I used to live in Rome.")
    assert _asked(memory, "Where do I live?") == "no longer Rome (until 12 March 2026)"
    _say(memory, "I live in Rome.", at=_MARCH + timedelta(days=90))
    assert _asked(memory, "Where do I live?") == "Rome"


def test_a_wrong_value_does_not_come_back_by_being_repeated(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    memory.correct("I live in Bergen.")
    later = datetime(2026, 12, 5, tzinfo=UTC)
    _say(memory, "I live in Rome.", at=later)
    assert [item.value for item in _holding(memory, "home")] == ["Bergen"]
    _say(memory, "I just moved to Rome.", at=later + timedelta(days=3))
    assert [item.value for item in _holding(memory, "home")] == ["Rome"]


def test_an_older_import_does_not_undo_a_correction(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    memory.correct("I live in Bergen.")
    _say(memory, "I live in Rome.", "I live in Turin.", at=_MARCH - timedelta(days=90))
    assert [item.value for item in _holding(memory, "home")] == ["Bergen"]


def test_a_correction_of_what_has_no_slot_replaces_the_nearest_sentence(memory: Memory) -> None:
    _say(memory, "I visited the lighthouse in Brest with Lena.", "I visited my aunt in Lyon.")
    done = memory.correct("I visited the lighthouse in Morlaix with Lena.")
    replaced = [v for one in done.histories for v in one.versions if v.corrected]
    assert [item.quote for item in replaced] == ["I visited the lighthouse in Brest with Lena."]
    assert any("aunt" in item.quote and item.holds for item in memory.store.items())
    found = memory.search("Which lighthouse did I visit with Lena?").found
    assert "Morlaix" in found[0].message.text
    assert any("was corrected" in one.standing for one in found if "Brest" in one.message.text)


def test_a_correction_may_name_the_item_that_it_replaces(memory: Memory) -> None:
    _say(memory, "My grandfather carved wooden spoons in Trento.")
    (item,) = memory.store.items()
    memory.correct("It was my uncle who carved spoons.", instead_of=item.id)
    assert memory.store.item(item.id).corrected


def test_a_correction_may_call_the_owner_by_name(memory: Memory) -> None:
    _chat(memory, [("Anna", "I live in Rome."), ("Ben", "I live in Paris.")])
    memory.store.set_owner("Anna")
    memory.work()
    memory.correct("Anna lives in Bergen.")
    assert _asked(memory, "Where do I live now?") == "Bergen"
    assert _asked(memory, "Where does Ben live now?") == "Paris"
    memory.correct("Anna's rent is 900 euros.")
    assert _asked(memory, "How much is my rent now?") == "900 euros"


def test_a_correction_of_what_once_was_leaves_the_present_alone(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    memory.correct("I used to live in Oslo.")
    memory.correct("I lived in Ghent until 2019.")
    assert _asked(memory, "Where do I live now?") == "Rome"
    assert [item.value for item in _holding(memory, "home")] == ["Rome"]
    past = [item for item in memory.store.items(slots=["home"]) if not item.holds]
    assert [(item.value, item.corrected, item.by_owner) for item in past] == [
        ("Oslo", False, True),
        ("Ghent", False, True),
    ]


def test_a_correction_of_what_once_was_still_replaces_the_item_that_it_names(
    memory: Memory,
) -> None:
    _say(memory, "I live in Rome.")
    (item,) = _holding(memory, "home")
    memory.correct("I used to live in Oslo.", instead_of=item.id)
    assert memory.store.item(item.id).corrected


def test_a_correction_is_a_message_and_can_be_taken_back(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    done = memory.correct("I live in Bergen.")
    (message,) = memory.store.messages([done.message_id])
    assert (message.text, message.role) == ("I live in Bergen.", Role.USER)
    memory.undo_import(done.import_id)
    assert _asked(memory, "Where do I live now?") == "Rome"
    assert memory.store.orphans() == {}


@pytest.mark.parametrize("by_forgetting", [False, True])
def test_what_a_correction_of_another_kind_replaced_holds_again_once_it_is_gone(
    memory: Memory, by_forgetting: bool
) -> None:
    _say(memory, "I live in Rome.", "I planted a fig tree in Turin.")
    (home,) = _holding(memory, "home")
    done = memory.correct("That was only a joke about Rome with Lena.", instead_of=home.id)
    assert memory.store.item(home.id).corrected
    if by_forgetting:
        memory.forget(ForgetTarget(messages=(done.message_id,)))
    else:
        memory.undo_import(done.import_id)
    assert memory.store.orphans() == {}
    assert [item.value for item in _holding(memory, "home")] == ["Rome"]
    assert "fig tree" in memory.search("fig tree in Turin").found[0].message.text


def test_a_sentence_that_a_correction_replaced_holds_again_once_it_is_taken_back(
    memory: Memory,
) -> None:
    _say(memory, "My grandfather carved wooden spoons in Trento.")
    (item,) = memory.store.items()
    said = "Grandfather carved wooden bowls in Trento, I visited him there."
    done = memory.correct(said)
    assert memory.store.item(item.id).corrected
    memory.undo_import(done.import_id)
    assert [one.message.text for one in memory.why(item.id).messages] == [item.quote]
    assert memory.store.item(item.id).holds


def test_mending_makes_an_item_anew_that_pointed_to_a_message_that_is_gone(
    memory: Memory,
) -> None:
    _say(memory, "I live in Rome.")
    path = memory.path
    memory.close()
    with duckdb.connect(str(path)) as damaged:
        damaged.execute("UPDATE item SET ended_by = 999, state = 'superseded'")
    with build_memory(path) as again:
        assert again.store.orphans() == {"item.ended_by": 1}
        again.work()
        assert again.store.orphans() == {}
        assert [item.value for item in _holding(again, "home")] == ["Rome"]


def test_a_correction_goes_with_the_name_when_a_merge_is_taken_back(memory: Memory) -> None:
    _chat(
        memory, [("Anna", "Hello all."), ("Ben", "I live in Paris."), ("Cleo", "I live in Ghent.")]
    )
    memory.correct("Ben lives in Bergen.")
    memory.merge_people("Cleo", "Ben")
    memory.split_person("Cleo", SplitChoice(), "Ben")
    assert _homes(memory) == {"Ben": ["Bergen"], "Cleo": ["Ghent"]}
    assert memory.store.orphans() == {}


def test_a_correction_under_a_first_name_that_two_have_later_is_given_to_nobody_else(
    memory: Memory,
) -> None:
    _say(memory, "I live in Rome.")
    _chat(memory, [("Ben Ito", "I live in Paris."), ("Cleo", "Hi."), ("Ben Ost", "Hello there.")])
    memory.merge_people("Ben Ito", "Ben Ost")
    memory.correct("Ben lives in Bergen.")
    memory.split_person("Ben Ito", SplitChoice(), "Ben Ost")
    assert _homes(memory) == {"Me": ["Rome"], "Ben Ito": ["Bergen"]}


def test_a_correction_goes_to_the_one_it_names_when_one_is_split_in_two(memory: Memory) -> None:
    _chat(memory, [("Sam", "I live in Rome."), ("Lea", "Hi.")])
    _chat(memory, [("Sam", "I live in Oslo."), ("Lea", "Hi.")], at=_MARCH + timedelta(days=60))
    memory.correct("Sam Okoro lives in Bergen.")
    (oslo,) = (item for item in memory.store.items(slots=["home"]) if item.value == "Oslo")
    session = memory.store.messages(oslo.message_ids)[0].session_id
    memory.split_person("Sam", SplitChoice(sessions=(session,)), "Sam Okoro")
    assert _homes(memory) == {"Sam": ["Rome"], "Sam Okoro": ["Bergen"]}


def _homes(memory: Memory) -> dict[str, list[str]]:
    names = {person.id: person.name for person in memory.store.participants()}
    found: dict[str, list[str]] = {}
    for item in _holding(memory, "home"):
        found.setdefault(names[item.participant_id], []).append(item.value)
    return found


def test_orders_go_over_to_the_owner_s_second_name(memory: Memory) -> None:
    _say(
        memory,
        "I live in Rome.",
        "My grandfather carved wooden spoons in Trento.",
        "I planted a fig tree in Turin.",
    )
    memory.store.set_owner("Anna")
    memory.work()
    memory.retire(_holding(memory, "home")[0].id)
    carved = next(item for item in memory.store.items() if "spoons" in item.quote)
    memory.pin(carved.id)
    tree = next(item for item in memory.store.items() if "fig tree" in item.quote)
    memory.correct("That was a joke about Lena.", instead_of=tree.id)
    before = {item.quote: (item.state, item.corrected) for item in memory.store.items()}
    for name in ("Anna Berg", "Anna", "Anna Berg"):
        memory.store.set_owner(name)
        memory.work()
    assert {item.quote: (item.state, item.corrected) for item in memory.store.items()} == before
    assert before["I live in Rome."] == (ItemState.RETIRED, False)
    assert sum(map(len, memory.store.rulings().values())) <= 6


def test_an_order_outlives_that_its_branch_is_hidden_while_something_else_goes(
    memory: Memory,
) -> None:
    _branches(memory, rome_is_shown=True)
    memory.retire(_holding(memory, "home")[0].id)
    other = _say(memory, "I planted a fig tree in Kyoto.")
    _branches(memory, rome_is_shown=False)
    memory.undo_import(other)
    _branches(memory, rome_is_shown=True)
    assert [item.state for item in memory.store.items(slots=["home"])] == [ItemState.RETIRED]


def test_an_order_goes_with_the_hidden_words_that_it_is_about(memory: Memory) -> None:
    _branches(memory, rome_is_shown=True)
    memory.retire(_holding(memory, "home")[0].id)
    _branches(memory, rome_is_shown=False)
    memory.forget(ForgetTarget(import_id=ImportId(1)))
    assert memory.store.rulings() == {}


def _branches(memory: Memory, *, rome_is_shown: bool) -> None:
    """One chat in which another message was sent instead, and then that again."""
    number = memory.store.begin_import("chat", "test", _MARCH)
    told = (
        ImportedMessage("a", Role.USER, "", "I live in Rome.", _MARCH, on_path=rome_is_shown),
        ImportedMessage("b", Role.USER, "", "Is it raining?", _MARCH, on_path=not rome_is_shown),
        ImportedMessage("c", Role.USER, "", "My locker is 12.", _MARCH + timedelta(days=3)),
    )
    one = ImportedConversation("test", "X", "", ConversationKind.ASSISTANT, told)
    memory.store.add_conversation(number, one)
    memory.work()


@pytest.mark.parametrize("first", ["pin", "retire", ""])
def test_an_order_holds_again_once_the_correction_of_its_item_is_taken_back(
    memory: Memory, first: str
) -> None:
    _say(memory, "My grandfather carved wooden spoons in Trento.")
    (item,) = memory.store.items()
    if first:
        getattr(memory, first)(item.id)
    before = memory.store.item(item.id)
    said = "My grandfather carved stone bowls near Verona."
    done = memory.correct(said, instead_of=item.id)
    assert memory.store.item(item.id).corrected
    memory.undo_import(done.import_id)
    assert memory.store.item(item.id) == before


def test_an_empty_correction_and_an_unknown_item_are_refused(memory: Memory) -> None:
    with pytest.raises(UsageError, match="empty"):
        memory.correct("  ")
    with pytest.raises(RecordNotFoundError, match="no item 99"):
        memory.pin(ItemId(99))


# --- Retire, pin, why, history ----------------------------------------------------------------


def test_a_retired_item_is_not_what_holds(memory: Memory) -> None:
    _say(memory, "My phone number is 555-0134.")
    (item,) = _holding(memory, "own")
    assert memory.retire(item.id).versions[0].state is ItemState.RETIRED
    answer = memory.ask("What is my phone number now?", depth=Depth.INSTANT)
    assert "known" not in [step.tool for step in answer.trace.steps]
    with pytest.raises(UsageError, match="does not hold"):
        memory.retire(item.id)


@pytest.mark.parametrize("depth", [Depth.INSTANT, Depth.DIRECT, Depth.DEEP])
def test_no_depth_answers_with_what_was_retired(tmp_path: Path, depth: Depth) -> None:
    model = ScriptedLlm(fallback_reply="Rome", fallback_choice=0)
    with build_memory(tmp_path / "m.duckdb", models=FixedModels(the_llm=model)) as memory:
        _say(memory, "I live in Oslo.", "I moved to Rome.")
        memory.retire(_holding(memory, "home")[0].id)
        answer = memory.ask("Where do I live now?", depth=depth)
        assert (answer.found, answer.citations) == (False, ())
        assert depth is Depth.DEEP or "was retired by the owner" in answer.notices[-1]
        _say(memory, "I live in Rome.", at=datetime(2026, 12, 5, tzinfo=UTC))
        assert _asked(memory, "Where do I live now?", depth) == "Rome"


def test_a_message_of_which_something_was_retired_says_so(memory: Memory) -> None:
    _say(memory, "I live in Rome.", "My grandfather carved wooden spoons in Trento.")
    for item in memory.store.items():
        memory.retire(item.id)
    for _ in range(2):  # the second search has what is known to hand
        found = memory.search("Where did my grandfather carve spoons, and do I live in Rome?").found
        standing = {one.message.text: one.standing for one in found}
        assert standing["I live in Rome."] == "superseded: home: Rome was retired by the owner"
        assert standing["My grandfather carved wooden spoons in Trento."].endswith(
            "was retired by the owner"
        )


def test_a_pinned_item_stays_whatever_is_said_later(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    (item,) = _holding(memory, "home")
    memory.pin(item.id)
    _say(memory, "I moved to Oslo.", at=datetime(2026, 12, 2, tzinfo=UTC))
    assert [(i.value, i.state) for i in _holding(memory, "home")] == [("Rome", ItemState.PINNED)]
    memory.correct("I live in Oslo now.")
    assert _asked(memory, "Where do I live now?") == "Oslo"


def test_orders_outlive_that_items_are_made_anew(memory: Memory) -> None:
    _say(memory, "I live in Rome.", "My phone number is 555-0134.")
    memory.pin(_holding(memory, "home")[0].id)
    memory.retire(_holding(memory, "own")[0].id)
    _say(memory, "I live in Turin.", "My locker is 12.", at=_MARCH - timedelta(days=60))
    states = {item.value: item.state for item in memory.store.items() if item.value}
    assert states["Rome"] is ItemState.PINNED
    assert states["555-0134"] is ItemState.RETIRED


def test_why_leads_from_an_item_to_its_messages(memory: Memory) -> None:
    _say(memory, "I live in Rome.", "I live in Rome.", "I moved to Oslo because of the snow.")
    old = next(item for item in memory.store.items(slots=["home"]) if item.value == "Rome")
    found = memory.why(old.id)
    assert [one.message.text for one in found.messages] == [
        "I live in Rome.",
        "I live in Rome.",
        "I moved to Oslo because of the snow.",
    ]
    assert found.item.confirmations == 1
    assert found.item.end_reason == "the snow"


def test_history_gives_every_version_with_days_and_reasons(memory: Memory) -> None:
    _say(memory, "My rent is 640 euros.", "My rent is 700 euros because of the new roof.")
    (history,) = memory.history("rent")
    assert [(v.value, str(v.valid_from), v.reason) for v in history.versions] == [
        ("640 euros", "2026-03-02", ""),
        ("700 euros", "2026-03-12", "the new roof"),
    ]
    assert history.subject == "price rent"
    assert memory.history("zeppelins") == ()


def test_the_commands_print_one_json_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.duckdb"
    with build_memory(path) as memory:
        _say(memory, "My rent is 640 euros.")
        (item,) = _holding(memory, "price")

    def opened(*_: object, **__: object) -> Memory:
        return build_memory(path, clock=FixedClock(datetime(2026, 11, 30, tzinfo=UTC)))

    monkeypatch.setattr(Memory, "open", opened)
    run = CliRunner()
    for arguments in (
        ["history", "rent", "--json"],
        ["why", str(item.id), "--json"],
        ["pin", str(item.id), "--json"],
        ["correct", "My rent is 655 euros.", "--json"],
        ["history", "rent"],
        ["why", str(item.id)],
    ):
        result = run.invoke(app, ["--memory", str(path), *arguments])
        assert result.exit_code == 0, result.output
        if "--json" in arguments:
            json.loads(result.stdout)
    assert "655 euros" in run.invoke(app, ["--memory", str(path), "history", "rent"]).stdout
    assert run.invoke(app, ["--memory", str(path), "history", "zeppelins"]).exit_code == 1
    assert run.invoke(app, ["--memory", str(path), "retire", str(item.id)]).exception is not None


# --- People -----------------------------------------------------------------------------------

_TEN = (
    "Anna Berg", "Anna Kurz", "Bo", "Cem", "Dag", "Eva", "Finn", "Gro", "Hal", "Ida",
)  # fmt: skip
_TOWNS = (
    "Oslo", "Split", "Lagos", "Porto", "Turin", "Ghent", "Basel", "Izmir", "Leeds", "Haifa",
)  # fmt: skip


@pytest.fixture
def group(memory: Memory) -> Memory:
    said = [(who, f"I live in {town}.") for who, town in zip(_TEN, _TOWNS, strict=True)]
    said += [(who, f"Nice, {_TOWNS[n - 1]}! My locker is {n}0.") for n, who in enumerate(_TEN)]
    said += [("Bo", "I think Anna lives in Madrid."), ("Cem", "Dag moved to Rome, right?")]
    said += [("Anna Berg", "I moved to Bergen because of the rain.")]
    _chat(memory, said)
    return memory


def test_no_fact_of_ten_people_is_on_the_wrong_person(group: Memory) -> None:
    names = {person.id: person.name for person in group.store.participants()}
    of = {
        names[item.participant_id]: item for item in group.store.items(slots=["home"]) if item.holds
    }
    expected = dict(zip(_TEN, _TOWNS, strict=True)) | {"Anna Berg": "Bergen"}
    assert {name: item.value for name, item in of.items()} == expected
    for item in group.store.items():
        said_by = {m.participant_id for m in group.store.messages(item.message_ids)}
        assert said_by == {item.participant_id}


def test_each_of_ten_is_answered_with_their_own(group: Memory) -> None:
    for who, town in zip(_TEN[1:], _TOWNS[1:], strict=True):
        assert _asked(group, f"Where does {who} live now?") == town
    assert _asked(group, "Where does Anna Berg live now?") == "Bergen"
    assert _asked(group, "Where did Anna Berg live before?") == "Oslo"


@pytest.mark.parametrize("nothing", ["", "  ", "''", "?!"])
def test_a_correction_without_a_word_is_refused(group: Memory, nothing: str) -> None:
    with pytest.raises(UsageError, match="the correction is empty"):
        group.correct(nothing)


def test_a_first_name_that_two_have_gives_none_of_them_the_others(group: Memory) -> None:
    known = _known(group, "Where does Anna live now?", datetime(2026, 11, 1, tzinfo=UTC))
    assert known is not None
    assert not known.is_sure
    assert set(known.text.split("; ")) == {"Anna Berg: Bergen", "Anna Kurz: Split"}


def test_a_correction_of_an_ambiguous_name_is_refused(group: Memory) -> None:
    with pytest.raises(UsageError, match="Anna Berg, Anna Kurz"):
        group.correct("Anna lives in Leeds.")
    done = group.correct("Anna Kurz lives in Leeds.")
    assert done.participant.name == "Anna Kurz"
    assert _asked(group, "Where does Anna Kurz live now?") == "Leeds"
    assert _asked(group, "Where does Anna Berg live now?") == "Bergen"


def test_somebody_nobody_knows_is_given_nobodys_facts(group: Memory) -> None:
    assert _known(group, "Where does Petra live now?", _MARCH) is None


def _known(memory: Memory, question: str, asked_at: datetime) -> Known | None:
    result = memory.search(question, asked_at=asked_at)
    fetch = Finder(memory.store, lambda model_id: None).fetched
    return Standing(memory.store, fetch).settled(result, most=5, asked_at=asked_at).known


# --- With their messages ----------------------------------------------------------------------


def test_items_go_with_their_import(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    second = _say(memory, "I moved to Oslo.", at=_MARCH + timedelta(days=40))
    memory.undo_import(second)
    assert [(i.value, i.state) for i in memory.store.items()] == [("Rome", ItemState.ACTIVE)]
    assert memory.store.orphans() == {}


def test_items_go_with_a_forgotten_message(memory: Memory) -> None:
    _say(memory, "I live in Rome.", "I moved to Oslo.")
    newest = max(message.id for message in memory.store.shown_messages())
    receipt = memory.forget(ForgetTarget(messages=(MessageId(newest),)))
    assert receipt.items > 0
    assert [(i.value, i.state) for i in memory.store.items()] == [("Rome", ItemState.ACTIVE)]
    assert memory.store.orphans() == {}


def test_items_follow_people_who_are_merged_and_split(group: Memory) -> None:
    group.merge_people("Bo", "Cem")
    bo = group.store.find_participant("Bo")
    homes = group.store.items(participants=[bo.id], slots=["home"])
    assert {item.value for item in homes} == {"Lagos", "Porto"}
    assert group.store.orphans() == {}


def test_an_interrupted_run_goes_on_where_it_stopped(memory: Memory) -> None:
    _say(memory, "I live in Rome.")
    before = memory.store.items()
    memory.work()
    assert memory.store.items() == before
    assert memory.store.item_counts().pending == 0


def test_doctor_counts_items_and_those_unsupported(memory: Memory) -> None:
    _say(memory, "I live in Rome.", "My rent is 640 euros.")
    finding = next(one for one in memory.doctor() if one.subject == "known")
    assert finding.detail.startswith("2 things are known of people (2 hold now), 100 for each 100")
    assert "0 (0.0%) are not borne out by their message" in finding.detail


# --- What no rule is sure of ------------------------------------------------------------------

_UNSURE = (
    "Lena from the choir repairs old clocks in Ghent.",
    "Lena from the choir repairs clocks and radios in Ghent.",
)


@pytest.mark.parametrize(
    ("probabilities", "holding"),
    [((0.1, 0.1, 0.8), _UNSURE[:1]), ((0.1, 0.8, 0.1), _UNSURE[1:]), ((0.5, 0.4, 0.1), _UNSURE)],
)
def test_a_model_decides_once_what_no_rule_was_sure_of(
    memory: Memory, probabilities: tuple[float, ...], holding: Sequence[str]
) -> None:
    _say(memory, *_UNSURE)
    assert [item.duplicate_of is not None for item in memory.store.items()] == [False, True]
    model = ScriptedLlm(choices=[probabilities])
    assert decide_claims(memory.store, lambda: model) == 1
    assert tuple(item.quote for item in memory.store.items() if item.holds) == tuple(holding)
    assert decide_claims(memory.store, lambda: model) == 0  # the script holds no second choice
    assert _UNSURE[0] in model.history[0].text
    memory.undo_import(memory.imports()[0].import_id or ImportId(0))
    assert memory.store.orphans() == {}


def test_what_a_model_decided_goes_with_either_of_the_sentences(memory: Memory) -> None:
    _say(memory, *_UNSURE)
    decide_claims(memory.store, lambda: ScriptedLlm(choices=[(0.1, 0.1, 0.8)]))
    assert len(memory.store.decisions()) == 1
    first = min(message.id for message in memory.store.shown_messages())
    memory.forget(ForgetTarget(messages=(MessageId(first),)))
    assert memory.store.decisions() == ()
    assert [item.quote for item in memory.store.items() if item.holds] == [_UNSURE[1]]
