"""Which models are on this machine, and getting those that are not.

The only room that may open outgoing connections, and only in `pull`. It loads no model.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localmem.errors import ModelCorruptError, ModelError, ModelNotFoundError
from localmem.modelstore.catalog import Catalog, CatalogEntry, FileRole, ModelFile, ModelKind
from localmem.modelstore.marks import MarkBook, sha256_of
from localmem.modelstore.progress import OnProgress
from localmem.modelstore.pull import pull_file
from localmem.types import EmbedderFiles, LlmFiles

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A catalog entry with what of it is on disk. `intact`: the hashes were checked and fit."""

    entry: CatalogEntry
    present: bool
    intact: bool
    path: Path


@dataclass(frozen=True, slots=True)
class PulledFile:
    """One file after a pull. `recorded`: no hash was known, so this one is now the right one."""

    path: Path
    sha256: str
    fetched: bool
    recorded: bool


class ModelStore:
    """The models folder, seen through a catalog."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._marks = MarkBook(folder)

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    def list_models(self) -> list[ModelStatus]:
        """Every model of the catalog, in its order."""
        return [self._status(entry) for entry in self._catalog.entries]

    def pull(self, name: str, *, on_progress: OnProgress | None = None) -> list[PulledFile]:
        """Bring all files of a model here; files that are here and intact are left alone.

        Raises:
            ModelNotFoundError, DownloadError, ModelCorruptError
        """
        entry = self._catalog.entry(name)
        return [self._pull_one(entry, file, on_progress) for file in entry.files]

    def path_of(self, name: str) -> Path:
        """The weights file of a model that is here: a catalog name, or a path.

        Raises:
            ModelNotFoundError: with the pull command as its hint.
        """
        given = Path(name).expanduser()
        if given.exists():
            return given
        entry = self._catalog.entry(name)
        self._demand_present(entry)
        return self._path(entry, entry.file(FileRole.WEIGHTS))

    def llm(self, name: str) -> LlmFiles:
        """A language model by catalog name or as the path of a GGUF file; a quick look only."""
        given = Path(name).expanduser()
        if given.is_file():
            mark = self._marks.current(str(given.resolve()), given)
            return LlmFiles(given.stem, given, mark.sha256 if mark else "")
        entry = self._entry_of_kind(name, ModelKind.LLM)
        path = self.path_of(entry.name)
        sha256 = self._quick_hash(entry, entry.file(FileRole.WEIGHTS))
        return LlmFiles(entry.name, path, sha256, entry.context_tokens)

    def embedder(self, name: str) -> EmbedderFiles:
        """An embedder by catalog name, or as a folder with an .onnx file and tokenizer.json."""
        given = Path(name).expanduser()
        if given.exists():
            return self._embedder_at(given)
        entry = self._entry_of_kind(name, ModelKind.EMBEDDER)
        self._demand_present(entry)
        return EmbedderFiles(
            name=entry.name,
            weights=self._path(entry, entry.file(FileRole.WEIGHTS)),
            tokenizer=self._path(entry, entry.file(FileRole.TOKENIZER)),
            sha256=self._quick_hash(entry, entry.file(FileRole.WEIGHTS)),
            dimension=entry.dimension,
            max_tokens=entry.max_tokens,
            pooling=entry.pooling,
            query_prefix=entry.query_prefix,
            passage_prefix=entry.passage_prefix,
        )

    def verify(self, name: str, *, on_bytes: Callable[[int], None] | None = None) -> list[str]:
        """Read all files of a model that is here and compare their hashes; returns the hashes.

        Raises:
            ModelNotFoundError, ModelCorruptError
        """
        entry = self._catalog.entry(name)
        self._demand_present(entry)
        return [self._verify_one(entry, file, on_bytes) for file in entry.files]

    def _pull_one(
        self, entry: CatalogEntry, file: ModelFile, on_progress: OnProgress | None
    ) -> PulledFile:
        key, path = f"{entry.name}/{file.name}", self._path(entry, file)
        known = self._marks.known(key)
        expected = file.sha256 or (known.sha256 if known else "")
        if path.is_file() and self._is_intact(key, path, expected):
            return PulledFile(path, expected, fetched=False, recorded=False)
        sha256 = pull_file(
            file, path, hub=self._catalog.hub, expected=expected, on_progress=on_progress
        )
        self._marks.record(key, path, sha256)
        return PulledFile(path, sha256, fetched=True, recorded=not expected)

    def _is_intact(self, key: str, path: Path, expected: str) -> bool:
        mark = self._marks.current(key, path)
        if mark is not None:
            return mark.sha256 == expected
        if not expected:
            return False
        sha256 = sha256_of(path)
        if sha256 == expected:
            self._marks.record(key, path, sha256)
        return sha256 == expected

    def _verify_one(
        self, entry: CatalogEntry, file: ModelFile, on_bytes: Callable[[int], None] | None
    ) -> str:
        key, path = f"{entry.name}/{file.name}", self._path(entry, file)
        known = self._marks.known(key)
        expected = file.sha256 or (known.sha256 if known else "")
        actual = sha256_of(path, on_bytes=on_bytes)
        if expected and actual != expected:
            raise ModelCorruptError(str(path), expected=expected, actual=actual)
        self._marks.record(key, path, actual)
        return actual

    def _quick_hash(self, entry: CatalogEntry, file: ModelFile) -> str:
        """The hash without reading the file, if size and time are as marked; else a full check."""
        mark = self._marks.current(f"{entry.name}/{file.name}", self._path(entry, file))
        if mark is not None and mark.sha256 == (file.sha256 or mark.sha256):
            return mark.sha256
        _log.info("%s changed since its hash was computed; reading it whole", file.name)
        return self._verify_one(entry, file, None)

    def _embedder_at(self, given: Path) -> EmbedderFiles:
        folder = given if given.is_dir() else given.parent
        weights = given if given.is_file() else _only_onnx(folder)
        key = str(weights.resolve())
        mark = self._marks.current(key, weights)
        sha256 = mark.sha256 if mark else sha256_of(weights)
        if mark is None:
            self._marks.record(key, weights, sha256)
        return EmbedderFiles(folder.name, weights, folder / "tokenizer.json", sha256)

    def _entry_of_kind(self, name: str, kind: ModelKind) -> CatalogEntry:
        entry = self._catalog.entry(name)
        if entry.kind is not kind:
            raise ModelError(f"{name} is of kind {entry.kind}, want {kind}")
        return entry

    def _demand_present(self, entry: CatalogEntry) -> None:
        missing = [file.name for file in entry.files if not self._path(entry, file).is_file()]
        if missing:
            raise ModelNotFoundError(
                f"the model {entry.name} is not on this machine ({', '.join(missing)} missing)",
                hint=f"localmem models pull {entry.name}",
            )

    def _status(self, entry: CatalogEntry) -> ModelStatus:
        paths = {file: self._path(entry, file) for file in entry.files}
        marks = [self._marks.current(f"{entry.name}/{f.name}", path) for f, path in paths.items()]
        return ModelStatus(
            entry=entry,
            present=all(path.is_file() for path in paths.values()),
            intact=all(marks),
            path=self._path(entry, entry.file(FileRole.WEIGHTS)),
        )

    def _path(self, entry: CatalogEntry, file: ModelFile) -> Path:
        return self._folder / entry.name / file.name


def _only_onnx(folder: Path) -> Path:
    """The one model of a folder; one in a subfolder named onnx counts too."""
    found = sorted(
        path
        for place in (folder, folder / "onnx")
        for path in place.glob("*.onnx")
        if not path.name.startswith(".")
    )
    if not found:
        raise ModelNotFoundError(f"{folder} holds no .onnx file", hint="name the file itself")
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise ModelNotFoundError(f"{folder} holds several models: {names}", hint="name one of them")
    return found[0]
