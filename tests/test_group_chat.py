"""Ten people in one chat, two with the same first name: everything is known of the right one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from localmem.memory import ImportOptions, Memory
from localmem.testing import build_memory
from localmem.types import Persona

# Who says what, in turns that cut across each other. A word with a capital Q is said by one alone.
_SAID = """
Marta Voss: Good evening everyone! I live in Qelmstadt since spring.
Marta Lindgren: Hello all, I live in Qarvik, on the harbour.
Jonas Ebel: I work as a carpenter in Qorbach.
Priya Nandan: I am a nurse at the Qalida clinic.
Tobias Renn: Marta Voss, do you still have your dog Qubbel?
Marta Voss: Yes! My dog Qubbel sleeps on my feet right now.
Marta Lindgren: I have a cat called Qissel, she hates dogs.
Oskar Wiel: My sister Qenna visits me on Friday.
Lucia Ferro: I love Qandari tea in the morning.
Hamid Azar: I hate Qandari tea, sorry Lucia Ferro.
Greta Solm: I play the Qiolin, and Marta Lindgren sings.
Emil Tarn: I drive a Qolaris to work every day.
Jonas Ebel: My brother Qasper builds boats.
Priya Nandan: I am allergic to qeanuts.
Tobias Renn: I studied Qotany in my youth.
Marta Lindgren: I work for Qordhavn Shipping as a clerk.
Marta Voss: I work for Qristall Optics as an engineer.
Oskar Wiel: Marta works so much, and Marta too!
Lucia Ferro: I bought a red Qamelia bicycle last week.
Hamid Azar: My birthday is on 3 May, and I turned 41.
Greta Solm: I speak Qaltish with my mother.
Emil Tarn: Marta Lindgren, is your husband called Qobias?
Marta Lindgren: My husband Qobias cooks on Sundays.
Marta Voss: I am married to Qelena, and she paints.
Jonas Ebel: I prefer Qedar over pine for tables.
Priya Nandan: I moved to Qastelgrund in January.
Tobias Renn: My rent is 640 euros, in Qeppin.
Oskar Wiel: I quit smoking because of my daughter Qina.
Lucia Ferro: My favourite band is Qolden Hour.
Hamid Azar: I visited Qorinth with my cousin in June.
Greta Solm: Jonas Ebel built my Qookcase, I am so happy with it.
Emil Tarn: I joined the Qanu club yesterday.
Marta Voss: I joined the Qletter club, Emil Tarn.
Marta Lindgren: I joined the choir of Saint Qunna.
Jonas Ebel: Who of you two Martas was in Qorbach on Monday?
Marta Voss: I was in Qorbach-Nord on Monday, for my eyes.
Marta Lindgren: Not me, I was on the ferry to Qolm Island.
Priya Nandan: My mother lives in Qadras.
Tobias Renn: I planted nine Qarrot beds in my garden.
Oskar Wiel: I no longer live in Qusterfeld, I moved to Qaldorf.
Lucia Ferro: I got a job as a baker at Qornmill.
Hamid Azar: I am learning to cook Qilaf.
Greta Solm: I lost my Qompass in the woods on Sunday.
Emil Tarn: I sold my Qolaris and bought a Qentaro van.
Marta Lindgren: I am afraid of Qellyfish since the summer.
Marta Voss: I swim with Qellow fins twice a week.
Jonas Ebel: I am going to Qirol in March.
Priya Nandan: I finished my Qaccination course on Tuesday.
Tobias Renn: I like Qorn bread, and Marta Voss bakes it best.
Oskar Wiel: I like Qlum cake, and Marta Lindgren bakes it best.
Lucia Ferro: My phone number ends in 77, ask Marta Voss.
Hamid Azar: I repaired the Qump of the house.
Greta Solm: My son Qarlo started school.
Emil Tarn: I ran the Qarathon in four hours.
Marta Voss: My mother Qisela turns seventy.
Marta Lindgren: My mother Qirgit moved in with us.
Jonas Ebel: I cut my hand on the Qircular saw.
Priya Nandan: I work nights at the Qalida clinic, still.
Tobias Renn: I found a Qoin from 1820 in the garden.
Oskar Wiel: I gave Marta Voss my old Qelescope.
Marta Voss: I love the Qelescope, Oskar Wiel, I see Saturn!
Marta Lindgren: I would rather have a Qenjo to play.
Lucia Ferro: I baked sixty Qretzels today.
Hamid Azar: Good night! I sleep at Qotel Mira tonight.
"""
_LINES = [line.split(": ", 1) for line in _SAID.strip().splitlines()]


def _words(text: str) -> set[str]:
    """The made-up words of a text."""
    folded = "".join(c if c.isalnum() or c == "-" else " " for c in text.casefold()).split()
    return {word.removesuffix("s") for word in folded if word.startswith("q") and word != "quit"}


_BY_PERSON: dict[str, set[str]] = {}
for _speaker, _text in _LINES:
    _BY_PERSON.setdefault(_speaker, set()).update(_words(_text))


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder: Path = tmp_path_factory.mktemp("group")
    chat = folder / "chat.txt"
    chat.write_text(
        "\n".join(
            f"[2026-03-{1 + n // 24:02d} {n % 24:02d}:00] **{who}:** {text}"
            for n, (who, text) in enumerate(_LINES)
        ),
        encoding="utf-8",
    )
    with build_memory(folder / "memory.duckdb") as opened:
        opened.import_(chat, ImportOptions(tz=UTC, me="Hamid Azar"))
        yield opened


def _told(found: Persona) -> str:
    lines = [
        line.text for one in (*found.topics, *found.aspects)
        for line in (*one.descriptors, *one.lines)
    ]  # fmt: skip
    names = [one.name for one in (*found.topics, *found.aspects)]
    versions = [f"{v.value} {v.quote}" for one in found.attributes for v in one.versions]
    return "\n".join((*lines, *names, *versions))


def test_the_chat_is_one_of_ten_people_two_of_whom_share_a_first_name(memory: Memory) -> None:
    assert len(_LINES) >= 60
    names = {one.person.name for one in memory.people()}
    assert names == set(_BY_PERSON) and len(names) == 10
    assert {"Marta Voss", "Marta Lindgren"} <= names


def test_every_item_is_that_of_who_said_it(memory: Memory) -> None:
    people = {one.person.id: one.person.name for one in memory.people()}
    items = memory.store.items()
    assert len(items) >= 45
    for item in items:
        name = people[item.participant_id]
        (message, *_) = memory.store.messages(item.message_ids)
        assert message.speaker == name
        assert _words(f"{item.value} {item.entity} {item.quote}") <= _BY_PERSON[name]


def test_no_persona_tells_anything_of_somebody_else(memory: Memory) -> None:
    known = 0
    for one in memory.people():
        found = memory.persona(one.person.name)
        told = _words(_told(found))
        assert told <= _BY_PERSON[one.person.name], one.person.name
        known += len(told)
        speakers = {
            message.speaker
            for snapshot in (*found.topics, *found.aspects)
            for message in memory.store.messages(snapshot.message_ids)
        }
        assert speakers <= {one.person.name}
    assert known >= 50


def test_what_two_with_one_first_name_have_is_kept_apart(memory: Memory) -> None:
    voss, lindgren = memory.persona("Marta Voss"), memory.persona("Marta Lindgren")
    homes = {
        name: {v.value for one in found.attributes for v in one.versions if v.slot == "home"}
        for name, found in (("Voss", voss), ("Lindgren", lindgren))
    }
    assert homes == {"Voss": {"Qelmstadt"}, "Lindgren": {"Qarvik"}}
    assert "Qubbel" in _told(voss) and "Qubbel" not in _told(lindgren)
    assert "Qissel" in _told(lindgren) and "Qissel" not in _told(voss)


def test_every_snapshot_of_the_graph_rests_on_messages_of_its_person_alone(memory: Memory) -> None:
    for one in memory.people():
        memory.persona(one.person.name)
    names = {one.person.id: one.person.name for one in memory.people()}
    nodes = memory.store.persona_nodes()
    assert nodes
    for node in nodes:
        speakers = {message.speaker for message in memory.store.messages(node.message_ids)}
        assert speakers == {names[node.participant_id]}
