"""What the owner wants forgotten: which messages that is, what would go, what stays of the matter.

The rows go through `erasing`; here the marks are left that keep the same export from bringing them
back. The dry run does the whole work in a transaction and undoes it, so that it cannot differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from localmem.errors import RecordNotFoundError, UsageError
from localmem.store import erasing, imports, reads, talks, tombstones, voices
from localmem.store.batches import id_set
from localmem.store.participants import find, names_of
from localmem.types import (
    ConversationKind,
    ForgetPlan,
    ForgetTarget,
    ImportId,
    MessageId,
    Participant,
    PartlyForgotten,
    Role,
    SessionId,
)
from localmem.wording import counted

_SHOWN_SESSIONS = 5
_LISTED = 10
_NAMELESS_IMPORT = "(forgotten)"

_REPLIES_TO = f"""
SELECT id FROM message WHERE role <> '{Role.USER.value}'
AND turn_id IN (SELECT turn_id FROM message WHERE {{asked}} AND role = '{Role.USER.value}')
AND conversation_id IN
    (SELECT id FROM conversation WHERE kind = '{ConversationKind.ASSISTANT.value}')
"""


@dataclass(frozen=True, slots=True)
class Doomed:
    """What a target comes to. `ids` are int64; `person` and `import_id` go as a whole."""

    ids: NDArray[np.int64]
    person: Participant | None
    import_id: ImportId | None

    @property
    def confirm(self) -> str:
        """The text without which it may not be done."""
        return self.person.name if self.person is not None and self.person.is_owner else ""


def resolve(connection: Connection, target: ForgetTarget) -> Doomed:
    """The messages that a target names, with the replies of this memory that rest on them.

    Raises:
        UsageError: it names nothing, or several people share the name.
        RecordNotFoundError: something that it names is not in this memory.
    """
    if target == ForgetTarget():
        raise UsageError(
            "nothing is named that should be forgotten",
            hint="--message ID, --session ID, --person NAME or --import ID",
        )
    person = None if target.person is None else find(connection, target.person)
    parts = [
        _messages(connection, target.messages),
        _of_sessions(connection, target.sessions),
        _of_person(connection, person),
        _of_import(connection, target.import_id),
    ]
    ids = talks.with_replies(connection, np.concatenate(parts))
    return Doomed(ids, person, target.import_id)


def forget_confirmed(connection: Connection, target: ForgetTarget, confirm: str) -> dict[str, int]:
    """Erase what a target names, in a transaction of the caller's; gives counts of rows by kind.

    Raises:
        UsageError, RecordNotFoundError: as `resolve` does; or it is the owner and `confirm` is not
            their name.
    """
    doomed = resolve(connection, target)
    if doomed.confirm and confirm.strip().casefold() != doomed.confirm.casefold():
        raise UsageError(
            f"{doomed.confirm} is the owner of this memory: all that they ever said would go",
            hint=f"to go on: --confirm '{doomed.confirm}'",
        )
    return forget(connection, doomed)


def forget(connection: Connection, doomed: Doomed) -> dict[str, int]:
    """Erase it, in a transaction of the caller's; gives counts of rows by kind."""
    names = _real_names(connection, doomed.person)
    kept_out = tombstones.put_messages(connection, doomed.ids)
    titles = erasing.erase_titles(connection, doomed.ids, names)
    shown_again: dict[str, int] = {}
    if doomed.import_id is not None:
        shown_again = imports.take_back_changes(connection, doomed.import_id)
    if names:
        _erase_names_of_files(connection, names)
    if doomed.person is not None:
        _erase_person(connection, doomed.person)
    counts = erasing.erase_messages(connection, doomed.ids)
    for name, count in shown_again.items():
        counts[name] += count
    counts["participants"] += doomed.person is not None
    return counts | {"titles": titles, "kept out": kept_out}


def plan(connection: Connection, target: ForgetTarget, file_bytes: int) -> ForgetPlan:
    """What forgetting would do. The caller's transaction must be undone afterwards.

    Raises:
        UsageError, RecordNotFoundError: as `resolve` does.
    """
    doomed = resolve(connection, target)
    losing = _losing(connection, doomed.ids)
    stays = _stays(connection, doomed, target)
    counts = forget(connection, doomed)
    receipt = erasing.receipt(counts, bytes_before=file_bytes, bytes_after=file_bytes)
    return ForgetPlan(
        receipt=receipt,
        sessions=losing[:_SHOWN_SESSIONS],
        sessions_total=len(losing),
        stays=(*stays, *_left_of_person(connection, doomed.person)),
        confirm=doomed.confirm,
    )


def _messages(connection: Connection, ids: Sequence[MessageId]) -> NDArray[np.int64]:
    with id_set(connection, map(int, ids)) as wanted:
        found = _ids(connection, f"SELECT id FROM message WHERE id IN {wanted}")
    missing = sorted(set(map(int, ids)) - set(found.tolist()))
    if missing:
        raise RecordNotFoundError(
            f"there is no message {missing[0]}",
            hint="localmem search and localmem show tell the numbers of messages",
        )
    return found


def _of_sessions(connection: Connection, ids: Sequence[SessionId]) -> NDArray[np.int64]:
    for number in ids:
        reads.check_session(connection, number)
    with id_set(connection, map(int, ids)) as wanted:
        return _ids(connection, f"SELECT id FROM message WHERE session_id IN {wanted}")


def _of_person(connection: Connection, person: Participant | None) -> NDArray[np.int64]:
    """All that somebody said; in chats with an assistant also what it said to that."""
    if person is None:
        return np.zeros(0, np.int64)
    said = f"participant_id = {int(person.id)}"
    replies = _ids(connection, _REPLIES_TO.format(asked=said))
    return np.concatenate([_ids(connection, f"SELECT id FROM message WHERE {said}"), replies])


def _of_import(connection: Connection, import_id: ImportId | None) -> NDArray[np.int64]:
    if import_id is None:
        return np.zeros(0, np.int64)
    imports.check(connection, import_id)
    undone = connection.execute("SELECT undone FROM import WHERE id = ?", [int(import_id)])
    if undone.fetchall() == [(True,)]:
        raise RecordNotFoundError(
            f"import {import_id} was taken back already", hint="localmem imports list shows them"
        )
    return imports.messages_of(connection, import_id)


def _erase_person(connection: Connection, person: Participant) -> None:
    parts = voices.Voices(connection).parts(int(person.id))
    voices.erase(connection, [voice for voice in parts if voice != int(person.id)])
    connection.execute("DELETE FROM alias WHERE participant_id = ?", [int(person.id)])
    connection.execute("DELETE FROM participant WHERE id = ?", [int(person.id)])


def _erase_names_of_files(connection: Connection, names: Sequence[str]) -> None:
    """Exports of single chats are often named after the person."""
    rows = connection.execute("SELECT id, path, problems FROM import").fetchall()
    for number, path, problems in rows:
        told = [entry for entry in json.loads(problems) if erasing.names_one(str(entry), names)]
        if told or erasing.names_one(str(path), names):
            kept = [entry for entry in json.loads(problems) if entry not in told]
            shown = _NAMELESS_IMPORT if erasing.names_one(str(path), names) else path
            connection.execute(
                "UPDATE import SET path = ?, problems = ? WHERE id = ?",
                [shown, json.dumps(kept), number],
            )


def _real_names(connection: Connection, person: Participant | None) -> tuple[str, ...]:
    """A person's names; none of an owner who was never named, or of an assistant."""
    if person is None or person.is_assistant:
        return ()
    unnamed = connection.execute(
        "SELECT is_placeholder FROM participant WHERE id = ?", [int(person.id)]
    ).fetchall() == [(True,)]
    return () if unnamed else tuple(names_of(person))


def _losing(connection: Connection, ids: NDArray[np.int64]) -> tuple[PartlyForgotten, ...]:
    """The shown sessions of these messages, those that lose the most first."""
    with id_set(connection, ids) as those:
        rows = connection.execute(
            "SELECT session_id, count(*) AS going FROM message "
            f"WHERE on_path AND id IN {those} GROUP BY session_id ORDER BY going DESC, session_id"
        ).fetchall()
    sessions = reads.sessions_of(connection, [SessionId(int(number)) for number, _ in rows])
    return tuple(
        PartlyForgotten(session, int(going))
        for session, (_, going) in zip(sessions, rows, strict=True)
    )


def _stays(connection: Connection, doomed: Doomed, target: ForgetTarget) -> tuple[str, ...]:
    """What answers a single message and is not named itself."""
    if not target.messages:
        return ()
    with id_set(connection, map(int, target.messages)) as named:
        replies = _ids(connection, _REPLIES_TO.format(asked=f"id IN {named}"))
    left = sorted(set(replies.tolist()) - set(doomed.ids.tolist()))
    if not left:
        return ()
    listed = ", ".join(map(str, left[:_LISTED]))
    return (f"the replies stay, and may repeat what was said: --message {listed}",)


def _left_of_person(connection: Connection, person: Participant | None) -> tuple[str, ...]:
    """How often others name somebody who is forgotten; the messages are gone by now."""
    if person is None or person.is_assistant or person.is_owner:
        return ()
    names = "|".join(re.escape(name) for name in names_of(person) if name.strip())
    pattern = rf"(^|[^\pL\pN])({names})($|[^\pL\pN])"
    left = len(
        _ids(
            connection,
            "SELECT id FROM message WHERE on_path AND regexp_matches(text, $pattern, 'i')",
            pattern=pattern,
        )
    )
    if not left:
        return ()
    name = person.name
    of_others = f"messages of others name {name} and stay"
    return (counted(left, f"message of another names {name} and stays", of_others),)


def _ids(connection: Connection, query: str, **parameters: str) -> NDArray[np.int64]:
    found = connection.execute(query, parameters or None).fetchnumpy()["id"]
    return np.asarray(found, np.int64)
