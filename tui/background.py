"""The language model's work ahead, as the whole app shares it: begun, paused and ended by keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localmem.errors import LocalMemError
from localmem.memory import Memory
from localmem.types import QueueState, QueueStatus

if TYPE_CHECKING:
    from localmem.jobs.warmer import Warmer

_QUIET_S = 5.0


class Background:
    """At most one warmer at a time, but for one that is ending."""

    def __init__(self, memory: Memory, *, quiet_s: float = _QUIET_S) -> None:
        """`quiet_s`: it works only while no question was asked for so long."""
        self._memory = memory
        self.quiet_s = quiet_s
        self._warmer: Warmer | None = None
        self._is_paused = False
        self._is_ending = False

    def start(self) -> None:
        """Begin, unless it works already; a paused one goes on, one that is ending is replaced."""
        if self._warmer is not None and not (self._is_ending or self._has_ended()):
            self._warmer.resume()
        else:
            self._warmer = self._memory.warmer(idle_s=self.quiet_s).start()
        self._is_paused = self._is_ending = False

    def pause_or_resume(self) -> None:
        """Pause, or go on."""
        if self._warmer is None:
            return
        if self._is_paused:
            self._warmer.resume()
        else:
            self._warmer.pause()
        self._is_paused = not self._is_paused

    def end(self) -> None:
        """End at the next step; does not wait for it."""
        if self._warmer is not None:
            self._is_ending = True
            self._warmer.stop(timeout_s=0.0)

    def status(self) -> QueueStatus | None:
        """How far it is; None where it was never begun."""
        return None if self._warmer is None else self._warmer.status()

    @property
    def error(self) -> LocalMemError | None:
        """What ended it before its time."""
        return None if self._warmer is None else self._warmer.error

    def _has_ended(self) -> bool:
        status = self.status()
        over = status is not None and status.state in (QueueState.DONE, QueueState.STOPPED)
        return over or self.error is not None
