"""Whom a sentence is about that begins with a name: for corrections, which may be about anybody."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localmem.types import Participant


@dataclass(frozen=True, slots=True)
class Opening:
    """The name with which a sentence begins, and all who have it."""

    name: str
    people: tuple[Participant, ...]


def opening_name(sentence: str, people: Sequence[Participant]) -> Opening | None:
    """Whose name a sentence begins with: a whole name or alias, else a first name."""
    humans = [person for person in people if not person.is_assistant]
    whole = {name: person for person in humans for name in (person.name, *person.aliases)}
    for name in sorted(whole, key=len, reverse=True):
        if name and re.match(rf"{re.escape(name)}\b", sentence):
            sharing = [p for p in humans if name in (p.name, *p.aliases)]
            return Opening(name, tuple(sharing))
    first = re.match(r"[^\W\d_][\w-]*", sentence)
    if first is None or not first.group()[:1].isupper():
        return None
    sharing = [
        person
        for person in humans
        if any(name.split()[:1] == [first.group()] for name in (person.name, *person.aliases))
    ]
    return Opening(first.group(), tuple(sharing)) if sharing else None
