"""The part of `Memory` that takes messages in and lets them go. Wiring only."""

from __future__ import annotations

from pathlib import Path

from localmem.config import Config
from localmem.errors import RecordNotFoundError
from localmem.memory import importing
from localmem.memory.importing import ImportOptions
from localmem.memory.models import LoadedModels
from localmem.memory.telling import OnProgress
from localmem.memory.upkeep import Upkeep
from localmem.ports import Clock
from localmem.store import Store
from localmem.types import ErasureReceipt, ForgetPlan, ForgetTarget, ImportId, ImportReport


class KeepingMessages:
    """How messages come into a memory and leave it for good."""

    _store: Store
    _config: Config
    _clock: Clock
    _models: LoadedModels
    _upkeep: Upkeep

    # --- Importing ------------------------------------------------------------------------

    def import_(
        self,
        path: Path,
        options: ImportOptions | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> ImportReport:
        """Import a chat history; what is known already is left alone.

        Raw text is stored before anything is derived from it.

        Raises:
            ImportFormatError: the file is in no known format.
            ModelNotFoundError: there is no embedder and `later` is False; nothing was stored.
        """
        options = options or ImportOptions()
        soon = not options.later
        if soon:
            self._models.memory_embedder()
        report = importing.take_in(
            self._store,
            path,
            options,
            clock=self._clock,
            gap_h=self._config.store.session_gap_h,
            on_progress=on_progress,
        )
        self._upkeep.work(vectors=soon, items=soon, on_progress=on_progress)
        return report

    def plan_import(
        self,
        path: Path,
        options: ImportOptions | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> ImportReport:
        """What `import_` would do. Stores nothing.

        Raises:
            ImportFormatError: the file is in no known format.
        """
        return importing.plan(
            self._store, path, options or ImportOptions(), on_progress=on_progress
        )

    def imports(self) -> tuple[ImportReport, ...]:
        """All imports, newest first."""
        return self._store.list_imports()

    def undo_import(self, import_id: ImportId) -> ErasureReceipt:
        """Take an import back: its messages and all that was derived from them leave the file.

        Raises:
            RecordNotFoundError: there is no such import, or it was taken back already.
        """
        undone = {report.import_id for report in self._store.list_imports() if report.undone}
        if import_id in undone:
            raise RecordNotFoundError(f"import {import_id} was taken back already")
        receipt = self._store.undo_import(import_id)
        self._upkeep.settle()
        return receipt

    def plan_forget(self, target: ForgetTarget) -> ForgetPlan:
        """What `forget` would do. Changes nothing.

        Raises:
            UsageError, RecordNotFoundError: the target names nothing, or what is not here.
        """
        return self._store.plan_forget(target)

    def forget(self, target: ForgetTarget, *, confirm: str = "") -> ErasureReceipt:
        """Forget messages, sessions, a person or an import, and all that was made from them.

        Their bytes leave the file, and importing the same export does not bring them back. To
        forget the owner, `confirm` must be their name.

        Raises:
            UsageError, RecordNotFoundError: the target names nothing, or what is not here; or it
                is the owner and `confirm` is not their name.
        """
        receipt = self._store.forget(target, confirm=confirm)
        self._upkeep.settle()
        return receipt
