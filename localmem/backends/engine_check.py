"""Whether llama.cpp's library runs on this processor, found out in a child process.

A library that was built for other instructions ends the process at the first batch (SIGILL), and
no handler can report that from inside. So a child tries once for each library file, and the result
is kept.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from localmem.errors import ModelError

_TIMEOUT_S = 120.0
_TRY = """
import sys
from pathlib import Path
from localmem.backends.llama_native import BatchItem, NativeModel, NativeOptions
model = NativeModel(Path(sys.argv[1]), NativeOptions(threads=1, cells=256, sequences=1))
token = model.tokenize("a", special=False)[0]
model.evaluate([BatchItem(token, place, 0, place == 7) for place in range(8)])
model.logits(7)
"""
REBUILD_LINE = (
    'CMAKE_ARGS="-DGGML_NATIVE=OFF" pip install --force-reinstall --no-cache-dir'
    " --no-binary llama-cpp-python llama-cpp-python==0.3.36"
)


def demand_runnable(model: Path, notes: Path, *, program: str = _TRY) -> None:
    """Try the library on this model in a child process, unless `notes` say that it runs.

    `program` is what the child runs, with the model's path as its argument.

    Raises:
        ModelError: the child crashed; the hint is the line that builds the library anew.
    """
    stamp = _library_stamp()
    known = _read(notes)
    if stamp in known:
        return
    child = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", program, str(model)],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if child.returncode < 0 or child.returncode in (132, 0xC000001D):
        raise ModelError(
            "llama-cpp-python was built for another processor: it crashed in a trial run"
            f" (signal {abs(child.returncode)})",
            hint=f"make setup LLM=wheels, or: {REBUILD_LINE}",
        )
    if child.returncode == 0:
        _write(notes, [*known, stamp])
    # Any other failure has a message of its own, which the caller's own loading will raise.


def _library_stamp() -> str:
    """Names the library files by path, size and time: a new build has another stamp."""
    spec = importlib.util.find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        return ""
    digest = hashlib.sha256()
    for path in sorted((Path(spec.origin).parent / "lib").glob("*")):
        stat = path.stat()
        digest.update(f"{path}:{stat.st_size}:{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]


def _read(notes: Path) -> list[str]:
    if not notes.is_file():
        return []
    try:
        return [str(stamp) for stamp in json.loads(notes.read_text(encoding="utf-8"))]
    except ValueError:  # a damaged note only costs another trial
        return []


def _write(notes: Path, stamps: list[str]) -> None:
    partial = notes.with_name(f".{notes.name}.{os.getpid()}.partial")
    partial.touch(mode=0o600)
    partial.write_text(json.dumps(stamps), encoding="utf-8")
    partial.replace(notes)
