"""A tool of the controller, a call of it, and what comes of the call. No tool stands here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localmem.dates import resolve
from localmem.layers import extractive, rules
from localmem.recall.deep.state import Line
from localmem.types import EpisodeId, Layer, Message, Provenance, SessionId

if TYPE_CHECKING:
    from localmem.recall.deep.bench import Bench

BY_RULE = Provenance(rules.MODEL_ID, "", "")
"""Of lines that are put together by rule from what has sources."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool with its arguments; each tool looks at those that it takes."""

    tool: str
    query: str = ""
    session_id: SessionId | None = None
    episode_id: EpisodeId | None = None
    level: str = ""

    @property
    def arguments(self) -> str:
        """As a trace shows it: the query of a search, the session or episode of a read."""
        if self.episode_id is not None:
            return f"episode {self.episode_id}, {self.level}"
        if self.session_id is not None:
            return f"session {self.session_id}"
        return f"“{self.query}”" if self.query else ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What came of a call. `ok` False: nothing was done, and `outcome` says why."""

    outcome: str
    layer: Layer | None = None
    characters: int = 0
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Tool:
    """One row of the table. `takes` names the arguments that it needs."""

    name: str
    does: str
    takes: tuple[str, ...]
    run: Callable[[Bench, Call], Observation]


def refused(reason: str) -> Observation:
    """Nothing was done, for this reason."""
    return Observation(reason, ok=False)


def source_line(
    text: str,
    layer: Layer,
    sources: Sequence[Message],
    provenance: Provenance,
    *,
    supported: bool = True,
) -> Line:
    """A line that rests on these messages, said when the first of them was."""
    said_at = sources[0].said_at if sources else None
    return Line(
        text=text,
        session_id=sources[0].session_id if sources else SessionId(0),
        layer=layer,
        message_ids=tuple(message.id for message in sources),
        said_at=said_at,
        dates=resolve(text, said_at),
        by_rule=provenance.model_id in (extractive.MODEL_ID, rules.MODEL_ID),
        supported=supported,
    )
