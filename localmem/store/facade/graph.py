"""What stands around a node of the graph. Wiring only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from localmem.store import surroundings
from localmem.store.facade.held import Held
from localmem.store.surroundings import NearMessage
from localmem.types import MessageId


class GraphRows(Held):
    """Messages in the order of time, near a node."""

    def messages_around(self, ids: Iterable[MessageId], *, reach: int) -> tuple[NearMessage, ...]:
        """The messages of the sessions of these, and `reach` of each speaker on either side."""
        with self._lease.hold(write=False) as connection:
            return surroundings.around(connection, ids, reach=reach)

    def messages_in_time(self, ids: Iterable[MessageId]) -> tuple[NearMessage, ...]:
        """These messages, as far as they are shown, in the order of time."""
        with self._lease.hold(write=False) as connection:
            return surroundings.these(connection, ids)

    def messages_on(self, topic: str) -> tuple[NearMessage, ...]:
        """The messages whose turn has this case-folded keyword, in the order of time."""
        with self._lease.hold(write=False) as connection:
            return surroundings.on_topic(connection, topic)

    def topics_with(self, part: str, *, most: int) -> Sequence[str]:
        """Case-folded keywords that hold a text, those of most turns first."""
        with self._lease.hold(write=False) as connection:
            return surroundings.topics_with(connection, part, most=most)
