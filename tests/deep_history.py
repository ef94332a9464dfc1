"""A small history for tests of deep questions: sessions in memory, search by shared words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from localmem.dates import resolve
from localmem.recall.deep import Sources
from localmem.types import (
    ConversationKind,
    Evidence,
    FoundMessage,
    Hit,
    KeyFact,
    Message,
    MessageId,
    ParticipantId,
    Provenance,
    Role,
    Session,
    SessionFacts,
    SessionId,
    SessionNotes,
    TurnId,
    TurnNote,
    TurnSummary,
)
from localmem.words import Analyser

BY_MODEL = Provenance("some-model", "prompt", "source")
Said = tuple[str, str]
"""Speaker and text."""


@dataclass
class History:
    """Sessions by number, each on the first day of its month of 2025.

    `facts` and `notes` are what a model made of a session; without them a line is the message.
    `opened` records which layer of which session was asked for.
    """

    sessions: Mapping[int, Sequence[Said]]
    facts_of: Mapping[int, Sequence[str]] = field(default_factory=dict)
    notes_of: Mapping[int, Sequence[str]] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    opened: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._analyser = Analyser()
        self.messages = [
            self._message(number, place, speaker, text)
            for number, said in self.sessions.items()
            for place, (speaker, text) in enumerate(said)
        ]

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(sorted({message.speaker for message in self.messages}))

    def sources(self) -> Sources:
        """The doors to this history."""
        return Sources(
            search=self.search,
            layers=self,
            messages=self._session_evidence,
            summaries=self._summaries,
            sessions_total=len(self.sessions),
            history_characters=sum(len(message.text) for message in self.messages),
        )

    def search(self, query: str, most: int) -> list[FoundMessage]:
        """Messages that share words with the query, those with the most first."""
        self.queries.append(query)
        wanted = set(self._analyser.terms(query))
        scored = []
        for message in self.messages:
            held = set(self._analyser.terms(f"{message.speaker} {message.text}"))
            if wanted & held:
                scored.append((-len(wanted & held), message.id, message))
        scored.sort(key=lambda row: row[:2])
        return [self._found(message, -score) for score, _, message in scored[:most]]

    def facts(self, session_id: SessionId, *, seconds: float | None = None) -> SessionFacts:
        self.opened.append(("facts", session_id))
        texts = self.facts_of.get(session_id)
        messages = self._of(session_id)
        if texts is None:
            texts = [f"{message.speaker}: {message.text}" for message in messages]
        return SessionFacts(
            session_id,
            tuple(
                KeyFact(session_id, place, text, (self._source(messages, text),), (), BY_MODEL)
                for place, text in enumerate(texts)
            ),
        )

    def notes(
        self,
        session_id: SessionId,
        *,
        message_ids: Sequence[MessageId] | None = None,
        seconds: float | None = None,
    ) -> SessionNotes:
        self.opened.append(("notes", session_id))
        messages = self._of(session_id)
        texts = self.notes_of.get(session_id, [f"{m.speaker}: {m.text}" for m in messages])
        return SessionNotes(
            session_id,
            tuple(
                TurnNote(self._source(messages, text), place, text, (), BY_MODEL)
                for place, text in enumerate(texts)
            ),
        )

    def _source(self, messages: Sequence[Message], text: str) -> MessageId:
        """The message that shares most words with a text."""
        words = set(self._analyser.terms(text))
        return max(messages, key=lambda m: len(words & set(self._analyser.terms(m.text)))).id

    def _of(self, session_id: SessionId) -> list[Message]:
        return [message for message in self.messages if message.session_id == session_id]

    def _session_evidence(self, session_id: SessionId) -> list[Evidence]:
        return [Evidence(m, resolve(m.text, m.said_at), 0.0) for m in self._of(session_id)]

    def _summaries(self, turn_ids: Sequence[TurnId]) -> list[TurnSummary]:
        by_turn = {message.turn_id: message for message in self.messages}
        return [
            TurnSummary(turn, by_turn[turn].text[:60], (), (), BY_MODEL)
            for turn in turn_ids
            if turn in by_turn
        ]

    def _found(self, message: Message, score: float) -> FoundMessage:
        session = Session(
            id=message.session_id,
            conversation_id=message.session_id,  # type: ignore[arg-type]  # one each
            title=f"Chat {message.session_id}",
            source="test",
            kind=ConversationKind.PEOPLE,
            started_at=message.said_at,
            ended_at=message.said_at,
            turn_count=1,
            message_count=1,
        )
        dates = resolve(message.text, message.said_at)
        return FoundMessage(Hit(message.id, score, "test"), message, session, dates)

    @staticmethod
    def _message(session: int, place: int, speaker: str, text: str) -> Message:
        number = session * 100 + place
        return Message(
            id=MessageId(number),
            turn_id=TurnId(number),
            session_id=SessionId(session),
            participant_id=ParticipantId(1),
            speaker=speaker,
            role=Role.USER,
            ordinal=place,
            text=text,
            said_at=datetime(2025, session % 12 + 1, 1, 12, 0, tzinfo=UTC),
        )


def filler(first: int, count: int) -> dict[int, list[Said]]:
    """Sessions that have nothing to do with any question."""
    topics = ("weather", "parking", "soup", "bus", "printer", "window", "lamp", "carpet")
    return {
        first + n: [
            ("Ines", f"The {topics[n % len(topics)]} was a nuisance again."),
            ("Ruben", f"Tell me about it, that {topics[n % len(topics)]} never behaves."),
        ]
        for n in range(count)
    }


# --- The paper's two cases, as fictional twins ----------------------------------------------

TWO_HOPS = History(
    {
        1: [("Ines", "My kayak partner Teodor and I won the lake race!"), ("Ruben", "Bravo!")],
        2: [("Ruben", "Lunch was with Teodor and Lena, his elder sibling, at hers in Aveiro.")],
        **filler(3, 8),
    }
)
"""Session 2 holds the answer and shares no word with the question but what session 1 names."""

WHERE_SHE_LIVES = "In which town does the sister of Ines's kayak partner live?"

VERBATIM = History(
    {
        1: [
            ("Ines", "That dessert shop in Faro with the giant milkshakes, what was it?"),
            ("Ruben", "It was the Copper Ladle, next to the old tram depot."),
        ],
        **filler(2, 8),
    },
    facts_of={1: ["Ines and Ruben talked about a dessert shop in Faro with giant milkshakes."]},
    notes_of={
        1: [
            "Ines asked for a dessert shop in Faro with giant milkshakes.",
            "Ruben told which dessert shop it was.",
        ]
    },
)

WHAT_IT_IS_CALLED = "What is the dessert shop in Faro with the giant milkshakes called?"
