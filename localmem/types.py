"""The nouns of localmem: frozen values that every room shares.

This module imports nothing of ours and does no work. New nouns go here or nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import NewType

MessageId = NewType("MessageId", int)
TurnId = NewType("TurnId", int)
SessionId = NewType("SessionId", int)
ConversationId = NewType("ConversationId", int)
ParticipantId = NewType("ParticipantId", int)
ImportId = NewType("ImportId", int)
ItemId = NewType("ItemId", int)


class Role(StrEnum):
    """Who a message comes from in its source's own terms.

    In a chat among people every message has the role USER.
    """

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class ConversationKind(StrEnum):
    """ASSISTANT: one person and an assistant. PEOPLE: two or more people."""

    ASSISTANT = "assistant"
    PEOPLE = "people"


class Layer(IntEnum):
    """The four layers of a session (APDMem, section 3.1), coarse to fine."""

    SUMMARY = 0
    FACTS = 1
    NOTES = 2
    RAW = 3


class Depth(StrEnum):
    """How much work a question may cause."""

    INSTANT = "instant"
    DIRECT = "direct"
    DEEP = "deep"
    AUTO = "auto"


class Granularity(StrEnum):
    """How exact a resolved date is."""

    DAY = "day"
    WEEK = "week"
    WEEKEND = "weekend"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"
    DECADE = "decade"
    RANGE = "range"


class AnswerType(StrEnum):
    """What a question asks for."""

    PERSON = "person"
    PLACE = "place"
    DATE = "date"
    DURATION = "duration"
    NUMBER = "number"
    LIST = "list"
    REASON = "reason"
    YES_NO = "yes/no"
    QUOTE = "quote"
    OTHER = "other"


# --- What importers hand over -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message as a source tells it, before it is stored.

    `source_id` is unique in its conversation and the same in every later export of it.
    `said_at` is tz-aware, or None where the source has no time.
    `attachment_text` is text that belongs to the message but was not said: an image caption,
    a file name. `on_path` is False for a branch that the source does not show.
    """

    source_id: str
    role: Role
    speaker: str
    text: str
    said_at: datetime | None = None
    parent_id: str | None = None
    on_path: bool = True
    attachment_text: str = ""


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """One conversation as a source tells it: messages in the order in which they were said.

    `source` names the format ("chatgpt"), `source_id` the conversation in it; both together are
    the same in every later export of that conversation. `session_starts` holds the source ids
    of messages that begin a new session by the source's own word; other sessions begin where
    the silence is long.
    """

    source: str
    source_id: str
    title: str
    kind: ConversationKind
    messages: tuple[ImportedMessage, ...]
    session_starts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A conversation or message that could not be read: where it is, and why it was skipped."""

    path: str
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What one import did. Counts are of rows added, not of rows seen.

    `messages_forgotten` were in the export and stay out, because the owner had them forgotten.
    """

    import_id: ImportId | None
    path: str
    source: str
    conversations_seen: int = 0
    conversations_added: int = 0
    conversations_grown: int = 0
    messages_added: int = 0
    messages_known: int = 0
    turns_added: int = 0
    without_time: int = 0
    problems: tuple[ImportProblem, ...] = ()
    started_at: datetime | None = None
    undone: bool = False
    complete: bool = True
    messages_forgotten: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long operation is. `total` is None where it cannot be known."""

    stage: str
    done: int
    total: int | None
    unit: str


# --- What is stored -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Participant:
    """Who speaks or is spoken of. `name` is the name to show; `aliases` holds the others."""

    id: ParticipantId
    name: str
    aliases: tuple[str, ...] = ()
    is_owner: bool = False
    is_assistant: bool = False


@dataclass(frozen=True, slots=True)
class PersonOverview:
    """A participant in numbers. `absorbed` are the names of those who were merged into them.

    Messages are those on the branches that are shown.
    """

    person: Participant
    messages: int
    sessions: int
    first_said_at: datetime | None
    last_said_at: datetime | None
    absorbed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SplitChoice:
    """Which messages of a person belong to somebody else: those in any of these."""

    sessions: tuple[SessionId, ...] = ()
    conversations: tuple[ConversationId, ...] = ()
    imports: tuple[ImportId, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One utterance by one participant. Its text is never altered.

    `ordinal` counts from 0 within the session. `said_at` carries the offset of the place where
    it was said, so that its calendar day is right.
    """

    id: MessageId
    turn_id: TurnId
    session_id: SessionId
    participant_id: ParticipantId
    speaker: str
    role: Role
    ordinal: int
    text: str
    said_at: datetime | None = None
    attachment_text: str = ""

    @property
    def whole_text(self) -> str:
        """What was said, and what belongs to it: the text that is indexed."""
        return f"{self.text}\n{self.attachment_text}".strip()


@dataclass(frozen=True, slots=True)
class Session:
    """A contiguous episode of turns: a conversation, or the part of it between long silences."""

    id: SessionId
    conversation_id: ConversationId
    title: str
    source: str
    kind: ConversationKind
    started_at: datetime | None
    ended_at: datetime | None
    turn_count: int
    message_count: int


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a derived row was made from and by."""

    model_id: str
    prompt_sha: str
    source_sha: str


@dataclass(frozen=True, slots=True)
class ResolvedDate:
    """A time expression of a text, resolved against the time of its message.

    `start` and `end` are calendar days, both included. `words` are the original words at
    [`begin`:`stop`] of the text. `open_end` marks "since 2016".
    """

    words: str
    begin: int
    stop: int
    start: date
    end: date
    granularity: Granularity
    open_end: bool = False


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """L0 of a turn: a sentence of at most 30 words, 5-8 keywords, 3-5 tags."""

    turn_id: TurnId
    sentence: str
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class TurnNote:
    """L2: one atomic fact of one message, in the order of the text (APDMem, Figure 6).

    `missing` are its names, numbers and dates that the message neither holds nor resolves to.
    """

    message_id: MessageId
    position: int
    text: str
    missing: tuple[str, ...]
    provenance: Provenance

    @property
    def supported(self) -> bool:
        """Whether the message holds all that the note names."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class KeyFact:
    """L1: one self-contained fact of a session with the messages it rests on (APDMem, Figure 5).

    `missing` are its names, numbers and dates that none of these messages holds or resolves to.
    """

    session_id: SessionId
    position: int
    text: str
    message_ids: tuple[MessageId, ...]
    missing: tuple[str, ...]
    provenance: Provenance

    @property
    def supported(self) -> bool:
        """Whether the messages hold all that the fact names."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class MadeNotes:
    """L2 of one message as a model made it; no notes where it told nothing."""

    message_id: MessageId
    notes: tuple[TurnNote, ...]
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class MadeFacts:
    """L1 of one session as a model made it; no facts where it told nothing."""

    session_id: SessionId
    facts: tuple[KeyFact, ...]
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class UnreadReply:
    """What a model said for a layer that could not be read, or "" where it failed to say anything.

    `unit_id` is a turn for SUMMARY, a session for FACTS, a message for NOTES. Never memory.
    """

    layer: Layer
    unit_id: int
    session_id: SessionId
    place: str
    reason: str
    reply: str
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class LayerCost:
    """What it took to serve a layer. All zero where it was in the cache.

    `evaluated_tokens` counts the prompt tokens that a model really ran through.
    """

    evaluated_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """L1 of a session. `fresh` False: it was made from an older state of the session.

    `notices` say what is not as it should be ("made by rule: the time did not allow more").
    """

    session_id: SessionId
    facts: tuple[KeyFact, ...]
    fresh: bool = True
    cost: LayerCost = field(default_factory=LayerCost)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionNotes:
    """L2 of a session, or of some of its messages, in the order of the messages."""

    session_id: SessionId
    notes: tuple[TurnNote, ...]
    fresh: bool = True
    cost: LayerCost = field(default_factory=LayerCost)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Vectors of message chunks: `blob` holds float32 unit rows, `message_ids` one id a row."""

    model_id: str
    dimension: int
    message_ids: tuple[MessageId, ...]
    chunk_numbers: tuple[int, ...]
    blob: bytes


# --- Participants -------------------------------------------------------------------------


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


# --- What writing to a memory gives back --------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConversationDelta:
    """What storing one conversation changed.

    `message_ids` are the new messages, `turn_ids` the new turns and those that grew. `is_new`:
    the conversation was not known. `shows_other_branch`: messages were hidden or shown again.
    `messages_forgotten` stay out; where nothing else was in it, `conversation_id` is None.
    """

    conversation_id: ConversationId | None
    is_new: bool
    message_ids: tuple[MessageId, ...]
    turn_ids: tuple[TurnId, ...]
    messages_known: int
    turns_added: int
    sessions_added: int
    without_time: int
    shows_other_branch: bool = False
    messages_forgotten: int = 0

    @property
    def has_grown(self) -> bool:
        """Whether a known conversation got new messages."""
        return not self.is_new and bool(self.message_ids)


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What was removed from a memory, counted in rows; the file was then written anew.

    `titles` were parts of erased messages. `kept_out` counts the messages that a later import of
    the same export will leave out.
    """

    messages: int
    turns: int
    sessions: int
    conversations: int
    participants: int
    summaries: int
    dates: int
    vectors: int
    facts: int
    notes: int
    replies: int
    snapshots: int
    bytes_before: int
    bytes_after: int
    titles: int = 0
    kept_out: int = 0
    items: int = 0


@dataclass(frozen=True, slots=True)
class ForgetTarget:
    """What is to be forgotten: all that is named here. `person` is a name, an alias or an id."""

    messages: tuple[MessageId, ...] = ()
    sessions: tuple[SessionId, ...] = ()
    person: str | None = None
    import_id: ImportId | None = None


@dataclass(frozen=True, slots=True)
class PartlyForgotten:
    """How much of a session goes."""

    session: Session
    messages_going: int


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What `forget` would do. `receipt` counts what would go; its bytes are those of today.

    `sessions` are those that lose the most. `stays` says in words what is left of the matter.
    `confirm` is the text that must be given to go on, "" where none is needed.
    """

    receipt: ErasureReceipt
    sessions: tuple[PartlyForgotten, ...]
    sessions_total: int
    stays: tuple[str, ...] = ()
    confirm: str = ""


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """What a memory holds. Messages and turns are those of the branches that are shown.

    `hidden_messages` stand on other branches. `turns_without_summary` and
    `messages_without_vectors` (for the embedder in use; all of them where none is) are open work.
    """

    conversations: int
    sessions: int
    turns: int
    messages: int
    hidden_messages: int
    participants: int
    without_time: int
    first_said_at: datetime | None
    last_said_at: datetime | None
    turns_without_summary: int
    messages_without_vectors: int
    dates: int
    embedder: str | None
    generation: int
    file_bytes: int
    unused_bytes: int


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """An index as bytes, with the generation of the memory and the embedder it was made from.

    `model_id` is "" and `dimension` 0 for an index without vectors.
    """

    name: str
    generation: int
    model_id: str
    dimension: int
    content: bytes


# --- Finding ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Hard limits of a search. None means no limit; days are included on both sides."""

    participant: str | None = None
    since: date | None = None
    until: date | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search found. Scores compare only within one `mode`.

    `signals` holds the part of each signal, for explanation.
    """

    message_id: MessageId
    score: float
    mode: str
    signals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A hit with its message, as front ends show it.

    `standing` says what of it no longer holds, and what does; "" where nothing is known of that.
    """

    hit: Hit
    message: Message
    session: Session
    dates: tuple[ResolvedDate, ...] = ()
    standing: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search returns. `notices` says what degraded it ("12 messages have no vector yet")."""

    query: str
    mode: str
    found: tuple[FoundMessage, ...]
    sessions_total: int
    seconds: float
    notices: tuple[str, ...] = ()


# --- Asking -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Budget:
    """What a question may spend. None means no limit."""

    steps: int = 20
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A message that was opened for a question, with its resolved dates.

    `score` compares only within one question. `layer` says how much of it was opened. `standing`
    says what of it no longer holds.
    """

    message: Message
    dates: tuple[ResolvedDate, ...]
    score: float
    layer: Layer = Layer.RAW
    standing: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """The exact message that supports an answer. `quote` is a literal part of its text."""

    message_id: MessageId
    session_id: SessionId
    session_title: str
    speaker: str
    said_at: datetime | None
    quote: str


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of answering: what was done, on what, how much it opened, how long it took.

    `tokens` were opened or shown. `decision` numbers the decision of a deep question that the
    step belongs to, from 1; 0 elsewhere. `outcome` says in a few words what came of it.
    """

    tool: str
    arguments: str
    layer: Layer | None
    tokens: int
    seconds: float
    decision: int = 0
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """How an answer came about.

    `model_calls` counts replies and choices. `opened_share` is the share of the whole history's
    text that was opened as raw text, facts or notes, None where it was not counted; `deepest` is
    the finest layer that was opened. `opened` gives the finest layer of each session of which
    more than summaries was opened.
    """

    depth: Depth
    steps: tuple[TraceStep, ...]
    sessions_opened: int
    sessions_total: int
    tokens_by_layer: Mapping[str, int]
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    model_id: str | None
    model_calls: int = 0
    opened_share: float | None = None
    deepest: Layer | None = None
    opened: Mapping[SessionId, Layer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its evidence. `found` False means: not found in this memory.

    `complete` is False when the budget ran out first.
    """

    question: str
    asked_at: datetime
    text: str
    found: bool
    citations: tuple[Citation, ...]
    trace: Trace
    complete: bool = True
    notices: tuple[str, ...] = ()


# --- Language models ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply.

    `evaluated_tokens` counts the prompt tokens that were really run through the model, after
    prefix reuse. `finished` is False when `max_tokens` cut the reply short.
    """

    text: str
    prompt_tokens: int
    evaluated_tokens: int
    completion_tokens: int
    finished: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """Probabilities of the options of a choice, in their order; they sum to 1.

    `exact` is False where the engine gives no log-probabilities and the reply was one option
    written out (that option then has probability 1).
    """

    probabilities: tuple[float, ...]
    exact: bool

    @property
    def best(self) -> int:
        """Index of the most probable option; the first of equals."""
        return max(range(len(self.probabilities)), key=lambda i: (self.probabilities[i], -i))


class ModelRole(StrEnum):
    """What a language model is used for; one model has all roles unless told otherwise.

    LAYERS writes L0 to L2, CONTROLLER chooses the steps of a deep question, NOTES organises what
    was found, ANSWER writes the answer.
    """

    LAYERS = "layers"
    CONTROLLER = "controller"
    NOTES = "notes"
    ANSWER = "answer"


# --- Model files --------------------------------------------------------------------------


class Pooling(StrEnum):
    """How an embedder's token vectors become one vector."""

    MEAN = "mean"
    CLS = "cls"


@dataclass(frozen=True, slots=True)
class EmbedderFiles:
    """An embedder on disk: its files and how they want to be used.

    `sha256` is the hash of the weights. `dimension` 0 means: ask the model. The prefixes are put
    before a query or a passage, and count towards `max_tokens`.
    """

    name: str
    weights: Path
    tokenizer: Path
    sha256: str
    dimension: int = 0
    max_tokens: int = 256
    pooling: Pooling = Pooling.MEAN
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def model_id(self) -> str:
        """Name and weight hash: vectors of two embedders with one id may be mixed, others never."""
        return f"{self.name}@{self.sha256[:16]}"


@dataclass(frozen=True, slots=True)
class LlmFiles:
    """A language model on disk: one GGUF file. `sha256` "" means: never checked."""

    name: str
    weights: Path
    sha256: str = ""
    context_tokens: int = 4096

    @property
    def model_id(self) -> str:
        """Name and weight hash, as far as it is known."""
        return f"{self.name}@{self.sha256[:16]}" if self.sha256 else self.name


# --- Upkeep -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session at one layer: L0 lines of its turns (SUMMARY), FACTS, NOTES, or messages (RAW).

    `messages` are there for NOTES too, which stand in their order. `notices` say what is not as
    it should be with facts and notes.
    """

    session: Session
    layer: Layer
    messages: tuple[Message, ...] = ()
    summaries: tuple[TurnSummary, ...] = ()
    dates: Mapping[MessageId, tuple[ResolvedDate, ...]] = field(default_factory=dict)
    facts: tuple[KeyFact, ...] = ()
    notes: tuple[TurnNote, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PersonView:
    """Who somebody is. `topics` are the keywords of their turns with their counts.

    `sessions` are the latest of those in which they speak. `known` holds of them now, of
    `known_total` such items: the owner's word first, then what was repeated, then the newest.
    """

    overview: PersonOverview
    topics: tuple[tuple[str, int], ...]
    sessions: tuple[Session, ...]
    known: tuple[Item, ...] = ()
    known_total: int = 0


@dataclass(frozen=True, slots=True)
class PeopleChange:
    """What a merge or a split did: who it is about now, and how many messages went over to them.

    `sessions` counts those whose summaries, facts and notes are made anew.
    """

    person: Participant
    messages: int
    sessions: int


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export to Markdown did. Counts are of session files; the index is not counted."""

    folder: Path
    sessions: int
    written: int
    unchanged: int
    removed: int
    by_rule: int


@dataclass(frozen=True, slots=True)
class WorkReport:
    """What was derived by one run of background work, and what is still open."""

    summaries_made: int
    vectors_made: int
    summaries_open: int
    vectors_open: int
    seconds: float


class QueueState(StrEnum):
    """What a queue of background work does. PAUSED: told to, or because a question runs."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """How far background work is. `done` and `total` count turns, once for each layer.

    `tokens_per_s` are those that a model wrote; it and `seconds_left` are None while unknown.
    `failed` counts jobs for which the model gave nothing usable.
    """

    state: QueueState
    done: int
    total: int
    jobs_done: int
    jobs_total: int
    failed: int = 0
    tokens_per_s: float | None = None
    seconds_left: float | None = None
    cost: LayerCost = field(default_factory=LayerCost)


@dataclass(frozen=True, slots=True)
class WarmReport:
    """What warming made. `summaries_kept` are L0 lines that the model did not better.

    `unread` counts replies that could not be read. `left` counts the turns, once for each layer,
    that are still open; 0 with nothing made: there was nothing to do.
    """

    summaries_made: int
    summaries_kept: int
    sessions_with_facts: int
    sessions_with_notes: int
    unread: int
    failed: int
    left: int
    cost: LayerCost
    seconds: float
    model_id: str | None


class Verdict(StrEnum):
    """How serious a finding of `doctor` is."""

    OK = "ok"
    NOTICE = "notice"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `doctor`: what was looked at, what was found, and the cure."""

    verdict: Verdict
    subject: str
    detail: str
    cure: str = ""
