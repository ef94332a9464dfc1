"""Which depth a question gets when the caller leaves it open."""

from __future__ import annotations

from localmem.recall.answer import Asked
from localmem.types import Depth


def choose_depth(asked: Asked, *, reads_well: bool) -> Depth:
    """DIRECT with evidence and a model that reads better than extraction, else INSTANT."""
    return Depth.DIRECT if reads_well and asked.evidence else Depth.INSTANT
