"""What this machine has for arithmetic: threads and memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def physical_cores(cpuinfo: Path = Path("/proc/cpuinfo")) -> int:
    """Cores that this process may use, hyper-threads counted once; at least 1."""
    allowed = _allowed_cpus()
    if cpuinfo.exists():
        cores = _cores_of_cpuinfo(cpuinfo.read_text(encoding="utf-8"), allowed)
        if cores:
            return cores
    if sys.platform == "darwin":
        return max(1, os.cpu_count() or 1)  # Apple's processors have no hyper-threads
    return max(1, len(allowed) // 2) if len(allowed) > 4 else max(1, len(allowed))


def machine_memory_mb(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> int | None:
    """Mebibytes of memory that this process may use at most; None where that is not told.

    `limit` is the file in which Linux keeps the limit of a container, where there is one.
    """
    total = _physical_bytes()
    if limit.exists():
        text = limit.read_text(encoding="ascii").strip()
        if text.isdigit():
            total = min(total, int(text)) if total is not None else int(text)
    return None if total is None else total // 2**20


def _physical_bytes() -> int | None:
    """The machine's memory in bytes, as the system tells it; None where it does not."""
    if sys.platform == "win32":
        return _windows_bytes()
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def _windows_bytes() -> int | None:
    """Memory as Windows tells it (GetPhysicallyInstalledSystemMemory gives kibibytes)."""
    import ctypes

    kibibytes = ctypes.c_ulonglong()
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009  # exists on Windows alone
    if not kernel.GetPhysicallyInstalledSystemMemory(ctypes.byref(kibibytes)):
        return None
    return kibibytes.value * 1024


def _allowed_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _cores_of_cpuinfo(text: str, allowed: set[int]) -> int:
    """Distinct (socket, core) pairs among the allowed processors; 0 where the text has none."""
    pairs: set[tuple[str, str]] = set()
    for block in text.split("\n\n"):
        fields = {
            key.strip(): value.strip()
            for key, _, value in (line.partition(":") for line in block.splitlines())
        }
        number = fields.get("processor", "")
        if number.isdigit() and int(number) in allowed and "core id" in fields:
            pairs.add((fields.get("physical id", "0"), fields["core id"]))
    return len(pairs)
