"""One memory file with its models, as front ends and programs use it.

`Memory` is all that they need; the other modules are its parts, each with one thing to do.
"""

from localmem.memory.importing import ImportOptions
from localmem.memory.local_time import SystemClock
from localmem.memory.memory import Memory
from localmem.memory.models import LoadedModels, ModelSource
from localmem.memory.telling import OnProgress

__all__ = [
    "ImportOptions",
    "LoadedModels",
    "Memory",
    "ModelSource",
    "OnProgress",
    "SystemClock",
]
