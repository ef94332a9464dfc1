"""How many threads arithmetic should use on this machine."""

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
