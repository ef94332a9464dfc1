"""The four roles of a language model: named in the configuration, loaded once each."""

from __future__ import annotations

from pathlib import Path

import pytest

from localmem.config import Config, ModelsConfig, load_config
from localmem.errors import UsageError
from localmem.memory import LoadedModels
from localmem.modelstore import Catalog, ModelStore
from localmem.shelf import ModelShelf
from localmem.store import Store
from localmem.testing import FixedModels, ScriptedLlm
from localmem.types import ModelRole


def _gguf(folder: Path, name: str) -> Path:
    path = folder / f"{name}.gguf"
    path.write_bytes(b"GGUF" + name.encode())
    return path


def _shelf(folder: Path, config: Config | None = None) -> ModelShelf:
    return ModelShelf(
        ModelStore(folder / "models", Catalog.load()), config or Config(), folder / "config.toml"
    )


def test_a_model_is_put_to_use_for_one_role_alone(tmp_path: Path) -> None:
    large = _gguf(tmp_path, "large")
    line = _shelf(tmp_path).use(str(large), role=ModelRole.CONTROLLER)
    models = load_config(tmp_path / "config.toml").models
    assert line == f"models.controller = {large}"
    assert models.of(ModelRole.CONTROLLER) == str(large)
    assert models.of(ModelRole.ANSWER) == ModelsConfig().llm


def test_an_embedder_has_no_role(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="embedder"):
        _shelf(tmp_path).use("minilm", role=ModelRole.ANSWER)


def test_roles_with_one_file_have_one_key_and_others_another(tmp_path: Path) -> None:
    small, large = _gguf(tmp_path, "small"), _gguf(tmp_path, "large")
    models = ModelsConfig(llm=str(small), notes=str(small), controller=str(large))
    shelf = _shelf(tmp_path, Config(models=models))
    keys = {role: shelf.llm_key(role) for role in ModelRole}
    assert keys[ModelRole.NOTES] == keys[ModelRole.ANSWER] == keys[ModelRole.LAYERS]
    assert keys[ModelRole.CONTROLLER] != keys[ModelRole.ANSWER]


def test_an_ability_that_was_never_tested_is_not_there(tmp_path: Path) -> None:
    models = ModelsConfig(llm=str(_gguf(tmp_path, "small")))
    shelf = _shelf(tmp_path, Config(models=models))
    assert not shelf.passes("whole_session", ModelRole.LAYERS)


def test_doctor_tells_the_model_of_each_role_where_they_differ(tmp_path: Path) -> None:
    small, large = _gguf(tmp_path, "small"), _gguf(tmp_path, "large")
    one = _shelf(tmp_path, Config(models=ModelsConfig(llm=str(small))))
    two = _shelf(tmp_path, Config(models=ModelsConfig(llm=str(small), controller=str(large))))
    assert [f.subject for f in one.examine(None) if f.subject.startswith("model")] == ["model"]
    told = {f.subject: f.detail for f in two.examine(None)}
    assert str(large) in told["model for controller"]
    assert str(small) in told["model for answer"]


def test_a_model_of_several_roles_is_loaded_once_and_each_is_closed(tmp_path: Path) -> None:
    common, own = ScriptedLlm(model_id="common"), ScriptedLlm(model_id="own")
    loaded: list[ModelRole] = []

    class Counting(FixedModels):
        def llm(self, role: ModelRole = ModelRole.ANSWER) -> ScriptedLlm:
            loaded.append(role)
            return own if role is ModelRole.CONTROLLER else common

        def llm_key(self, role: ModelRole = ModelRole.ANSWER) -> str:
            return "own" if role is ModelRole.CONTROLLER else "common"

    with Store(tmp_path / "m.duckdb") as store:
        models = LoadedModels(Counting(), store)
        found = [models.llm(role) for role in ModelRole]
        models.close()
    assert [llm.model_id for llm in found] == ["common", "own", "common", "common"]
    assert len(loaded) == 2
    assert common.closed
    assert own.closed
