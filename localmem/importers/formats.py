"""What a format is, and what every format shares: isolation of bad conversations, ids, counts.

A format turns one document into conversations and problems. It knows no paths and no archives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from localmem.importers.documents import Break, Document, Item, Shape
from localmem.importers.records import (
    MalformedError,
    conversation_id,
    dicts_of,
    first_name,
    mark_of,
    with_unique_ids,
)
from localmem.types import (
    ConversationKind,
    ImportedConversation,
    ImportedMessage,
    ImportProblem,
)

Imported = ImportedConversation | ImportProblem
_TITLE_SHOWN = 60
_WRAPPED = 5


@dataclass(slots=True)
class Reading:
    """One pass over an export: what the caller asked for, and what the pass has learned."""

    tz: tzinfo
    question_id: str | None = None
    notices: list[str] = field(default_factory=list)
    empty: int = 0
    _seen: dict[str, list[bytes]] = field(default_factory=dict)

    def conversation(
        self,
        source: str,
        source_id: str,
        title: str,
        messages: Sequence[ImportedMessage],
        *,
        kind: ConversationKind = ConversationKind.ASSISTANT,
        session_starts: frozenset[str] = frozenset(),
        id_is_global: bool = True,
    ) -> list[ImportedConversation]:
        """The conversation with all ids made, or nothing (counted) where it has no messages.

        `id_is_global` False: other files may use the same id for another conversation.
        """
        if not messages:
            self.empty += 1
            return []
        named = with_unique_ids(messages)
        found_id = source_id
        if not source_id or not id_is_global:
            made = self._content_id("" if source_id else title, named)
            found_id = f"{source_id}/{made}" if source_id else made
        return [
            ImportedConversation(
                source, found_id, title, kind, named, session_starts=session_starts
            )
        ]

    def _content_id(self, title: str, messages: Sequence[ImportedMessage]) -> str:
        """An id from the content; conversations that begin alike and then part get a number.

        Two versions of one conversation, where one goes on from the other, share their id.
        """
        base = conversation_id(title, messages)
        marks = b"".join(mark_of(message.source_id) for message in messages)
        known = self._seen.setdefault(base, [])
        for number, other in enumerate(known):
            if marks.startswith(other) or other.startswith(marks):
                known[number] = max(marks, other, key=len)
                break
        else:
            number = len(known)
            known.append(marks)
        return base if number == 0 else f"{base}~{number + 1}"


@dataclass(frozen=True, slots=True)
class Format:
    """One export format: how to know it from a sample value, and how to read a document of it.

    `kind` is PEOPLE where conversations may be among people, so that `me` names one of them.
    An object that has one of `wrappers` stands for the list in that field.
    """

    name: str
    title: str
    shapes: frozenset[Shape]
    fits: Callable[[dict[str, Any]], bool]
    read: Callable[[Document, Reading], Iterator[Imported]]
    kind: ConversationKind = ConversationKind.ASSISTANT
    wrappers: tuple[str, ...] = ()

    def recognises(self, sample: dict[str, Any]) -> bool:
        """Whether the sample, or something in a list that it wraps, is in this format."""
        inside = [one for key in self.wrappers for one in dicts_of(sample.get(key))[:_WRAPPED]]
        return self.fits(sample) or any(self.fits(one) for one in inside)


WRAPPERS = ("conversations", "chats", "data")
"""Fields in which programs that rewrite exports put the list of conversations."""
JSON_SHAPES = frozenset({Shape.ARRAY, Shape.OBJECT, Shape.LINES})

Convert = Callable[[dict[str, Any], Reading], Iterable[ImportedConversation]]


def read_each(
    document: Document, reading: Reading, convert: Convert, *, wrappers: Sequence[str] = ()
) -> Iterator[Imported]:
    """Converts every value of a document; a bad one becomes a problem and the others go on.

    An object with one of the `wrappers` stands for the list in that field.
    """
    number = 0
    for item in document.items():
        if isinstance(item, Break):
            yield problem(document, item)
            continue
        for record in unwrapped(item.value, wrappers):
            number += 1
            yield from convert_one(
                document, reading, convert, Item(_place(document, item, number, record), record)
            )


def convert_one(
    document: Document, reading: Reading, convert: Convert, item: Item
) -> Iterator[Imported]:
    """The conversations in one value, or the problem with it."""
    if not isinstance(item.value, dict):
        reason = "is not an object"
        yield ImportProblem(document.part.shown, item.place, reason)
        return
    try:
        conversations = list(convert(item.value, reading))
    except MalformedError as error:
        yield ImportProblem(document.part.shown, item.place, str(error))
    except RecursionError:
        yield ImportProblem(document.part.shown, item.place, "is nested too deeply")
    else:
        yield from conversations


def unwrapped(value: object, wrappers: Sequence[str]) -> list[Any]:
    """The list inside a wrapping object, or the value itself as the only member."""
    if isinstance(value, dict):
        for key in wrappers:
            if isinstance(value.get(key), list):
                return list(value[key])
    return [value]


def problem(document: Document, broken: Break) -> ImportProblem:
    return ImportProblem(document.part.shown, broken.place, broken.reason)


def _place(document: Document, item: Item, number: int, record: object) -> str:
    """Where a conversation stands: its line in a file of lines, else its number; and its title."""
    where = item.place if document.shape is Shape.LINES else f"conversation {number}"
    title = first_name(record, "title", "name") if isinstance(record, dict) else ""
    shown = title if len(title) <= _TITLE_SHOWN else title[: _TITLE_SHOWN - 1] + "…"
    return f"{where} '{shown}'" if shown else where
