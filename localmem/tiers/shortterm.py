"""The short term: the last pages of a running conversation, in the context of every answer. Pure.

FluxMem, sections 3.2 and 4: at most four pages; over capacity the page with the oldest last
access leaves. An access is being written, or being cited by an answer. What leaves stays in the
memory: its messages were stored when they were said, and consolidation places them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from localmem.types import MessageId, RecentPage

MOST_PAGES = 4


@dataclass(frozen=True, slots=True)
class _Held:
    """A page with the numbers of its writing and of its last access."""

    page: RecentPage
    written: int
    accessed: int


@dataclass(frozen=True, slots=True)
class ShortTerm:
    """The pages that are held. `accesses` counts what has happened so far."""

    held: tuple[_Held, ...] = ()
    accesses: int = 0
    most: int = MOST_PAGES

    @property
    def pages(self) -> tuple[RecentPage, ...]:
        """The pages in the order in which they were written."""
        return tuple(one.page for one in sorted(self.held, key=lambda one: one.written))

    def cited(self, ids: Collection[MessageId]) -> ShortTerm:
        """After an answer that cites these messages: their pages were accessed."""
        now = self.accesses + 1
        held = tuple(
            _Held(one.page, one.written, now)
            if any(message.id in ids for message in one.page.messages)
            else one
            for one in self.held
        )
        return ShortTerm(held, now, self.most)

    def written(self, page: RecentPage) -> tuple[ShortTerm, tuple[RecentPage, ...]]:
        """After a page was written; with it the pages that left, the oldest access first.

        Of pages with the same last access the one that was written first leaves.
        """
        now = self.accesses + 1
        held = sorted(
            (*self.held, _Held(page, now, now)), key=lambda one: (one.accessed, one.written)
        )
        surplus = max(0, len(held) - self.most)
        left = tuple(one.page for one in held[:surplus])
        return ShortTerm(tuple(held[surplus:]), now, self.most), left


def replayed(pages: Iterable[RecentPage], *, most: int = MOST_PAGES) -> ShortTerm:
    """The short term after these pages were written one after the other, each answer's citations
    counting as accesses: what a conversation held when it stopped."""
    term = ShortTerm(most=most)
    for page in pages:
        term, _ = term.cited(page.cited).written(page)
    return term
