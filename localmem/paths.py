"""Where files live. LOCALMEM_HOME, when set, holds everything; else the system's own folders."""

from __future__ import annotations

import os
from pathlib import Path

_PRIVATE_FOLDER = 0o700


def home() -> Path:
    """The folder that holds memories and models, made private to its owner.

    `LOCALMEM_HOME` when set, else the platform's data folder for this user.
    """
    named = os.environ.get("LOCALMEM_HOME")
    if named:
        return private_folder(Path(named).expanduser())
    import platformdirs

    return private_folder(Path(platformdirs.user_data_dir("localmem", appauthor=False)))


def default_memory() -> Path:
    """The memory file that commands use unless told otherwise."""
    return home() / "memory.duckdb"


def models_folder() -> Path:
    """Where model files are kept."""
    return private_folder(home() / "models")


def config_file() -> Path:
    """The configuration file; it need not exist."""
    return home() / "config.toml"


def private_folder(path: Path) -> Path:
    """The folder, created with mode 0700 where it does not exist yet."""
    path.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
    return path


def shortened(path: Path) -> str:
    """The path as people write it: from `~` on where it is in the user's own folder."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):  # elsewhere, or there is no home
        return str(path)
