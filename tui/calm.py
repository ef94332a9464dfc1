"""Keeps the garbage collector from stopping the keys.

With the index of 100,000 turns loaded, one full collection takes a fifth of a second, in which no
key is heard and nothing is drawn. What is loaded once and stays needs none.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_LARGE = 20_000
"""Messages. What a smaller memory loads is collected too fast to be felt."""


@contextmanager
def loading(messages: int) -> Iterator[None]:
    """Of a large memory, what is loaded inside stays out of all later collections."""
    if messages < _LARGE:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
