"""Persona snapshots: what is known of a participant, regrouped, in lines that name their evidence.

`regroup` decides what belongs together, `persona_of` tells it. Both are by rule; they search
nothing and write nothing. What is said in a line stands in the items it names, word for word.
(AdaMem, sections 3.1, B.2 and B.7; supplement, 2.2 and 2.4.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np

from localmem.dates import describe_day
from localmem.errors import RecordNotFoundError
from localmem.participants import versions
from localmem.participants.known import describe_item, period_words, subject_words
from localmem.participants.terms import stems_of
from localmem.participants.topics import (
    Link,
    attribute_key,
    groups,
    keep_ids,
    link,
    topic_keys,
    word_rows,
)
from localmem.participants.working import queue_of
from localmem.ports import FloatMatrix
from localmem.store import Store
from localmem.store.personas import PersonaGroup, PersonaKeys, by_kind
from localmem.types import (
    Attitude,
    Item,
    ItemHistory,
    ItemId,
    ItemKind,
    MessageId,
    Modality,
    Participant,
    ParticipantId,
    Persona,
    PersonaId,
    PersonaKind,
    PersonaLine,
    PersonaSnapshot,
    WorkingState,
)
from localmem.wording import counted

MOST_SUMMARISED = 30
"""Of a larger group the most central ones are told."""

_LONGEST_LINE = 200
_LEAST_ATTITUDES = 3
_TELLING = ("likes", "prefers", "favourite", "habit", "diet", "allergy")
"""Slots whose values say something of preferences."""
_CLAIMED = f"{Modality.CLAIMED.value}:"


class KeyEmbedder(Protocol):
    """What of an embedder regrouping needs."""

    @property
    def model_id(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed_passages(self, texts: Sequence[str], /) -> FloatMatrix:
        """float32 (len(texts), dimension), unit rows."""
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """What a persona is made of: a participant's items, and what was grouped before.

    `keys` are there only where the groups are out of date: to make them anew.
    """

    person: Participant
    items: tuple[Item, ...]
    names: tuple[str, ...]
    groups: tuple[PersonaGroup, ...]
    keys: tuple[PersonaKeys, ...]
    is_fresh: bool


@dataclass(frozen=True, slots=True)
class Regrouped:
    """Snapshots as they are to be stored; `left_alone` keys have no vector and stay alone."""

    groups: tuple[PersonaGroup, ...]
    keys: tuple[PersonaKeys, ...]
    left_alone: int = 0


def persona_of(
    store: Store, participant_id: ParticipantId, *, embedder: KeyEmbedder | None = None
) -> Persona:
    """The persona of a participant as of now, whatever is stored of it; writes nothing.

    Safe inside `store.reading()`. Where items have changed since it was stored, it is grouped
    anew in memory; `embedder` is used for keys that have no vector yet, which otherwise stay alone.

    Raises:
        RecordNotFoundError: there is no such participant.
    """
    with store.reading():
        known = load_known(store, participant_id)
        attitudes = store.attitudes_of(participant_id)
        working = working_state(store, participant_id)
    now = Regrouped(known.groups, known.keys) if known.is_fresh else regroup(known, embedder)
    topics = counted(now.left_alone, "topic is", "topics are")
    alone = f"{topics} not grouped yet: localmem work"
    return Persona(
        participant=known.person,
        topics=_snapshots(known, now.groups, PersonaKind.TOPIC, attitudes),
        aspects=_snapshots(known, now.groups, PersonaKind.ASPECT, attitudes),
        attributes=_histories(known),
        working=working,
        notices=(alone,) if now.left_alone else (),
    )


def working_state(store: Store, participant_id: ParticipantId) -> WorkingState:
    """How many of a participant's messages are in working memory, and what became of the others."""
    with store.reading():
        recent, segments = queue_of(store.said_in_order(participant_id))
        marks = store.record_marks(participant_id)
    gone = [number for segment in segments for number in segment]
    read = [marks[number] for number in gone if number in marks]
    return WorkingState(
        recent=tuple(recent),
        consolidated=len(gone),
        bettered=sum(mark.is_bettered for mark in read),
        kept=sum(bool(mark.tried_by) and not mark.is_bettered for mark in read),
    )


def load_known(store: Store, participant_id: ParticipantId) -> Known:
    """What is stored of a participant. Inside `reading()`.

    Raises:
        RecordNotFoundError: there is no such participant.
    """
    people = store.participants()
    person = next((one for one in people if one.id == participant_id), None)
    if person is None:
        raise RecordNotFoundError(f"there is no participant {participant_id}")
    is_fresh = participant_id not in store.stale_personas()
    return Known(
        person=person,
        items=store.items(participants=[participant_id]),
        names=tuple(name for one in people for name in (one.name, *one.aliases)),
        groups=store.persona_groups(participant_id),
        keys=() if is_fresh else store.persona_keys(participant_id),
        is_fresh=is_fresh,
    )


# --- Regrouping ---------------------------------------------------------------------------


def regroup(known: Known, embedder: KeyEmbedder | None = None) -> Regrouped:
    """The snapshots of a participant from what is known of them now, with the ids of before."""
    made: list[PersonaGroup] = []
    its_keys: list[PersonaKeys] = []
    alone = 0
    for kind, keyed in (
        (PersonaKind.TOPIC, _topics_of(known)),
        (PersonaKind.ASPECT, _aspects_of(known)),
    ):
        before = next((one for one in known.keys if one.kind is kind), None)
        linked, missing = _linked(kind, sorted(set(keyed.values())), before, embedder)
        its_keys += [linked] if linked.keys else []
        alone += missing
        made += _grouped(known, kind, keyed, linked)
    return Regrouped(tuple(made), tuple(its_keys), alone)


def wanted_keys(known: Known) -> dict[PersonaKind, tuple[str, ...]]:
    """The keys of what is known now, by kind: what an embedder is asked about."""
    return {
        PersonaKind.TOPIC: tuple(sorted(set(_topics_of(known).values()))),
        PersonaKind.ASPECT: tuple(sorted(set(_aspects_of(known).values()))),
    }


def _topics_of(known: Known) -> dict[ItemId, str]:
    told = [one for one in _grouped_items(known) if one.kind is not ItemKind.ATTRIBUTE]
    return {number: key for number, key in topic_keys(told, known.names).items() if key}


def _aspects_of(known: Known) -> dict[ItemId, str]:
    told = [one for one in _grouped_items(known) if one.kind is ItemKind.ATTRIBUTE]
    return {one.id: key for one in told if (key := attribute_key(one))}


def _grouped_items(known: Known) -> list[Item]:
    return [
        one
        for one in known.items
        if one.holds and one.supported and not one.slot.startswith(_CLAIMED)
    ]


def _linked(
    kind: PersonaKind,
    wanted: Sequence[str],
    before: PersonaKeys | None,
    embedder: KeyEmbedder | None,
) -> tuple[PersonaKeys, int]:
    """The keys with their nearest, and how many have no vector and cannot have one now."""
    model_id = embedder.model_id if embedder is not None else before.model_id if before else ""
    if not model_id:
        rows, missing = word_rows(wanted), 0
    else:
        rows, missing = _rows_of(wanted, before, model_id, embedder)
    known: dict[str, Link] = {}
    if before is not None and before.model_id == model_id:
        told = zip(before.keys, before.nearest, before.similarities, strict=True)
        known = {key: Link(key, nearest, near) for key, nearest, near in told}
    links = link(wanted, rows, known) if wanted else {}
    found = PersonaKeys(
        kind=kind,
        keys=tuple(links),
        nearest=tuple(one.nearest for one in links.values()),
        similarities=tuple(one.similarity for one in links.values()),
        model_id=model_id,
        rows=rows if model_id else np.zeros((0, 0), np.float32),
    )
    return found, missing


def _rows_of(
    wanted: Sequence[str], before: PersonaKeys | None, model_id: str, embedder: KeyEmbedder | None
) -> tuple[FloatMatrix, int]:
    """The vectors of keys, known ones taken over; zero rows for those that can have none."""
    same = before if before is not None and before.model_id == model_id else None
    have = dict(zip(same.keys, same.rows, strict=True)) if same is not None else {}
    new = [key for key in wanted if key not in have]
    dimension = embedder.dimension if embedder is not None else len(next(iter(have.values()), ()))
    rows = np.zeros((len(wanted), dimension), np.float32)
    if new and embedder is not None:
        have |= dict(zip(new, embedder.embed_passages(new), strict=True))
    for place, key in enumerate(wanted):
        if key in have:
            rows[place] = have[key]
    return rows, 0 if embedder is not None else len(new)


def _grouped(
    known: Known, kind: PersonaKind, keyed: Mapping[ItemId, str], linked: PersonaKeys
) -> list[PersonaGroup]:
    told = zip(linked.keys, linked.nearest, linked.similarities, strict=True)
    links = {key: Link(key, nearest, near) for key, nearest, near in told}
    by_key: dict[str, list[ItemId]] = {}
    for number, key in keyed.items():
        by_key.setdefault(key, []).append(number)
    several = [
        (group.keys, [(n, key) for key in group.keys for n in sorted(by_key[key])])
        for group in groups(links)
    ]
    before = {int(one.id): one for one in known.groups}
    ids = keep_ids(
        by_kind(known.groups, kind),
        [frozenset(int(number) for number, _ in members) for _, members in several],
    )
    return [
        _group(known, kind, keys, members, before.get(number) if number is not None else None)
        for (keys, members), number in zip(several, ids, strict=True)
    ]


def _group(
    known: Known,
    kind: PersonaKind,
    keys: Sequence[str],
    members: Sequence[tuple[ItemId, str]],
    before: PersonaGroup | None,
) -> PersonaGroup:
    """A group under its most central key, or under a model's name while its keys are the same."""
    same_keys = before is not None and {key for _, key in before.members} == set(keys)
    keeps = before if before is not None and before.named_by is not None and same_keys else None
    return PersonaGroup(
        id=before.id if before is not None else PersonaId(0),
        participant_id=known.person.id,
        kind=kind,
        name=keeps.name if keeps is not None else keys[0],
        members=tuple(members),
        named_by=keeps.named_by if keeps is not None else None,
    )


# --- Telling ------------------------------------------------------------------------------


def _snapshots(
    known: Known,
    found: Iterable[PersonaGroup],
    kind: PersonaKind,
    attitudes: Mapping[MessageId, Attitude],
) -> tuple[PersonaSnapshot, ...]:
    items = {one.id: one for one in known.items}
    chains = versions.chains(known.items)
    by_item = {one.id: chain for chain in chains for one in chain}
    made = []
    for group in found:
        if group.kind is not kind:
            continue
        members = [(items[number], key) for number, key in group.members if number in items]
        members = [(one, key) for one, key in members if one.holds][:MOST_SUMMARISED]
        if not members:
            continue
        chosen = sorted((one for one, _ in members), key=_newest)
        is_topic = kind is PersonaKind.TOPIC
        keys = [key for _, key in members]
        made.append(
            PersonaSnapshot(
                id=group.id,
                participant_id=group.participant_id,
                kind=kind,
                name=group.name or keys[0],
                descriptors=_descriptors(known, chosen, keys, attitudes) if is_topic else (),
                lines=tuple(
                    _topic_line(one) if is_topic else _aspect_line(one, by_item[one.id])
                    for one in chosen
                ),
            )
        )
    return tuple(sorted(made, key=lambda one: (-len(one.lines), _newest_id(one), one.name)))


def _topic_line(item: Item) -> PersonaLine:
    told = _cut(" ".join(item.quote.split()))
    moment = item.valid_from or (item.said_at.date() if item.said_at is not None else None)
    when = f"{describe_day(moment)}: " if moment is not None else ""
    return PersonaLine(f"{when}{told}", (item.id,), item.message_ids)


def _aspect_line(item: Item, chain: Sequence[Item]) -> PersonaLine:
    """An attribute with the day since when, and what it was before."""
    planned = item.slot.startswith("plan:")
    subject = subject_words(item).removeprefix("plan: ")
    text = f"{'plans ' if planned else ''}{subject}: {describe_item(item)}"
    period = period_words(item)
    text += f" ({period})" if period else ""
    before = versions.before(chain, item)
    numbers, messages = [item.id], list(item.message_ids)
    if before is not None and before.id != item.id:
        text += f"; before: {describe_item(before)}"
        numbers.append(before.id)
        messages += before.message_ids
    reason = versions.reason_of(chain, item)
    text += f"; because {reason}" if reason else ""
    return PersonaLine(_cut(text), tuple(numbers), tuple(dict.fromkeys(messages)))


def _descriptors(
    known: Known,
    items: Sequence[Item],
    keys: Sequence[str],
    attitudes: Mapping[MessageId, Attitude],
) -> tuple[PersonaLine, ...]:
    """What a topic's items tell of preferences: the attributes that name it, then the attitude."""
    stems = stems_of(" ".join(keys))
    found = [
        PersonaLine(_preference(one), (one.id,), one.message_ids)
        for one in known.items
        if one.kind is ItemKind.ATTRIBUTE
        and one.slot in _TELLING
        and one.holds
        and stems & stems_of(f"{one.entity} {one.value}")
    ]
    told = {number: attitudes[number] for one in items for number in one.message_ids
            if attitudes.get(number, Attitude.NONE) is not Attitude.NONE}  # fmt: skip
    counted = Counter(told.values())
    if sum(counted.values()) >= _LEAST_ATTITUDES:
        attitude, count = min(counted.items(), key=lambda one: (-one[1], one[0].value))
        if 2 * count > len(told):
            text = f"mostly {attitude.value} about it ({count} of {len(told)} messages)"
            shown = [number for number, one in told.items() if one is attitude]
            found.append(PersonaLine(text, tuple(one.id for one in items), tuple(shown)))
    return tuple(found)


def _preference(item: Item) -> str:
    if item.slot == "likes":
        return f"{'likes' if item.positive else 'dislikes'} {item.value}"
    if item.slot == "prefers":
        return f"prefers {item.value}"
    return f"{subject_words(item)}: {describe_item(item)}"


def _histories(known: Known) -> tuple[ItemHistory, ...]:
    """Attributes with all their versions: those that changed first, then the newest."""
    told = [
        one
        for one in known.items
        if one.kind is ItemKind.ATTRIBUTE and not one.slot.startswith(_CLAIMED)
    ]
    chains = versions.chains(told)
    ordered = sorted(chains, key=lambda chain: (-len(chain), _newest(chain[-1])))
    return tuple(ItemHistory(known.person, subject_words(one[0]), tuple(one)) for one in ordered)


def _newest(item: Item) -> tuple[float, int]:
    return (-_seconds(item.last_said_at), -int(item.id))


def _newest_id(one: PersonaSnapshot) -> int:
    return -max(map(int, one.item_ids))


def _seconds(moment: datetime | None) -> float:
    return moment.timestamp() if moment is not None else 0.0


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE].rsplit(' ', 1)[0]} …"
