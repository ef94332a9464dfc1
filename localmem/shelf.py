"""The model shelf: the catalog, the models folder, the configuration and the engines, together.

Wiring only: front ends and Memory come here for a model by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from localmem import paths
from localmem.config import Config, load_config, set_value
from localmem.errors import MissingExtraError, ModelNotFoundError, UsageError
from localmem.modelstore import (
    Catalog,
    CheckBook,
    ModelKind,
    ModelStore,
    PullProgress,
    SelfTestResult,
)
from localmem.ports import Embedder, Llm
from localmem.types import EmbedderFiles, Finding, ModelRole, Progress, Verdict

_SPARE_SHARE = 0.7
"""Of a machine's memory, what a model may take; the rest is the system's and other programs'."""

_LOOPBACK_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class ShelfEntry:
    """One line of `localmem models list`. `fits`: this machine has the memory for it."""

    name: str
    kind: str
    title: str
    bytes: int
    memory_mb: int
    licence: str
    for_whom: str
    present: bool
    in_use: bool
    fits: bool = True


class ModelShelf:
    """Models by name: on disk, in use, or to be had."""

    def __init__(self, store: ModelStore, config: Config, config_path: Path) -> None:
        self._store = store
        self._config = config
        self._config_path = config_path
        self._checks = CheckBook(store.folder)

    @classmethod
    def open(cls, config: Config | None = None) -> ModelShelf:
        """The shelf of this user."""
        path = paths.config_file()
        store = ModelStore(paths.models_folder(), Catalog.load())
        return cls(store, config or load_config(path), path)

    def entries(self) -> tuple[ShelfEntry, ...]:
        """The catalog, and models in use that stand outside it."""
        spare_mb = _SPARE_SHARE * (self.machine_memory_mb() or float("inf"))
        used = {self._config.models.embedder, *map(self._config.models.of, ModelRole)}
        return tuple(
            ShelfEntry(
                name=status.entry.name,
                kind=status.entry.kind.value,
                title=status.entry.title,
                bytes=status.entry.size,
                memory_mb=status.entry.memory_mb,
                licence=status.entry.licence,
                for_whom=status.entry.for_whom,
                present=status.present,
                in_use=status.entry.name in used,
                fits=status.entry.memory_mb <= spare_mb,
            )
            for status in self._store.list_models()
        )

    @staticmethod
    def machine_memory_mb() -> int | None:
        """Mebibytes that this machine gives this process at most; None where it is not told."""
        from localmem.backends.cpu import machine_memory_mb

        return machine_memory_mb()

    def defaults(self) -> tuple[str, ...]:
        """Names of the models that a pull without a name takes."""
        return tuple(entry.name for entry in self._store.catalog.defaults())

    def pull(self, name: str, *, on_progress: Callable[[Progress], None] | None = None) -> str:
        """Bring a model here; one line that says what happened.

        Raises:
            ModelNotFoundError, DownloadError, ModelCorruptError
        """

        def tell(progress: PullProgress) -> None:
            if on_progress is not None:
                total = progress.total or None
                on_progress(Progress(f"{name}: {progress.file}", progress.done, total, "bytes"))

        pulled = self._store.pull(name, on_progress=tell)
        lines = [f"{name}: {'fetched' if any(p.fetched for p in pulled) else 'is here'}"]
        lines += [f"  {p.path.name} sha256 {p.sha256} (recorded)" for p in pulled if p.recorded]
        return "\n".join(lines)

    def use(self, name: str, *, role: ModelRole | None = None) -> str:
        """Make a model the one in use, or a language model that of one role; one line that says
        what follows.

        Raises:
            ModelNotFoundError: it is not on this machine.
            UsageError: an embedder was given a role.
        """
        if role is not None and self._is_embedder(name):
            raise UsageError(
                f"{name} is an embedder, and {role} is done by a language model",
                hint="localmem models list tells the kinds",
            )
        key = role.value if role else "embedder" if self._is_embedder(name) else "llm"
        value = name if self._is_url(name) else str(self._resolved(name))
        set_value(self._config_path, section="models", key=key, value=value)
        follows = "; now run: localmem reindex" if key == "embedder" else ""
        return f"models.{key} = {value}{follows}"

    def path(self, name: str) -> Path:
        """Where a model's weights are.

        Raises:
            ModelNotFoundError: it is not on this machine.
        """
        return self._store.path_of(name)

    def embedder(self, name: str | None = None) -> Embedder:
        """The embedder in use, or the one named, loaded.

        Raises:
            ModelNotFoundError: it is not on this machine.
        """
        return self._opened(self._store.embedder(name or self._config.models.embedder))

    def embedder_of(self, model_id: str | None) -> Embedder:
        """The embedder that made a memory's vectors, loaded; the one in use where there are none.

        Raises:
            ModelNotFoundError: neither the configuration nor the catalog leads to it.
        """
        if model_id is None:
            return self.embedder()
        known = {entry.name for entry in self._store.catalog.entries}
        for name in (self._config.models.embedder, model_id.partition("@")[0]):
            if name != self._config.models.embedder and name not in known:
                continue
            files = self._store.embedder(name)
            if files.model_id == model_id:
                return self._opened(files)
        raise ModelNotFoundError(
            f"the vectors of this memory are by {model_id}, which is not on this machine",
            hint=f"localmem reindex --embedder {self._config.models.embedder}",
        )

    def _opened(self, files: EmbedderFiles) -> Embedder:
        from localmem.backends import open_embedder

        return open_embedder(files, threads=self._config.models.threads or None)

    def llm(self, role: ModelRole = ModelRole.ANSWER) -> Llm:
        """The language model of a role, loaded; one model of several roles is for the caller to
        load once (see `llm_key`).

        Raises:
            ModelNotFoundError: it is not on this machine.
        """
        return self._opened_llm(self._config.models.of(role))

    def llm_key(self, role: ModelRole = ModelRole.ANSWER) -> str:
        """What tells the language models of two roles apart, without loading them.

        Raises:
            ModelNotFoundError: it is not on this machine.
        """
        name = self._config.models.of(role)
        return name if self._is_url(name) else self._store.llm(name).model_id

    def _opened_llm(self, wanted: str) -> Llm:
        from localmem.backends import open_llm

        models = self._config.models
        where = wanted if self._is_url(wanted) else self._store.llm(wanted)
        return open_llm(
            where,
            engine=models.engine,
            context_tokens=models.context_tokens,
            threads=models.threads or None,
        )

    def check(
        self, name: str | None = None, *, on_progress: Callable[[Progress], None] | None = None
    ) -> SelfTestResult:
        """Verify a language model's file, run the self-test on it and keep the verdicts.

        Raises:
            ModelCorruptError: the file is not what the catalog says.
            ModelError: it could not be loaded.
        """
        from localmem.modelstore import run_self_test

        wanted = name or self._config.models.llm
        if not self._is_url(wanted):
            self.verify(wanted)

        def tell(done: int, total: int) -> None:
            if on_progress is not None:
                on_progress(Progress("self-test", done, total, "items"))

        llm = self._opened_llm(wanted)
        try:
            result = run_self_test(llm, on_progress=tell)
        finally:
            llm.close()
        self._checks.keep(result)
        return result

    def reads_well(self, role: ModelRole = ModelRole.ANSWER) -> bool:
        """Whether what a role's model writes is better than what rules make; loads nothing.

        Told by its self-test ("choice" and "copy") where it was run, else by its catalog entry; a
        model of which neither is known is trusted.

        Raises:
            ModelNotFoundError: it is not on this machine.
        """
        name = self._config.models.of(role)
        if self._is_url(name):
            return True
        files = self._store.llm(name)
        result = self._checks.of(files.model_id)
        if result is not None:
            return result.passed("choice") and result.passed("copy")
        entry = next((e for e in self._store.catalog.entries if e.name == files.name), None)
        return entry is None or entry.reads_well

    def passes(self, ability: str, role: ModelRole) -> bool:
        """Whether the language model of a role has shown an ability in its self-test; loads
        nothing. False where the test was never run, as with a server's model.

        Raises:
            ModelNotFoundError: it is not on this machine.
        """
        name = self._config.models.of(role)
        result = None if self._is_url(name) else self._checks.of(self._store.llm(name).model_id)
        return result is not None and result.passed(ability)

    def examine(self, embedder_id: str | None) -> tuple[Finding, ...]:
        """Findings about the models in use, for `doctor`; `embedder_id` made the vectors."""
        return tuple(self._findings(embedder_id))

    def _findings(self, embedder_id: str | None) -> Iterator[Finding]:
        for role, name in self._named_models():
            if self._is_url(name):
                yield Finding(Verdict.OK, role, f"{name} (a server on this machine)")
                continue
            try:
                path = self._store.path_of(name)
            except ModelNotFoundError as error:
                yield Finding(Verdict.PROBLEM, role, error.message, error.hint)
                continue
            yield Finding(Verdict.OK, role, f"{name}, {path}")
        yield _engine_finding()
        if embedder_id is not None and self._embedder_id() not in (None, embedder_id):
            yield Finding(
                Verdict.NOTICE,
                "embedder",
                f"the vectors of this memory are by {embedder_id}, not by the embedder in use",
                f"localmem reindex --embedder {self._config.models.embedder}",
            )

    def _named_models(self) -> Iterator[tuple[str, str]]:
        """What each model in use is for, and its name; a model of all roles is told once."""
        yield "embedder", self._config.models.embedder
        roles = {role: self._config.models.of(role) for role in ModelRole}
        if len(set(roles.values())) == 1:
            yield "model", roles[ModelRole.ANSWER]
            return
        for role, name in roles.items():
            yield f"model for {role}", name

    def _embedder_id(self) -> str | None:
        try:
            return self._store.embedder(self._config.models.embedder).model_id
        except ModelNotFoundError:
            return None

    def verify(self, name: str, *, on_bytes: Callable[[int], None] | None = None) -> None:
        """Read a catalog model's files whole and compare their hashes.

        Raises:
            ModelCorruptError: a file is not what the catalog says.
        """
        if any(entry.name == name for entry in self._store.catalog.entries):
            self._store.verify(name, on_bytes=on_bytes)

    @property
    def config(self) -> Config:
        return self._config

    def _resolved(self, name: str) -> str | Path:
        path = self._store.path_of(name)
        known = any(entry.name == name for entry in self._store.catalog.entries)
        return name if known else path.resolve()

    def _is_embedder(self, name: str) -> bool:
        given = Path(name).expanduser()
        if given.is_dir() or given.suffix == ".onnx":
            return True
        if self._is_url(name) or given.is_file():
            return False
        entry = next((e for e in self._store.catalog.entries if e.name == name), None)
        if entry is None:
            names = ", ".join(e.name for e in self._store.catalog.entries)
            raise ModelNotFoundError(f"no model is called {name!r}", hint=f"there are: {names}")
        return entry.kind is ModelKind.EMBEDDER

    @staticmethod
    def _is_url(name: str) -> bool:
        return name.startswith(_LOOPBACK_SCHEMES)


def _engine_finding() -> Finding:
    from localmem.backends import available_engines

    engines = available_engines()
    if engines:
        return Finding(Verdict.OK, "engine", ", ".join(engines))
    missing = MissingExtraError("a language model in this process", extra="llm-wheels")
    return Finding(Verdict.NOTICE, "engine", "no language-model engine is installed", missing.hint)
