"""Facts feed finding: keeps their index in step with the memory and lends their scores to messages.

Only facts that a language model made are stored, so only they are searched; those made by rule are
the messages' own words once more. Reads the memory, makes nothing: vectors come from `jobs`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import numpy as np

from localmem.errors import StaleIndexError, UsageError
from localmem.recall.corpus import Floats
from localmem.recall.facts_index import FactIndex
from localmem.recall.ranking import Ranking, Stage, Staged
from localmem.store import Store
from localmem.types import IndexSnapshot
from localmem.wording import counted

_log = logging.getLogger(__name__)
_PARTS = ("facts", "facts_keywords")

_KEYWORD_WEIGHT = np.float32(0.15)
_NEARNESS_WEIGHT = np.float32(0.25)
"""What a fact is worth to its messages, in units of the learned fusion."""

SETTINGS = ("off", "on")


def facts_wanted(setting: str) -> bool:
    """Whether facts are searched, by `search.facts` of the configuration.

    Raises:
        UsageError: no such setting.
    """
    if setting not in SETTINGS:
        raise UsageError(
            f"search.facts cannot be {setting!r}", hint=f"one of {', '.join(SETTINGS)}"
        )
    return setting == "on"


class FactSearch:
    """The facts of one memory. Not safe for concurrent calls."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._index: FactIndex | None = None
        self._state: tuple[int, str] | None = None
        self._embedded: set[int] = set()

    def forget(self) -> None:
        """Drop what is loaded; the next search reads the memory anew."""
        self._index, self._state = None, None
        self._embedded.clear()

    def stage(self, query: str, vector: Floats | None, model_id: str | None) -> Stage | None:
        """What facts add to a ranking; None where there are none. Inside `reading()`.

        `vector` is the query's, by the embedder `model_id`.
        """
        index = self._current(model_id)
        if not len(index):
            return None
        return lambda ranking: _with_facts(ranking, index, query, vector)

    def notices(self) -> tuple[str, ...]:
        """What is not as it should be with the facts that were searched last."""
        if self._index is None:
            return ()
        lacking = len(self._index.marks.keys() - self._embedded)
        if not lacking:
            return ()
        return (
            f"the facts of {counted(lacking, 'session')} have no vector yet: found by words only "
            "(localmem work)",
        )

    def save(self, model_id: str | None) -> None:
        """Store the index of words for the next start. Not inside `reading()`."""
        with self._store.reading():
            index, mark = self._current(model_id), self._store.facts_mark()
        if not len(index):
            return
        content = index.to_bytes()
        with self._store.writing():
            for name in _PARTS:
                self._store.put_snapshot(IndexSnapshot(name, mark, "", 0, content[name]))

    def _current(self, model_id: str | None) -> FactIndex:
        """The index, brought up to the memory's facts and the vectors of this embedder."""
        now = (self._store.facts_mark(), model_id or "")
        if self._index is None:
            self._index = self._stored() or FactIndex()
        if self._state != now:
            if self._state is not None and self._state[1] != now[1]:
                self._index.drop_vectors()
                self._embedded.clear()
            self._follow(self._index, now[1])
            self._state = now
        return self._index

    def _follow(self, index: FactIndex, model_id: str) -> None:
        """Take in what is new, let go what is gone."""
        marks = self._store.fact_marks()
        changed = [number for number, mark in marks.items() if index.marks.get(number) != mark]
        self._embedded.difference_update(changed, index.marks.keys() - marks.keys())
        index.drop(index.marks.keys() - marks.keys())
        if changed:
            index.put(self._store.fact_texts(changed))
        lacking = [number for number in marks if number not in self._embedded]
        if lacking and model_id:
            for page in self._store.fact_vectors(lacking, model_id):
                index.put_vectors(page)
                self._embedded.add(page.session_id)

    def _stored(self) -> FactIndex | None:
        try:
            parts = {name: self._store.get_snapshot(name) for name in _PARTS}
            return _index_of(parts)
        except StaleIndexError as error:
            _log.warning("the stored index of facts is made anew: %s", error.message)
            return None


def _index_of(parts: Mapping[str, IndexSnapshot | None]) -> FactIndex | None:
    stored = {name: part.content for name, part in parts.items() if part is not None}
    return FactIndex.from_bytes(stored) if len(stored) == len(parts) else None


def _with_facts(ranking: Ranking, index: FactIndex, query: str, vector: Floats | None) -> Staged:
    """The ranking with what each message's best facts add to it, in chats among people alone.

    Of a long message to or by an assistant, 25 facts a session tell the least: there they lift
    what they happen to tell of above what was asked for.
    """
    found = index.scores(ranking.corpus, query, vector)
    helped = ranking.corpus.among_people
    parts = {
        "fact_keyword": found.keyword * helped * _KEYWORD_WEIGHT,
        "fact_vector": found.nearness * helped * _NEARNESS_WEIGHT,
    }
    added = parts["fact_keyword"] + parts["fact_vector"]
    return Staged(ranking.scores + added, ranking.evident | (added > 0), parts)
