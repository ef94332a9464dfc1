"""How fast pages are placed, and whether the cost of one grows with the memory."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localmem.ports import FloatMatrix
from localmem.tiers.midterm import MidTerm
from localmem.tiers.selector import BEST_FIXED, FixedSelector, Selector, load_selector
from localmem.types import MessageId, Page, PageId, PageTraits, SessionId

SIZES = (1_000, 10_000, 100_000)
DIMENSION = 384
_RUN = 3
_PAGES_A_SESSION = 10
_START = datetime(2020, 1, 1, tzinfo=UTC)


def speeds(*, topics: int = 3_000) -> dict[str, Any]:
    """Pages a second by size of the memory, with the default selector and with the learned one.

    Seconds are of the processor, so that other work on the machine does not count; the last tenth
    of the pages tells what a page costs in a memory of that size.
    """
    report: dict[str, Any] = {}
    for name, selector in (("fixed", FixedSelector(BEST_FIXED)), ("learned", load_selector())):
        for size in SIZES:
            measured = _measured(size, topics, selector)
            sys.stderr.write(f"{name}, {size:,} pages: {measured}\n")
            report[f"{name}, {size:,} pages"] = measured
    return report


def _measured(size: int, topics: int, selector: Selector) -> dict[str, Any]:
    rows = clustered(size, topics)
    tier = MidTerm(DIMENSION, selector=selector)
    marks = [time.process_time()]
    wall = time.perf_counter()
    tenth = size // 10
    for number, page in enumerate(_pages(size)):
        tier.take(page, rows[number])
        if (number + 1) % tenth == 0:
            marks.append(time.process_time())
    return {
        "pages_per_cpu_s": round(size / (marks[-1] - marks[0])),
        "pages_per_s": round(size / (time.perf_counter() - wall)),
        "ms_per_page_at_the_end": round(1e3 * (marks[-1] - marks[-2]) / tenth, 3),
        "episodes": len(tier),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def clustered(size: int, topics: int, seed: int = 0) -> FloatMatrix:
    """float32 (size, 384) unit rows around random directions, in runs of three of one topic."""
    random = np.random.default_rng(seed)
    centres = _unit(random.normal(size=(topics, DIMENSION)))
    chosen = np.repeat(random.integers(0, topics, size // _RUN + 1), _RUN)[:size]
    rows = np.empty((size, DIMENSION), np.float32)
    for start in range(0, size, 10_000):
        part = chosen[start : start + 10_000]
        noise = random.normal(size=(len(part), DIMENSION)) / DIMENSION**0.5
        rows[start : start + 10_000] = _unit(centres[part] + noise)
    return rows


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float64)


def _pages(size: int) -> Iterator[Page]:
    random = np.random.default_rng(1)
    for number in range(size):
        names = tuple(f"name{i}" for i in random.integers(0, 500, 4))
        traits = PageTraits(words=60, entities=names, relations=1, asks=bool(number % 2))
        session = SessionId(number // _PAGES_A_SESSION)
        said_at = _START + timedelta(minutes=20 * number)
        yield Page(PageId(number + 1), session, (MessageId(number + 1),), said_at, traits)
