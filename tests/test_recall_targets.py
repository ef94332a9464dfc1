"""Whom a question is about: names, nicknames, "you" and "I" by role, who cannot be told."""

from __future__ import annotations

import pytest

from localmem.recall.targets import Target, TargetKind, resolve_target
from localmem.types import ConversationKind, Participant, ParticipantId

PEOPLE, ASSISTANT = ConversationKind.PEOPLE, ConversationKind.ASSISTANT


def _person(number: int, name: str, *aliases: str) -> Participant:
    return Participant(ParticipantId(number), name, aliases)


OWNER = Participant(ParticipantId(1), "Ada Lund", (), is_owner=True)
BOT = Participant(ParticipantId(2), "chatgpt", (), is_assistant=True)
GROUP = [OWNER, _person(3, "Ben Roe", "Benny"), _person(4, "Ana Ruiz"), _person(5, "Ana Wolf")]


@pytest.mark.parametrize(
    ("question", "kind", "numbers"),
    [
        ("What did Ben cook?", TargetKind.PERSON, (3,)),
        ("What did Benny cook?", TargetKind.PERSON, (3,)),
        ("What did ben roe's grandma cook?", TargetKind.PERSON, (3,)),
        ("What does Ada like?", TargetKind.USER, (1,)),
        ("What have Ada and Ben both seen?", TargetKind.BOTH, (1, 3)),
        ("What did Ana sell?", TargetKind.AMBIGUOUS, (4, 5)),
        ("What did Ana Wolf sell?", TargetKind.PERSON, (5,)),
        ("What did I cook?", TargetKind.USER, (1,)),
        ("Who cooked?", TargetKind.ALL, (1, 3, 4, 5)),
        ("What was cooked?", TargetKind.AMBIGUOUS, ()),
        ("When was the Benevolent Club founded?", TargetKind.AMBIGUOUS, ()),
    ],
)
def test_among_people_names_decide_first(
    question: str, kind: TargetKind, numbers: tuple[int, ...]
) -> None:
    target = resolve_target(question, GROUP, kind=PEOPLE)
    assert (target.kind, target.participants) == (kind, numbers)
    assert target.is_certain == (len(numbers) == 1)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What's my rent?", TargetKind.USER),
        ("What did you recommend?", TargetKind.ASSISTANT),
        ("What did you tell me?", TargetKind.BOTH),
        ("What did we decide?", TargetKind.BOTH),
        ("What is the rent?", TargetKind.AMBIGUOUS),
    ],
)
def test_with_an_assistant_pronouns_decide_by_role(question: str, kind: TargetKind) -> None:
    assert resolve_target(question, [OWNER, BOT], kind=ASSISTANT).kind is kind


def test_a_verb_is_not_a_name() -> None:
    will = [OWNER, _person(3, "Will")]
    assert resolve_target("What will it cost?", will, kind=PEOPLE).participants == ()
    assert resolve_target("What did Will cost?", will, kind=PEOPLE).participants == (3,)


def test_she_is_whom_the_question_before_was_about() -> None:
    before = Target(TargetKind.PERSON, (ParticipantId(4),))
    assert resolve_target("Where does she live?", GROUP, kind=PEOPLE, last=before) == before
    unknown = resolve_target("Where does she live?", GROUP, kind=PEOPLE)
    assert unknown == Target(TargetKind.AMBIGUOUS)


def test_in_a_memory_of_nobody_nothing_can_be_told() -> None:
    assert resolve_target("What did I say?", [], kind=PEOPLE) == Target(TargetKind.AMBIGUOUS)
