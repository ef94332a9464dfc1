"""A running conversation of the owner with the memory: its last pages (FluxMem, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from localmem.types.ids import MessageId
from localmem.types.messages import Message, Role


@dataclass(frozen=True, slots=True)
class RecentPage:
    """One exchange of a running conversation: what the owner said and, if there is one, the reply.

    `cited` are the messages that the reply rests on.
    """

    messages: tuple[Message, ...]
    cited: tuple[MessageId, ...] = ()

    @property
    def said(self) -> tuple[Message, ...]:
        """What the owner said in it."""
        return tuple(one for one in self.messages if one.role is Role.USER)
