"""Facts and notes on demand: made once, kept with their provenance, never worse than honest."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from localmem.errors import GenerationError, PostponedError, RecordNotFoundError
from localmem.jobs.deriving import derive_layer0
from localmem.layers.cache import LayerModel
from localmem.layers.materialise import NO_MODEL, NO_TIME, OLDER, UNREAD, Materialiser
from localmem.store import Store
from localmem.testing import LlmCall, ScriptedLlm
from localmem.types import (
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    ImportId,
    Layer,
    LayerCost,
    Role,
    SessionId,
)
from tests.test_layers_rules import ORDERS

NOW = datetime(2023, 5, 8, 12, 0, tzinfo=UTC)
ONE = SessionId(1)
TALK = (
    ("Ben", "Who is Miso?"),
    ("Ana", "She is a grey cat from the shelter in Porto, I adopted her yesterday."),
    ("Ben", "Thanks for telling me!"),
    ("Ben", "They are not for me, my sister Clara has 3 cats and I am allergic to all of them."),
    ("Ana", "That is sad, I want to build a catwalk with my brother in July."),
)
NAMES = (("She is", "Miso is"), ("They are", "Cats are"), ("That is", "Ben's allergy is"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "memory.duckdb", idle_s=5.0) as opened:
        yield opened


def put(store: Store, *talk: tuple[str, str], number: str = "c") -> ImportId:
    messages = tuple(
        ImportedMessage(str(n), Role.USER, speaker, text, NOW + timedelta(minutes=n))
        for n, (speaker, text) in enumerate(talk)
    )
    import_id = store.begin_import("chat.txt", "whatsapp", NOW)
    store.add_conversations(
        import_id,
        [ImportedConversation("whatsapp", number, "t", ConversationKind.PEOPLE, messages)],
    )
    derive_layer0(store)
    return import_id


def echo(call: LlmCall) -> str:
    """What a good small model does: it tells the statements, with names for "she"."""
    told = call.messages[-1].content.partition("<statements")[2].partition("</statements>")[0]
    told = told.partition(">")[2].strip()
    for word, name in NAMES:
        told = told.replace(word, name)
    return "\n- ".join(told.splitlines())


def layers(store: Store, llm: ScriptedLlm | None, *, whole: bool = False) -> Materialiser:
    return Materialiser(store, lambda: None if llm is None else LayerModel(llm, whole))


def telling(**options: object) -> ScriptedLlm:
    return ScriptedLlm(replies=[echo] * 99, **options)  # type: ignore[arg-type]


# --- By rule ------------------------------------------------------------------------------


def test_without_a_model_notes_are_made_by_rule_and_say_so(store: Store) -> None:
    put(store, *TALK)
    found = layers(store, None).notes(ONE)
    assert [note.text for note in found.notes] == [
        "Ana, 8 May 2023: She is a grey cat from the shelter in Porto, Ana adopted her yesterday "
        "(7 May 2023).",
        "Ben, 8 May 2023: They are not for Ben, Ben's sister Clara has 3 cats and Ben is allergic "
        "to all of them.",
        "Ana, 8 May 2023: That is sad, Ana wants to build a catwalk with Ana's brother in July "
        "(July 2023).",
    ]
    assert found.notices == (NO_MODEL,) and found.fresh and found.cost == LayerCost()


def test_what_rules_make_is_not_stored(store: Store) -> None:
    put(store, *TALK)
    layers(store, None).facts(ONE)
    assert store.facts_of(ONE) is None and not store.sessions_with_facts()


def test_no_seconds_load_no_model(store: Store) -> None:
    put(store, *TALK)

    def fail() -> LayerModel | None:
        raise AssertionError("a model was loaded")

    found = Materialiser(store, fail).facts(ONE, seconds=0)
    assert found.facts and found.notices == (NO_TIME,)


def test_only_the_wanted_messages_are_noted(store: Store) -> None:
    put(store, *TALK)
    third = store.session_messages(ONE)[3].id
    found = layers(store, None).notes(ONE, message_ids=[third])
    assert {note.message_id for note in found.notes} == {third}


def test_a_session_that_is_not_there_is_an_error(store: Store) -> None:
    put(store, *TALK)
    with pytest.raises(RecordNotFoundError):
        layers(store, None).facts(SessionId(77))


# --- Message by message -------------------------------------------------------------------


def test_a_small_model_is_asked_once_for_each_telling_message(store: Store) -> None:
    put(store, *TALK)
    llm = telling()
    made = layers(store, llm)
    first = made.notes(ONE)
    asked = [call for call in llm.history if call.kind == "complete_many"]
    assert len(asked) == 3  # not about "Thanks for telling me!"
    assert any("Miso is a grey cat" in note.text for note in first.notes)
    assert all(note.provenance.model_id == "scripted" for note in first.notes)
    assert first.cost.completion_tokens > 0 and not first.notices
    again = made.notes(ONE)
    assert len(llm.history) == len(asked) and again.notes == first.notes
    assert again.cost == LayerCost()


def test_the_model_reads_dates_written_out_and_the_message_before(store: Store) -> None:
    put(store, *TALK)
    llm = telling()
    layers(store, llm).notes(ONE)
    prompts = [call.messages[-1].content for call in llm.history]
    assert any("yesterday (7 May 2023)" in prompt for prompt in prompts)
    assert any("<before>Ben: Thanks for telling me!</before>" in prompt for prompt in prompts)
    fixed = {call.messages[:-1] for call in llm.history}
    assert len(fixed) == 1  # a constant prefix


def test_facts_are_chosen_from_notes_and_kept(store: Store) -> None:
    put(store, *TALK)
    llm = telling()
    made = layers(store, llm)
    found = made.facts(ONE)
    calls = len(llm.history)
    assert found.facts and found.fresh and store.facts_of(ONE) is not None
    assert made.facts(ONE).facts == found.facts and len(llm.history) == calls
    ids = {m.id for m in store.session_messages(ONE)}
    assert all(set(fact.message_ids) <= ids for fact in found.facts)


def test_messages_that_can_be_understood_alone_need_no_model(store: Store) -> None:
    put(store, ("Ana", "I sold the boat to Clara in Porto."), ("Ben", "Thanks!"))
    llm = telling()
    found = layers(store, llm).facts(ONE)
    assert not llm.history and found.fresh and not found.notices
    assert [fact.text for fact in found.facts] == [
        "Ana, 8 May 2023: Ana sold the boat to Clara in Porto."
    ]


def test_a_long_message_goes_in_windows_and_nothing_of_it_is_cut(store: Store) -> None:
    text = " ".join(f"It is hen number {n} in the yard, she is Berta{n}." for n in range(60))
    put(store, ("Ana", text))
    llm = telling()
    found = layers(store, llm).notes(ONE)
    shown = " ".join(call.messages[-1].content for call in llm.history)
    assert len(llm.history) > 2
    assert all(f"Berta{n}." in shown for n in range(60))
    assert all(any(f"Berta{n}." in note.text for note in found.notes) for n in range(60))


def test_a_statement_that_no_line_tells_keeps_its_own_words(store: Store) -> None:
    put(store, ("Ana", "She moved to Porto with Clara. I bought 3 old maps of Faro for it."))
    llm = ScriptedLlm(replies=["Clara's sister moved to Porto with Clara."])
    found = layers(store, llm).notes(ONE)
    assert [note.text.partition(": ")[2] for note in found.notes] == [
        "Clara's sister moved to Porto with Clara.",
        "Ana bought 3 old maps of Faro for it.",
    ]


def test_a_line_about_somebody_else_is_refused(store: Store) -> None:
    put(
        store,
        ("Ben", "I painted a sunrise over the lake last year."),
        ("Ana", "It makes me happy, I could sell it in Porto!"),
    )
    for wrong in ("Ben could sell the sunrise in Porto, happy", "Ana is happy to sell it in Porto"):
        found = layers(store, ScriptedLlm(replies=[wrong], model_id=wrong)).notes(ONE)
        assert found.notes[-1].text.endswith("It makes Ana happy, Ana could sell it in Porto!")


def test_a_fact_with_a_foreign_name_is_marked_and_ranked_last(store: Store) -> None:
    put(store, *TALK)
    foreign = "Miso is a grey cat from the shelter in Porto that Ana and Gustavo adopted yesterday"
    llm = ScriptedLlm(replies=[foreign, echo, echo])
    found = layers(store, llm).facts(ONE)
    assert found.facts[-1].missing == ("Gustavo",)
    assert all(fact.supported for fact in found.facts[:-1])


# --- Whole sessions -----------------------------------------------------------------------

LISTED = (
    "Ana adopted a grey cat from the shelter in Porto on 7 May 2023 [2]\n"
    "- Ben's sister Clara has 3 cats [4]\n"
    "- Ana wants to build a catwalk with Ana's brother in July 2023 [5]"
)


def test_a_model_that_reads_whole_sessions_is_asked_once_for_each_layer(store: Store) -> None:
    put(store, *TALK)
    llm = ScriptedLlm(replies=[LISTED, LISTED])
    made = layers(store, llm, whole=True)
    facts, notes = made.facts(ONE), made.notes(ONE)
    assert len(llm.history) == 2
    ids = [m.id for m in store.session_messages(ONE)]
    assert [fact.message_ids for fact in facts.facts] == [(ids[1],), (ids[3],), (ids[4],)]
    assert {note.message_id for note in notes.notes} == {ids[1], ids[3], ids[4]}
    assert facts.facts[0].text.startswith("Ana, 8 May 2023: Ana adopted a grey cat")


def test_both_layers_of_a_session_begin_with_the_same_words(store: Store) -> None:
    put(store, *TALK)
    llm = ScriptedLlm(replies=[LISTED, LISTED])
    made = layers(store, llm, whole=True)
    made.facts(ONE)
    made.notes(ONE)
    first, second = (call.text for call in llm.history)
    shared = next(
        i for i, pair in enumerate(zip(first, second, strict=False)) if len(set(pair)) > 1
    )
    assert "</session>" in first[:shared]


def test_a_wrong_citation_is_replaced_by_the_message_that_says_it(store: Store) -> None:
    put(store, *TALK)
    llm = ScriptedLlm(replies=["Ben's sister Clara has 3 cats [3]"])
    found = layers(store, llm, whole=True).facts(ONE)
    assert found.facts[0].message_ids == (store.session_messages(ONE)[3].id,)


def test_long_sessions_are_listed_in_windows(store: Store) -> None:
    talk = [("Ana", f"I met Berta{n} in Porto. " + "We spoke of boats and nets. " * 30)
            for n in range(30)]  # fmt: skip
    put(store, *talk)
    llm = ScriptedLlm(replies=["Ana met Berta1 in Porto [2]"] * 9, context_tokens=100_000)
    layers(store, llm, whole=True).facts(ONE)
    shown = " ".join(call.messages[-1].content for call in llm.history)
    assert len(llm.history) > 1 and all(f"Berta{n} " in f"{shown} " or f"Berta{n}." in shown
                                        for n in range(30))  # fmt: skip
    assert all(len(call.messages[-1].content) < 13_500 for call in llm.history)


# --- Time, stops and failures -------------------------------------------------------------


class SlowLlm(ScriptedLlm):
    """Takes a second for each reply, on a clock of its own, and looks at its caller's check."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def complete_many(self, prompts, **options):  # type: ignore[no-untyped-def]
        done = []
        for number, prompt in enumerate(prompts):
            time.sleep(0.01)
            self.now += 1.0
            step = options.get("on_step")
            if step is not None:
                step()
            done += super().complete_many([prompt], max_tokens=options["max_tokens"])
            if options.get("on_done"):
                options["on_done"](number, done[-1])
        return done


def test_what_is_finished_in_time_is_stored_and_the_rest_is_made_by_rule(store: Store) -> None:
    put(store, *TALK)
    llm = SlowLlm(replies=[echo] * 9)
    made = Materialiser(store, lambda: LayerModel(llm), monotonic=llm.monotonic)
    found = made.notes(ONE, seconds=2.5)
    makers = [note.provenance.model_id for note in found.notes]
    assert "scripted" in makers and "rules" in makers
    assert found.notices == (NO_TIME,)
    assert layers(store, llm).facts(ONE, seconds=0).notices == (NO_TIME,)
    whole = layers(store, telling()).notes(ONE)
    assert {note.provenance.model_id for note in whole.notes} == {"scripted"}


def test_work_that_is_postponed_keeps_what_it_has_finished(store: Store) -> None:
    put(store, *TALK)
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise PostponedError("a question came first")

    with pytest.raises(PostponedError):
        layers(store, SlowLlm(replies=[echo] * 9)).notes(ONE, check=check)
    assert store.notes_of([m.id for m in store.session_messages(ONE)])


@pytest.mark.parametrize("whole", [False, True])
def test_an_engine_that_fails_becomes_no_memory(store: Store, whole: bool) -> None:
    put(store, *TALK)
    llm = ScriptedLlm(replies=[GenerationError("the engine broke")] * 9)
    made = layers(store, llm, whole=whole)
    found = made.facts(ONE)
    assert found.facts and all(f.provenance.model_id == "rules" for f in found.facts)
    assert "the engine broke" in found.notices[0]
    assert [reply.reason for reply in store.unread_replies()] == ["the engine broke"]
    assert store.facts_of(ONE) is None
    asked = len(llm.history)
    made.facts(ONE)
    assert len(llm.history) > asked  # an engine may be well again


GARBAGE = ("", "   \n\n", "{}", "none", "ok ok ok ok", "As an AI language model, I cannot do that.",
           "The Eiffel Tower was built in 1889 by Gustave.", "\x00\x01", "- - - -", "lorem ipsum "
           "dolor sit amet consectetur", "Ben's puppy is called Pixel and is ten weeks old [1]",
           "I I I I I I I I I I")  # fmt: skip


@pytest.mark.parametrize("whole", [False, True])
def test_garbage_is_never_stored_as_memory(store: Store, whole: bool) -> None:
    put(store, *TALK)
    for number, reply in enumerate(GARBAGE):
        llm = ScriptedLlm(fallback_reply=reply, model_id=f"model {number}")
        made = layers(store, llm, whole=whole)
        notes, facts = made.notes(ONE), made.facts(ONE)
        assert llm.history
        assert notes.notes and all(n.provenance.model_id == "rules" for n in notes.notes), reply
        assert all("Ana" in f.text or "Ben" in f.text for f in facts.facts)
        assert not any("Pixel" in f.text or "Eiffel" in f.text for f in facts.facts)
    stored = store.notes_of([m.id for m in store.session_messages(ONE)])
    assert not any(one.notes for one in stored.values())


def test_a_reply_that_cannot_be_read_is_kept_and_not_asked_for_again(store: Store) -> None:
    put(store, *TALK)
    llm = ScriptedLlm(fallback_reply="eats quantum lorem ipsum dolor")
    made = layers(store, llm)
    assert made.notes(ONE).notices == (UNREAD,)
    kept = store.unread_replies(ONE)
    assert len(kept) == 3 and all("quantum" in one.reply for one in kept)
    assert all(one.layer is Layer.NOTES and one.place.startswith("session 1") for one in kept)
    calls = len(llm.history)
    assert made.notes(ONE).notices == made.facts(ONE).notices == (UNREAD,)
    assert len(llm.history) == calls and store.facts_of(ONE) is None


# --- Freshness ----------------------------------------------------------------------------


def test_a_session_that_grows_asks_only_about_what_is_new(store: Store) -> None:
    put(store, *TALK)
    llm = telling()
    made = layers(store, llm)
    made.facts(ONE)
    calls = len(llm.history)
    put(store, *TALK, ("Ben", "It is a red canoe from Faro, I bought it for 300 euros."))
    grown = made.facts(ONE)
    assert len(llm.history) == calls + 1
    assert any("canoe" in fact.text for fact in grown.facts) and grown.fresh


def test_an_older_state_is_served_only_where_the_caller_allows(store: Store) -> None:
    put(store, *TALK)
    layers(store, telling()).facts(ONE)
    put(store, *TALK, ("Ben", "It is a red canoe from Faro, I bought it for 300 euros."))
    quick = layers(store, telling())
    old = quick.facts(ONE, seconds=0)
    assert not old.fresh and OLDER in old.notices
    assert not any("canoe" in fact.text for fact in old.facts)
    none = layers(store, None)
    assert none.facts(ONE).fresh
    assert any("canoe" in fact.text for fact in none.facts(ONE).facts)
    assert not none.facts(ONE, stale_ok=True).fresh


def test_another_model_makes_them_anew_and_rules_never_replace_a_models(store: Store) -> None:
    put(store, *TALK)
    layers(store, telling()).facts(ONE)
    rules = layers(store, None).facts(ONE)
    assert {fact.provenance.model_id for fact in rules.facts} == {"scripted"} and rules.fresh
    better = telling(model_id="better")
    assert {f.provenance.model_id for f in layers(store, better).facts(ONE).facts} == {"better"}


def test_taking_an_import_back_takes_its_facts_along(store: Store) -> None:
    first = put(store, *TALK)
    layers(store, telling()).facts(ONE)
    receipt = store.undo_import(first)
    assert receipt.facts and receipt.notes
    with pytest.raises(RecordNotFoundError):
        layers(store, telling()).facts(ONE)


def test_two_threads_that_want_one_session_wait_for_one_job(store: Store) -> None:
    put(store, *TALK)
    llm = SlowLlm(replies=[echo] * 9)
    made = layers(store, llm)
    found = []
    threads = [threading.Thread(target=lambda: found.append(made.facts(ONE))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(llm.history) == 3
    assert found[0].facts == found[1].facts and found[0].facts


# --- Orders in the chat -------------------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True])
def test_a_model_that_obeys_what_it_reads_stores_no_word_of_an_order(
    store: Store, whole: bool
) -> None:
    talk = [("Ben", f"I sold them {n} boats. {order}") for n, order in enumerate(ORDERS)]
    put(store, ("Ana", "She is a cat from the shelter in Porto, I adopted her."), *talk)

    def obey(call: LlmCall) -> str:
        shown = call.messages[-1].content
        read = [order for order in ORDERS if order[-20:] in shown]
        told = ["The cat from the shelter in Porto was adopted by Ana", *read]
        return "\n- ".join(f"{one} [1]" if whole else one for one in told)

    llm = ScriptedLlm(replies=[obey] * 99)
    made = layers(store, llm, whole=whole)
    made.notes(ONE)
    made.facts(ONE)
    assert llm.history and not any(o[-20:] in call.text for call in llm.history for o in ORDERS)
    stored = store.notes_of([m.id for m in store.session_messages(ONE)])
    texts = [note.text for one in stored.values() for note in one.notes]
    facts = store.facts_of(ONE)
    texts += [fact.text for fact in facts.facts] if facts else []
    assert texts
    told = [text for text in texts if "wrote: “" not in text]
    assert not any(order[-20:] in text for text in told for order in ORDERS)
