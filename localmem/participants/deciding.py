"""R8: what no rule is sure of, decided by a model in one constrained choice, kept and applied.

A decision is kept by claim and item, so that items can be made anew without asking again. Nothing
waits for it: until a model was asked, the claim stands beside the item it may repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from localmem.participants.routers import Decide, Neighbour, RouteAction, Routing
from localmem.participants.terms import key_of
from localmem.types import Claim


class Decided(Protocol):
    """What a model said about a claim and the item with this key."""

    @property
    def key_sha(self) -> str: ...

    @property
    def action(self) -> str: ...


def by_decisions(decided: Mapping[tuple[int, int], Decided]) -> Decide:
    """What models said, as the routers ask for it; by message and position of the claim."""

    def decide(claim: Claim, nearest: Sequence[Neighbour]) -> Routing | None:
        one = decided.get((int(claim.message_id), claim.position))
        if one is None:
            return None
        action = RouteAction(one.action)
        if action is RouteAction.ADD:
            return Routing(action, "R8")
        target = next((n.item for n in nearest if key_of(n.item) == one.key_sha), None)
        return None if target is None else Routing(action, "R8", target)

    return decide
