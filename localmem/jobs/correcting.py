"""The owner's hand on what is known: correct, retire, pin, and why and since when it is known.

A correction is a message of the owner like any other, in a conversation of its own: it is found by
search, cited, exported and forgotten, and taking back its import takes it back. What it outranks is
decided where items are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from localmem.errors import RecordNotFoundError, UsageError
from localmem.jobs.deriving import derive_layer0
from localmem.jobs.remembering import derive_items, renew_items
from localmem.participants import versions
from localmem.participants.known import subject_words
from localmem.participants.naming import opening_name
from localmem.participants.routers import MOST_NEIGHBOURS, Neighbour, neighbour
from localmem.participants.slots import table
from localmem.participants.terms import key_of, stems_of
from localmem.store import Store
from localmem.store.items import CORRECTIONS
from localmem.types import (
    ConversationKind,
    Correction,
    FoundMessage,
    Hit,
    ImportedConversation,
    ImportedMessage,
    ImportReport,
    Item,
    ItemHistory,
    ItemId,
    ItemKind,
    ItemSources,
    ItemState,
    MessageId,
    Participant,
    Role,
    Ruling,
    RulingKind,
)

_ABOUT = 0.5
"""Cosine from which a correction that names no slot is about an event or fact."""
_MOST_HISTORIES = 10


def correct(
    store: Store, text: str, *, made_at: datetime, instead_of: ItemId | None = None
) -> Correction:
    """Store what the owner says is so, and what follows from it for what is known.

    `instead_of` is the item that it replaces; else it is found by its slot, or its words.

    Raises:
        UsageError: there is nothing said, or a name in it is that of several people.
        RecordNotFoundError: there is no such item.
    """
    said = " ".join(text.split())
    if not any(character.isalnum() for character in said):
        raise UsageError("the correction is empty", hint='localmem correct "I live in Bergen"')
    person = _whom(said, store.participants())
    target = store.item(instead_of) if instead_of is not None else None
    message_id, report = _stored(store, said, made_at)
    derive_layer0(store)
    derive_items(store)
    claims = store.records_of([message_id])[message_id].claims
    if target is None and not any(claim.kind is ItemKind.ATTRIBUTE for claim in claims):
        target = _nearest(store, message_id, person or store.owner())
    if target is not None:
        order = Ruling(RulingKind.REPLACE, key_of(target), made_at, message_id)
        store.put_ruling(target.participant_id, order)
        renew_items(store)
    changed = {item.id for item in store.items_of_messages([message_id])}
    if target is not None:
        changed.add(target.id)
    about = person or store.owner()
    if about is None or report.import_id is None:
        raise RecordNotFoundError("the owner of this memory is not known")
    return Correction(
        message_id=message_id,
        import_id=report.import_id,
        participant=about,
        histories=_histories_of(store, changed),
    )


def order(store: Store, number: ItemId, kind: RulingKind, *, made_at: datetime) -> ItemHistory:
    """Retire or pin an item; its history afterwards.

    Raises:
        RecordNotFoundError: there is no such item.
        UsageError: it does not hold any more.
    """
    item = store.item(number)
    if not item.holds:
        raise UsageError(
            f"item {number} does not hold any more: it is {item.state}",
            hint=f"localmem why {number}",
        )
    store.put_ruling(item.participant_id, Ruling(kind, key_of(item), made_at))
    renew_items(store)
    (history,) = _histories_of(store, {number})
    return history


def why(store: Store, number: ItemId) -> ItemSources:
    """Why an item is known: its versions, and the messages that it rests on or that ended it.

    Raises:
        RecordNotFoundError: there is no such item.
    """
    item = store.item(number)
    (history,) = _histories_of(store, {number})
    ended = (item.ended_by,) if item.ended_by is not None else ()
    ids = list(dict.fromkeys((*item.message_ids, *ended)))
    with store.reading():
        messages = store.messages(ids)
        sessions = store.sessions_of([message.session_id for message in messages])
        dates = store.dates_of(ids)
    found = tuple(
        FoundMessage(Hit(one.id, 1.0, "source"), one, session, dates.get(one.id, ()))
        for one, session in zip(messages, sessions, strict=True)
    )
    return ItemSources(item, history, found)


def history(store: Store, topic: str, *, most: int = _MOST_HISTORIES) -> tuple[ItemHistory, ...]:
    """The histories that a topic names, the closest first: by person, slot, entity and value.

    Raises:
        UsageError: the topic is empty.
    """
    if not topic.strip():
        raise UsageError("there is no topic", hint="localmem history rent")
    with store.reading():
        people = store.participants()
        items = store.items()
    chains = versions.chains(items)
    ranked = sorted(
        ((_closeness(topic, chain, people), chain) for chain in chains),
        key=lambda pair: (-pair[0], not pair[1][-1].holds, pair[1][0].id),
    )
    return tuple(_history(chain, people) for close, chain in ranked[:most] if close > 0.0)


# --- Correcting -----------------------------------------------------------------------------


def _whom(said: str, people: Sequence[Participant]) -> Participant | None:
    """Who is named at the beginning; None for nobody, which means the owner."""
    opening = opening_name(said, people)
    if opening is None:
        return None
    if len(opening.people) > 1:
        names = ", ".join(person.name for person in opening.people)
        raise UsageError(f"{opening.name} may be any of: {names}", hint="begin with the whole name")
    return opening.people[0]


def _stored(store: Store, said: str, made_at: datetime) -> tuple[MessageId, ImportReport]:
    """The correction as a message of the owner, in a conversation of its own."""
    number = store.begin_import("localmem correct", CORRECTIONS, made_at)
    told = ImportedMessage(str(number), Role.USER, "", said, made_at)
    conversation = ImportedConversation(
        CORRECTIONS, str(number), "Correction", ConversationKind.ASSISTANT, (told,)
    )
    delta = store.add_conversation(number, conversation)
    report = ImportReport(
        import_id=number,
        path="localmem correct",
        source=CORRECTIONS,
        conversations_seen=1,
        conversations_added=1,
        messages_added=1,
        turns_added=1,
        started_at=made_at,
    )
    store.finish_import(report)
    return delta.message_ids[0], report


def _nearest(store: Store, message_id: MessageId, person: Participant | None) -> Item | None:
    """The event or fact that holds and that a correction is most likely about."""
    if person is None:
        return None
    claims = store.records_of([message_id])[message_id].claims
    items = store.items(participants=[person.id], kinds=[ItemKind.EVENT, ItemKind.FACT])
    near: list[Neighbour] = [
        neighbour(claim, item)
        for claim in claims
        for item in items
        if item.holds and message_id not in item.message_ids
    ]
    near.sort(key=lambda one: (-one.cosine, -one.item.id))
    best = [one for one in near[:MOST_NEIGHBOURS] if one.cosine >= _ABOUT]
    return best[0].item if best else None


# --- Histories ------------------------------------------------------------------------------


def _histories_of(store: Store, ids: Iterable[ItemId]) -> tuple[ItemHistory, ...]:
    """The histories of some items, each once, by their first version."""
    wanted = set(ids)
    with store.reading():
        people = store.participants()
        chosen = [store.item(number) for number in sorted(wanted)]
        around = store.items(
            participants={item.participant_id for item in chosen},
            slots={item.slot for item in chosen},
            kinds={item.kind for item in chosen},
        )
    chains = [c for c in versions.chains(around) if wanted & {item.id for item in c}]
    return tuple(_history(chain, people) for chain in chains)


def _history(chain: Sequence[Item], people: Sequence[Participant]) -> ItemHistory:
    (person,) = (p for p in people if p.id == chain[0].participant_id)
    return ItemHistory(person, subject_words(chain[0]), tuple(chain))


def _closeness(topic: str, chain: Sequence[Item], people: Sequence[Participant]) -> float:
    """How well a topic names a chain; 0 where it names somebody or something else."""
    named = [p for p in people if any(_is_in(n, topic) for n in (p.name, *p.aliases))]
    first = chain[0]
    if named and first.participant_id not in {p.id for p in named}:
        return 0.0
    if all(item.state is ItemState.RETIRED for item in chain) and not named:
        return 0.0
    wanted = stems_of(topic) - stems_of(" ".join(n for p in named for n in (p.name, *p.aliases)))
    if not wanted:
        return 1.0 + (first.kind is ItemKind.ATTRIBUTE) if named else 0.0
    slot = table().slot(first.slot)
    about = stems_of(f"{subject_words(first)} {first.slot}")
    told = stems_of(" ".join(f"{item.value} {item.quote}" for item in chain))
    score = 2.0 * len(wanted & about) + len(wanted & told)
    if slot is not None and not slot.general and slot.asked.search(topic):
        score += 1.0
    return score / len(wanted) + 0.1 * (first.kind is ItemKind.ATTRIBUTE) if score else 0.0


def _is_in(name: str, topic: str) -> bool:
    return bool(name) and f" {name.casefold()} " in f" {_plain(topic)} "


def _plain(topic: str) -> str:
    return topic.casefold().replace("'s", "").replace("’s", "").replace("?", "")
