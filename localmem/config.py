"""The typed configuration tree, read from config.toml.

Unknown keys are errors that name the nearest known key. Precedence: what a caller passes,
then the environment's LOCALMEM_MODEL and LOCALMEM_EMBEDDER, then the file, then the defaults
here.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from localmem.errors import ConfigError
from localmem.types import ModelRole

DEFAULT_LLM = "smollm2-135m"
DEFAULT_EMBEDDER = "minilm"

_Tree = TypeVar("_Tree")
_LEAST = {"search.results": 1, "ask.evidence": 1, "models.context_tokens": 512}
_MOST = 10_000_000


@dataclass(frozen=True, slots=True)
class ModelsConfig:
    """Which models to use: a name of the catalog, a path, or a loopback URL for a language model.

    `layers`, `controller`, `notes` and `answer` are the roles of a language model; "" means
    `llm`. `engine` is auto, llamacpp, xllamacpp or loopback. `context_tokens` bounds the prompt.
    """

    llm: str = DEFAULT_LLM
    layers: str = ""
    controller: str = ""
    notes: str = ""
    answer: str = ""
    embedder: str = DEFAULT_EMBEDDER
    engine: str = "auto"
    context_tokens: int = 4096
    threads: int = 0
    """0: one for each physical core."""

    def of(self, role: ModelRole) -> str:
        """The language model of a role, as it was named."""
        named = {
            ModelRole.LAYERS: self.layers,
            ModelRole.CONTROLLER: self.controller,
            ModelRole.NOTES: self.notes,
            ModelRole.ANSWER: self.answer,
        }
        return named[role] or self.llm


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How finding works. `mode` is learned, rrf, bm25 or dense; `weights` is default or open.

    `routes` is on or off; adamem, no-graph and no-fusion are there to measure them. `facts` is on
    or off: whether the facts that a language model made lead to their messages. `episodes` is on or
    off: whether hits of one episode speak for each other, and structures are searched.
    """

    mode: str = "learned"
    weights: str = "default"
    routes: str = "off"
    facts: str = "off"
    episodes: str = "off"
    results: int = 10


@dataclass(frozen=True, slots=True)
class AskConfig:
    """How asking works. `evidence` counts messages; `seconds` 0 means no limit."""

    depth: str = "auto"
    evidence: int = 12
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """`patience_s`: how long to wait for another process. `session_gap_h`: a longer silence
    begins a new session."""

    patience_s: float = 10.0
    session_gap_h: float = 8.0


@dataclass(frozen=True, slots=True)
class TiersConfig:
    """How pages become episodes. `gate` is beta or paper; `structure` is linear, graph,
    hierarchical or learned. Another value makes all episodes anew."""

    gate: str = "beta"
    structure: str = "graph"


@dataclass(frozen=True, slots=True)
class TuiConfig:
    """How the terminal app looks. `theme` is dark or light; the app writes it when it changes."""

    theme: str = "dark"


@dataclass(frozen=True, slots=True)
class Config:
    """The whole tree."""

    models: ModelsConfig = field(default_factory=ModelsConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    ask: AskConfig = field(default_factory=AskConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    tiers: TiersConfig = field(default_factory=TiersConfig)
    tui: TuiConfig = field(default_factory=TuiConfig)


def load_config(path: Path) -> Config:
    """The configuration of a file; the defaults where the file does not exist.

    Raises:
        ConfigError: the file is not TOML, or a key or value is wrong.
    """
    config = _read(path) if path.exists() else Config()
    return _with_environment(config)


def set_value(path: Path, *, section: str, key: str, value: str) -> None:
    """Write `KEY = "VALUE"` under [SECTION] of the file and leave every other line as it is.

    Raises:
        ConfigError: the file cannot be written.
    """
    line = f'{key} = "{_escaped(value)}"'
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        header = next((i for i, text in enumerate(lines) if text.strip() == f"[{section}]"), None)
        if header is None:
            lines += [f"[{section}]", line]
        else:
            _set_in_section(lines, header, key, line)
        temporary = path.with_suffix(".partial")
        temporary.touch(mode=0o600)
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}", hint=f"write [{section}] {line} yourself"
        ) from error


def _set_in_section(lines: list[str], header: int, key: str, line: str) -> None:
    for i in range(header + 1, len(lines)):
        if lines[i].lstrip().startswith("["):
            break
        if lines[i].split("=", 1)[0].strip() == key:
            lines[i] = line
            return
    lines.insert(header + 1, line)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _read(path: Path) -> Config:
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} is not valid TOML: {error}", hint="correct or delete the file"
        ) from error
    return _filled(Config(), tree, path, prefix="")


def _filled(default: _Tree, tree: Mapping[str, Any], path: Path, *, prefix: str) -> _Tree:
    hints = get_type_hints(type(default))
    known = [f.name for f in fields(default)]  # type: ignore[arg-type]  # always a dataclass
    changes: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if key not in known:
            raise _unknown_key(path, name, key, known)
        current = getattr(default, key)
        if is_dataclass(current):
            changes[key] = _filled(current, _table(path, name, value), path, prefix=f"{name}.")
        else:
            changes[key] = _typed(path, name, value, hints[key])
    return replace(default, **changes)  # type: ignore[type-var]  # always a dataclass


def _unknown_key(path: Path, name: str, key: str, known: list[str]) -> ConfigError:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known keys: {', '.join(known)}"
    return ConfigError(f"{path}: unknown key '{name}'", hint=hint)


def _table(path: Path, name: str, value: object) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise ConfigError(f"{path}: '{name}' must be a table", hint=f"write [{name}] above its keys")


def _typed(path: Path, name: str, value: object, wanted: type) -> object:
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)):
        return _in_range(path, name, value)
    raise ConfigError(
        f"{path}: '{name}' is {value!r}, want a value of type {wanted.__name__}",
        hint="correct the value or delete the line",
    )


def _in_range(path: Path, name: str, value: object) -> object:
    least = _LEAST.get(name, 0)
    if isinstance(value, int | float) and not least <= value <= _MOST:
        raise ConfigError(
            f"{path}: '{name}' is {value}, want a number from {least} on",
            hint="correct the value or delete the line",
        )
    return value


def _with_environment(config: Config) -> Config:
    """LOCALMEM_MODEL stands for every role that the file does not give a model of its own."""
    llm = os.environ.get("LOCALMEM_MODEL") or config.models.llm
    embedder = os.environ.get("LOCALMEM_EMBEDDER") or config.models.embedder
    return replace(config, models=replace(config.models, llm=llm, embedder=embedder))
