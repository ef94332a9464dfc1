"""The configuration file: defaults, precedence, and errors that name the cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from localmem.config import Config, load_config, set_value
from localmem.errors import ConfigError
from localmem.types import ModelRole


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOCALMEM_MODEL", "LOCALMEM_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load_config(tmp_path / "config.toml") == Config()


def test_a_file_changes_only_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[models]\nllm = "qwen"\n[ask]\nseconds = 30\n', encoding="utf-8")
    config = load_config(path)
    assert (config.models.llm, config.ask.seconds) == ("qwen", 30.0)
    assert config.models.embedder == Config().models.embedder


def test_the_environment_outranks_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[models]\nllm = "qwen"\n', encoding="utf-8")
    monkeypatch.setenv("LOCALMEM_MODEL", "other")
    assert load_config(path).models.llm == "other"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('[modls]\nllm = "x"\n', "unknown key 'modls'", "did you mean 'models'?"),
        ('[models]\nlm = "x"\n', "unknown key 'models.lm'", "did you mean 'llm'?"),
        ("[models]\nllm = 3\n", "'models.llm' is 3, want a value of type str", "correct"),
        ("[models]\nthreads = true\n", "want a value of type int", "correct"),
        ("[store]\npatience_s = -3\n", "want a number from 0 on", "correct"),
        ("[search]\nresults = 0\n", "want a number from 1 on", "correct"),
        ("[store]\npatience_s = nan\n", "want a number", "correct"),
        ("models = 1\n", "'models' must be a table", "[models]"),
        ("[models\n", "is not valid TOML", "correct or delete"),
    ],
)
def test_a_wrong_file_is_named_with_its_cure(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_setting_a_model_keeps_every_other_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('# mine\n[models]\nllm = "a"\n\n[ask]\nseconds = 3\n', encoding="utf-8")
    set_value(path, section="models", key="llm", value="b")
    set_value(path, section="models", key="embedder", value="c")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# mine\n[models]")
    assert (load_config(path).models.llm, load_config(path).models.embedder) == ("b", "c")
    assert load_config(path).ask.seconds == 3.0
    assert path.stat().st_mode & 0o077 == 0


def test_a_role_without_a_model_of_its_own_has_the_common_one(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[models]\nllm = "small"\ncontroller = "large"\n', encoding="utf-8")
    models = load_config(path).models
    assert {role: models.of(role) for role in ModelRole} == {
        ModelRole.LAYERS: "small",
        ModelRole.CONTROLLER: "large",
        ModelRole.NOTES: "small",
        ModelRole.ANSWER: "small",
    }
