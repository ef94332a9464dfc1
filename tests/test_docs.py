"""The docs and the program say the same: commands, options, models, keys, rooms, links."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmarks.__main__ import COMMANDS
from localmem.cli.app import app
from localmem.config import Config
from localmem.importers import formats
from localmem.modelstore import Catalog, ModelKind

_ROOT = Path(__file__).resolve().parent.parent
_README = _ROOT / "README.md"
_PAGES = [_README, _ROOT / "CHANGELOG.md", *sorted((_ROOT / "docs").glob("*.md"))]
_PAGES.append(_ROOT / "localmem" / "sample" / "README.md")

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@functools.cache
def _benchmark_options() -> frozenset[str]:
    """Options of `python -m benchmarks`, of every command."""
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    for module, _ in COMMANDS.values():
        importlib.import_module(module).add_arguments(parser)
    return frozenset(parser._option_string_actions)


def _read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _fences(text: str, *languages: str) -> list[str]:
    return [body for language, body in _FENCE.findall(text) if language in languages]


def _shell_lines(text: str) -> Iterator[str]:
    for block in _fences(text, "sh", "console"):
        for line in block.splitlines():
            yield line.removeprefix("$ ").strip()
    for code in _INLINE.findall(_FENCE.sub("", text)):
        yield code.strip()


def _calls(page: Path) -> list[list[str]]:
    """Arguments of every localmem call that a page shows."""
    calls = []
    for line in _shell_lines(_read(page)):
        words = shlex.split(line) if not line.count("'") % 2 else line.split()
        if words and words[0] in ("localmem", ".venv/bin/localmem"):
            calls.append(words[1:])
    return calls


def _commands() -> dict[str, Any]:
    """Every command by its full name, groups left out."""
    found: dict[str, Any] = {}
    for name, command in _tree().commands.items():
        children = getattr(command, "commands", None)
        if children is None:
            found[name] = command
        else:
            found.update({f"{name} {child}": sub for child, sub in children.items()})
    return found


def _tree() -> Any:
    return typer.main.get_command(app)


def _options(command: Any) -> dict[str, bool]:
    """The command's options; True where one takes a value."""
    options: dict[str, bool] = {"--help": False, "-h": False}
    for parameter in command.params:
        for flag in (*parameter.opts, *parameter.secondary_opts):
            if flag.startswith("-"):
                options[flag] = not parameter.is_flag
    return options


def _check_call(words: list[str]) -> None:
    command, rest = _tree(), list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            flag = word.split("=", 1)[0]
            options = _options(command)
            assert flag in options, f"localmem {shlex.join(words)}: no option {flag}"
            if options[flag] and "=" not in word:
                assert rest, f"localmem {shlex.join(words)}: {flag} has no value"
                rest.pop(0)
        elif hasattr(command, "commands"):
            assert word in command.commands, f"localmem {shlex.join(words)}: no command {word}"
            command = command.commands[word]


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_every_command_line_in_the_docs_exists(page: Path) -> None:
    for words in _calls(page):
        _check_call(words)


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_every_option_in_the_text_exists(page: Path) -> None:
    known = set(_options(_tree())) | _benchmark_options()
    for command in _commands().values():
        known |= set(_options(command))
    for code in _INLINE.findall(_FENCE.sub("", _read(page))):
        if code.startswith("--"):
            assert code.split()[0].split("=")[0] in known, code


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    with pytest.raises(AssertionError, match="no command"):
        _check_call(["imports", "forget", "3"])
    with pytest.raises(AssertionError, match="no option"):
        _check_call(["search", "rent", "--fuzzy"])


def test_every_command_is_in_the_readme() -> None:
    shown = {" ".join(words[:size]) for words in _calls(_README) for size in (1, 2)}
    assert set(_commands()) <= shown


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_links_to_files_and_headings_resolve(page: Path) -> None:
    for target in _LINK.findall(_read(page)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name}: {target}"
        if heading:
            assert heading in _headings(file), f"{page.name}: {target}"


def _headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", _FENCE.sub("", _read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_no_path_of_somebodys_machine_is_in_the_docs(page: Path) -> None:
    pattern = r"(?<![\w.~:/-])/(?:home|root|Users|work|tmp|mnt|opt|usr|var|media)/"
    assert not re.findall(pattern, _read(page))


@pytest.mark.parametrize("page", ["README.md", "docs/models.md"])
def test_every_model_of_the_catalog_is_described(page: str) -> None:
    text = _read(_ROOT / page)
    for entry in Catalog.load().entries:
        assert f"`{entry.name}`" in text, entry.name
        assert entry.licence in text


def test_the_readme_tells_each_models_size_and_memory_as_the_catalog_does() -> None:
    rows = [line for line in _read(_README).splitlines() if line.startswith("|")]
    for entry in Catalog.load().entries:
        row = next(line for line in rows if f"`{entry.name}`" in line)
        sizes = [float(n) * (1000 if u == "GB" else 1) for n, u in _sizes(row)]
        download, memory = sizes[-2], sizes[-1]
        assert download == pytest.approx(entry.size / 1e6, rel=0.06), entry.name
        assert memory == pytest.approx(entry.memory_mb, rel=0.06), entry.name
    kinds = {entry.kind for entry in Catalog.load().entries}
    assert kinds == {ModelKind.LLM, ModelKind.EMBEDDER}


def _sizes(row: str) -> list[tuple[str, str]]:
    return re.findall(r"([\d.]+) (MB|GB)", row)


def test_every_format_is_described() -> None:
    text = _read(_ROOT / "docs" / "importing.md")
    assert all(f"`{known.name}`" in text for known in formats())


def test_the_configuration_in_the_readme_is_the_default_one() -> None:
    (block,) = _fences(_read(_README), "toml")
    assert tomllib.loads(block) == dataclasses.asdict(Config())


def test_every_environment_variable_is_in_the_readme() -> None:
    sources = (_ROOT / "localmem").rglob("*.py")
    named = {name for file in sources for name in re.findall(r"LOCALMEM_[A-Z_]+", _read(file))}
    assert named
    assert all(f"`{name}`" in _read(_README) for name in named)


def test_every_extra_is_in_the_readme() -> None:
    project = tomllib.loads(_read(_ROOT / "pyproject.toml"))["project"]
    text = _read(_README)
    assert all(f"| `{extra}` |" in text for extra in project["optional-dependencies"])


def test_every_room_is_on_the_map() -> None:
    tools = tomllib.loads(_read(_ROOT / "pyproject.toml"))["tool"]
    layers = tools["importlinter"]["contracts"][0]["layers"]
    rows = [line for line in _read(_ROOT / "docs/architecture.md").splitlines() if line[:2] == "| "]
    mapped = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in rows]
    for rooms in ([room.strip() for room in line.split("|")] for line in layers):
        assert any(sorted(rooms) == sorted(row) for row in mapped), rooms


def test_the_python_example_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("localmem.memory")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALMEM_HOME", os.fspath(tmp_path))
    (example,) = _fences(_read(_README), "python")
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - the README's own code
    assert "hazelnuts" in capsys.readouterr().out
