"""The benchmark of the terminal app gets through, and ends where the app does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from localmem_tui import LocalMemApp

from benchmarks import tui
from benchmarks.__main__ import main
from localmem.memory import Memory


def test_it_searches_and_scrolls_and_writes_its_figures(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    size = ["--turns", "60", "--queries", "1", "--steps", "12"]
    assert main(["tui", *size, "--json", str(out)]) == 0
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert figures["turns"] == 60
    assert figures["sessions"] == 3
    assert figures["frame_max_ms"] >= figures["frame_p95_ms"] > 0
    assert figures["key_to_results_p95_ms"] > 0


def test_it_ends_with_an_error_where_the_app_has_ended(tmp_path: Path) -> None:
    async def flow() -> None:
        with Memory.open(tmp_path / "memory.duckdb") as memory:
            app = LocalMemApp(memory)
            async with app.run_test() as pilot:
                await pilot.pause()
            await tui._until(app, lambda: False, "no results")

    with pytest.raises(RuntimeError, match="no results"):
        asyncio.run(flow())
