"""Fictional twins of FluxMem's three cases (its Figures 4 to 6), through a memory as it ships."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from localmem.memory import Memory
from localmem.ports import Embedder
from localmem.store import Store
from localmem.testing import FixedModels, HashEmbedder, build_memory
from localmem.types import (
    Answer,
    ConversationKind,
    Depth,
    ImportedConversation,
    ImportedMessage,
    Role,
)

_NOW = datetime(2025, 12, 1, 12, 0, tzinfo=UTC)
_DEPTHS = (Depth.INSTANT, Depth.DEEP)

_SESSIONS: dict[str, tuple[str, ...]] = {
    "2025-02-03": (
        "Alma: Hi Tilo! The harbour was frozen this morning.",
        "Tilo: Hi! Here it was grey as well. How is the choir?",
        "Alma: Good. These singers have been my friends for four years, since I moved from my "
        "home country.",
        "Tilo: That is a long time. Did you miss the food at first?",
        "Alma: Very much, and the language. They taught me to swear in it.",
        "Tilo: Ha, every good choir does that.",
    ),
    "2025-03-12": (
        "Tilo: I baked again. The crust came out like leather.",
        "Alma: Did you steam the oven?",
        "Tilo: No. The neighbour says a hot stone would do as well.",
        "Alma: Put a tin of water below it. That is how my aunt did it.",
        "Tilo: I will, next weekend. The new flour is from the mill at the river.",
    ),
    "2025-04-20": (
        "Alma: Look at this brooch, it has my grandmother's initials.",
        "Tilo: Beautiful! Where did she get it?",
        "Alma: It was made for her in Freedonia, my home country. She wore it at every feast.",
        "Tilo: Then you must wear it at the summer concert.",
        "Alma: I am afraid to lose it. The pin is loose.",
    ),
    "2025-05-17": (
        "Tilo: The week at the office was endless. Two people are ill.",
        "Alma: Poor you. I was out at the stables with the children of the choir on Saturday.",
        "Tilo: The ones behind the mill? I only know the bakery there.",
        "Alma: Yes. It smelled like back then: I used to go horseback riding with my dad.",
        "Tilo: My dad never left his desk. Did the children like it?",
        "Alma: They wanted to take a pony home. Then it rained and we ran for the bus.",
        "Tilo: Which reminds me, my roof leaks again. The roofer comes on Monday.",
        "Alma: Ask him for a price first! Ours charged twice what he had said.",
        "Tilo: I will. Are you painting at the moment?",
        "Alma: A little, with watercolours. The light on the harbour is lovely in May.",
        "Tilo: I started jogging, by the way. Five kilometres along the canal.",
        "Alma: Well done! I prefer swimming these days, the outdoor pool has opened.",
    ),
    "2025-06-09": (
        "Tilo: Do you still dream of an exhibition?",
        "Alma: Always. The book I read last year keeps reminding me that one may start late.",
        "Tilo: I should read more. I only read manuals.",
        "Alma: Manuals have their own poetry. Ask the printer at work.",
    ),
    "2025-07-21": (
        "Alma: We walked around the lake with the whole choir, what a day.",
        "Tilo: I was hiking too, up to the old quarry with my sister.",
        "Alma: Did you see the swallows?",
        "Tilo: Hundreds of them. My sister counted until she fell asleep on the grass.",
        "Alma: Next time I come along, and I bring the cake.",
    ),
    "2025-09-02": (
        "Tilo: My new colleague plays chess at lunch. I lose every game.",
        "Alma: Then play something that he does not know.",
        "Tilo: Marbles? I was good at marbles as a boy, with my cousin.",
        "Alma: Perfect. Bring them to the office.",
        "Tilo: The boss would love that.",
    ),
    "2025-10-11": (
        "Alma: The concert is planned for December. I sing a solo!",
        "Tilo: Congratulations! Which song?",
        "Alma: An old one about a ferryman. I practise in the stairwell.",
        "Tilo: Your neighbours are lucky people.",
    ),
}


def _conversation(day: str, lines: tuple[str, ...]) -> ImportedConversation:
    start = datetime.fromisoformat(day).replace(hour=18, tzinfo=UTC)
    said = [line.partition(": ") for line in lines]
    messages = tuple(
        ImportedMessage(str(n), Role.USER, who, text, start + timedelta(minutes=n))
        for n, (who, _, text) in enumerate(said)
    )
    return ImportedConversation("test", day, "chat", ConversationKind.PEOPLE, messages)


@pytest.fixture(scope="module", params=["words alone", "MiniLM"])
def memory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Memory]:
    embedder: Embedder = HashEmbedder()
    if request.param == "MiniLM":
        embedder = request.getfixturevalue("minilm")
    path: Path = tmp_path_factory.mktemp("cases") / "memory.duckdb"
    with Store(path) as store:
        number = store.begin_import("x", "test", _NOW)
        for day, lines in _SESSIONS.items():
            store.add_conversation(number, _conversation(day, lines))
    with build_memory(path, models=FixedModels(embedder)) as built:
        built.work()
        yield built


def asked(memory: Memory, question: str, depth: Depth) -> Answer:
    return memory.ask(question, depth=depth, asked_at=_NOW)


@pytest.mark.parametrize("depth", _DEPTHS)
def test_the_year_of_a_book_read_last_year_is_answered_though_nobody_named_its_title(
    memory: Memory, depth: Depth
) -> None:
    answer = asked(memory, 'When did Alma read the book "The Paper Ferry"?', depth)
    assert answer.found and "2024" in answer.text, answer
    assert {one.speaker for one in answer.citations} == {"Alma"}


def test_a_home_country_named_in_another_session_than_the_move_is_found_with_it(
    memory: Memory,
) -> None:
    answer = asked(memory, "Where did Alma move from four years ago?", Depth.DEEP)
    assert answer.found and answer.text == "Freedonia", answer
    told, named = answer.citations
    assert "four years" in told.quote and "Freedonia" in named.quote
    assert told.session_id != named.session_id


def test_where_the_name_was_not_found_the_description_stays_the_answer(memory: Memory) -> None:
    answer = asked(memory, "Where did Alma move from four years ago?", Depth.INSTANT)
    assert answer.found and "my home country" in answer.text
    assert len(answer.citations) == 1


@pytest.mark.parametrize("depth", _DEPTHS)
@pytest.mark.parametrize("name", ["Alma", "Tilo"])
def test_an_activity_is_found_among_drifting_topics_and_given_to_nobody_else(
    memory: Memory, depth: Depth, name: str
) -> None:
    whose = "her" if name == "Alma" else "his"
    answer = asked(memory, f"What activity did {name} use to do with {whose} dad?", depth)
    assert answer.found is (name == "Alma"), answer
    assert ("horseback riding" in answer.text) is (name == "Alma"), answer


@pytest.mark.parametrize("depth", _DEPTHS)
def test_what_was_done_with_another_is_not_found(memory: Memory, depth: Depth) -> None:
    answer = asked(memory, "What activity did Alma use to do with her uncle?", depth)
    assert not answer.found and not answer.citations, answer
