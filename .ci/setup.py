#!/usr/bin/env python3
"""Makes .venv with localmem and all it needs, on a machine that has only Python.

Compiled wheels (llama-cpp-python, hnswlib) are built once per version, interpreter and set of
flags into a cache folder of the user, outside the checkout: pip's own cache does not look at the
flags. Uses the standard library alone.

LLM=source|wheels|none chooses the engine; unset takes source where a C++ compiler is found.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "localmem-setup.stamp"
OLDEST, NEWEST = (3, 11), (3, 13)

# llama.cpp's own detection (-march=native) takes AMX where a virtual machine announces it and
# cannot run it: the process dies of SIGILL at the first token. So features are named one by one.
SAFE_X86 = ["-DGGML_NATIVE=OFF"]
WITH_AVX512_VNNI = [
    "-DGGML_AVX512=ON",
    "-DGGML_AVX512_VNNI=ON",
]
OPTIONAL_AVX512 = {
    "avx512_vbmi": "-DGGML_AVX512_VBMI=ON",
    "avx512vbmi": "-DGGML_AVX512_VBMI=ON",
    "avx512_bf16": "-DGGML_AVX512_BF16=ON",
    "avx_vnni": "-DGGML_AVX_VNNI=ON",
}


def main() -> int:
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        return fail(
            f"Python {platform.python_version()} is not supported; localmem runs on 3.11 to 3.13",
            "make setup PYTHON=python3.12",
        )
    engine = os.environ.get("LLM") or ("source" if has_compiler() else "wheels")
    if engine not in ("source", "wheels", "none"):
        return fail(f"LLM={engine} is not known", "LLM=source, LLM=wheels or LLM=none")
    if STAMP.exists() and STAMP.read_text(encoding="utf-8") == stamp(engine):
        return 0
    install(engine)
    STAMP.write_text(stamp(engine), encoding="utf-8")
    return 0


def fail(problem: str, cure: str) -> int:
    print(f"{problem}\n  try: {cure}", file=sys.stderr)
    return 2


def stamp(engine: str) -> str:
    """What the installed environment depends on; it is set up again when this changes."""
    parts = [(ROOT / "pyproject.toml").read_text(encoding="utf-8"), engine, sys.version, str(ROOT)]
    return hashlib.sha256("\0".join([*parts, *llama_flags()]).encode()).hexdigest()


def has_compiler() -> bool:
    named = os.environ.get("CXX")
    return bool(shutil.which(named) if named else shutil.which("c++") or shutil.which("g++"))


def install(engine: str) -> None:
    make_venv()
    pinned = pins()
    compiler = has_compiler()
    extras = "dev" if compiler else "test"
    if compiler:
        pip("install", built_wheel("hnswlib", pinned["hnswlib"], {"HNSWLIB_NO_NATIVE": "1"}))
    else:
        print("no C++ compiler: vectors are searched exactly, without hnswlib", file=sys.stderr)
    pip("install", "-e", f"{ROOT}[{extras}]")
    if engine == "source":
        flags = {"CMAKE_ARGS": " ".join(llama_flags())}
        wheel = built_wheel("llama-cpp-python", pinned["llama-cpp-python"], flags)
        pip("install", wheel)
    elif engine == "wheels":
        pip("install", "-e", f"{ROOT}[llm-wheels]")


def make_venv() -> None:
    python = venv_python()
    if python.exists():
        asked = [str(python), "-c", "import sys; print(sys.version)"]
        found = subprocess.run(asked, check=False, capture_output=True, text=True)
        if found.stdout.strip() == sys.version:
            return
    print(f"making {VENV.name} with Python {platform.python_version()}", file=sys.stderr)
    venv.create(VENV, with_pip=True, clear=VENV.exists())
    pip("install", "--upgrade", "pip", "wheel", "setuptools")


def venv_python() -> Path:
    folder = "Scripts" if os.name == "nt" else "bin"
    return VENV / folder / ("python.exe" if os.name == "nt" else "python")


def pip(*arguments: str, **environment: str) -> None:
    command = [str(venv_python()), "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*command, *arguments], check=True, env={**os.environ, **environment})


def pins() -> dict[str, str]:
    """The exact versions of pyproject's extras, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [line for extra in project["optional-dependencies"].values() for line in extra]
    return dict(line.split("==", 1) for line in lines if "==" in line)


def built_wheel(name: str, version: str, flags: dict[str, str]) -> str:
    """Path of the wheel built with these flags; built now where the cache has none."""
    key = hashlib.sha256(repr((sys.version, platform.machine(), sorted(flags.items()))).encode())
    folder = cache_folder() / f"{name}-{version}-{key.hexdigest()[:16]}"
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        build_wheel(name, version, flags, folder)
        wheels = list(folder.glob("*.whl"))
    return str(wheels[0])


def build_wheel(name: str, version: str, flags: dict[str, str], folder: Path) -> None:
    minutes = "6 to 12 minutes on two cores" if name.startswith("llama") else "a minute"
    print(f"compiling {name} {version}, once: {minutes} ...", file=sys.stderr)
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    package = f"{name}=={version}"
    options = ["--no-deps", "--no-cache-dir", "--no-binary", name, "-w", str(partial)]
    pip("wheel", *options, package, **flags)
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)


def cache_folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(named) if named else Path.home() / ".cache") / "localmem" / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def llama_flags() -> list[str]:
    """CMake flags for llama.cpp that suit this processor, then the caller's CMAKE_ARGS."""
    own = os.environ.get("CMAKE_ARGS", "").split()
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return own
    flags = list(SAFE_X86)
    features = cpu_features()
    if "avx512_vnni" in features:
        flags += WITH_AVX512_VNNI
        flags += sorted({flag for name, flag in OPTIONAL_AVX512.items() if name in features})
    return flags + own


def cpu_features() -> set[str]:
    source = Path("/proc/cpuinfo")
    if not source.exists():
        return set()
    for line in source.read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(fail(f"pip failed with exit code {error.returncode}", "see its message above"))
    except KeyboardInterrupt:
        sys.exit(130)
