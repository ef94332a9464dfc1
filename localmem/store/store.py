"""The memory file as a room of values: every method takes the lease, does its work, gives it back.

Wiring only; what happens stands in the other modules of this package.
"""

from __future__ import annotations

from localmem.store.facade.derived import DerivedRows
from localmem.store.facade.facts import FactRows
from localmem.store.facade.graph import GraphRows
from localmem.store.facade.imports import ImportRows
from localmem.store.facade.index import IndexRows
from localmem.store.facade.items import ItemRows
from localmem.store.facade.messages import MessageRows
from localmem.store.facade.people import PeopleRows
from localmem.store.facade.personas import PersonaRows
from localmem.store.facade.talks import TalkRows
from localmem.store.facade.tiers import TierRows


class Store(
    ImportRows,
    MessageRows,
    PeopleRows,
    DerivedRows,
    FactRows,
    ItemRows,
    PersonaRows,
    TierRows,
    GraphRows,
    TalkRows,
    IndexRows,
):
    """One memory file. Safe for threads; several processes may have one each at the same time.

    The file is open only inside `reading()` and `writing()`, which every method enters by itself:
    put several calls into one block to open it once. `idle_s` keeps it open that much longer while
    nobody else waits. Each writing method is one transaction.
    """
