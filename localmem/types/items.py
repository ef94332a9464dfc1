"""What messages tell of their participants: claims, and the items that are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from localmem.types.finding import FoundMessage
from localmem.types.ids import ImportId, ItemId, MessageId, ParticipantId
from localmem.types.layers import Provenance
from localmem.types.messages import Participant


class ItemKind(StrEnum):
    """The three stores of a participant (AdaMem, section 3.1)."""

    EVENT = "event"
    FACT = "fact"
    ATTRIBUTE = "attribute"


class ItemState(StrEnum):
    """ACTIVE holds now; SUPERSEDED held before; RETIRED and PINNED are the owner's word."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    PINNED = "pinned"


class Modality(StrEnum):
    """How something was said. Only STATED and PAST may touch what is known as a fact.

    PLANNED: a wish, plan or condition. CLAIMED: by somebody about somebody else. RECALLED: text
    that comes from a memory.
    """

    STATED = "stated"
    PAST = "past"
    PLANNED = "planned"
    CLAIMED = "claimed"
    QUESTION = "question"
    RECALLED = "recalled"


class Cue(StrEnum):
    """Whether the words say that something changed or came to an end."""

    NONE = ""
    CHANGE = "change"
    END = "end"


class Attitude(StrEnum):
    """How the speaker of a message feels about what it tells."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    MIXED = "mixed"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that one message says; the routers make items of claims.

    `participant_id` is whom it is kept for: the speaker, but for the owner's corrections. `slot`
    names what an attribute is about ("home"), `entity` what in it ("rent" of "price"); of a fact
    and an event, `entity` is its head. `old_value` is a value that it replaces by its own words.
    `quote` is the literal sentence, at `position` among the claims of its message. `valid_from`
    and `valid_to` are the days that it names. `key_sha` names what it says for the owner's orders;
    `number` is its id once stored.
    """

    message_id: MessageId
    position: int
    participant_id: ParticipantId
    kind: ItemKind
    slot: str
    entity: str
    value: str
    quote: str
    said_at: datetime | None
    positive: bool = True
    modality: Modality = Modality.STATED
    cue: Cue = Cue.NONE
    old_value: str = ""
    reason: str = ""
    names: tuple[str, ...] = ()
    valid_from: date | None = None
    valid_to: date | None = None
    by_owner: bool = False
    missing: tuple[str, ...] = ()
    key_sha: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A message normalised (AdaMem, sections 3.1 and B.7). Facts and attributes are its `claims`.

    The message itself, its speaker and time stand in the message; `topics` and `summary` are
    those of its turn where nothing better was made.
    """

    message_id: MessageId
    participant_id: ParticipantId
    attitude: Attitude
    reason: str
    claims: tuple[Claim, ...]
    provenance: Provenance
    topics: tuple[str, ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One version of an event, fact or attribute of a participant.

    It holds from `valid_from` on and no longer on `valid_to`; None: unknown, or still.
    `supersedes` is the version before it. `message_ids` are its sources in the order of time;
    `confirmations` counts those that only repeat it. `corrected`: the owner said that it is wrong.
    `reason` says why this version came, `end_reason` why it ended.
    """

    id: ItemId
    kind: ItemKind
    participant_id: ParticipantId
    slot: str
    entity: str
    value: str
    quote: str
    said_at: datetime | None
    last_said_at: datetime | None
    message_ids: tuple[MessageId, ...]
    positive: bool = True
    state: ItemState = ItemState.ACTIVE
    valid_from: date | None = None
    valid_to: date | None = None
    supersedes: ItemId | None = None
    confirmations: int = 0
    reason: str = ""
    end_reason: str = ""
    ended_by: MessageId | None = None
    names: tuple[str, ...] = ()
    by_owner: bool = False
    corrected: bool = False
    duplicate_of: ItemId | None = None
    missing: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it is what is known now."""
        return self.state in (ItemState.ACTIVE, ItemState.PINNED)

    @property
    def supported(self) -> bool:
        """Whether its message holds all that it names."""
        return not self.missing


class RulingKind(StrEnum):
    """What the owner may order about an item."""

    RETIRE = "retire"
    PIN = "pin"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Ruling:
    """An order of the owner about an item, by the item's key, so that rebuilding keeps it.

    `message_id` is the correction that replaces the item; None for other orders.
    """

    kind: RulingKind
    key_sha: str
    made_at: datetime
    message_id: MessageId | None = None


@dataclass(frozen=True, slots=True)
class ItemHistory:
    """All versions of one thing, oldest first, with whose it is."""

    participant: Participant
    subject: str
    versions: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class ItemSources:
    """Why an item is in the memory: its history, and the messages it rests on."""

    item: Item
    history: ItemHistory
    messages: tuple[FoundMessage, ...]


@dataclass(frozen=True, slots=True)
class Correction:
    """What a correction did: the message that holds it, and the histories that it changed.

    `import_id` takes it back (`imports undo`). `histories` is () where nothing known was concerned.
    """

    message_id: MessageId
    import_id: ImportId
    participant: Participant
    histories: tuple[ItemHistory, ...]


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """What the stores of all participants hold."""

    records: int
    pending: int
    items: int
    holding: int
    unsupported: int
    from_people: int
