"""The map of the rooms is enforced: import-linter passes, and would not pass a violation."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent


def _lint(root: Path) -> subprocess.CompletedProcess[str]:
    program = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports; "
    program += "sys.exit(lint_imports(no_cache=True))"
    return subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(_ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__", "*.json")
    shutil.copytree(_ROOT / "localmem", tmp_path / "localmem", ignore=ignored)
    return tmp_path


def test_imports_point_downwards(copy: Path) -> None:
    run = _lint(copy)
    assert run.returncode == 0, run.stdout


def test_an_upward_import_breaks_the_contract(copy: Path) -> None:
    with (copy / "localmem" / "types" / "__init__.py").open("a", encoding="utf-8") as file:
        file.write("\nimport localmem.memory\n")
    assert _lint(copy).returncode != 0


def test_a_module_without_a_room_breaks_the_contract(copy: Path) -> None:
    (copy / "localmem" / "helpers.py").write_text("", encoding="utf-8")
    assert _lint(copy).returncode != 0


@pytest.mark.parametrize(
    ("library", "owners"),
    [
        ("duckdb", {"store"}),
        ("llama_cpp", {"backends"}),
        ("xllamacpp", {"backends"}),
        ("onnxruntime", {"backends"}),
        ("tokenizers", {"backends"}),
        ("hnswlib", {"index"}),
        ("bm25s", {"index"}),
        ("urllib", {"modelstore", "backends"}),
    ],
)
def test_a_foreign_library_has_one_owner(library: str, owners: set[str]) -> None:
    users = set()
    for path in (_ROOT / "localmem").rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        starts = (f"import {library}", f"from {library}")
        if any(line.strip().startswith(starts) for line in lines):
            users.add(path.relative_to(_ROOT / "localmem").parts[0])
    assert users <= owners


def test_help_imports_nothing_heavy() -> None:
    heavy = (
        "numpy",
        "duckdb",
        "bm25s",
        "onnxruntime",
        "tokenizers",
        "textual",
        "localmem.memory",
        "localmem.types",
    )
    program = (
        "import sys\n"
        "from typer.main import get_command\n"
        "from localmem.cli.app import app\n"
        "try:\n    get_command(app)(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert run.stderr.strip().endswith("[]"), run.stderr
