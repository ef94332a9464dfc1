"""The terminal app: find messages, ask, and read the sessions they stand in.

It stands on `localmem.memory` alone; what a screen needs and the library lacks goes into the
library.
"""

from localmem_tui.app import LocalMemApp

__all__ = ["LocalMemApp"]
