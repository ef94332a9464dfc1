"""Long actions in threads: they can be stopped, tell how far they are, and fail with words."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from textual.app import App

from localmem.errors import LocalMemError
from localmem.types import Progress

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")
_TELL_EVERY_S = 0.1


class StoppedError(LocalMemError):
    """The person at the keys stopped the action."""


class Job:
    """One long action. The thread calls `check` now and then; the keys call `stop`."""

    def __init__(self, on_progress: Callable[[Progress], None] | None = None) -> None:
        """`on_progress` is called in the action's thread, ten times a second at most."""
        self._stop = threading.Event()
        self._at_stop: Callable[[], None] | None = None
        self._on_progress = on_progress
        self._told: tuple[str, float] = ("", 0.0)

    def stop(self) -> None:
        """End the action at its next step."""
        self._stop.set()
        if self._at_stop is not None:
            self._at_stop()

    def at_stop(self, end: Callable[[], None]) -> None:
        """What ends a step that waits for something else; called by `stop`, maybe more than once.

        It is called at once where the action was stopped before. It must not block.
        """
        self._at_stop = end
        if self._stop.is_set():
            end()

    def check(self) -> None:
        """Raises StoppedError where the action is to end."""
        if self._stop.is_set():
            raise StoppedError("stopped")

    def tell(self, progress: Progress) -> None:
        """Say how far it is; also a place to end."""
        self.check()
        stage, at = self._told
        now = time.monotonic()
        is_last = progress.total is not None and progress.done >= progress.total
        if self._on_progress is None or (
            stage == progress.stage and now - at < _TELL_EVERY_S and not is_last
        ):
            return
        self._told = (progress.stage, now)
        self._on_progress(progress)


def in_thread(
    app: App[Any],
    action: Callable[[], _Result],
    *,
    done: Callable[[_Result], None],
    failed: Callable[[LocalMemError], None],
) -> None:
    """Do an action in this thread, and tell the app's thread what came of it.

    A failure that nobody foresaw is told too, with its kind; the log has the rest.
    """
    try:
        result = action()
    except LocalMemError as error:
        _tell(app, partial(failed, error))
    except Exception as error:  # noqa: BLE001  # the last place before the app would end with a traceback
        # The type alone: an error's words may hold those of a chat, and a log must not.
        _log.error("an action of the terminal app failed: %s", type(error).__name__)
        unforeseen = LocalMemError(
            f"that failed: {type(error).__name__}: {error}",
            hint="localmem doctor tells whether the memory is well",
        )
        _tell(app, partial(failed, unforeseen))
    else:
        _tell(app, partial(done, result))


def _tell(app: App[Any], what: Callable[[], object]) -> None:
    """Call in the app's thread; an app that has ended hears nothing."""
    if app.is_running:
        app.call_later(what)
