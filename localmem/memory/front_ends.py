"""The part of `Memory` that front ends which stay open need. Wiring only."""

from __future__ import annotations

from localmem.shelf import ModelShelf
from localmem.store import Store

_SUGGESTIONS = 3


class ServingFrontEnds:
    """What tells a program that stays open of changes, of models, of what to ask."""

    _store: Store

    def generation(self) -> int:
        """Counts the changes of what search would return; other programs' changes too."""
        return self._store.generation()

    @property
    def shelf(self) -> ModelShelf:
        """The models of this user by name, as the configuration stands now."""
        return ModelShelf.open()

    def suggestions(self, *, most: int = _SUGGESTIONS) -> tuple[str, ...]:
        """Questions that this memory can be asked; () for an empty one.

        Of the sample history its own questions, else what the owner talks about most.
        """
        from localmem.sample import questions, sample_export

        with self._store.reading():
            taken_in = {report.path for report in self._store.list_imports() if not report.undone}
            owner = self._store.owner()
            topics = self._store.person(str(owner.id)).topics if owner is not None else ()
        if str(sample_export()) in taken_in:
            return questions()[:most]
        return tuple(f"What did I say about {word}?" for word, _ in topics[:most])
