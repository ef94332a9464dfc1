"""Whether a model's line is about the people that its statement is about. By rule, pure.

The most harmful mistake of a small model is to give one person's deed to the other. The rules'
statements have the right people in them, so a line is measured by them.
"""

from __future__ import annotations

from collections.abc import Sequence

from localmem.layers.rules import Statement
from localmem.layers.support import stems_of


def nearest(line: str, statements: Sequence[Statement]) -> Statement | None:
    """The statement that shares most words with a line; None where none shares any."""
    words = stems_of(line)
    best = max(statements, key=lambda told: len(words & stems_of(told.text)), default=None)
    return best if best is not None and words & stems_of(best.text) else None


def about_the_same(statement: Statement, line: str, people: Sequence[str], writer: str) -> bool:
    """Whether a line keeps the people of its statement: the same first one, and no other.

    A statement that names nobody may be given its writer. One that begins with "it" or "they" is
    about neither of the participants themselves, so that a line of it may begin with one only as
    the statement goes on: "Ana adopted" of "She is grey, Ana adopted her".
    """
    before, after = people_in(statement.text, people), people_in(line, people)
    begun = _begins_with_one(line, people)
    if statement.is_open and begun and begun not in statement.text.casefold():
        return False
    if not before:
        return set(after) <= {writer}
    if statement.is_open:
        return set(after) <= {*before, writer}
    return bool(after) and after[0] == before[0] and set(after) <= set(before)


def people_in(text: str, people: Sequence[str]) -> list[str]:
    """The participants that a text names, in the order in which it does."""
    folded = text.casefold()
    found = [(folded.find(name.casefold()), name) for name in people]
    return [name for at, name in sorted(found) if at >= 0]


def _begins_with_one(line: str, people: Sequence[str]) -> str:
    """A participant who is a line's subject, with the word after, folded: "ana taught"; else ""."""
    folded = line.casefold()
    for name in people:
        rest = folded.removeprefix(name.casefold())
        if rest != folded and not rest.startswith(("'s ", "’s ")):
            return f"{name.casefold()} {rest.split(maxsplit=1)[0] if rest.strip() else ''}"
    return ""
