"""Messages into pages, and what of a page's words decides about its place. Pure, by rule.

A page is one exchange (FluxMem, section 3.1): a user message with the replies to it; in a chat
among people, what one says and the first answer of another.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from localmem import words
from localmem.entities import entities
from localmem.ports import FloatMatrix
from localmem.types import ConversationKind, Message, MessageId, PageTraits, Role

MOST_MESSAGES = 8
"""A page ends here, however long one side goes on."""
_MOST_ENTITIES = 24
_READ_CHARACTERS = 4_000
"""How much of a message is looked at for names and phrases; a pasted file adds nothing."""
_RELATION = re.compile(
    r"\b(?:"
    r"than|same as|versus|vs"
    r"|because|due to|so that|depends? on"
    r"|(?:my|his|her|our|their) (?:mother|mom|mum|father|dad|sister|brother|wife|husband|partner|"
    r"son|daughter|kids?|children|cousin|aunt|uncle|grandma|grandpa|grandmother|grandfather|"
    r"girlfriend|boyfriend|fianc[eé]e?|friend|boss|manager|colleague|neighbou?r|roommate|teacher)"
    r"|friends? of|works? (?:for|with)|worked (?:for|with)|married to"
    r"|between|together with|instead of"
    r")\b",
    re.IGNORECASE,
)
_WEIGHING = re.compile(
    r"\b(?:if|what if|should i|either|options?|which one|whether|otherwise)\b", re.IGNORECASE
)


def split_pages(messages: Iterable[Message], kind: ConversationKind) -> list[tuple[Message, ...]]:
    """The pages of one session, whose messages come in the order in which they were said."""
    pages: list[list[Message]] = []
    for message in messages:
        if pages and _joins(pages[-1], message, kind):
            pages[-1].append(message)
        else:
            pages.append([message])
    return [tuple(page) for page in pages]


def _joins(page: Sequence[Message], message: Message, kind: ConversationKind) -> bool:
    if len(page) >= MOST_MESSAGES:
        return False
    if kind is ConversationKind.ASSISTANT:
        return message.role is not Role.USER
    return not any(m.participant_id != page[0].participant_id for m in page)


def traits_of(page: Sequence[Message], speakers: Collection[str] = ()) -> PageTraits:
    """What of a page's words decides about its place.

    `speakers` are names of who takes part in the conversation, beside those of the page itself:
    they are in every page and tell none apart.
    """
    first, last = page[0].text, page[-1].text
    heard = [message.whole_text[:_READ_CHARACTERS] for message in page]
    names = {part for m in page for part in _name_parts(m.speaker)}
    names |= {part for speaker in speakers for part in _name_parts(speaker)}
    found = dict.fromkeys(name.casefold() for text in heard for name in entities(text))
    return PageTraits(
        words=sum(len(message.whole_text.split()) for message in page),
        entities=tuple(name for name in found if name not in names)[:_MOST_ENTITIES],
        relations=sum(len(_RELATION.findall(text)) for text in heard),
        asks="?" in first,
        answer_asks=len(page) > 1 and last.rstrip(" \n\"')*").endswith("?"),
        weighs=_WEIGHING.search(first[:_READ_CHARACTERS]) is not None,
    )


def page_vector(pieces: FloatMatrix) -> FloatMatrix:
    """The unit mean, float32 (1, dim), of a page's message vectors, float32 (n, dim)."""
    mean = pieces.mean(axis=0, keepdims=True)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)


def message_rows(
    owners: NDArray[np.int64], pieces: FloatMatrix
) -> dict[MessageId, NDArray[np.float32]]:
    """The unit mean, float32 (dim,), of each message's pieces, float32 (n, dim); `owners` (n,)."""
    order = np.argsort(owners, kind="stable")
    names, starts = np.unique(owners[order], return_index=True)
    parts = np.split(pieces[order], starts[1:]) if len(names) else []
    return {
        MessageId(int(name)): page_vector(part)[0] for name, part in zip(names, parts, strict=True)
    }


def page_text(page: Sequence[Message]) -> str:
    """The words by which a page is found."""
    return "\n".join(message.whole_text for message in page)


def keys_of(text: str) -> frozenset[str]:
    """The distinct words of a text, case-folded, for overlap."""
    return frozenset(words.words(text))


def _name_parts(speaker: str) -> set[str]:
    folded = speaker.casefold()
    return {folded, *folded.split()}
