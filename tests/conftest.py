"""Fixtures that several test files share: the real default models, where they were pulled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import platformdirs
import pytest

from localmem.backends import open_embedder
from localmem.backends.process_lock import ProcessLock
from localmem.memory import ImportOptions
from localmem.modelstore import Catalog, ModelStore
from localmem.ports import Embedder
from localmem.sample import sample_export
from localmem.testing import build_memory
from localmem.types import LlmFiles

MODELS_VARIABLE = "LOCALMEM_TEST_MODELS"


@pytest.fixture(scope="session")
def pulled_models() -> ModelStore:
    """The model store with the pulled defaults: LOCALMEM_TEST_MODELS, else this user's own."""
    named = os.environ.get(MODELS_VARIABLE)
    home = os.environ.get("LOCALMEM_HOME") or platformdirs.user_data_dir("localmem", False)
    folder = Path(named) if named else Path(home) / "models"
    store = ModelStore(folder, Catalog.load())
    missing = [s.entry.name for s in store.list_models() if s.entry.default and not s.present]
    if missing:
        pytest.fail(f"{', '.join(missing)} missing in {folder}; run: localmem models pull")
    return store


@pytest.fixture(scope="session")
def minilm(pulled_models: ModelStore) -> Iterator[Embedder]:
    """The default embedder, loaded once."""
    embedder = open_embedder(pulled_models.embedder("minilm"))
    yield embedder
    embedder.close()


@pytest.fixture(scope="session")
def small_llm(pulled_models: ModelStore) -> LlmFiles:
    """The files of the default language model."""
    return pulled_models.llm("smollm2-135m")


@pytest.fixture(scope="session")
def tui_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory file with the sample history, its vectors by the hashing embedder; copy it."""
    path = tmp_path_factory.mktemp("sample") / "sample.duckdb"
    with build_memory(path) as memory:
        memory.import_(sample_export(), ImportOptions(tz=UTC))
    return path


@pytest.fixture
def no_lock(tmp_path: Path) -> ProcessLock:
    """A process lock that nobody else holds."""
    return ProcessLock(tmp_path / "llm.lock")
