"""Every failure that localmem reports, as one tree.

LocalMemError
├── ConfigError
├── UsageError
├── ModelError
│   ├── ModelNotFoundError
│   ├── ModelCorruptError
│   ├── MissingExtraError
│   ├── DownloadError
│   └── GenerationError
├── StoreError
│   ├── StoreLockedError
│   ├── SchemaTooNewError
│   ├── RecordNotFoundError
│   └── WrongPassphraseError
├── StaleIndexError
├── ImportFormatError
├── PostponedError
└── NetworkDeniedError

Foreign exceptions are translated once, where the foreign library is called, with `from`.
"""

from __future__ import annotations


class LocalMemError(Exception):
    """A failure that a person can act on: one sentence, and a hint with the cure."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(LocalMemError):
    """A configuration file or value is wrong; names the file, the key and the nearest key."""


class UsageError(LocalMemError):
    """An argument makes no sense where it stands."""


class ModelError(LocalMemError):
    """A model could not be found, loaded or run."""


class ModelNotFoundError(ModelError):
    """The named model is neither in the catalog nor on disk."""


class ModelCorruptError(ModelError):
    """A model file does not have the hash that the catalog expects."""

    def __init__(self, path: str, *, expected: str, actual: str) -> None:
        super().__init__(
            f"{path} has sha256 {actual}, expected {expected}",
            hint="delete the file and run: localmem models pull",
        )
        self.expected = expected
        self.actual = actual


class MissingExtraError(ModelError):
    """An optional dependency is not installed; the hint is the exact pip line."""

    def __init__(self, needed_for: str, *, extra: str) -> None:
        super().__init__(
            f"{needed_for} needs the extra '{extra}', which is not installed",
            hint=f"pip install 'localmem-desktop[{extra}]'"
            f" (in a checkout: pip install -e '.[{extra}]')",
        )
        self.extra = extra


class DownloadError(ModelError):
    """No source of a model could be fetched."""


class GenerationError(ModelError):
    """A model ran and gave no usable reply."""


class StoreError(LocalMemError):
    """The memory file could not be read or written."""


class StoreLockedError(StoreError):
    """Another process held the memory for longer than the caller's patience."""

    def __init__(self, path: str, *, pid: int | None, command: str, waited_s: float) -> None:
        holder = f"process {pid} ({command})" if pid else "another process"
        super().__init__(
            f"{path} is in use by {holder}; waited {waited_s:.1f} s",
            hint="wait for it to finish or stop that process, then try again",
        )
        self.pid = pid
        self.command = command


class SchemaTooNewError(StoreError):
    """The memory was written by a newer version of localmem."""


class RecordNotFoundError(StoreError):
    """No session, message, participant or import has this id."""


class WrongPassphraseError(StoreError):
    """The memory is encrypted and the key does not open it."""


class StaleIndexError(LocalMemError):
    """An index snapshot does not belong to the rows or the embedder in use."""


class ImportFormatError(LocalMemError):
    """A file is not in a format that can be imported; names the path and the place."""

    def __init__(self, path: str, place: str, reason: str, *, hint: str = "") -> None:
        where = f"{path} ({place})" if place else path
        super().__init__(f"{where}: {reason}", hint=hint)
        self.path = path
        self.place = place


class PostponedError(LocalMemError):
    """Background work stopped before its end: a question came first, or it was told to stop.

    Whoever waits for a result of that work makes it itself.
    """


class NetworkDeniedError(LocalMemError):
    """Something tried to leave this machine; only `models pull` may."""
