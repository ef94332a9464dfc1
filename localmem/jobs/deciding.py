"""R8 in the background: a model says whether two things that the rules were not sure of are one.

One constrained choice for each pair, kept by claim and item, so that it is never asked again; then
the items concerned are made anew. The memory is held only to read and to store.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from localmem.dates import describe_day
from localmem.jobs.remembering import renew_items
from localmem.participants.routers import RouteAction
from localmem.participants.terms import key_of
from localmem.ports import Llm
from localmem.prompts import load_prompt
from localmem.store import Store
from localmem.store.decisions import Decision, Undecided
from localmem.types import Provenance

LEAST_PROBABILITY = 0.6
"""A less probable choice changes nothing: the claim stays added."""

_OPTIONS = ("new", "update", "same")
_ACTIONS = (RouteAction.ADD, RouteAction.UPDATE, RouteAction.IGNORE)
_MOST_AT_ONCE = 20


def decide_claims(
    store: Store, llm_of: Callable[[], Llm], *, stop: Callable[[], bool] = lambda: False
) -> int:
    """Ask the model about every pair that is open; how many were decided.

    `llm_of` is called only where something is open. What is decided is stored in small lots, so
    that `stop` loses little.

    Raises:
        GenerationError: the model failed.
    """
    decided = 0
    while not stop() and (pairs := store.undecided(_MOST_AT_ONCE)):
        llm = llm_of()
        made = []
        for pair in pairs:
            if stop():
                break
            made.append(_decided(pair, llm))
        store.put_decisions(made)
        renew_items(store)
        decided += len(made)
    return decided


def _decided(pair: Undecided, llm: Llm) -> Decision:
    prompt = load_prompt("route_claim")
    messages = prompt.messages(
        older_day=_day(pair.item.said_at),
        older=pair.item.quote,
        newer_day=_day(pair.claim.said_at),
        newer=pair.claim.quote,
    )
    choice = llm.choose(messages, _OPTIONS)
    sure = choice.probabilities[choice.best] >= LEAST_PROBABILITY
    return Decision(
        message_id=pair.claim.message_id,
        position=pair.claim.position,
        key_sha=key_of(pair.item),
        action=(_ACTIONS[choice.best] if sure else RouteAction.ADD).value,
        provenance=Provenance(llm.model_id, prompt.sha, ""),
    )


def _day(said_at: datetime | None) -> str:
    return describe_day(said_at.date()) if said_at is not None else "unknown day"
