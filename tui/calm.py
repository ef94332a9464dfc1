"""Keeps the garbage collector from stopping the keys.

With the index of 100,000 turns loaded, one full collection takes a fifth of a second, in which no
key is heard and nothing is drawn. What is loaded once and stays needs none; what is drawn and
thrown away is found by the small collections.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_LARGE = 20_000
"""Messages. What a smaller memory loads is collected too fast to be felt."""
_RARELY = (5_000, 10, 1_000)
"""A small collection after so many new objects, a larger one after so many small ones, a full one
after so many of these: hardly ever."""


@contextmanager
def loading(messages: int) -> Iterator[None]:
    """Of a large memory, what is loaded inside stays out of all later collections.

    From then on full ones are rare.
    """
    if messages < _LARGE:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*_RARELY)
        gc.enable()
