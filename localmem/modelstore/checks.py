"""What self-tests found on this machine, kept beside the models for `auto` and `doctor`."""

from __future__ import annotations

import json
from pathlib import Path

from localmem.errors import ModelError
from localmem.modelstore.marks import write_private
from localmem.modelstore.selftest import SelfTestResult, result_from_json, result_to_json


class CheckBook:
    """The newest self-test of each model, in one JSON file of a models folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "checks.json"

    def of(self, model_id: str) -> SelfTestResult | None:
        """What the self-test found about a model; None where it was not tested.

        Raises:
            ModelError: the file is damaged.
        """
        kept = self._read().get(model_id)
        return None if kept is None else result_from_json(json.dumps(kept))

    def keep(self, result: SelfTestResult) -> None:
        """Keep a result in place of an older one of the same model."""
        kept = self._read() | {result.model_id: json.loads(result_to_json(result))}
        write_private(self._path, json.dumps(kept, indent=1))

    def _read(self) -> dict[str, object]:
        if not self._path.is_file():
            return {}
        try:
            tree = json.loads(self._path.read_text(encoding="utf-8"))
            return dict(tree)
        except (ValueError, TypeError) as error:
            raise ModelError(
                f"{self._path} is damaged: {error}",
                hint=f"delete {self._path} and run: localmem models check",
            ) from error
