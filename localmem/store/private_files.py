"""Files that only their owner may read.

DuckDB makes its files with the process's umask and offers no other way, so the umask is narrowed
for the moments in which it may create one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# The umask belongs to the whole process: two threads that narrow and restore it at the same time
# would leave it wrong. The lock guards that shared thing, it is no state of ours.
_UMASK_LOCK = threading.Lock()

_OWNER_ONLY = 0o077


@contextmanager
def owner_only_files() -> Iterator[None]:
    """Files created inside the block get mode 0600 and folders 0700."""
    with _UMASK_LOCK:
        previous = os.umask(_OWNER_ONLY)
        try:
            yield
        finally:
            os.umask(previous)
