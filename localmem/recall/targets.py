"""Whom a question is about: one participant, several, or nobody in particular. By rule.

Only one certain target may limit a search; both and ambiguous search everybody's bundle and merge
(AdaMem, section B.1). Nothing is searched here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from localmem.types import ConversationKind, Participant, ParticipantId

_FIRST = frozenset({"i", "me", "my", "mine", "myself", "i'm", "i've", "i'd", "i'll"})
_SECOND = frozenset({"you", "your", "yours", "yourself", "you're", "you've"})
_BOTH = frozenset({"we", "us", "our", "ours", "ourselves", "we're", "we've"})
_ALL = frozenset({"everyone", "everybody", "anyone", "anybody", "who", "someone", "somebody"})
_THIRD = frozenset({"he", "she", "they", "him", "her", "his", "hers", "them", "their", "theirs"})
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


class TargetKind(StrEnum):
    """USER: the owner. PERSON: one other participant. BOTH: several. ALL: everybody."""

    USER = "user"
    ASSISTANT = "assistant"
    PERSON = "person"
    BOTH = "both"
    ALL = "all"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a question is about. `participants` are those meant, () where nobody can be told."""

    kind: TargetKind
    participants: tuple[ParticipantId, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether it is exactly one: only then owners are filtered."""
        return len(self.participants) == 1 and self.kind is not TargetKind.AMBIGUOUS


def resolve_target(
    question: str,
    participants: Sequence[Participant],
    *,
    kind: ConversationKind,
    last: Target | None = None,
) -> Target:
    """The target of a question about a memory of this kind of chats.

    Names and aliases first, whole words, a possessive ending removed; then pronouns by role. One
    name that two people have is ambiguous among the two. `last` is the target of the question
    before, for "he", "she" and "they".
    """
    named = _named(question, participants)
    if named is not None:
        return named
    said = {word.casefold().replace("’", "'") for word in _WORD.findall(question)}
    owner = tuple(p for p in participants if p.is_owner)
    if kind is ConversationKind.ASSISTANT:
        return _by_role(said, owner, tuple(p for p in participants if p.is_assistant))
    return _among_people(said, owner, participants, last)


def _named(question: str, participants: Sequence[Participant]) -> Target | None:
    bearers = _bearers(participants)
    any_case = question.islower()
    found: dict[ParticipantId, Participant] = {}
    shared: dict[ParticipantId, Participant] = {}
    for name in sorted(bearers, key=lambda name: (-len(name), name)):
        if not _is_said(name, question, any_case=any_case):
            continue
        whose = bearers[name]
        if any(person.id in found for person in whose):
            continue  # "Ana Ruiz" was said; the Ana in it is she
        (found if len(whose) == 1 else shared).update({person.id: person for person in whose})
    if shared:
        return Target(TargetKind.AMBIGUOUS, tuple(sorted({*found, *shared})))
    return _of_people(found.values()) if found else None


def _bearers(participants: Sequence[Participant]) -> dict[str, list[Participant]]:
    """Who bears each name: full names, aliases, first names."""
    bearers: dict[str, list[Participant]] = {}
    for person in participants:
        full = [name.strip() for name in (person.name, *person.aliases) if name.strip()]
        firsts = [] if person.is_assistant else [name.split()[0] for name in full]
        for name in dict.fromkeys(form.casefold() for form in (*full, *firsts)):
            bearers.setdefault(name, []).append(person)
    return bearers


def _is_said(folded: str, question: str, *, any_case: bool) -> bool:
    """Whether a name stands in the question as whole words: "will" is not Will, but "will roe"
    is Will Roe."""
    pattern = rf"(?<!\w){re.escape(folded)}(?:['’]s?)?(?!\w)"
    for match in re.finditer(pattern, question, re.IGNORECASE):
        if any_case or " " in folded or not match.group()[0].islower() or not folded[0].isalpha():
            return True
    return False


def _of_people(people: Iterable[Participant]) -> Target:
    meant = sorted(people, key=lambda person: person.id)
    numbers = tuple(person.id for person in meant)
    if len(meant) > 1:
        return Target(TargetKind.BOTH, numbers)
    if meant[0].is_owner:
        return Target(TargetKind.USER, numbers)
    kind = TargetKind.ASSISTANT if meant[0].is_assistant else TargetKind.PERSON
    return Target(kind, numbers)


def _by_role(
    said: set[str], owner: tuple[Participant, ...], assistants: tuple[Participant, ...]
) -> Target:
    """In a chat with an assistant: I is the owner, you the assistant, we are both."""
    means_owner, means_assistant = bool(said & _FIRST), bool(said & _SECOND)
    if said & _BOTH or (means_owner and means_assistant):
        return Target(TargetKind.BOTH, _ids((*owner, *assistants)))
    if means_owner and owner:
        return Target(TargetKind.USER, _ids(owner))
    if means_assistant and assistants:
        return Target(TargetKind.ASSISTANT, _ids(assistants))
    return Target(TargetKind.AMBIGUOUS)


def _among_people(
    said: set[str],
    owner: tuple[Participant, ...],
    participants: Sequence[Participant],
    last: Target | None,
) -> Target:
    """Among people: I is the owner who takes part; she is whom the question before was about."""
    if said & _FIRST and owner:
        return Target(TargetKind.USER, _ids(owner))
    if said & _THIRD and last is not None and last.participants:
        return last
    if said & _ALL:
        return Target(TargetKind.ALL, _ids(p for p in participants if not p.is_assistant))
    return Target(TargetKind.AMBIGUOUS)


def _ids(people: Iterable[Participant]) -> tuple[ParticipantId, ...]:
    return tuple(sorted(person.id for person in people))
