"""Made-up pages for tests: topics as directions, days apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from localmem.ports import FloatMatrix
from localmem.types import MessageId, Page, PageId, PageTraits, SessionId

START = datetime(2024, 1, 1, 9, tzinfo=UTC)
DIMENSION = 32


def page(number: int, *, session: int = 1, hours: float = 0.0, **traits: object) -> Page:
    told = PageTraits(**{"words": 20, **traits})  # type: ignore[arg-type]  # names are the fields
    said_at = START + timedelta(hours=hours)
    return Page(PageId(number), SessionId(session), (MessageId(number),), said_at, told)


def topic_rows(topics: list[int], *, noise: float = 0.35, seed: int = 0) -> FloatMatrix:
    """float32 (n, DIMENSION) unit rows around one direction a topic."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(max(topics) + 1, DIMENSION))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    rows = centres[topics] + noise * random.normal(size=(len(topics), DIMENSION)) / DIMENSION**0.5
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
