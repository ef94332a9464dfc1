"""Whatever is done in whatever order: nothing belongs to nothing, and nothing forgotten is left."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from localmem.errors import RecordNotFoundError, UsageError
from localmem.jobs.personas import renew_personas
from localmem.memory import Memory
from localmem.participants.personas import persona_of
from localmem.testing import HashEmbedder, build_memory
from localmem.types import (
    ConversationKind,
    ForgetTarget,
    ImportedConversation,
    ImportedMessage,
    KeyFact,
    MadeFacts,
    MadeNotes,
    ParticipantId,
    Provenance,
    Role,
    SplitChoice,
    TurnNote,
)

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_SPEAKERS = ("Anna", "Ben", "Cleo", "Anna K.")
_PROVENANCE = Provenance("m", "p", "s")
_TELLS = (
    "I live in Graz now, the word is {word}.",
    "My job is baker {word}.",
    "I no longer like {word} since yesterday.",
    "I like {word}, and so does Ben.",
)

Step = tuple[str, int, int]

_STEPS = (
    "import",
    "import",
    "merge",
    "split",
    "take back",
    "owner",
    "alias",
    "correct",
    "retire",
    "pin",
    "message",
    "session",
    "person",
    "forget import",
    "undo",
)

steps = st.lists(
    st.tuples(
        st.sampled_from(_STEPS),
        st.integers(0, 7),
        st.integers(0, 7),
    ),
    min_size=2,
    max_size=9,
)


def conversation(number: int, version: int) -> ImportedConversation:
    """A chat that grows from version to version; each message holds a word of its own."""
    messages = tuple(
        ImportedMessage(
            source_id=f"{number}-{n}",
            role=Role.USER if number % 2 or n % 2 == 0 else Role.ASSISTANT,
            speaker=_SPEAKERS[(number + n) % len(_SPEAKERS)],
            text=_TELLS[(number + n) % len(_TELLS)].format(word=_word(number, n)),
            said_at=_START + timedelta(days=number, hours=5 * n),
        )
        for n in range(2 + version)
    )
    kind = ConversationKind.PEOPLE if number % 2 else ConversationKind.ASSISTANT
    title = f"about {_word(number, 0)}"
    return ImportedConversation("chat", f"c{number}", title, kind, messages)


def _word(number: int, n: int) -> str:
    return f"zq{number}x{n}qz"


class World:
    """A memory, with what was forgotten in it so far."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.forgotten: set[str] = set()

    def do(self, step: Step) -> None:
        """One step; one that makes no sense at this point is refused and changes nothing."""
        name, first, second = step
        try:
            getattr(self, f"_{name.replace(' ', '_')}")(first, second)
        except (RecordNotFoundError, UsageError):
            return

    def check(self) -> None:
        store = self.memory.store
        assert store.orphans() == {}
        shown = store.shown_messages()
        content = self.memory.path.read_bytes()
        for text in self.forgotten:
            word = text[text.index("zq") : text.index("qz") + 2]
            assert word.encode() not in content
            assert all(f.message.text != text for f in self.memory.search(word).found)
        for message in shown[:2]:
            found = self.memory.search(message.text, mode="bm25").found
            assert message.id in {f.message.id for f in found}
        self._check_personas()

    def _check_personas(self) -> None:
        """Snapshots rest on what is there and is their own, before and after they are made anew."""
        store = self.memory.store
        with store.reading():
            speakers = {m.id: m.participant_id for m in store.shown_messages()}
            nodes, owners = store.persona_nodes(), self._owners()
        for node in nodes:
            assert {speakers[n] for n in node.message_ids} <= {node.participant_id, *owners}
        if renew_personas(store, HashEmbedder()):
            assert store.orphans() == {}
        for person in store.participants()[:1]:
            told = persona_of(store, person.id)
            assert {n for s in (*told.topics, *told.aspects) for n in s.message_ids} <= set(
                speakers
            )

    def _owners(self) -> set[ParticipantId]:
        """Whose corrections may stand in what is known of others."""
        owner = self.memory.store.owner()
        return set() if owner is None else {owner.id}

    def _import(self, first: int, second: int) -> None:
        number = self.memory.store.begin_import("x", "chat", _START)
        chats = [conversation(first % 4, second % 4), conversation((first + 1) % 4, second % 3)]
        self.memory.store.add_conversations(number, chats)
        self.memory.work()
        self._derive()

    def _derive(self) -> None:
        """Facts and notes as a model would make them, with the words of the messages."""
        store = self.memory.store
        for session in store.sessions():
            messages = store.session_messages(session.id)
            ids = tuple(m.id for m in messages)
            text = " ".join(m.text for m in messages)
            fact = KeyFact(session.id, 0, text, ids, (), _PROVENANCE)
            store.put_facts(MadeFacts(session.id, (fact,), _PROVENANCE))
            notes = [
                MadeNotes(i, (TurnNote(i, 0, text, (), _PROVENANCE),), _PROVENANCE) for i in ids
            ]
            store.put_notes(session.id, notes)

    def _names(self) -> list[str]:
        return sorted(str(one.person.id) for one in self.memory.people())

    def _merge(self, first: int, second: int) -> None:
        names = self._names()
        if names:
            self.memory.merge_people(names[first % len(names)], names[second % len(names)])

    def _split(self, first: int, second: int) -> None:
        names, sessions = self._names(), self.memory.sessions()
        if names and sessions:
            choice = SplitChoice(sessions=(sessions[second % len(sessions)].id,))
            self.memory.split_person(names[first % len(names)], choice, f"New {second}")

    def _take_back(self, first: int, second: int) -> None:
        merged = [one for one in self.memory.people() if one.absorbed]
        if merged:
            one = merged[first % len(merged)]
            name = one.absorbed[second % len(one.absorbed)]
            self.memory.split_person(str(one.person.id), SplitChoice(), name)

    def _owner(self, first: int, second: int) -> None:
        self.memory.store.set_owner(_SPEAKERS[first % len(_SPEAKERS)])

    def _alias(self, first: int, second: int) -> None:
        names = self._names()
        if names:
            self.memory.add_alias(names[first % len(names)], f"Nick {second % 3}")

    def _correct(self, first: int, second: int) -> None:
        people = [one.person.name for one in self.memory.people()]
        if people:
            name = people[first % len(people)]
            self.memory.correct(f"{name} lives in {('Linz', 'Wels', 'Steyr')[second % 3]}.")

    def _retire(self, first: int, second: int) -> None:
        items = self.memory.store.items()
        if items:
            self.memory.retire(items[(8 * first + second) % len(items)].id)

    def _pin(self, first: int, second: int) -> None:
        items = self.memory.store.items()
        if items:
            self.memory.pin(items[(8 * first + second) % len(items)].id)

    def _message(self, first: int, second: int) -> None:
        shown = self.memory.store.shown_messages()
        if shown:
            self._forget(ForgetTarget(messages=(shown[(8 * first + second) % len(shown)].id,)))

    def _session(self, first: int, second: int) -> None:
        sessions = self.memory.sessions()
        if sessions:
            self._forget(ForgetTarget(sessions=(sessions[first % len(sessions)].id,)))

    def _person(self, first: int, second: int) -> None:
        names = self._names()
        if names:
            self._forget(ForgetTarget(person=names[first % len(names)]))

    def _forget_import(self, first: int, second: int) -> None:
        imports = self.memory.imports()
        if imports:
            self._forget(ForgetTarget(import_id=imports[first % len(imports)].import_id))

    def _undo(self, first: int, second: int) -> None:
        imports = self.memory.imports()
        if imports and (number := imports[first % len(imports)].import_id) is not None:
            self.memory.undo_import(number)

    def _forget(self, target: ForgetTarget) -> None:
        before = {m.id: m.text for m in self.memory.store.shown_messages()}
        plan = self.memory.plan_forget(target)
        receipt = self.memory.forget(target, confirm=plan.confirm)
        assert receipt.messages == plan.receipt.messages
        after = {m.id for m in self.memory.store.shown_messages()}
        gone = {text for number, text in before.items() if number not in after}
        assert len(gone) == receipt.messages
        self.forgotten |= {text for text in gone if "zq" in text}  # a correction may be said again


@contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        memory = build_memory(Path(folder) / "memory.duckdb")
        with memory, memory.store.writing():
            yield World(memory)


@given(steps)
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),  # shrinking takes long, and the sequences are short as they are
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_after_any_steps_there_are_no_orphans_and_nothing_forgotten(sequence: list[Step]) -> None:
    with world() as here:
        here.do(("import", 0, 2))
        for step in sequence:
            here.do(step)
            here.check()
