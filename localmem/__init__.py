"""Private, long-term memory for assistants that runs wholly on its owner's machine."""

from __future__ import annotations

__version__ = "0.1.0"
